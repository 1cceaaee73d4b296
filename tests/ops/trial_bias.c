/* SPDX-License-Identifier: MIT
 *
 * Trials of what becomes of scores before their softmax, there and back.
 */
#include "ops/ref.h"
#include "trial.h"

#define ROWS 3

/* Distances of all signs, farther than the table goes. */
static const int32_t buckets[] = {2, 2, 0, 1, 1, 3, 4};
static const struct txd_relative relative = {
    .bucket_of = buckets, .farthest = 3, .buckets = 5, .heads = 3, .head = 1};

static const int32_t queries[ROWS] = {4, 0, 100000};

static const int32_t *keys_of(struct trial *t, size_t keys)
{
    int32_t *at = trial_keep(t, keys * sizeof *at);

    for (size_t j = 0; j < keys; j++)
        at[j] = (int32_t)(j % 12);
    return at;
}

/* By a slope or a table; with scores or alone. */
static void bias(struct trial *t, bool by_table, bool alone)
{
    size_t keys = trial_sizes[t->size], count = ROWS * keys;
    double *scores = trial_doubles(t, "scores", count);
    double *table = trial_doubles(t, "table", 5 * 3);
    double *exact = trial_keep(t, count * sizeof *exact);
    double *allowed = trial_keep(t, count * sizeof *allowed);
    struct txd_relative r = relative;
    struct txd_bias_args a = {.out = exact,
                              .scores = alone ? NULL : scores,
                              .query_positions = queries,
                              .key_positions = keys_of(t, keys),
                              .slope = 0.3,
                              .relative = by_table ? &r : NULL,
                              .rows = ROWS,
                              .keys = keys,
                              .stride = keys};

    r.table = table;
    (void)txd_ref64_bias(&t->ctx, &a);
    txd_bound_bias(allowed, &a, txd_roundoff_of(t->backend));
    r.table = trial_narrowed(t, table, 5 * 3);
    a.scores = alone ? NULL : trial_narrowed(t, scores, count);
    a.out = trial_real_output(t, count);
    (void)t->ops->bias(&t->ctx, &a);
    trial_compare(t, by_table ? "bias by a table" : "bias by a slope", a.out, exact,
                  allowed, count);
}

void trial_bias(struct trial *t)
{
    for (int i = 0; i < 4; i++)
        bias(t, i % 2 == 1, i / 2 == 1);
}

void trial_bias_back(struct trial *t)
{
    size_t keys = trial_sizes[t->size], stride = keys + 3;
    double *d_out = trial_doubles(t, "d_out", ROWS * stride);
    struct txd_bias_back_args a = {.d_out = d_out,
                                   .query_positions = queries,
                                   .key_positions = keys_of(t, keys),
                                   .relative = &relative,
                                   .rows = ROWS,
                                   .keys = keys,
                                   .stride = stride};
    struct trial_result r = {
        .name = "d_table", .slot = &a.d_table, .count = 5 * 3, .added = true};

    trial_results_begin(t, &r, 1);
    (void)txd_ref64_bias_back(&t->ctx, &a);
    txd_bound_bias_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, ROWS * stride);
    trial_results_check(t, TXD_OP_bias_back, &a, &r, 1);
}

void trial_softcap(struct trial *t)
{
    size_t rows = 3, width = trial_sizes[t->size], count = rows * width;
    const double caps[] = {30, 0.4};

    for (int i = 0; i < 2; i++) {
        double *x = trial_doubles(t, "x", count);
        double *exact = trial_keep(t, count * sizeof *exact);
        double *allowed = trial_keep(t, count * sizeof *allowed);
        struct txd_softcap_args a = {.out = exact,
                                     .x = x,
                                     .cap = caps[i],
                                     .rows = rows,
                                     .width = width,
                                     .stride = width};

        (void)txd_ref64_softcap(&t->ctx, &a);
        txd_bound_softcap(allowed, &a, txd_roundoff_of(t->backend));
        a.x = trial_narrowed(t, x, count);
        a.out = trial_real_output(t, count);
        (void)t->ops->softcap(&t->ctx, &a);
        trial_compare(t, "softcap", a.out, exact, allowed, count);
    }
}

void trial_softcap_back(struct trial *t)
{
    size_t rows = 3, width = trial_sizes[t->size], stride = width + 3;
    double *d_out = trial_doubles(t, "d_out", rows * stride);
    double *x = trial_doubles(t, "x", rows * stride);
    struct txd_softcap_back_args a = {.d_out = d_out,
                                      .x = x,
                                      .cap = 0.7,
                                      .rows = rows,
                                      .width = width,
                                      .stride = stride};
    struct trial_result r = {.name = "d_x",
                             .slot = &a.d_x,
                             .count = rows * stride,
                             .keys = width,
                             .stride = stride};

    trial_results_begin(t, &r, 1);
    (void)txd_ref64_softcap_back(&t->ctx, &a);
    txd_bound_softcap_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows * stride);
    a.x = trial_narrowed(t, x, rows * stride);
    trial_results_check(t, TXD_OP_softcap_back, &a, &r, 1);
}
