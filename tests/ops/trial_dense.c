/* SPDX-License-Identifier: MIT
 *
 * Trials of embeddings, linear maps, norms, activations and head layout.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "trial.h"

void trial_embed(struct trial *t)
{
    size_t rows = trial_sizes[t->size], width = 5, vocab = 9;
    double *table = trial_doubles(t, "table", vocab * width);
    double *exact = trial_keep(t, rows * width * sizeof *exact);
    struct txd_embed_args a = {.out = exact,
                               .table = table,
                               .rows = rows,
                               .width = width,
                               .ids = trial_integers(t, rows, 9)};

    (void)txd_ref64_embed(&t->ctx, &a);
    a.table = trial_narrowed(t, table, vocab * width);
    a.out = trial_real_output(t, rows * width);
    (void)t->ops->embed(&t->ctx, &a);
    trial_compare(t, "embed", a.out, exact, NULL, rows * width);
}

void trial_sinusoid(struct trial *t)
{
    size_t rows = trial_sizes[t->size], width = 6;
    double *exact = trial_keep(t, rows * width * sizeof *exact);
    double *allowed = trial_keep(t, rows * width * sizeof *allowed);
    struct txd_sinusoid_args a = {.out = exact,
                                  .rows = rows,
                                  .width = width,
                                  .positions = trial_integers(t, rows, 100000)};

    (void)txd_ref64_sinusoid(&t->ctx, &a);
    txd_bound_sinusoid(allowed, &a, txd_roundoff_of(t->backend));
    a.out = trial_real_output(t, rows * width);
    (void)t->ops->sinusoid(&t->ctx, &a);
    trial_compare(t, "sinusoid", a.out, exact, allowed, rows * width);
}

void trial_linear_shape(struct trial *t, size_t rows, size_t n, size_t k, bool biased)
{
    double *x = trial_doubles(t, "x", rows * k), *w = trial_doubles(t, "w", n * k);
    double *bias = biased ? trial_doubles(t, "bias", n) : NULL;
    double *exact = trial_keep(t, rows * n * sizeof *exact);
    double *allowed = trial_keep(t, rows * n * sizeof *allowed);
    struct txd_linear_args a = {
        .out = exact, .x = x, .weight = w, .bias = bias, .rows = rows, .n = n, .k = k};

    (void)txd_ref64_linear(&t->ctx, &a);
    txd_bound_linear(allowed, &a, txd_roundoff_of(t->backend));
    a.x = trial_narrowed(t, x, rows * k);
    a.weight = trial_narrowed(t, w, n * k);
    a.bias = trial_narrowed(t, bias, biased ? n : 0);
    a.out = trial_real_output(t, rows * n);
    (void)t->ops->linear(&t->ctx, &a);
    trial_compare(t, "linear", a.out, exact, allowed, rows * n);
}

void trial_linear(struct trial *t)
{
    size_t s = trial_sizes[t->size];

    trial_linear_shape(t, s, 5, 9, true);
    trial_linear_shape(t, 3, s, 9, false);
    trial_linear_shape(t, 3, 5, s, true);
    trial_linear_shape(t, 3, 5 * s, 7, true); /* past a block of outputs */
}

static void norm_kind(struct trial *t, bool rms, double offset)
{
    size_t rows = 3, width = trial_sizes[t->size] + 1;
    double *x = trial_doubles(t, "x", rows * width);
    double *gain = trial_doubles(t, "gain", width),
           *bias = trial_doubles(t, "bias", width);
    double *exact = trial_keep(t, rows * width * sizeof *exact);
    double *allowed = trial_keep(t, rows * width * sizeof *allowed);
    struct txd_norm_args a = {.out = exact,
                              .x = x,
                              .gain = gain,
                              .bias = rms ? NULL : bias,
                              .rows = rows,
                              .width = width,
                              .eps = 0x1p-17,
                              .offset = offset,
                              .root_mean_square = rms};

    (void)txd_ref64_norm(&t->ctx, &a);
    txd_bound_norm(allowed, &a, txd_roundoff_of(t->backend));
    a.x = trial_narrowed(t, x, rows * width);
    a.gain = trial_narrowed(t, gain, width);
    a.bias = rms ? NULL : trial_narrowed(t, bias, width);
    a.out = trial_real_output(t, rows * width);
    (void)t->ops->norm(&t->ctx, &a);
    trial_compare(t, rms ? "rms norm" : "layer norm", a.out, exact, allowed,
                  rows * width);
}

void trial_norm(struct trial *t)
{
    norm_kind(t, true, 0);
    norm_kind(t, false, 0);
    norm_kind(t, true, 1);
    norm_kind(t, false, -0.75);
}

void trial_activate(struct trial *t)
{
    size_t count = trial_sizes[t->size] * 151;

    for (int kind = 0; kind < 4; kind++) {
        double *x = trial_doubles(t, "x", count),
               *exact = trial_keep(t, count * sizeof *exact);
        double *allowed = trial_keep(t, count * sizeof *allowed);
        struct txd_activate_args a = {
            .out = exact, .x = x, .count = count, .kind = kind};

        (void)txd_ref64_activate(&t->ctx, &a);
        txd_bound_activate(allowed, &a, txd_roundoff_of(t->backend));
        a.x = trial_narrowed(t, x, count);
        a.out = trial_real_output(t, count);
        (void)t->ops->activate(&t->ctx, &a);
        trial_compare(t, "activate", a.out, exact, allowed, count);
    }
}

static void pair(struct trial *t, bool product)
{
    size_t count = trial_sizes[t->size];
    double *x = trial_doubles(t, "a", count), *y = trial_doubles(t, "b", count);
    double *exact = trial_keep(t, count * sizeof *exact);
    double *allowed = trial_keep(t, count * sizeof *allowed);
    struct txd_pair_args a = {.out = exact, .a = x, .b = y, .count = count};

    (void)(product ? txd_ref64_multiply : txd_ref64_add)(&t->ctx, &a);
    txd_bound_pair(allowed, &a, txd_roundoff_of(t->backend));
    a.a = trial_narrowed(t, x, count);
    a.b = trial_narrowed(t, y, count);
    a.out = trial_real_output(t, count);
    (void)(product ? t->ops->multiply : t->ops->add)(&t->ctx, &a);
    trial_compare(t, product ? "multiply" : "add", a.out, exact, allowed, count);
}

void trial_scale(struct trial *t)
{
    size_t count = trial_sizes[t->size];
    double *x = trial_doubles(t, "x", count),
           *exact = trial_keep(t, count * sizeof *exact);
    double *allowed = trial_keep(t, count * sizeof *allowed);
    struct txd_scale_args a = {.out = exact, .x = x, .factor = 0.3, .count = count};

    (void)txd_ref64_scale(&t->ctx, &a);
    txd_bound_scale(allowed, &a, txd_roundoff_of(t->backend));
    a.x = trial_narrowed(t, x, count);
    a.out = trial_real_output(t, count);
    (void)t->ops->scale(&t->ctx, &a);
    trial_compare(t, "scale", a.out, exact, allowed, count);
}

static void heads(struct trial *t, bool split)
{
    size_t count = 2 * trial_sizes[t->size] * 3 * 5;
    double *x = trial_doubles(t, "x", count),
           *exact = trial_keep(t, count * sizeof *exact);
    struct txd_heads_args a = {.out = exact,
                               .x = x,
                               .batch = 2,
                               .length = trial_sizes[t->size],
                               .heads = 3,
                               .width = 5};

    (void)(split ? txd_ref64_split_heads : txd_ref64_merge_heads)(&t->ctx, &a);
    a.x = trial_narrowed(t, x, count);
    a.out = trial_real_output(t, count);
    (void)(split ? t->ops->split_heads : t->ops->merge_heads)(&t->ctx, &a);
    trial_compare(t, split ? "split_heads" : "merge_heads", a.out, exact, NULL, count);
}

void trial_rotate(struct trial *t)
{
    size_t length = trial_sizes[t->size], count = 2 * 3 * length * 10;

    for (int kind = 0; kind < 4; kind++) {
        double *x = trial_doubles(t, "x", count),
               *exact = trial_keep(t, count * sizeof *exact);
        double *allowed = trial_keep(t, count * sizeof *allowed);
        struct txd_rotate_args a = {.out = exact,
                                    .x = x,
                                    .positions = trial_integers(t, 2 * length, 100000),
                                    .batch = 2,
                                    .heads = 3,
                                    .length = length,
                                    .width = 10,
                                    .rope_width = 6,
                                    .base = 10000,
                                    .adjacent = kind % 2 == 1,
                                    .turns = kind < 2 ? NULL : &trial_turns};

        (void)txd_ref64_rotate(&t->ctx, &a);
        txd_bound_rotate(allowed, &a, txd_roundoff_of(t->backend));
        a.x = trial_narrowed(t, x, count);
        a.out = trial_real_output(t, count);
        (void)t->ops->rotate(&t->ctx, &a);
        trial_compare(t, "rotate", a.out, exact, allowed, count);
    }
}

void trial_multiply(struct trial *t)
{
    pair(t, true);
}

void trial_add(struct trial *t)
{
    pair(t, false);
}

void trial_split_heads(struct trial *t)
{
    heads(t, true);
}

void trial_merge_heads(struct trial *t)
{
    heads(t, false);
}
