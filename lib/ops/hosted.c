/* SPDX-License-Identifier: MIT
 *
 * Copies of a device's values for an operation of the host, and back.
 */
#include "ops/hosted.h"

#include <stdlib.h>

#include "ops/operands.h"

/* What an operation sees instead, per memory that operands share. */
struct copies {
    struct txd_operands operands;
    const char *from[TXD_OPERANDS_MOST]; /* where each operand is on the device */
    char *memory[TXD_OPERANDS_MOST];     /* of those that are the first of theirs */
};

static void give_back(struct copies *copies)
{
    for (size_t i = 0; i < copies->operands.count; i++)
        free(copies->memory[i]);
}

static txd_status download(char **out, const txd_backend *backend, const char *begin,
                           size_t bytes)
{
    *out = malloc(bytes > 0 ? bytes : 1);
    if (*out == NULL)
        return txd_fail(TXD_ERR_MEMORY,
                        "%zu bytes of memory cannot be had for a copy of the device's "
                        "values, which a fault works on: use a smaller input",
                        bytes);
    return bytes > 0 ? backend->download(*out, begin, bytes) : TXD_OK;
}

/* Lets all pointers of the arguments point to copies. */
static txd_status take(struct copies *copies, const txd_backend *backend)
{
    for (size_t i = 0; i < copies->operands.count; i++) {
        const struct txd_operand *o = &copies->operands.of[i];

        copies->from[i] = txd_operand_at(o);
        if (o->first == i)
            TXD_TRY(download(&copies->memory[i], backend, o->begin,
                             (size_t)(o->end - o->begin)));
        txd_operand_move(o, copies->memory[o->first] + (copies->from[i] - o->begin));
    }
    return TXD_OK;
}

/* Row by row where rows are apart: what is between them may be somebody else's. */
static txd_status upload(const struct txd_operand *o, const txd_backend *backend,
                         const char *from)
{
    size_t element = txd_dtype_bytes(backend->dtype), rows = o->rows;
    size_t bytes = o->width * element, step = o->stride * element;
    const char *copy = txd_operand_at(o);

    if (o->width == o->stride) {
        bytes = o->bytes;
        rows = 1;
    }
    for (size_t r = 0; o->bytes > 0 && r < rows; r++)
        TXD_TRY(backend->upload((char *)(uintptr_t)from + r * step, copy + r * step,
                                bytes));
    return TXD_OK;
}

static txd_status bring(const struct copies *copies, const txd_backend *backend)
{
    for (size_t i = 0; i < copies->operands.count; i++)
        if (copies->operands.of[i].out != NULL)
            TXD_TRY(upload(&copies->operands.of[i], backend, copies->from[i]));
    return TXD_OK;
}

#define TXD_OP(name, arguments)                                                        \
    txd_status txd_hosted_##name(txd_ctx *ctx,                                         \
                                 const struct txd_##arguments##_args *args)            \
    {                                                                                  \
        const struct txd_hosted *hosted = args->at.self;                               \
        struct txd_##arguments##_args here = *args;                                    \
        struct copies copies = {.from = {NULL}};                                       \
        txd_status status;                                                             \
                                                                                       \
        txd_operands_##name(&copies.operands, txd_dtype_bytes(hosted->backend->dtype), \
                            &here);                                                    \
        here.at.self = hosted->self[TXD_OP_##name];                                    \
        status = take(&copies, hosted->backend);                                       \
        if (status == TXD_OK)                                                          \
            status = hosted->ops.name(ctx, &here);                                     \
        if (status == TXD_OK)                                                          \
            status = bring(&copies, hosted->backend);                                  \
        give_back(&copies);                                                            \
        return status;                                                                 \
    }
TXD_OPS(TXD_OP)
#undef TXD_OP
