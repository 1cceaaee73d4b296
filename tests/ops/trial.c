/* SPDX-License-Identifier: MIT
 *
 * The trials, one function per operation: fill, run ref64, run the table under test,
 * compare within the bound.
 */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/rng.h"
#include "ops/ref.h"

#define GUARD 64
#define GUARD_BYTE 0xa5

/* Shapes: nothing, one, odd, past a vector, past a block. */
static const size_t sizes[TRIAL_SIZES] = {0, 1, 3, 7, 65, 130};

static void *keep(struct trial *t, size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);

    if (memory == NULL || t->allocations == sizeof t->memory / sizeof *t->memory)
        abort();
    t->memory[t->allocations++] = memory;
    return memory;
}

void trial_finish(struct trial *t)
{
    while (t->allocations > 0)
        free(t->memory[--t->allocations]);
}

static double value_of(const struct trial *t, uint64_t key, size_t i, size_t count)
{
    double normal = txd_rng_normal(key, i);

    switch (t->fill) {
    case FILL_TINY:
        return normal * 1e-30;
    case FILL_HUGE:
        return normal * 1e9;
    case FILL_EQUAL:
        return 0.5;
    case FILL_ONE_HOT:
        return i == count / 2 ? 3.0 : 0.0;
    case FILL_ZEROS:
        return i % 2 == 0 ? 0.0 : -0.0;
    default:
        return normal;
    }
}

static double *doubles(struct trial *t, const char *name, size_t count)
{
    double *x = keep(t, count * sizeof *x);
    uint64_t key = txd_rng_key(t->size, name);

    for (size_t i = 0; i < count; i++)
        x[i] = (double)(float)value_of(t, key, i, count);
    return x;
}

/* The same numbers in the dtype under test. */
static void *narrowed(struct trial *t, const double *x, size_t count)
{
    txd_dtype dtype = t->backend->dtype;
    void *out = keep(t, count * txd_dtype_bytes(dtype));

    if (x == NULL)
        return NULL;
    txd_convert(out, dtype, x, TXD_F64, count);
    return out;
}

static void *output(struct trial *t, size_t count, size_t element)
{
    unsigned char *memory = keep(t, count * element + 2 * GUARD);
    double nan = NAN;

    memset(memory, GUARD_BYTE, count * element + 2 * GUARD);
    if (element == 1)
        memset(memory + GUARD, 0x77, count);
    for (size_t i = 0; i < count && element > 1; i++)
        txd_convert(memory + GUARD + i * element, element == 8 ? TXD_F64 : TXD_F32,
                    &nan, TXD_F64, 1);
    return memory + GUARD;
}

static void *real_output(struct trial *t, size_t count)
{
    return output(t, count, txd_dtype_bytes(t->backend->dtype));
}

static void fail(struct trial *t, const char *what, size_t i, double got, double want,
                 double allowed)
{
    if (t->failures++ == 0)
        snprintf(t->first, sizeof t->first,
                 "%s[%zu] = %.9g, expected %.9g within %.3g (size %zu, fill %d)", what,
                 i, got, want, allowed, sizes[t->size], (int)t->fill);
}

static void guards(struct trial *t, const char *what, const void *out, size_t bytes)
{
    const unsigned char *memory = out;

    for (size_t i = 0; i < GUARD; i++)
        if (memory[-1 - (ptrdiff_t)i] != GUARD_BYTE || memory[bytes + i] != GUARD_BYTE)
            fail(t, what, i, NAN, 0, 0);
}

/* `allowed` NULL: equal. A NaN is expected where ref64 has one. */
static void compare(struct trial *t, const char *what, void *out, const double *exact,
                    const double *allowed, size_t count)
{
    txd_tensor got = txd_tensor_make(t->backend->dtype, out, 1, &count);

    guards(t, what, out, count * txd_dtype_bytes(t->backend->dtype));
    for (size_t i = 0; i < count; i++) {
        double value = txd_tensor_get(&got, i), room = allowed ? allowed[i] : 0;

        t->compared++;
        if (isnan(exact[i]) ? !isnan(value) : !txd_close(value, exact[i], room))
            fail(t, what, i, value, exact[i], room);
    }
}

static int32_t *integers(struct trial *t, size_t count, int32_t below)
{
    int32_t *x = keep(t, count * sizeof *x);

    for (size_t i = 0; i < count; i++)
        x[i] =
            (int32_t)(txd_rng_bits(txd_rng_key(t->size, "ids"), i) % (uint64_t)below);
    return x;
}

static void try_embed(struct trial *t)
{
    size_t rows = sizes[t->size], width = 5, vocab = 9;
    double *table = doubles(t, "table", vocab * width);
    double *exact = keep(t, rows * width * sizeof *exact);
    struct txd_embed_args a = {.out = exact,
                               .table = table,
                               .rows = rows,
                               .width = width,
                               .ids = integers(t, rows, 9)};

    (void)txd_ref64_embed(&t->ctx, &a);
    a.table = narrowed(t, table, vocab * width);
    a.out = real_output(t, rows * width);
    (void)t->ops->embed(&t->ctx, &a);
    compare(t, "embed", a.out, exact, NULL, rows * width);
}

static void try_sinusoid(struct trial *t)
{
    size_t rows = sizes[t->size], width = 6;
    double *exact = keep(t, rows * width * sizeof *exact);
    double *allowed = keep(t, rows * width * sizeof *allowed);
    struct txd_sinusoid_args a = {.out = exact,
                                  .rows = rows,
                                  .width = width,
                                  .positions = integers(t, rows, 100000)};

    (void)txd_ref64_sinusoid(&t->ctx, &a);
    txd_bound_sinusoid(allowed, &a, txd_roundoff_of(t->backend));
    a.out = real_output(t, rows * width);
    (void)t->ops->sinusoid(&t->ctx, &a);
    compare(t, "sinusoid", a.out, exact, allowed, rows * width);
}

static void try_linear_shape(struct trial *t, size_t rows, size_t n, size_t k,
                             bool biased)
{
    double *x = doubles(t, "x", rows * k), *w = doubles(t, "w", n * k);
    double *bias = biased ? doubles(t, "bias", n) : NULL;
    double *exact = keep(t, rows * n * sizeof *exact);
    double *allowed = keep(t, rows * n * sizeof *allowed);
    struct txd_linear_args a = {
        .out = exact, .x = x, .weight = w, .bias = bias, .rows = rows, .n = n, .k = k};

    (void)txd_ref64_linear(&t->ctx, &a);
    txd_bound_linear(allowed, &a, txd_roundoff_of(t->backend));
    a.x = narrowed(t, x, rows * k);
    a.weight = narrowed(t, w, n * k);
    a.bias = narrowed(t, bias, biased ? n : 0);
    a.out = real_output(t, rows * n);
    (void)t->ops->linear(&t->ctx, &a);
    compare(t, "linear", a.out, exact, allowed, rows * n);
}

static void try_linear(struct trial *t)
{
    size_t s = sizes[t->size];

    try_linear_shape(t, s, 5, 9, true);
    try_linear_shape(t, 3, s, 9, false);
    try_linear_shape(t, 3, 5, s, true);
}

static void try_norm_kind(struct trial *t, bool rms)
{
    size_t rows = 3, width = sizes[t->size] + 1;
    double *x = doubles(t, "x", rows * width);
    double *gain = doubles(t, "gain", width), *bias = doubles(t, "bias", width);
    double *exact = keep(t, rows * width * sizeof *exact);
    double *allowed = keep(t, rows * width * sizeof *allowed);
    struct txd_norm_args a = {.out = exact,
                              .x = x,
                              .gain = gain,
                              .bias = rms ? NULL : bias,
                              .rows = rows,
                              .width = width,
                              .eps = 0x1p-17,
                              .root_mean_square = rms};

    (void)txd_ref64_norm(&t->ctx, &a);
    txd_bound_norm(allowed, &a, txd_roundoff_of(t->backend));
    a.x = narrowed(t, x, rows * width);
    a.gain = narrowed(t, gain, width);
    a.bias = rms ? NULL : narrowed(t, bias, width);
    a.out = real_output(t, rows * width);
    (void)t->ops->norm(&t->ctx, &a);
    compare(t, rms ? "rms norm" : "layer norm", a.out, exact, allowed, rows * width);
}

static void try_norm(struct trial *t)
{
    try_norm_kind(t, true);
    try_norm_kind(t, false);
}

static void try_activate(struct trial *t)
{
    size_t count = sizes[t->size] * 151;

    for (int kind = 0; kind < 4; kind++) {
        double *x = doubles(t, "x", count), *exact = keep(t, count * sizeof *exact);
        double *allowed = keep(t, count * sizeof *allowed);
        struct txd_activate_args a = {
            .out = exact, .x = x, .count = count, .kind = kind};

        (void)txd_ref64_activate(&t->ctx, &a);
        txd_bound_activate(allowed, &a, txd_roundoff_of(t->backend));
        a.x = narrowed(t, x, count);
        a.out = real_output(t, count);
        (void)t->ops->activate(&t->ctx, &a);
        compare(t, "activate", a.out, exact, allowed, count);
    }
}

static void try_pair(struct trial *t, bool product)
{
    size_t count = sizes[t->size];
    double *x = doubles(t, "a", count), *y = doubles(t, "b", count);
    double *exact = keep(t, count * sizeof *exact);
    double *allowed = keep(t, count * sizeof *allowed);
    struct txd_pair_args a = {.out = exact, .a = x, .b = y, .count = count};

    (void)(product ? txd_ref64_multiply : txd_ref64_add)(&t->ctx, &a);
    txd_bound_pair(allowed, &a, txd_roundoff_of(t->backend));
    a.a = narrowed(t, x, count);
    a.b = narrowed(t, y, count);
    a.out = real_output(t, count);
    (void)(product ? t->ops->multiply : t->ops->add)(&t->ctx, &a);
    compare(t, product ? "multiply" : "add", a.out, exact, allowed, count);
}

static void try_scale(struct trial *t)
{
    size_t count = sizes[t->size];
    double *x = doubles(t, "x", count), *exact = keep(t, count * sizeof *exact);
    double *allowed = keep(t, count * sizeof *allowed);
    struct txd_scale_args a = {.out = exact, .x = x, .factor = 0.3, .count = count};

    (void)txd_ref64_scale(&t->ctx, &a);
    txd_bound_scale(allowed, &a, txd_roundoff_of(t->backend));
    a.x = narrowed(t, x, count);
    a.out = real_output(t, count);
    (void)t->ops->scale(&t->ctx, &a);
    compare(t, "scale", a.out, exact, allowed, count);
}

static void try_heads(struct trial *t, bool split)
{
    size_t count = 2 * sizes[t->size] * 3 * 5;
    double *x = doubles(t, "x", count), *exact = keep(t, count * sizeof *exact);
    struct txd_heads_args a = {.out = exact,
                               .x = x,
                               .batch = 2,
                               .length = sizes[t->size],
                               .heads = 3,
                               .width = 5};

    (void)(split ? txd_ref64_split_heads : txd_ref64_merge_heads)(&t->ctx, &a);
    a.x = narrowed(t, x, count);
    a.out = real_output(t, count);
    (void)(split ? t->ops->split_heads : t->ops->merge_heads)(&t->ctx, &a);
    compare(t, split ? "split_heads" : "merge_heads", a.out, exact, NULL, count);
}

static void try_rotate(struct trial *t)
{
    size_t length = sizes[t->size], count = 2 * 3 * length * 10;

    for (int adjacent = 0; adjacent < 2; adjacent++) {
        double *x = doubles(t, "x", count), *exact = keep(t, count * sizeof *exact);
        double *allowed = keep(t, count * sizeof *allowed);
        struct txd_rotate_args a = {.out = exact,
                                    .x = x,
                                    .positions = integers(t, 2 * length, 100000),
                                    .batch = 2,
                                    .heads = 3,
                                    .length = length,
                                    .width = 10,
                                    .rope_width = 6,
                                    .base = 10000,
                                    .adjacent = adjacent == 1};

        (void)txd_ref64_rotate(&t->ctx, &a);
        txd_bound_rotate(allowed, &a, txd_roundoff_of(t->backend));
        a.x = narrowed(t, x, count);
        a.out = real_output(t, count);
        (void)t->ops->rotate(&t->ctx, &a);
        compare(t, "rotate", a.out, exact, allowed, count);
    }
}

/* A mask with everything in it: causal, a window, padding, two documents. */
static txd_mask_view some_mask(struct trial *t, size_t keys)
{
    int32_t *positions = keep(t, keys * sizeof *positions);
    int32_t *valid = keep(t, keys * sizeof *valid);
    int32_t *document = keep(t, keys * sizeof *document);
    txd_mask_view mask = {true, 5, positions, document, positions, document, valid};

    for (size_t i = 0; i < keys; i++) {
        positions[i] = (int32_t)i;
        valid[i] = i % 11 != 3;
        document[i] = i > keys / 2;
    }
    return mask;
}

static void try_visible(struct trial *t)
{
    size_t keys = sizes[t->size];
    txd_mask_view mask = some_mask(t, keys);
    uint8_t *exact = keep(t, keys * keys);
    struct txd_visible_args a = {.at = {.first_query = 0},
                                 .out = exact,
                                 .mask = &mask,
                                 .rows = keys,
                                 .keys = keys};

    (void)txd_ref64_visible(&t->ctx, &a);
    a.out = output(t, keys * keys, 1);
    (void)t->ops->visible(&t->ctx, &a);
    guards(t, "visible", a.out, keys * keys);
    for (size_t i = 0; i < keys * keys; i++) {
        t->compared++;
        if (a.out[i] != exact[i])
            fail(t, "visible", i, a.out[i], exact[i], 0);
    }
}

static void try_scores(struct trial *t)
{
    size_t rows = 4, keys = sizes[t->size], width = 9;
    double *q = doubles(t, "q", rows * width), *k = doubles(t, "k", keys * width);
    double *exact = keep(t, rows * keys * sizeof *exact);
    double *allowed = keep(t, rows * keys * sizeof *allowed);
    struct txd_scores_args a = {.out = exact,
                                .q = q,
                                .k = k,
                                .rows = rows,
                                .keys = keys,
                                .width = width,
                                .stride = keys,
                                .scale = 1 / 3.0};

    (void)txd_ref64_scores(&t->ctx, &a);
    txd_bound_scores(allowed, &a, txd_roundoff_of(t->backend));
    a.q = narrowed(t, q, rows * width);
    a.k = narrowed(t, k, keys * width);
    a.out = real_output(t, rows * keys);
    (void)t->ops->scores(&t->ctx, &a);
    compare(t, "scores", a.out, exact, allowed, rows * keys);
}

static uint8_t *some_cells(struct trial *t, size_t count)
{
    uint8_t *cells = keep(t, count);

    for (size_t i = 0; i < count; i++)
        cells[i] = txd_rng_bits(txd_rng_key(1, "cells"), i) % 3 != 0;
    return cells;
}

static void try_mask(struct trial *t)
{
    size_t rows = 4, keys = sizes[t->size], count = rows * keys;
    double *x = doubles(t, "x", count), *exact = keep(t, count * sizeof *exact);
    struct txd_mask_args a = {.out = exact,
                              .scores = x,
                              .rows = rows,
                              .keys = keys,
                              .stride = keys,
                              .fill = -INFINITY,
                              .visible = some_cells(t, count)};

    (void)txd_ref64_mask(&t->ctx, &a);
    a.scores = narrowed(t, x, count);
    a.out = real_output(t, count);
    (void)t->ops->mask(&t->ctx, &a);
    compare(t, "mask", a.out, exact, NULL, count);
}

/* Scores with hidden cells; the last row entirely hidden with FILL_MASKED_ROW. */
static double *masked_scores(struct trial *t, size_t rows, size_t keys)
{
    double *x = doubles(t, "masked", rows * keys);
    const uint8_t *seen = some_cells(t, rows * keys);

    for (size_t i = 0; i < rows * keys; i++) {
        x[i] = t->fill == FILL_HUGE ? x[i] * 1e-5 : x[i];
        x[i] = (double)(float)x[i];
        if (!seen[i] || (t->fill == FILL_MASKED_ROW && i / keys == rows - 1))
            x[i] = -INFINITY;
    }
    return x;
}

static void try_softmax(struct trial *t)
{
    size_t rows = 4, keys = sizes[t->size], count = rows * keys;

    for (int policy = 0; policy < 3; policy++) {
        double *x = masked_scores(t, rows, keys);
        double *exact = keep(t, count * sizeof *exact);
        double *allowed = keep(t, count * sizeof *allowed);
        struct txd_softmax_args a = {.out = exact,
                                     .masked = x,
                                     .rows = rows,
                                     .keys = keys,
                                     .stride = keys,
                                     .end = keys,
                                     .masked_row = policy,
                                     .max = keep(t, rows * sizeof(double)),
                                     .lse = keep(t, rows * sizeof(double))};

        (void)txd_ref64_softmax(&t->ctx, &a);
        txd_bound_softmax(allowed, &a, txd_roundoff_of(t->backend));
        a.masked = narrowed(t, x, count);
        a.out = real_output(t, count);
        (void)t->ops->softmax(&t->ctx, &a);
        compare(t, "softmax", a.out, exact, allowed, count);
    }
}

static void try_rows(struct trial *t)
{
    size_t rows = 3, keys = sizes[t->size], wide = TXD_ROW_COUNT;
    double *w = doubles(t, "weights", rows * keys), *max = doubles(t, "max", rows);
    uint8_t *hidden = keep(t, rows * keys);
    double *got = output(t, rows * wide, sizeof(double));
    double *exact = keep(t, rows * wide * sizeof *exact);
    struct txd_rows_args a = {.at = {.first_query = 1},
                              .rows = exact,
                              .weights = w,
                              .max = max,
                              .lse = max,
                              .hidden = hidden,
                              .seen = integers(t, rows, 9),
                              .first_seen = integers(t, rows, 3),
                              .row_count = rows,
                              .keys = keys,
                              .stride = keys,
                              .key_begin = 1};

    for (size_t i = 0; i < rows * keys; i++) {
        hidden[i] = (uint8_t)(i % 5);
        w[i] = fabs(w[i]);
    }
    (void)txd_ref64_rows(&t->ctx, &a);
    a.weights = narrowed(t, w, rows * keys);
    a.rows = got;
    (void)t->ops->rows(&t->ctx, &a);
    guards(t, "rows", got, rows * wide * sizeof(double));
    for (size_t i = 0; i < rows * wide; i++) {
        double room = 2 * t->backend->u_store * fabs(exact[i]) + 0x1p-149;

        t->compared++;
        if (!txd_close(got[i], exact[i], room))
            fail(t, txd_row_get((txd_row)(i % wide))->name, i, got[i], exact[i], room);
    }
}

static void try_mix(struct trial *t)
{
    size_t rows = 4, keys = sizes[t->size], width = 5;
    double *w = doubles(t, "w", rows * keys), *v = doubles(t, "v", keys * width);
    double *exact = keep(t, rows * width * sizeof *exact);
    double *allowed = keep(t, rows * width * sizeof *allowed);
    uint8_t *used = some_cells(t, rows * keys);
    struct txd_mix_args a = {.out = exact,
                             .weights = w,
                             .v = v,
                             .used = used,
                             .rows = rows,
                             .keys = keys,
                             .stride = keys,
                             .width = width};

    /* Hidden weights are zero, and one hidden key has a NaN value, as behind a mask. */
    for (size_t i = 0; i < rows * keys; i++) {
        used[i] = used[i] && i % keys != 2;
        w[i] = used[i] ? w[i] : 0;
    }
    for (size_t f = 0; f < width && keys > 2; f++)
        v[2 * width + f] = t->fill == FILL_NORMAL ? (double)NAN : v[2 * width + f];
    (void)txd_ref64_mix(&t->ctx, &a);
    txd_bound_mix(allowed, &a, txd_roundoff_of(t->backend));
    a.weights = narrowed(t, w, rows * keys);
    a.v = narrowed(t, v, keys * width);
    a.out = real_output(t, rows * width);
    (void)t->ops->mix(&t->ctx, &a);
    compare(t, "mix", a.out, exact, allowed, rows * width);
}

static void try_loss(struct trial *t)
{
    size_t rows = 4, vocab = sizes[t->size] + 1;
    double *x = doubles(t, "logits", rows * vocab), exact[4], allowed[4];
    int32_t *targets = integers(t, rows, (int32_t)vocab);
    struct txd_loss_args a = {
        .out = exact, .logits = x, .targets = targets, .rows = rows, .vocab = vocab};

    targets[1] = -1;
    (void)txd_ref64_loss(&t->ctx, &a);
    txd_bound_loss(allowed, &a, txd_roundoff_of(t->backend));
    a.logits = narrowed(t, x, rows * vocab);
    a.out = real_output(t, rows);
    (void)t->ops->loss(&t->ctx, &a);
    compare(t, "loss", a.out, exact, allowed, rows);
}

static void try_stats(struct trial *t)
{
    size_t rows = 3, width = sizes[t->size], count = rows * width;
    double *x = doubles(t, "x", count), exact[TXD_STAT_COUNT_OF],
           got[TXD_STAT_COUNT_OF];
    struct txd_stats_part part;
    struct txd_stats_args a = {.part = &part,
                               .x = x,
                               .rows = rows,
                               .width = width,
                               .stride = width,
                               .flat_stride = width,
                               .skip_cell = some_cells(t, count)};

    if (count > 4 && t->fill == FILL_NORMAL)
        x[4] = INFINITY;
    (void)txd_ref64_stats(&t->ctx, &a);
    txd_stats_final(exact, &part);
    a.x = narrowed(t, x, count);
    memset(&part, 0xff, sizeof part);
    (void)t->ops->stats(&t->ctx, &a);
    txd_stats_final(got, &part);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++) {
        double room = 1e-9 * fabs(exact[i]);

        t->compared++;
        if (isnan(exact[i]) ? !isnan(got[i]) : !txd_close(got[i], exact[i], room))
            fail(t, txd_stat_get((txd_stat)i)->name, 0, got[i], exact[i], room);
    }
}

static void try_multiply(struct trial *t)
{
    try_pair(t, true);
}

static void try_add(struct trial *t)
{
    try_pair(t, false);
}

static void try_split_heads(struct trial *t)
{
    try_heads(t, true);
}

static void try_merge_heads(struct trial *t)
{
    try_heads(t, false);
}

void trial_run(struct trial *trial, txd_op op)
{
    static void (*const trials[TXD_OP_COUNT])(struct trial *) = {
#define TXD_OP(name, arguments) try_##name,
        TXD_OPS(TXD_OP)
#undef TXD_OP
    };

    trials[op](trial);
}
