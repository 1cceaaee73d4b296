/* SPDX-License-Identifier: MIT
 *
 * Values to a device, and back.
 */
#include "carried.h"

#include <stdlib.h>
#include <string.h>

#include "ops/operands.h"
#include "suite.h"

struct carrier {
    const txd_backend *device;
    struct txd_ops ops;
};

/* Of one call: where each operand was, and the memory of those that are the first of
 * theirs. */
struct load {
    const txd_backend *device;
    struct txd_operands operands;
    char *from[TXD_OPERANDS_MOST];
    char *memory[TXD_OPERANDS_MOST];
};

static void must(txd_status status)
{
    ck_assert_msg(status == TXD_OK, "%s", txd_message());
}

static size_t bytes_of(const struct txd_operand *o)
{
    return (size_t)(o->end - o->begin);
}

static void there(struct load *load)
{
    for (size_t i = 0; i < load->operands.count; i++) {
        const struct txd_operand *o = &load->operands.of[i];
        size_t bytes = bytes_of(o);

        load->from[i] = (char *)(uintptr_t)txd_operand_at(o);
        if (o->first == i) {
            load->memory[i] = load->device->alloc(bytes > 0 ? bytes : 1);
            ck_assert_msg(load->memory[i] != NULL, "%s", txd_message());
            if (bytes > 0)
                must(load->device->upload(load->memory[i], o->begin, bytes));
        }
        txd_operand_move(o, load->memory[o->first] + (load->from[i] - o->begin));
    }
}

/* Whether an operand that shares the memory of the i-th may be written. */
static bool is_written(const struct load *load, size_t i)
{
    for (size_t k = i; k < load->operands.count; k++)
        if (load->operands.of[k].first == i && load->operands.of[k].out != NULL)
            return true;
    return false;
}

static void back(struct load *load, const char *operation)
{
    for (size_t i = 0; i < load->operands.count; i++) {
        const struct txd_operand *o = &load->operands.of[i];
        size_t bytes = bytes_of(o);
        char *now = o->first == i ? malloc(bytes + 1) : NULL;

        if (o->first == i && bytes > 0) {
            ck_assert_ptr_nonnull(now);
            must(load->device->download(now, load->memory[i], bytes));
            ck_assert_msg(is_written(load, i) || memcmp(now, o->begin, bytes) == 0,
                          "%s wrote to what it only reads", operation);
            memcpy((char *)(uintptr_t)o->begin, now, bytes);
        }
        free(now);
    }
    for (size_t i = 0; i < load->operands.count; i++)
        if (load->memory[i] != NULL)
            load->device->free(load->memory[i]);
}

static struct carrier carriers[2];

#define CARRY(number, name, arguments)                                                 \
    static txd_status carried##number##_##name(                                        \
        txd_ctx *ctx, const struct txd_##arguments##_args *args)                       \
    {                                                                                  \
        const struct carrier *carrier = &carriers[number];                             \
        struct txd_##arguments##_args copy = *args;                                    \
        struct load load = {.device = carrier->device};                                \
                                                                                       \
        txd_operands_##name(&load.operands, txd_dtype_bytes(load.device->dtype),       \
                            &copy);                                                    \
        there(&load);                                                                  \
        must(carrier->ops.name(ctx, &copy));                                           \
        back(&load, #name);                                                            \
        return TXD_OK;                                                                 \
    }
#define TXD_OP(name, arguments) CARRY(0, name, arguments) CARRY(1, name, arguments)
TXD_OPS(TXD_OP)
#undef TXD_OP

#define FIRST(name, arguments) .name = carried0_##name,
#define SECOND(name, arguments) .name = carried1_##name,

const struct txd_ops *carried_ops(const txd_backend *device, const struct txd_ops *ops)
{
    static const struct txd_ops tables[2] = {{TXD_OPS(FIRST)}, {TXD_OPS(SECOND)}};
    static size_t calls;
    size_t i = calls++ % 2;

    carriers[i] = (struct carrier){device, *ops};
    return &tables[i];
}
