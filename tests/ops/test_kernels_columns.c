/* SPDX-License-Identifier: MIT
 *
 * What the kernels of columns are worth against sums and largest elements one by one.
 * That all sets give the same bits: test_kernels.c.
 */
#include <math.h>

#include "base/rng.h"
#include "kernel_frame.h"
#include "suite.h"

#define WIDE 128

/* Column i of `rows` lines of LINE, and what it comes to. */
#define LINE 77

static void column_of(double *sum, float *top, const float *x, size_t i, size_t rows)
{
    *sum = 0;
    *top = -INFINITY;
    for (size_t r = 0; r < rows; r++) {
        float value = x[r * LINE + i];

        *sum += (double)value;
        *top = isnan(value) || isnan(*top) ? NAN : fmaxf(*top, value);
    }
}

START_TEST(columns_are_summed_in_double_and_a_nan_is_the_largest)
{
    float x[9 * LINE];

    for (size_t i = 0; i < 9 * LINE; i++)
        x[i] = i % LINE == i / LINE * 8 + 3 ? NAN : (float)txd_rng_normal(i, 0) - 4;
    x[5] = INFINITY;
    x[LINE + 5] = -INFINITY;
    x[6] = INFINITY;
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++)
        for (size_t rows = 0; rows <= 9; rows++) {
            double sum[LINE], exact;
            float top[LINE], most;

            txd_kernels_at(s)->columns(sum, top, x, LINE,
                                       (struct txd_lines){rows, LINE});
            for (size_t i = 0; i < LINE; i++) {
                column_of(&exact, &most, x, i, rows);
                ck_assert(kernel_same_double(sum[i], exact));
                ck_assert(kernel_same(top[i], most));
            }
        }
}
END_TEST

START_TEST(runs_of_columns_hold_what_their_columns_hold)
{
    double sum[WIDE], got, size, exact;
    float top[WIDE], got_top, most;

    for (size_t i = 0; i < WIDE; i++) {
        sum[i] = txd_rng_normal(1, i);
        top[i] = (float)txd_rng_normal(2, i) - 4;
    }
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++)
        for (size_t begin = 0; begin < 40; begin++)
            for (size_t width = 0; width <= 65; width++) {
                const uint32_t ends[2] = {(uint32_t)begin, (uint32_t)(begin + width)};
                double sums[2];
                float tops[2];

                exact = size = 0;
                most = -INFINITY;
                for (size_t i = begin; i < begin + width; i++) {
                    exact += sum[i];
                    size += fabs(sum[i]);
                    most = fmaxf(most, top[i]);
                }
                txd_kernels_at(s)->column_runs(sums, tops,
                                               (struct txd_columns){sum, top}, ends, 2);
                ck_assert(fabs(sums[1] - exact) <= 0x1p-46 * size);
                ck_assert(tops[1] == most);
                for (size_t odd = begin; odd < begin + width; odd++) {
                    got = sum[odd];
                    got_top = top[odd];
                    sum[odd] = (double)(top[odd] = NAN);
                    txd_kernels_at(s)->column_runs(
                        sums, tops, (struct txd_columns){sum, top}, ends, 2);
                    ck_assert(isnan(sums[1]) && isnan(tops[1]));
                    sum[odd] = got;
                    top[odd] = got_top;
                }
            }
}
END_TEST

TEST_MAIN(columns_are_summed_in_double_and_a_nan_is_the_largest,
          runs_of_columns_hold_what_their_columns_hold)
