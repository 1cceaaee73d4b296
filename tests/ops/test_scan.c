/* SPDX-License-Identifier: MIT
 *
 * Attention weights looked at once: a row by the kernel, matrices on threads, against
 * what must be said element by element.
 */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "ops/scan.h"
#include "suite.h"

#define LENGTH 1037

static void ck_near(double value, double exact, double room)
{
    ck_assert_msg(fabs(value - exact) <= room, "%.17g instead of %.17g, %.3g allowed",
                  value, exact, room);
}

/* What a scan must say, element by element. */
static struct txd_row_scan plain_scan(const float *x, size_t count, size_t begin,
                                      size_t end)
{
    struct txd_row_scan scan = {0, 0, true};

    for (size_t i = 0; i < count; i++) {
        float size = fabsf(x[i]);

        scan.sum += (double)x[i];
        scan.finite = scan.finite && isfinite(x[i]);
        if ((i < begin || i >= end) && (size > scan.hidden || isnan(size)))
            scan.hidden = isnan(scan.hidden) ? scan.hidden : size;
    }
    return scan;
}

static void ck_scan(const float *x, size_t count, size_t begin, size_t end)
{
    struct txd_row_scan right = plain_scan(x, count, begin, end), found;

    txd_kernels_here()->scan(&found, x, count, begin, end);
    ck_assert(found.finite == right.finite);
    ck_assert(found.hidden == right.hidden ||
              (isnan(found.hidden) && isnan(right.hidden)));
    if (right.finite)
        ck_near(found.sum, right.sum, 0x1p-50 * (double)(count + 1) * 2);
    else
        ck_assert(!isfinite(found.sum));
}

START_TEST(a_scan_finds_a_leak_and_what_is_no_number_in_every_place)
{
    static const float specials[] = {NAN,   INFINITY,  -INFINITY,  0.0f,
                                     -0.0f, 0x1p-149f, -0x1p-140f, -2.0f};
    float x[65] = {0};

    for (size_t count = 0; count <= 65; count++)
        for (size_t end = 0; end <= count; end += end < 20 ? 1 : 9) {
            size_t begin = end / 5;

            for (size_t i = 0; i < count; i++)
                x[i] = i >= begin && i < end ? (float)txd_rng_uniform(5, i) : 0;
            ck_scan(x, count, begin, end);
            for (size_t i = 0; i < count; i++)
                for (size_t s = 0; s < sizeof specials / sizeof *specials; s++) {
                    float kept = x[i];

                    x[i] = specials[s];
                    ck_scan(x, count, begin, end);
                    x[i] = kept;
                }
        }
}
END_TEST

/* 2^24 + 1 is no float: a sum in float would lose every 1. */
START_TEST(a_scan_adds_in_double)
{
    static float x[LENGTH];
    struct txd_row_scan scan;

    for (size_t i = 0; i < LENGTH; i++)
        x[i] = i == 0 ? 0x1p24f : 1;
    txd_kernels_here()->scan(&scan, x, LENGTH, 0, LENGTH);
    ck_assert(scan.sum == 0x1p24 + LENGTH - 1);
    txd_kernels_here()->scan(&scan, x, LENGTH, 0, 100);
    ck_assert(scan.sum == 0x1p24 + LENGTH - 1 && scan.hidden == 1);
}
END_TEST

/* Causal weights of two heads with a row that is off, one that leaks, one with a NaN.
 */
START_TEST(a_scan_of_matrices_names_the_worst_rows_whatever_the_threads)
{
    enum { KEYS = 700, HEADS = 2, ROWS = HEADS * KEYS };
    float *x = calloc((size_t)ROWS * KEYS, sizeof *x);
    int32_t begin[KEYS] = {0}, end[KEYS];
    const txd_spans spans = {begin, end, 0};
    struct txd_scan_args args = {x, ROWS, KEYS, &spans, KEYS};
    struct txd_scan scan;

    ck_assert_ptr_nonnull(x);
    for (int32_t q = 0; q < KEYS; q++)
        end[q] = q + 1;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k <= r % KEYS; k++)
            x[r * KEYS + k] = 1 / (float)(r % KEYS + 1);
    for (int threads = 1; threads < 4; threads++) {
        txd_scan_weights(&scan, &args, threads);
        ck_assert(scan.off < 1e-5 && scan.hidden == 0 && scan.not_finite == 0);
        ck_assert_uint_eq(scan.hidden_row, ROWS);
        x[1234 * KEYS + 3] += 0.25f;
        x[77 * KEYS + 78] = -0x1p-149f;
        txd_scan_weights(&scan, &args, threads);
        ck_near(scan.off, 0.25, 1e-5);
        ck_assert(scan.off_row == 1234 && scan.hidden_row == 77);
        ck_assert(scan.hidden == 0x1p-149 && scan.not_finite == 0);
        x[900 * KEYS + 699] = NAN;
        txd_scan_weights(&scan, &args, threads);
        ck_assert(isnan(scan.hidden) && scan.hidden_row == 900);
        ck_assert(isnan(scan.off) && scan.off_row == 900 && scan.not_finite == 1);
        args.spans = NULL;
        txd_scan_weights(&scan, &args, threads);
        ck_assert(scan.hidden == 0 && scan.not_finite == 1);
        args.spans = &spans;
        x[1234 * KEYS + 3] -= 0.25f;
        x[77 * KEYS + 78] = x[900 * KEYS + 699] = 0;
    }
    free(x);
}
END_TEST

TEST_MAIN(a_scan_finds_a_leak_and_what_is_no_number_in_every_place,
          a_scan_adds_in_double,
          a_scan_of_matrices_names_the_worst_rows_whatever_the_threads)
