/* SPDX-License-Identifier: MIT
 *
 * Slopes of what becomes of scores before their softmax.
 */
#include "ops/ref.h"
#include "slope.h"

SLOPE_FORWARD(softcap)

#define GAP 3 /* cells between the rows of a tile */

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
