/* SPDX-License-Identifier: MIT */
#include "attended_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/module_abi.h"

const struct txd_module *txd_cuda_module(void);

static void must(txd_status status)
{
    if (status != TXD_OK)
        abort();
}

const txd_backend *attended_backend(txd_dtype format)
{
    static const struct txd_module_host host = {txd_fail, txd_backend_find};
    const struct txd_module *module = txd_cuda_module();

    must(module->open(&host));
    return module->backend(format == TXD_BF16);
}

static void *take(const struct attended *a, size_t count, size_t size)
{
    void *memory = txd_arena_alloc(a->arena, count > 0 ? count : 1, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* The next `count` floats of the device's memory; with what they begin as, or 0. */
static void *place(struct attended_device *there, const double *values, size_t count)
{
    float *floats = take(there->of, count, sizeof(float));
    void *at = (char *)there->memory + there->bytes;

    for (size_t i = 0; values != NULL && i < count; i++)
        floats[i] = (float)values[i];
    must(there->backend->upload(at, floats, count * sizeof(float)));
    there->bytes += (count * sizeof(float) + 63) / 64 * 64;
    return at;
}

static struct txd_attend_heads heads_of(struct attended_device *there)
{
    const struct attended *a = there->of;
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries, keys = is->kv_heads * is->keys;

    return (struct txd_attend_heads){
        .q = place(there, a->q, rows * is->width),
        .k = place(there, a->k, keys * is->width),
        .v = place(there, a->v, keys * is->value_width),
        .sink = is->sink ? place(there, a->sinks, is->heads) : NULL,
        .heads = is->heads,
        .queries = is->queries,
        .keys = is->keys,
        .key_rows = is->keys,
        .width = is->width,
        .value_width = is->value_width,
        .kv_heads = is->kv_heads,
        .kv_head = a->kv_head,
        .slopes = is->slopes ? a->slopes : NULL,
        .query_positions = a->positions + (is->keys - is->queries),
        .key_positions = a->positions,
        .visible = {a->visible[0], a->visible[1], 0},
        .used = {a->used[0], a->used[1], 0},
        .scale = a->scale,
        .cap = is->cap,
        .fill = is->fill != 0 ? is->fill : -(double)INFINITY,
        .masked_row = is->masked_row,
    };
}

static void make_host(struct attended_device *there)
{
    const struct attended *a = there->of;
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries;

    there->out = take(a, a->out.count, sizeof(double));
    there->rows = take(a, a->rows.count, sizeof(double));
    there->sums = take(a, a->sums.count, sizeof(double));
    there->tops = take(a, a->tops.count, sizeof(double));
    there->max = take(a, rows, sizeof(double));
    there->lse = take(a, rows, sizeof(double));
    there->d_q = take(a, rows * is->width, sizeof(double));
    there->d_k = take(a, is->kv_heads * is->keys * is->width, sizeof(double));
    there->d_v = take(a, is->kv_heads * is->keys * is->value_width, sizeof(double));
    there->d_sink = take(a, is->heads, sizeof(double));
}

struct attended_device attended_upload(const struct attended *a)
{
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries, keys = is->kv_heads * is->keys;
    size_t floats = (2 * rows + 2 * keys) * (is->width + is->value_width);
    struct attended_device there = {.of = a, .backend = attended_backend(a->format)};

    there.memory = there.backend->alloc((floats + 1024) * sizeof(float));
    if (there.memory == NULL)
        abort();
    make_host(&there);
    there.pool = (struct txd_attend_pool){.sums = there.sums,
                                          .tops = there.tops,
                                          .query_cells = is->cells,
                                          .key_cells = is->cells,
                                          .padded = a->padded};
    there.args = (struct txd_attend_args){
        .at = {.first_query = (int)(is->keys - is->queries)},
        .in = heads_of(&there),
        .out = place(&there, NULL, rows * is->value_width),
        .max = there.max,
        .lse = there.lse,
        .rows = there.rows,
        .seen = {a->seen[0], a->seen[1], 0},
        .sides = a->sides,
    };
    there.back = (struct txd_attend_back_args){
        .in = there.args.in,
        .d_out = place(&there, a->d_out, rows * is->value_width),
        .d_q = place(&there, NULL, rows * is->width),
        .d_k = place(&there, NULL, keys * is->width),
        .d_v = place(&there, NULL, keys * is->value_width),
        .d_sink = is->sink ? place(&there, NULL, is->heads) : NULL,
    };
    return there;
}

void attended_device_free(struct attended_device *there)
{
    there->backend->free(there->memory);
}

static void fetch(const struct attended_device *there, double *to, const void *from,
                  size_t count)
{
    float *floats = take(there->of, count, sizeof(float));

    must(there->backend->download(floats, from, count * sizeof(float)));
    for (size_t i = 0; i < count; i++)
        to[i] = (double)floats[i];
}

void attended_attend(struct attended_device *there)
{
    txd_ctx ctx = {1};

    there->args.finite = &there->finite;
    there->args.pool = there->of->is.cells > 0 ? &there->pool : NULL;
    must(there->backend->attend(&ctx, &there->args));
    fetch(there, there->out, there->args.out, there->of->out.count);
}

void attended_attend_back(struct attended_device *there)
{
    const struct attended_case *is = &there->of->is;
    size_t keys = is->kv_heads * is->keys;
    const struct txd_attend_back_args *back = &there->back;
    txd_ctx ctx = {1};

    must(there->backend->zero(back->d_k, keys * is->width * sizeof(float)));
    must(there->backend->zero(back->d_v, keys * is->value_width * sizeof(float)));
    if (back->d_sink != NULL)
        must(there->backend->zero(back->d_sink, is->heads * sizeof(float)));
    must(there->backend->attend_back(&ctx, back));
    fetch(there, there->d_q, back->d_q, is->heads * is->queries * is->width);
    fetch(there, there->d_k, back->d_k, keys * is->width);
    fetch(there, there->d_v, back->d_v, keys * is->value_width);
    if (back->d_sink != NULL)
        fetch(there, there->d_sink, back->d_sink, is->heads);
}

bool attended_same(const struct attended_device *a, const struct attended_device *b)
{
    const struct attended *of = a->of;
    const struct attended_case *is = &of->is;
    size_t one = sizeof(double), keys = is->kv_heads * is->keys;

    return memcmp(a->out, b->out, of->out.count * one) == 0 &&
           memcmp(a->rows, b->rows, of->rows.count * one) == 0 &&
           memcmp(a->sums, b->sums, of->sums.count * one) == 0 &&
           memcmp(a->tops, b->tops, of->tops.count * one) == 0 &&
           memcmp(a->lse, b->lse, is->heads * is->queries * one) == 0 &&
           memcmp(a->d_q, b->d_q, is->heads * is->queries * is->width * one) == 0 &&
           memcmp(a->d_k, b->d_k, keys * is->width * one) == 0 &&
           memcmp(a->d_v, b->d_v, keys * is->value_width * one) == 0;
}
