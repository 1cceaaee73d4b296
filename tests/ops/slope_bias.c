/* SPDX-License-Identifier: MIT
 *
 * Slopes of what becomes of scores before their softmax.
 */
#include "ops/ref.h"
#include "slope.h"

SLOPE_FORWARD(softcap)

#define GAP 3 /* cells between the rows of a tile */

SLOPE_FORWARD(bias)

/* The table alone has a slope: that of the scores is 1. */
void slope_bias_back(struct trial *t)
{
    static const int32_t bucket_of[] = {2, 2, 0, 1, 1}, queries[] = {4, 0, 9};
    size_t rows = 3, keys = trial_sizes[t->size], stride = keys + GAP;
    struct slope s = {.name = "bias", .forward = forward_bias};
    double *table = slope_numbers(t, "table", 3 * 2);
    struct txd_relative relative = {table, bucket_of, 2, 3, 2, 1};
    struct txd_bias_args f = {.query_positions = queries,
                              .key_positions = trial_integers(t, keys, 12),
                              .relative = &relative,
                              .rows = rows,
                              .keys = keys,
                              .stride = stride};
    struct txd_bias_back_args b = {.query_positions = queries,
                                   .key_positions = f.key_positions,
                                   .relative = &relative,
                                   .rows = rows,
                                   .keys = keys,
                                   .stride = stride};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s, (struct slope_input){"table", .x = table, .count = 3 * 2},
                &b.d_table, true);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_bias(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_bias_back(&t->ctx, &b);
    txd_bound_bias_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_softcap_back(struct trial *t)
{
    size_t rows = 3, width = trial_sizes[t->size], stride = width + GAP;
    struct slope s = {.name = "softcap", .forward = forward_softcap};
    double *x = slope_numbers(t, "x", rows * stride);
    struct txd_softcap_args f = {
        .x = x, .cap = 0.9, .rows = rows, .width = width, .stride = stride};
    struct txd_softcap_back_args b = {
        .x = x, .cap = 0.9, .rows = rows, .width = width, .stride = stride};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s,
                (struct slope_input){"x", .x = x, .count = rows * stride, .keys = width,
                                     .stride = stride},
                &b.d_x, false);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_softcap(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_softcap_back(&t->ctx, &b);
    txd_bound_softcap_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}
