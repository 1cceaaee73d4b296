/* SPDX-License-Identifier: MIT
 *
 * Soft capping over the whole range of its argument, where trials have few numbers.
 */
#include <math.h>

#include "ops/kernels.h"
#include "suite.h"
#include "trial.h"

#define COUNT 4096

/* From 1e-12 to 1e6 of the cap, of both signs. */
static void fill(double *x, double cap)
{
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (double)(float)((i % 2 ? -cap : cap) *
                               pow(10, -12 + 18 * (double)i / COUNT));
}

static void check_there(struct trial *t, double cap)
{
    double *x = trial_keep(t, COUNT * sizeof *x);
    double *exact = trial_keep(t, COUNT * sizeof *exact);
    struct txd_softcap_args a = {
        .rows = 1, .width = COUNT, .stride = COUNT, .cap = cap};

    fill(x, cap);
    for (size_t i = 0; i < COUNT; i++)
        exact[i] = cap * tanh(x[i] / cap);
    a.x = x;
    a.out = exact;
    txd_bound_softcap(x = trial_keep(t, COUNT * sizeof *x), &a,
                      txd_roundoff_of(t->backend));
    a.out = trial_real_output(t, COUNT);
    a.x = trial_narrowed(t, a.x, COUNT);
    ck_assert_int_eq(t->ops->softcap(&t->ctx, &a), TXD_OK);
    trial_compare(t, "softcap", a.out, exact, x, COUNT);
}

static void check_back(struct trial *t, double cap)
{
    double *x = trial_keep(t, COUNT * sizeof *x);
    double *d = trial_keep(t, COUNT * sizeof *d);
    double *exact = trial_keep(t, COUNT * sizeof *exact);
    double *allowed = trial_keep(t, COUNT * sizeof *allowed);
    struct txd_softcap_back_args a = {
        .rows = 1, .width = COUNT, .stride = COUNT, .cap = cap, .d_out = d, .x = x};

    fill(x, cap);
    for (size_t i = 0; i < COUNT; i++) {
        d[i] = 1.5;
        exact[i] = 1.5 / (cosh(x[i] / cap) * cosh(x[i] / cap));
    }
    a.d_x = exact;
    txd_bound_softcap_back(allowed, &a, txd_roundoff_of(t->backend));
    a.d_x = trial_real_output(t, COUNT);
    a.x = trial_narrowed(t, x, COUNT);
    a.d_out = trial_narrowed(t, d, COUNT);
    ck_assert_int_eq(t->ops->softcap_back(&t->ctx, &a), TXD_OK);
    trial_compare(t, "softcap_back", a.d_x, exact, allowed, COUNT);
}

START_TEST(capping_is_within_its_bound_from_tiny_to_huge)
{
    const double caps[] = {50, 0.0625};
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        for (int c = 0; c < 2 && t.backend->dtype == t.backend->format; c++) {
            check_there(&t, caps[c]);
            check_back(&t, caps[c]);
        }
        ck_assert_msg(t.failures == 0, "%s: %s", t.backend->name, t.first);
        trial_finish(&t);
    }
}
END_TEST

START_TEST(what_is_no_number_stays_so_and_infinity_becomes_the_cap)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        const double x[] = {NAN, INFINITY, -INFINITY, 0};
        struct txd_softcap_args a = {.x = trial_narrowed(&t, x, 4),
                                     .out = trial_real_output(&t, 4),
                                     .rows = 1,
                                     .width = 4,
                                     .stride = 4,
                                     .cap = 8};

        ck_assert_int_eq(t.ops->softcap(&t.ctx, &a), TXD_OK);
        ck_assert(isnan(trial_at(&t, a.out, 0)));
        ck_assert(trial_at(&t, a.out, 1) == 8 && trial_at(&t, a.out, 2) == -8);
        ck_assert(trial_at(&t, a.out, 3) == 0);
        trial_finish(&t);
    }
}
END_TEST

TEST_MAIN(capping_is_within_its_bound_from_tiny_to_huge,
          what_is_no_number_stays_so_and_infinity_becomes_the_cap)
