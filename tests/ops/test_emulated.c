/* SPDX-License-Identifier: MIT
 *
 * What is special about the backends that round: where a result is rounded once, where
 * at every step, and what overflows. (That everything is rounded: test_ops.c.)
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "ops/ops.h"
#include "suite.h"

#define KEYS 40
#define ROWS 300

static txd_ctx one = {1};

struct format {
    const char *backend;
    uint16_t (*of_double)(double);
    float (*widen)(uint16_t);
};

static const struct format formats[] = {
    {"bf16", txd_f64_to_bf16, txd_bf16_to_f32},
    {"fp16", txd_f64_to_f16, txd_f16_to_f32},
};

static const txd_backend *backend_of(const char *name)
{
    const txd_backend *backend = NULL;

    ck_assert_int_eq(txd_backend_find(&backend, name), TXD_OK);
    return backend;
}

static float rounded(const struct format *f, double x)
{
    return f->widen(f->of_double(x));
}

/* 24 bits are enough for sums and products of two stored values: rounding to float32
 * first changes nothing. */
START_TEST(sums_and_products_are_rounded_as_if_at_once)
{
    enum { COUNT = 200000 };
    static float a[COUNT], b[COUNT], sum[COUNT], product[COUNT];
    uint64_t key = txd_rng_key(1, "pairs");

    for (size_t i = 0; i < 2; i++) {
        const struct format *f = &formats[i];
        const struct txd_ops *ops = &backend_of(f->backend)->ops;
        struct txd_pair_args args = {.out = sum, .a = a, .b = b, .count = COUNT};

        for (size_t n = 0; n < COUNT; n++) {
            int exponent = (int)(n % 25) - 12;

            a[n] = rounded(f, txd_rng_normal(key, 2 * n));
            b[n] = rounded(f, ldexp(txd_rng_normal(key, 2 * n + 1), exponent));
        }
        ck_assert_int_eq(ops->add(&one, &args), TXD_OK);
        args.out = product;
        ck_assert_int_eq(ops->multiply(&one, &args), TXD_OK);
        for (size_t n = 0; n < COUNT; n++) {
            ck_assert(sum[n] == rounded(f, (double)a[n] + (double)b[n]));
            ck_assert(product[n] == rounded(f, (double)a[n] * (double)b[n]));
        }
    }
}
END_TEST

static void fill_scores(float *scores, const struct format *f)
{
    for (size_t i = 0; i < ROWS * KEYS; i++)
        scores[i] = i % 7 == 3 ? -INFINITY : rounded(f, 3 * txd_rng_normal(3, i));
}

static void run_softmax(const txd_backend *backend, float *out, const float *scores,
                        double *lse, bool same)
{
    double max[ROWS];
    struct txd_softmax_args args = {.out = out,
                                    .masked = scores,
                                    .max = max,
                                    .lse = lse,
                                    .rows = ROWS,
                                    .keys = KEYS,
                                    .stride = KEYS,
                                    .begin = 1,
                                    .end = KEYS - 1,
                                    .same = same};

    ck_assert_int_eq(backend->ops.softmax(&one, &args), TXD_OK);
}

START_TEST(a_softmax_in_float32_is_rounded_once_at_its_end)
{
    static float scores[ROWS * KEYS], out[ROWS * KEYS], exact[ROWS * KEYS];
    double lse[ROWS], exact_lse[ROWS];

    for (size_t i = 0; i < 2; i++) {
        const struct format *f = &formats[i];

        fill_scores(scores, f);
        run_softmax(backend_of("cpu32"), exact, scores, exact_lse, false);
        run_softmax(backend_of(f->backend), out, scores, lse, false);
        for (size_t n = 0; n < ROWS * KEYS; n++)
            exact[n] = rounded(f, (double)exact[n]);
        ck_assert_mem_eq(out, exact, sizeof out);
        ck_assert_mem_eq(lse, exact_lse, sizeof lse);
    }
}
END_TEST

/* Differences, exponentials, sum and quotients of one row, each stored. */
static void by_steps(float *row, double *lse, const float *scores,
                     const struct format *f)
{
    float max = -INFINITY, sum = 0;

    for (size_t j = 1; j < KEYS - 1; j++)
        max = fmaxf(max, scores[j]);
    for (size_t j = 1; j < KEYS - 1; j++) {
        float difference = rounded(f, (double)(scores[j] - max));

        row[j] = rounded(f, (double)expf(difference));
        sum += row[j];
    }
    sum = rounded(f, (double)sum);
    for (size_t j = 1; j < KEYS - 1; j++)
        row[j] = rounded(f, (double)(row[j] / sum));
    row[0] = row[KEYS - 1] = 0;
    *lse = (double)rounded(f, (double)(max + rounded(f, (double)logf(sum))));
}

START_TEST(a_softmax_in_the_same_precision_is_rounded_at_every_step)
{
    static float scores[ROWS * KEYS], out[ROWS * KEYS], once[ROWS * KEYS], row[KEYS];
    double lse[ROWS], expected;

    for (size_t i = 0; i < 2; i++) {
        const struct format *f = &formats[i];

        fill_scores(scores, f);
        run_softmax(backend_of(f->backend), once, scores, lse, false);
        run_softmax(backend_of(f->backend), out, scores, lse, true);
        ck_assert(memcmp(out, once, sizeof out) != 0);
        for (size_t r = 0; r < ROWS; r++) {
            by_steps(row, &expected, scores + r * KEYS, f);
            ck_assert_mem_eq(out + r * KEYS, row, sizeof row);
            ck_assert(lse[r] == expected);
        }
        run_softmax(backend_of(f->backend), scores, scores, lse, true);
        ck_assert_mem_eq(scores, out, sizeof out);
    }
}
END_TEST

START_TEST(the_precision_of_the_softmax_is_nothing_to_backends_that_do_not_round)
{
    const char *const names[] = {"cpu32", "ref32"};
    static float scores[ROWS * KEYS], same[ROWS * KEYS], other[ROWS * KEYS];
    double lse[ROWS];

    fill_scores(scores, &formats[0]);
    for (size_t i = 0; i < 2; i++) {
        run_softmax(backend_of(names[i]), same, scores, lse, true);
        run_softmax(backend_of(names[i]), other, scores, lse, false);
        ck_assert_mem_eq(same, other, sizeof same);
    }
}
END_TEST

START_TEST(what_is_too_large_for_float16_becomes_infinite)
{
    const struct txd_ops *ops = &backend_of("fp16")->ops;
    float x[4] = {300, -300, 65504, 65504}, y[4] = {300, 300, 15, 16}, out[4];
    uint8_t visible[4] = {0, 1, 0, 1};
    struct txd_pair_args pair = {.out = out, .a = x, .b = y, .count = 4};
    struct txd_mask_args mask = {.out = out,
                                 .scores = x,
                                 .visible = visible,
                                 .rows = 1,
                                 .keys = 4,
                                 .stride = 4,
                                 .fill = -1e9};

    ck_assert_int_eq(ops->multiply(&one, &pair), TXD_OK);
    ck_assert(out[0] == INFINITY && out[1] == -INFINITY);
    ck_assert_int_eq(ops->add(&one, &pair), TXD_OK);
    ck_assert(out[0] == 600 && out[2] == 65504 && out[3] == INFINITY);
    ck_assert_int_eq(ops->mask(&one, &mask), TXD_OK);
    ck_assert(out[0] == -INFINITY && out[1] == -300 && out[3] == 65504);
}
END_TEST

/* 256 + 1 is no bfloat16, and neither is any sum on the way to 256 + 256 * 1. */
START_TEST(a_sum_of_many_terms_is_rounded_at_its_end_alone)
{
    enum { TERMS = 256 };
    static float x[TERMS], w[TERMS], table[3];
    static int32_t ids[TERMS];
    float out = 0, bias = 256;
    const struct txd_ops *ops = &backend_of("bf16")->ops;
    struct txd_linear_args linear = {
        .out = &out, .x = x, .weight = w, .bias = &bias, .rows = 1, .n = 1, .k = TERMS};
    struct txd_embed_back_args embed = {
        .d_table = table, .d_out = x, .ids = ids, .rows = TERMS, .width = 1};

    for (size_t i = 0; i < TERMS; i++) {
        x[i] = w[i] = 1;
        ids[i] = 1;
    }
    table[1] = 256;
    table[2] = 1.001f;
    ck_assert_int_eq(ops->linear(&one, &linear), TXD_OK);
    ck_assert(out == 512);
    ck_assert_int_eq(ops->embed_back(&one, &embed), TXD_OK);
    ck_assert(table[1] == 512 && table[2] == 1.001f); /* no token had id 2 */
}
END_TEST

TEST_MAIN(sums_and_products_are_rounded_as_if_at_once,
          a_softmax_in_float32_is_rounded_once_at_its_end,
          a_softmax_in_the_same_precision_is_rounded_at_every_step,
          the_precision_of_the_softmax_is_nothing_to_backends_that_do_not_round,
          what_is_too_large_for_float16_becomes_infinite,
          a_sum_of_many_terms_is_rounded_at_its_end_alone)
