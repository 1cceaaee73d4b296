/* SPDX-License-Identifier: MIT
 *
 * Trials of what becomes of scores before their softmax, there and back.
 */
#include "ops/ref.h"
#include "trial.h"

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
