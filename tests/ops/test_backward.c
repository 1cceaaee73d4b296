/* SPDX-License-Identifier: MIT
 *
 * Laws of backward entries that need no other backend: what sums to zero, and where
 * a NaN may come out and where it must.
 */
#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "suite.h"
#include "trial.h"

static void put(const struct trial *t, void *x, size_t i, double value)
{
    size_t bytes = txd_dtype_bytes(t->backend->dtype);

    txd_convert((char *)x + i * bytes, t->backend->dtype, &value, TXD_F64, 1);
}

enum { ROWS = 4, KEYS = 37, WIDTH = 6, CELLS = ROWS * KEYS };

/* Everything in double; `allowed` is each element's bound. The weights' own sum is not
 * quite 1: what is missing goes with the mean gradient. */
static void check_sums(const char *backend, const struct txd_softmax_back_args *a,
                       const double *allowed)
{
    const double *got = a->d_masked, *w = a->weights, *d_out = a->d_out;

    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0, room = 0, total = 0, mean = 0, size = 0;

        for (size_t j = r * KEYS; j < (r + 1) * KEYS; j++) {
            sum += got[j];
            room += allowed[j];
            total += w[j];
            mean += w[j] * d_out[j];
            size += fabs(got[j]);
        }
        room += fabs((1 - total) * mean);
        ck_assert_double_gt(size, 0.1);
        ck_assert_msg(txd_within(fabs(sum), room), "%s: row %zu sums to %g, allowed %g",
                      backend, r, sum, room);
        ck_assert_double_lt(room, 0.1 * size);
    }
}

static void check_softmax(struct trial *t, bool same)
{
    double max[ROWS], lse[ROWS], allowed[CELLS];
    struct txd_softmax_args f = {.masked = trial_numbers(t, "masked", CELLS),
                                 .out = trial_real_output(t, CELLS),
                                 .max = max,
                                 .lse = lse,
                                 .rows = ROWS,
                                 .keys = KEYS,
                                 .stride = KEYS,
                                 .end = KEYS,
                                 .same = same};
    struct txd_softmax_back_args b = {.d_masked = trial_real_output(t, CELLS),
                                      .d_out = trial_numbers(t, "d_out", CELLS),
                                      .weights = f.out,
                                      .max = max,
                                      .rows = ROWS,
                                      .keys = KEYS,
                                      .stride = KEYS,
                                      .end = KEYS};

    ck_assert_int_eq(t->ops->softmax(&t->ctx, &f), TXD_OK);
    ck_assert_int_eq(t->ops->softmax_back(&t->ctx, &b), TXD_OK);
    b.d_masked = trial_widened(t, b.d_masked, CELLS);
    b.d_out = trial_widened(t, b.d_out, CELLS);
    b.weights = trial_widened(t, f.out, CELLS);
    txd_bound_softmax_back(allowed, &b, txd_roundoff_of(t->backend));
    check_sums(t->backend->name, &b, allowed);
}

START_TEST(each_row_of_a_gradient_through_softmax_sums_to_zero)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        check_softmax(&t, false);
        check_softmax(&t, true);
        trial_finish(&t);
    }
}
END_TEST

/* Its sum is over [begin, end) alone. */
START_TEST(what_comes_in_beside_the_keys_enters_no_gradient_of_a_softmax)
{
    enum { BEGIN = 5, END = 30 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        const double max[ROWS] = {0, 1, 2, 3};
        void *d_out = trial_numbers(&t, "d_out", CELLS);
        struct txd_softmax_back_args a = {.d_masked = trial_real_output(&t, CELLS),
                                          .d_out = d_out,
                                          .weights = trial_numbers(&t, "w", CELLS),
                                          .max = max,
                                          .rows = ROWS,
                                          .keys = KEYS,
                                          .stride = KEYS,
                                          .begin = BEGIN,
                                          .end = END};

        for (size_t j = 0; j < CELLS; j++)
            if (j % KEYS < BEGIN || j % KEYS >= END)
                put(&t, d_out, j, NAN);
        ck_assert_int_eq(t.ops->softmax_back(&t.ctx, &a), TXD_OK);
        for (size_t j = 0; j < CELLS; j++) {
            double got = trial_at(&t, a.d_masked, j);

            ck_assert(j % KEYS < BEGIN || j % KEYS >= END ? got == 0 : isfinite(got));
        }
        trial_finish(&t);
    }
}
END_TEST

START_TEST(hidden_scores_get_no_gradient_whatever_comes_in)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        uint8_t *visible = trial_cells(&t, CELLS);
        void *d_out = trial_numbers(&t, "d_out", CELLS);
        struct txd_mask_back_args a = {.d_scores = trial_real_output(&t, CELLS),
                                       .d_out = d_out,
                                       .visible = visible,
                                       .rows = ROWS,
                                       .keys = KEYS,
                                       .stride = KEYS};

        for (size_t j = 0; j < CELLS; j++)
            if (!visible[j])
                put(&t, d_out, j, j % 2 == 0 ? (double)NAN : -1.0);
        ck_assert_int_eq(t.ops->mask_back(&t.ctx, &a), TXD_OK);
        for (size_t j = 0; j < CELLS; j++) {
            double got = trial_at(&t, a.d_scores, j);

            ck_assert_double_eq(got, visible[j] ? trial_at(&t, d_out, j) : 0.0);
            ck_assert(visible[j] || !signbit(got));
        }
        trial_finish(&t);
    }
}
END_TEST

/* d_weights has a NaN where it is used and v or d_out of its row has one; d_v where a
 * used cell's row of d_out has one. */
static void check_mix(struct trial *t, size_t bad_key, size_t bad_row)
{
    uint8_t *used = trial_cells(t, CELLS);
    void *v = trial_numbers(t, "v", KEYS * WIDTH),
         *d_out = trial_numbers(t, "d_out", ROWS * WIDTH);
    void *before = trial_numbers(t, "before", KEYS * WIDTH);
    struct txd_mix_back_args a = {.d_weights = trial_real_output(t, CELLS),
                                  .d_v = before,
                                  .d_out = d_out,
                                  .weights = trial_numbers(t, "weights", CELLS),
                                  .v = v,
                                  .used = used,
                                  .rows = ROWS,
                                  .keys = KEYS,
                                  .stride = KEYS,
                                  .width = WIDTH};

    if (bad_key < KEYS)
        put(t, v, bad_key * WIDTH + 2, NAN);
    if (bad_row < ROWS)
        put(t, d_out, bad_row * WIDTH + 3, INFINITY);
    ck_assert_int_eq(t->ops->mix_back(&t->ctx, &a), TXD_OK);
    for (size_t c = 0; c < CELLS; c++) {
        double got = trial_at(t, a.d_weights, c);
        bool bad = c % KEYS == bad_key || c / KEYS == bad_row;

        ck_assert_msg(!used[c] ? got == 0 : isfinite(got) == !bad,
                      "%s: d_weights[%zu] = %g", t->backend->name, c, got);
    }
    for (size_t j = 0; j < KEYS; j++) {
        bool bad = bad_row < ROWS && used[bad_row * KEYS + j];

        for (size_t f = 0; f < WIDTH; f++)
            ck_assert_msg(isfinite(trial_at(t, a.d_v, j * WIDTH + f)) ==
                              !(bad && f == 3),
                          "%s: d_v[%zu][%zu] = %g", t->backend->name, j, f,
                          trial_at(t, a.d_v, j * WIDTH + f));
    }
}

START_TEST(values_of_unused_keys_reach_no_gradient_and_those_of_used_ones_do)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        check_mix(&t, KEYS, ROWS);
        check_mix(&t, 5, ROWS);
        check_mix(&t, KEYS, 2);
        check_mix(&t, 5, 2);
        trial_finish(&t);
    }
}
END_TEST

/* A NaN in one key, one query or one gradient reaches those that see it. */
static void check_scores(struct trial *t, size_t bad_key, size_t bad_row)
{
    uint8_t *visible = trial_cells(t, CELLS);
    void *q = trial_numbers(t, "q", ROWS * WIDTH),
         *k = trial_numbers(t, "k", KEYS * WIDTH);
    struct txd_scores_back_args a = {.d_q = trial_real_output(t, ROWS * WIDTH),
                                     .d_k = trial_numbers(t, "before", KEYS * WIDTH),
                                     .d_out = trial_numbers(t, "d_out", CELLS),
                                     .q = q,
                                     .k = k,
                                     .visible = visible,
                                     .rows = ROWS,
                                     .keys = KEYS,
                                     .width = WIDTH,
                                     .stride = KEYS,
                                     .scale = 0.5};

    put(t, k, bad_key * WIDTH + 1, NAN);
    put(t, q, bad_row * WIDTH + 4, NAN);
    ck_assert_int_eq(t->ops->scores_back(&t->ctx, &a), TXD_OK);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t f = 0; f < WIDTH; f++)
            ck_assert_msg(isnan(trial_at(t, a.d_q, r * WIDTH + f)) ==
                              (f == 1 && visible[r * KEYS + bad_key]),
                          "%s: d_q[%zu][%zu]", t->backend->name, r, f);
    for (size_t j = 0; j < KEYS; j++)
        for (size_t f = 0; f < WIDTH; f++)
            ck_assert_msg(isnan(trial_at(t, a.d_k, j * WIDTH + f)) ==
                              (f == 4 && visible[bad_row * KEYS + j]),
                          "%s: d_k[%zu][%zu]", t->backend->name, j, f);
}

START_TEST(a_hidden_key_reaches_no_query_and_a_query_no_key_that_it_does_not_see)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        for (size_t key = 0; key < KEYS; key += 6)
            check_scores(&t, key, key % ROWS);
        trial_finish(&t);
    }
}
END_TEST

/* Zeros everywhere else: nothing but 0 x NaN can bring it out. */
START_TEST(zero_times_nan_is_nan_in_linear_maps)
{
    enum { N = 5 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        void *d_out = trial_keep(&t, ROWS * N * sizeof(double));
        void *zeros = trial_keep(&t, 64 * sizeof(double));
        struct txd_linear_back_args a = {.d_x = trial_real_output(&t, ROWS * WIDTH),
                                         .d_weight = trial_keep(&t, 64 * 8),
                                         .d_bias = trial_keep(&t, 64 * 8),
                                         .d_out = d_out,
                                         .x = zeros,
                                         .weight = zeros,
                                         .rows = ROWS,
                                         .n = N,
                                         .k = WIDTH};

        put(&t, d_out, 2 * N + 3, NAN);
        ck_assert_int_eq(t.ops->linear_back(&t.ctx, &a), TXD_OK);
        for (size_t k = 0; k < ROWS * WIDTH; k++)
            ck_assert(isnan(trial_at(&t, a.d_x, k)) == (k / WIDTH == 2));
        for (size_t k = 0; k < N * WIDTH; k++)
            ck_assert(isnan(trial_at(&t, a.d_weight, k)) == (k / WIDTH == 3));
        for (size_t k = 0; k < N; k++)
            ck_assert(isnan(trial_at(&t, a.d_bias, k)) == (k == 3));
        trial_finish(&t);
    }
}
END_TEST

START_TEST(a_gradient_of_logits_sums_to_zero_and_needs_a_target)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        const int32_t targets[ROWS] = {0, -1, KEYS - 1, 3};
        void *logits = trial_numbers(&t, "logits", CELLS),
             *d_out = trial_numbers(&t, "d_out", ROWS);
        struct txd_loss_back_args a = {.d_logits = trial_real_output(&t, CELLS),
                                       .d_out = d_out,
                                       .logits = logits,
                                       .targets = targets,
                                       .rows = ROWS,
                                       .vocab = KEYS};
        double *allowed = trial_keep(&t, CELLS * sizeof *allowed), *got;

        put(&t, d_out, 1, NAN);
        put(&t, logits, 3 * KEYS + 9, NAN);
        ck_assert_int_eq(t.ops->loss_back(&t.ctx, &a), TXD_OK);
        a.d_logits = got = trial_widened(&t, a.d_logits, CELLS);
        a.logits = trial_widened(&t, logits, CELLS);
        a.d_out = trial_widened(&t, d_out, ROWS);
        txd_bound_loss_back(allowed, &a, txd_roundoff_of(t.backend));
        for (size_t r = 0; r < ROWS; r++) {
            double sum = 0, room = 0;

            for (size_t j = r * KEYS; j < (r + 1) * KEYS; j++) {
                sum += got[j];
                room += allowed[j];
                ck_assert(r != 1 || got[j] == 0);
                ck_assert(r != 3 || isnan(got[j]));
            }
            if (r == 3)
                continue;
            ck_assert(txd_within(fabs(sum), room));
            ck_assert_double_le(room, 0.2 * fabs(trial_at(&t, d_out, 2)));
        }
        ck_assert_double_lt(got[0] * trial_at(&t, d_out, 0), 0);
        trial_finish(&t);
    }
}
END_TEST

TEST_MAIN(each_row_of_a_gradient_through_softmax_sums_to_zero,
          what_comes_in_beside_the_keys_enters_no_gradient_of_a_softmax,
          hidden_scores_get_no_gradient_whatever_comes_in,
          values_of_unused_keys_reach_no_gradient_and_those_of_used_ones_do,
          a_hidden_key_reaches_no_query_and_a_query_no_key_that_it_does_not_see,
          zero_times_nan_is_nan_in_linear_maps,
          a_gradient_of_logits_sums_to_zero_and_needs_a_target)
