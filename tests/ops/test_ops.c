/* SPDX-License-Identifier: MIT
 *
 * Every operation of every backend against ref64, within derived bounds; and a broken
 * table, whose every operation must be caught.
 */
#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "base/rng.h"
#include "broken.h"
#include "ops/ref.h"
#include "ops/registry.h"
#include "suite.h"
#include "trial.h"

START_TEST(every_operation_of_every_backend_is_within_its_bound)
{
    for (size_t b = 0; trial_backend_at(b) != NULL; b++) {
        const txd_backend *backend = trial_backend_at(b);

        if (backend->prepare != NULL)
            backend->prepare();
        for (int op = 0; op < TXD_OP_COUNT; op++) {
            char first[200] = "";

            if (trial_wanted((txd_op)op))
                ck_assert_msg(!trial_fails(&backend->ops, backend, (txd_op)op, first),
                              "%s: %s: %s", backend->name, trial_name((txd_op)op),
                              first);
        }
    }
}
END_TEST

START_TEST(no_entry_of_any_table_is_missing)
{
    for (size_t b = 0; trial_backend_at(b) != NULL; b++) {
        const struct txd_ops *ops = &trial_backend_at(b)->ops;

#define TXD_OP(name, arguments) ck_assert(ops->name != NULL);
        TXD_OPS(TXD_OP)
#undef TXD_OP
    }
}
END_TEST

START_TEST(a_broken_backend_is_caught_at_every_operation)
{
    const txd_backend *ref32;

    ck_assert_int_eq(txd_backend_find(&ref32, "ref32"), TXD_OK);
    for (int op = 0; op < TXD_OP_COUNT; op++)
        for (broken_result = 0; broken_result < broken_results((txd_op)op);
             broken_result++) {
            char first[200] = "";

            ck_assert_msg(trial_fails(&broken_ops, ref32, (txd_op)op, first),
                          "result %zu of broken %s was not caught", broken_result,
                          trial_name((txd_op)op));
        }
}
END_TEST

/* Nothing to round: what is stored was stored before, or is no value of the model. */
static bool copies(txd_op op)
{
    static const txd_op copying[] = {
        TXD_OP_embed,
        TXD_OP_split_heads,
        TXD_OP_merge_heads,
        TXD_OP_visible,
        TXD_OP_rows,
        TXD_OP_stats,
        TXD_OP_add_back,
        TXD_OP_split_heads_back,
        TXD_OP_merge_heads_back,
        TXD_OP_mask_back,
    };

    for (size_t i = 0; i < sizeof copying / sizeof *copying; i++)
        if (copying[i] == op)
            return true;
    return false;
}

/* The float32 backend in the same memory, which does not round; NULL where a backend
 * rounds to nothing narrower. */
static const txd_backend *wide_of(const txd_backend *backend)
{
    const txd_backend *wide = NULL;

    if (backend->format != backend->dtype)
        OK(txd_backend_find(&wide, backend->host == NULL ? "cpu32" : "cuda32"));
    return wide;
}

/* The table of a backend with one entry of another. */
static struct txd_ops forgetful(const txd_backend *backend, const txd_backend *wide,
                                txd_op op)
{
    struct txd_ops ops = backend->ops;

    switch (op) {
#define TXD_OP(name, arguments)                                                        \
    case TXD_OP_##name:                                                                \
        ops.name = wide->ops.name;                                                     \
        break;
        TXD_OPS(TXD_OP)
#undef TXD_OP
    case TXD_OP_COUNT:
        break;
    }
    return ops;
}

START_TEST(an_operation_that_forgets_to_round_is_caught)
{
    size_t rounding = 0;

    for (size_t b = 0; trial_backend_at(b) != NULL; b++) {
        const txd_backend *backend = trial_backend_at(b), *wide = wide_of(backend);

        for (int op = 0; wide != NULL && op < TXD_OP_COUNT; op++) {
            struct txd_ops ops = forgetful(backend, wide, (txd_op)op);
            char first[200] = "";
            bool caught = trial_fails(&ops, backend, (txd_op)op, first);

            ck_assert_msg(caught == !copies((txd_op)op), "%s: %s: %s", backend->name,
                          trial_name((txd_op)op), caught ? first : "not caught");
        }
        rounding += wide != NULL;
    }
    ck_assert_uint_gt(rounding, 0);
}
END_TEST

/* Power: a weight matrix that is off by one part in a thousand must be seen. */
START_TEST(a_weight_scaled_by_one_in_a_thousand_is_out_of_bound)
{
    enum { ROWS = 8, N = 16, K = 256 };
    static double x[ROWS * K], w[N * K], out[ROWS * N], scaled[ROWS * N],
        allowed[ROWS * N];
    const txd_backend *cpu32;
    struct txd_linear_args a = {
        .out = out, .x = x, .weight = w, .rows = ROWS, .n = N, .k = K};
    txd_ctx ctx = {1};
    size_t flagged = 0;

    ck_assert_int_eq(txd_backend_find(&cpu32, "cpu32"), TXD_OK);
    for (size_t i = 0; i < ROWS * K; i++)
        x[i] = txd_rng_normal(1, i);
    for (size_t i = 0; i < N * K; i++)
        w[i] = txd_rng_normal(2, i);
    ck_assert_int_eq(txd_ref64_linear(&ctx, &a), TXD_OK);
    txd_bound_linear(allowed, &a, txd_roundoff_of(cpu32));
    for (size_t i = 0; i < N * K; i++)
        w[i] *= 1.001;
    a.out = scaled;
    ck_assert_int_eq(txd_ref64_linear(&ctx, &a), TXD_OK);
    for (size_t i = 0; i < ROWS * N; i++)
        flagged += !(fabs(scaled[i] - out[i]) <= allowed[i]);
    ck_assert_uint_gt(flagged, ROWS * N / 2);
}
END_TEST

/* Of ref64, which the others are held to: by its definition, on some of the keys. */
START_TEST(the_sums_of_a_softmax_are_those_of_its_definition)
{
    enum { ROWS = 3, KEYS = 20, BEGIN = 2, END = 17 };
    double x[ROWS * KEYS], out[ROWS * KEYS], max[ROWS], lse[ROWS];
    struct txd_softmax_args a = {.out = out,
                                 .masked = x,
                                 .max = max,
                                 .lse = lse,
                                 .rows = ROWS,
                                 .keys = KEYS,
                                 .stride = KEYS,
                                 .begin = BEGIN,
                                 .end = END};
    txd_ctx ctx = {1};

    for (size_t i = 0; i < ROWS * KEYS; i++)
        x[i] = 3 * txd_rng_normal(4, i);
    ck_assert_int_eq(txd_ref64_softmax(&ctx, &a), TXD_OK);
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0, largest = -INFINITY;

        for (size_t j = BEGIN; j < END; j++) {
            sum += exp(x[r * KEYS + j]);
            largest = fmax(largest, x[r * KEYS + j]);
        }
        ck_assert_double_eq(max[r], largest);
        ck_assert(txd_close(lse[r], log(sum), 1e-14 * fabs(largest)));
        for (size_t j = 0; j < KEYS; j++)
            ck_assert(txd_close(out[r * KEYS + j],
                                j < BEGIN || j >= END ? 0 : exp(x[r * KEYS + j]) / sum,
                                1e-15));
    }
}
END_TEST

START_TEST(from_one_roundoff_per_term_on_there_is_no_bound)
{
    ck_assert(isinf(txd_gamma(0x1p24, 0x1p-24)));
    ck_assert_double_eq(txd_gamma(0, 0x1p-24), 0);
}
END_TEST

START_TEST(an_unknown_backend_is_an_error_that_names_the_known_ones)
{
    const txd_backend *none = NULL;

    ck_assert_int_eq(txd_backend_find(&none, "cuda99"), TXD_ERR_MISSING);
    ck_assert_ptr_null(none);
    ck_assert_ptr_nonnull(strstr(txd_message(), "ref64"));
}
END_TEST

TEST_MAIN(every_operation_of_every_backend_is_within_its_bound,
          no_entry_of_any_table_is_missing,
          a_broken_backend_is_caught_at_every_operation,
          an_operation_that_forgets_to_round_is_caught,
          a_weight_scaled_by_one_in_a_thousand_is_out_of_bound,
          the_sums_of_a_softmax_are_those_of_its_definition,
          from_one_roundoff_per_term_on_there_is_no_bound,
          an_unknown_backend_is_an_error_that_names_the_known_ones)
