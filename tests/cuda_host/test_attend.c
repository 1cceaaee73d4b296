/* SPDX-License-Identifier: MIT
 *
 * Attention that is never formed, on the backends of cuda/ as they run under the
 * emulation, against the operations that it is composed of.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#include "attended.h"
#include "attended_device.h"

static const struct attended_case cases[] = {
    /* queries, keys, width, value width, heads, kv heads */
    {.queries = 1, .keys = 1, .width = 1, .value_width = 1, .heads = 1, .kv_heads = 1},
    {70, 70, 8, 8, 2, 1, true, true, .cells = 7},
    {65, 200, 33, 20, 4, 2, true, true, .window = 40, .cells = 10},
    {100, 100, 64, 64, 2, 1, true, true, .padded = 9, .cells = 64},
    {30, 70, 80, 80, 3, 3, false, false, .cap = 2, .sink = true},
    {40, 64, 128, 96, 2, 1, true, true, .slopes = true, .masked_row = 2, .padded = 30},
    {17, 65, 256, 130, 2, 1, true, true, .cap = 5, .slopes = true, .sink = true},
    /* A mask that lacks what is claimed of it; one whose fill is a number. */
    {90, 90, 16, 16, 1, 1, false, true, .padded = 3, .cells = 9},
    {66, 66, 32, 32, 2, 1, true, true, .fill = -3, .padded = 5, .cells = 66},
};
#define CASES (sizeof cases / sizeof *cases)

/* What bfloat16 changes is how inputs look and results are stored: some do. */
static const txd_dtype formats[] = {TXD_F32, TXD_BF16};
#define FORMATS(which) ((which) % 3 == 1 ? 2 : 1)

/* NaN is nowhere allowed. */
static void check_part(const char *what, const struct attended_part *expected,
                       const double *found)
{
    for (size_t i = 0; i < expected->count; i++) {
        double off = fabs(found[i] - expected->value[i]);
        bool same = found[i] == expected->value[i];

        ck_assert_msg(same || off <= expected->off[i],
                      "%s[%zu]: %.9g, expected %.9g within %.3g", what, i, found[i],
                      expected->value[i], expected->off[i]);
    }
}

/* Where the largest weight is may differ by what the weights are off by. */
static void take_peak(const struct attended *a, double *found, size_t row)
{
    double *expected = a->rows.value + row * TXD_ROW_COUNT;
    double key = found[TXD_ROW_PEAK_KEY], e;

    if (key == expected[TXD_ROW_PEAK_KEY] || !(key >= 0) || key >= (double)a->is.keys)
        return;
    e = 2 * attended_relative(a, row / a->is.queries, row % a->is.queries);
    if (a->weights[row * a->is.keys + (size_t)key] >= expected[TXD_ROW_PEAK] * (1 - e))
        expected[TXD_ROW_PEAK_KEY] = key;
}

static void check_forward(struct attended *a, struct attended_device *there)
{
    size_t rows = a->is.heads * a->is.queries;

    attended_attend(there);
    for (size_t r = 0; r < rows; r++) {
        take_peak(a, there->rows + r * TXD_ROW_COUNT, r);
        ck_assert_double_eq(there->max[r],
                            there->rows[r * TXD_ROW_COUNT + TXD_ROW_MAX]);
    }
    check_part("heads", &a->out, there->out);
    check_part("rows", &a->rows, there->rows);
    check_part("sums", &a->sums, there->sums);
    check_part("tops", &a->tops, there->tops);
    ck_assert(there->finite);
}

START_TEST(heads_rows_and_heatmap_are_those_of_the_composed_operations)
{
    for (size_t i = 0; i < CASES; i++)
        for (size_t f = 0; f < FORMATS(i); f++) {
            struct attended *a = attended_make(&cases[i], formats[f]);
            struct attended_device there = attended_upload(a);

            check_forward(a, &there);
            attended_device_free(&there);
            attended_free(a);
        }
}
END_TEST

START_TEST(gradients_are_those_of_the_composed_operations)
{
    for (size_t i = 0; i < CASES; i++)
        for (size_t f = 0; f < FORMATS(i); f++) {
            struct attended *a = attended_make(&cases[i], formats[f]);
            struct attended_device there = attended_upload(a);

            attended_backward(a);
            attended_attend_back(&there);
            check_part("d_q", &a->d_q, there.d_q);
            check_part("d_k", &a->d_k, there.d_k);
            check_part("d_v", &a->d_v, there.d_v);
            check_part("d_sink", &a->d_sink, there.d_sink);
            attended_device_free(&there);
            attended_free(a);
        }
}
END_TEST

START_TEST(results_have_the_same_bits_in_any_order_of_blocks_and_threads)
{
    const size_t which[] = {2, 3, 6};

    for (size_t i = 0; i < 3; i++) {
        struct attended *a = attended_make(&cases[which[i]], TXD_F32);
        struct attended_device there = attended_upload(a), again = attended_upload(a);

        attended_attend(&there);
        attended_attend_back(&there);
        for (uint64_t order = 1; order < 3; order++) {
            emulated_order(order);
            attended_attend(&again);
            attended_attend_back(&again);
            ck_assert(attended_same(&there, &again));
        }
        emulated_order(0);
        attended_device_free(&again);
        attended_device_free(&there);
        attended_free(a);
    }
}
END_TEST

START_TEST(what_is_not_finite_is_told_and_spreads_as_far_as_it_is_seen)
{
    const float planted[] = {NAN, INFINITY};

    for (size_t i = 0; i < 2; i++) {
        struct attended_case is = cases[1];
        struct attended *a;
        struct attended_device there;

        is.planted = planted[i];
        a = attended_make(&is, TXD_F32);
        there = attended_upload(a);
        attended_attend(&there);
        ck_assert(!there.finite);
        for (size_t q = 0; q < is.queries; q++) {
            bool strange =
                there.out[q * is.value_width] != there.out[q * is.value_width];

            if (q < is.keys / 2)
                ck_assert(!strange);
            else if (i == 0)
                ck_assert(strange);
        }
        attended_device_free(&there);
        attended_free(a);
    }
}
END_TEST

TEST_MAIN(heads_rows_and_heatmap_are_those_of_the_composed_operations,
          gradients_are_those_of_the_composed_operations,
          results_have_the_same_bits_in_any_order_of_blocks_and_threads,
          what_is_not_finite_is_told_and_spreads_as_far_as_it_is_seen)
