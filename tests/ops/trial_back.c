/* SPDX-License-Identifier: MIT
 *
 * Trials of the backward entries of embeddings, linear maps, norms, activations, pairs,
 * and of those whose backward entry takes the arguments of the forward one.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "trial.h"

void trial_embed_back(struct trial *t)
{
    size_t rows = trial_sizes[t->size], width = 5, vocab = 9;
    double *d_out = trial_doubles(t, "d_out", rows * width);
    struct txd_embed_back_args a = {.d_out = d_out,
                                    .ids = trial_integers(t, rows, (int32_t)vocab),
                                    .rows = rows,
                                    .width = width};
    struct trial_result r = {
        .name = "d_table", .slot = &a.d_table, .count = vocab * width, .added = true};

    trial_results_begin(t, &r, 1);
    (void)txd_ref64_embed_back(&t->ctx, &a);
    txd_bound_embed_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows * width);
    trial_results_check(t, TXD_OP_embed_back, &a, &r, 1);
}

void trial_linear_back_shape(struct trial *t, size_t rows, size_t n, size_t k, bool add)
{
    double *d_out = trial_doubles(t, "d_out", rows * n);
    double *x = trial_doubles(t, "x", rows * k), *w = trial_doubles(t, "w", n * k);
    struct txd_linear_back_args a = {
        .d_out = d_out, .x = x, .weight = w, .rows = rows, .n = n, .k = k, .add = add};
    struct trial_result r[] = {
        {.name = "d_x", .slot = &a.d_x, .count = rows * k, .added = add},
        {.name = "d_weight", .slot = &a.d_weight, .count = n * k, .added = true},
        {.name = "d_bias", .slot = &a.d_bias, .count = n, .added = true}};

    trial_results_begin(t, r, 3);
    (void)txd_ref64_linear_back(&t->ctx, &a);
    txd_bound_linear_back(r[0].allowed, r[1].allowed, r[2].allowed, &a,
                          txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows * n);
    a.x = trial_narrowed(t, x, rows * k);
    a.weight = trial_narrowed(t, w, n * k);
    trial_results_check(t, TXD_OP_linear_back, &a, r, 3);
}

void trial_linear_back(struct trial *t)
{
    size_t s = trial_sizes[t->size];

    trial_linear_back_shape(t, s, 5, 9, false);
    trial_linear_back_shape(t, 3, s, 9, true);
    trial_linear_back_shape(t, 3, 5, s, false);
    trial_linear_back_shape(t, s, 3, 5 * s, true);
    trial_linear_back_shape(t, 3, 5 * s, 7, false); /* past a block of outputs */
}

static void norm_back_kind(struct trial *t, size_t rows, bool rms, bool add)
{
    size_t width = trial_sizes[t->size] + 1, count = rows * width;
    double *d_out = trial_doubles(t, "d_out", count), *x = trial_doubles(t, "x", count);
    double *gain = trial_doubles(t, "gain", width);
    struct txd_norm_back_args a = {.d_out = d_out,
                                   .x = x,
                                   .gain = gain,
                                   .rows = rows,
                                   .width = width,
                                   .eps = 0x1p-17,
                                   .offset = add ? 0.75 : 0,
                                   .root_mean_square = rms,
                                   .add = add};
    struct trial_result r[] = {
        {.name = "d_x", .slot = &a.d_x, .count = count, .added = add},
        {.name = "d_gain", .slot = &a.d_gain, .count = width, .added = true},
        {.name = "d_bias", .slot = &a.d_bias, .count = width, .added = true}};

    trial_results_begin(t, r, 3);
    (void)txd_ref64_norm_back(&t->ctx, &a);
    txd_bound_norm_back(r[0].allowed, r[1].allowed, r[2].allowed, &a,
                        txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, count);
    a.x = trial_narrowed(t, x, count);
    a.gain = trial_narrowed(t, gain, width);
    trial_results_check(t, TXD_OP_norm_back, &a, r, 3);
}

void trial_norm_back(struct trial *t)
{
    norm_back_kind(t, 3, true, false);
    norm_back_kind(t, 3, false, true);
    norm_back_kind(t, 1, false, false);
    if (t->size < 3)
        norm_back_kind(t, 2050, true, true); /* more than two blocks of rows */
}

void trial_activate_back(struct trial *t)
{
    size_t count = trial_sizes[t->size] * 151;

    for (int kind = 0; kind < 4; kind++) {
        double *d_out = trial_doubles(t, "d_out", count);
        double *x = trial_doubles(t, "x", count);
        struct txd_activate_back_args a = {
            .d_out = d_out, .x = x, .count = count, .kind = kind};
        struct trial_result r = {.name = "d_x", .slot = &a.d_x, .count = count};

        trial_results_begin(t, &r, 1);
        (void)txd_ref64_activate_back(&t->ctx, &a);
        txd_bound_activate_back(r.allowed, &a, txd_roundoff_of(t->backend));
        a.d_out = trial_narrowed(t, d_out, count);
        a.x = trial_narrowed(t, x, count);
        trial_results_check(t, TXD_OP_activate_back, &a, &r, 1);
    }
}

static void pair_back(struct trial *t, bool product)
{
    size_t count = trial_sizes[t->size];
    double *d_out = trial_doubles(t, "d_out", count);
    double *x = trial_doubles(t, "a", count), *y = trial_doubles(t, "b", count);
    struct txd_pair_back_args a = {.d_out = d_out, .count = count};
    struct trial_result r[] = {{.name = "d_a", .slot = &a.d_a, .count = count},
                               {.name = "d_b", .slot = &a.d_b, .count = count}};

    a.a = product ? x : NULL;
    a.b = product ? y : NULL;
    trial_results_begin(t, r, 2);
    if (product) {
        (void)txd_ref64_multiply_back(&t->ctx, &a);
        txd_bound_multiply_back(r[0].allowed, r[1].allowed, &a,
                                txd_roundoff_of(t->backend));
        a.a = trial_narrowed(t, x, count);
        a.b = trial_narrowed(t, y, count);
    } else {
        (void)txd_ref64_add_back(&t->ctx, &a);
        r[0].allowed = r[1].allowed = NULL;
    }
    a.d_out = trial_narrowed(t, d_out, count);
    trial_results_check(t, product ? TXD_OP_multiply_back : TXD_OP_add_back, &a, r, 2);
}

void trial_multiply_back(struct trial *t)
{
    pair_back(t, true);
}

void trial_add_back(struct trial *t)
{
    pair_back(t, false);
}

void trial_scale_back(struct trial *t)
{
    size_t count = trial_sizes[t->size];
    double *d_out = trial_doubles(t, "d_out", count);
    struct txd_scale_args a = {.x = d_out, .factor = 0.3, .count = count};
    struct trial_result r = {.name = "d_x", .slot = &a.out, .count = count};

    trial_results_begin(t, &r, 1);
    (void)txd_ref64_scale_back(&t->ctx, &a);
    txd_bound_scale(r.allowed, &a, txd_roundoff_of(t->backend));
    a.x = trial_narrowed(t, d_out, count);
    trial_results_check(t, TXD_OP_scale_back, &a, &r, 1);
}

static void heads_back(struct trial *t, bool split)
{
    size_t length = trial_sizes[t->size], count = 2 * length * 3 * 5;
    double *d_out = trial_doubles(t, "d_out", count);
    struct txd_heads_args a = {
        .x = d_out, .batch = 2, .length = length, .heads = 3, .width = 5};
    struct trial_result r = {.name = "d_x", .slot = &a.out, .count = count};

    trial_results_begin(t, &r, 1);
    r.allowed = NULL;
    (void)(split ? txd_ref64_split_heads_back : txd_ref64_merge_heads_back)(&t->ctx,
                                                                            &a);
    a.x = trial_narrowed(t, d_out, count);
    trial_results_check(t, split ? TXD_OP_split_heads_back : TXD_OP_merge_heads_back,
                        &a, &r, 1);
}

void trial_split_heads_back(struct trial *t)
{
    heads_back(t, true);
}

void trial_merge_heads_back(struct trial *t)
{
    heads_back(t, false);
}

void trial_rotate_back(struct trial *t)
{
    size_t length = trial_sizes[t->size], count = 2 * 3 * length * 10;

    for (int kind = 0; kind < 4; kind++) {
        double *d_out = trial_doubles(t, "d_out", count);
        struct txd_rotate_args a = {.x = d_out,
                                    .positions = trial_integers(t, 2 * length, 100000),
                                    .batch = 2,
                                    .heads = 3,
                                    .length = length,
                                    .width = 10,
                                    .rope_width = 6,
                                    .base = 10000,
                                    .adjacent = kind % 2 == 1,
                                    .turns = kind < 2 ? NULL : &trial_turns};
        struct trial_result r = {.name = "d_x", .slot = &a.out, .count = count};

        trial_results_begin(t, &r, 1);
        (void)txd_ref64_rotate_back(&t->ctx, &a);
        txd_bound_rotate(r.allowed, &a, txd_roundoff_of(t->backend));
        a.x = trial_narrowed(t, d_out, count);
        trial_results_check(t, TXD_OP_rotate_back, &a, &r, 1);
    }
}
