/* SPDX-License-Identifier: MIT
 *
 * What the kernels of softmax and of statistics are worth against the formulas in
 * double. That all sets give the same bits: test_kernels.c.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ops/kernels.h"
#include "suite.h"

#define LENGTH 1037

/* Numbers of a normal distribution. */
static void fill(float *x, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(scale * txd_rng_normal(7, i));
}

static void ck_near(double value, double exact, double room)
{
    ck_assert_msg(fabs(value - exact) <= room, "%.17g instead of %.17g, %.3g allowed",
                  value, exact, room);
}

START_TEST(the_largest_is_found_in_every_place_and_a_nan_is_larger)
{
    const txd_kernels *k = txd_kernels_here();
    static float x[LENGTH];

    fill(x, LENGTH, 1);
    ck_assert(k->largest(x, 0) == -INFINITY);
    for (size_t i = 0; i < LENGTH; i++) {
        float kept = x[i];

        x[i] = 100;
        ck_assert(k->largest(x, LENGTH) == 100);
        x[i] = NAN;
        ck_assert(isnan(k->largest(x, LENGTH)));
        ck_assert(isnan(k->largest(x + i, 1)));
        ck_assert(!isnan(k->largest(x, i)));
        x[i] = -INFINITY;
        ck_assert(k->largest(x + i, 1) == -INFINITY);
        x[i] = kept;
    }
}
END_TEST

/* What an exp of a difference of two floats may be off by. */
static double exp_room(double exact)
{
    return 0x1.1p-23 * exact + 0x1p-149;
}

START_TEST(sums_of_exponentials_are_those_of_the_formula)
{
    const txd_kernels *k = txd_kernels_here();
    static float x[LENGTH], out[LENGTH];

    for (double spread = 0.01; spread < 100; spread *= 3) {
        double sum = 0, moment = 0;
        struct txd_exp_sums sums;
        float max;

        fill(x, LENGTH, spread);
        x[5] = -INFINITY;
        max = k->largest(x, LENGTH);
        sums = k->exp_sums(out, x, LENGTH, max);
        for (size_t i = 0; i < LENGTH; i++) {
            double below = (double)(x[i] - max), e = exp(below);

            ck_near(ldexp((double)out[i], -TXD_EXP_SHIFT), e, exp_room(e));
            ck_assert(below > -104 ? out[i] >= FLT_MIN : out[i] == 0);
            sum += e;
            moment += e > 0 ? e * below : 0;
        }
        ck_near(ldexp((double)sums.sum, -TXD_EXP_SHIFT), sum, 0x1p-20 * sum);
        ck_near(ldexp((double)sums.moment, -TXD_EXP_SHIFT), moment, -0x1p-20 * moment);
    }
}
END_TEST

START_TEST(a_quotient_of_exponentials_is_rounded_once_where_it_is_subnormal)
{
    const txd_kernels *k = txd_kernels_here();
    float x[200], out[200];
    float sum;

    for (size_t i = 0; i < 200; i++)
        x[i] = i == 0 ? 0 : -85 - 0.1f * (float)i;
    sum = k->exp_sums(out, x, 200, 0).sum;
    k->scale(out, out, 1 / sum, 200);
    for (size_t i = 0; i < 200; i++) {
        double e = exp((double)x[i]);

        ck_near((double)out[i], e, 0x1p-22 * e + 0x1p-150);
    }
    ck_assert(out[199] == 0 && out[150] > 0);
}
END_TEST

START_TEST(moments_lose_nothing_where_all_elements_are_nearly_the_same)
{
    const txd_kernels *k = txd_kernels_here();
    static float x[LENGTH];
    struct txd_moments m;

    for (size_t count = 1; count <= LENGTH; count += count < 70 ? 1 : 31) {
        long double sum = 0, squares = 0, mean;
        float low = INFINITY, high = -INFINITY;

        for (size_t i = 0; i < count; i++) {
            x[i] = 1e6f + 0x1p-4f * (float)(i * i % 7);
            sum += (long double)x[i];
            low = fminf(low, x[i]);
            high = fmaxf(high, x[i]);
        }
        mean = sum / count;
        for (size_t i = 0; i < count; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        ck_assert(k->moments(&m, x, count));
        ck_near(m.mean, (double)mean, 1e-13 * (double)mean);
        ck_near(m.deviation2, (double)squares, 1e-9 * (double)squares + 1e-15);
        ck_assert(m.low == low && m.high == high);
        x[count / 2] = count % 2 == 0 ? NAN : -INFINITY;
        ck_assert(!k->moments(&m, x, count));
    }
    ck_assert(k->moments(&m, x, 0) && m.mean == 0);
}
END_TEST

START_TEST(the_first_of_the_largest_weights_is_found_wherever_they_are)
{
    const txd_kernels *k = txd_kernels_here();
    struct txd_weight_sums w;
    float x[80];

    ck_assert(k->weights(&w, x, 0, 3) && w.peak_at == -1 && w.total.sum == 0);
    for (size_t i = 0; i < 80; i++)
        for (size_t j = i; j < 80; j++) {
            for (size_t n = 0; n < 80; n++)
                x[n] = n == i || n == j ? -0.5f : -1;
            ck_assert(k->weights(&w, x, j + 1, 0));
            ck_assert(w.peak == -0.5f && w.peak_at == (int32_t)i);
        }
}
END_TEST

/* A row that attends to a few places, next to which the others are small: nothing of
 * its distance is lost, wherever these places are. */
START_TEST(distances_lose_nothing_where_one_weight_is_nearly_all)
{
    const txd_kernels *k = txd_kernels_here();
    static float x[LENGTH];
    struct txd_weight_sums w;

    for (size_t place = 0; place < LENGTH; place += 61)
        for (double small = 1e-1; small > 1e-30; small *= 1e-3) {
            long double distance = 0, size = 0;

            for (size_t i = 0; i < LENGTH; i++) {
                x[i] = i == place ? 0.9999999F : (float)(small * txd_rng_uniform(4, i));
                distance += (long double)x[i] * ((long double)place - (long double)i);
                size += (long double)x[i] * fabsl((long double)place - (long double)i);
            }
            ck_assert(k->weights(&w, x, LENGTH, (double)place));
            ck_near(w.distance, (double)distance,
                    0x1p-26 * fabs((double)distance) + 0x1p-44 * (double)size);
            x[3] = -x[3];
            distance += 2 * (long double)x[3] * ((long double)place - 3);
            ck_assert(k->weights(&w, x, LENGTH, (double)place));
            ck_near(w.distance, (double)distance, 0x1p-44 * (double)size);
        }
}
END_TEST

static void ck_totals(const float *x, size_t count)
{
    struct txd_totals t, of_weights;
    struct txd_weight_sums w;
    long double sum = 0, squares = 0;
    float low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < count; i++) {
        sum += (long double)x[i];
        squares += (long double)x[i] * (long double)x[i];
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    ck_assert(txd_kernels_here()->totals(&t, x, count));
    ck_near(t.sum, (double)sum, 0x1p-47 * (double)count);
    ck_near(t.squares, (double)squares, 0x1p-47 * (double)squares);
    ck_assert(t.low == low && t.high == high);
    ck_assert(txd_kernels_here()->weights(&w, x, count, 7));
    of_weights = w.total;
    ck_assert(memcmp(&t, &of_weights, sizeof t) == 0);
}

START_TEST(totals_are_the_same_with_and_without_places)
{
    static float x[LENGTH];
    struct txd_totals t;
    struct txd_weight_sums w;

    for (size_t count = 0; count <= LENGTH; count += count < 70 ? 1 : 31) {
        fill(x, count, 1);
        ck_totals(x, count);
        for (size_t i = 0; i < count; i++)
            x[i] = i % 3 == 0 ? -0.0F : 0.0F;
        ck_totals(x, count);
        for (size_t i = 0; i < count; i += 5) {
            x[i] = i % 2 == 0 ? NAN : INFINITY;
            ck_assert(!txd_kernels_here()->totals(&t, x, count));
            ck_assert(!txd_kernels_here()->weights(&w, x, count, 0));
            x[i] = 1;
        }
    }
}
END_TEST

START_TEST(sums_of_weights_are_taken_in_double)
{
    const txd_kernels *k = txd_kernels_here();
    static float x[LENGTH];
    struct txd_weight_sums w;

    for (size_t count = 1; count <= LENGTH; count += count < 70 ? 1 : 31) {
        double sum = 0, distance = 0;

        for (size_t i = 0; i < count; i++) {
            x[i] = (float)txd_rng_uniform(3, i) / (float)count;
            sum += (double)x[i];
            distance += (double)x[i] * (500 - (double)i);
        }
        ck_assert(k->weights(&w, x, count, 500));
        ck_near(w.total.sum, sum, 1e-13);
        ck_near(w.distance, distance, 1e-10);
        x[count - 1] = count % 2 == 0 ? NAN : INFINITY;
        ck_assert(!k->weights(&w, x, count, 500));
    }
}
END_TEST

START_TEST(sizes_count_zeros_of_both_signs_and_know_the_largest_magnitude)
{
    const txd_kernels *k = txd_kernels_here();
    struct txd_sizes sizes;
    float x[99];

    for (size_t count = 0; count < 99; count++) {
        double squares = 0, largest = 0;
        size_t zeros = 0;

        for (size_t i = 0; i < count; i++) {
            x[i] = i % 3 == 0 ? (i % 2 ? 0.0F : -0.0F) : (float)txd_rng_normal(3, i);
            squares += (double)x[i] * (double)x[i];
            largest = fmax(largest, fabs((double)x[i]));
            zeros += x[i] == 0;
        }
        ck_assert(k->sizes(&sizes, x, count));
        ck_near(sizes.squares, squares, 0x1p-48 * squares);
        ck_assert((double)sizes.largest == largest);
        ck_assert_uint_eq(sizes.zeros, zeros);
        if (count == 0)
            continue;
        x[count / 2] = count % 2 ? NAN : -INFINITY;
        ck_assert(!k->sizes(&sizes, x, count));
    }
}
END_TEST

START_TEST(each_term_of_an_entropy_is_accurate_however_near_to_1_its_weight_is)
{
    const txd_kernels *k = txd_kernels_here();
    float x[19] = {0};

    for (uint32_t bits = 1; bits < 0x7f800000; bits += 49999) {
        double exact;

        memcpy(&x[bits % 19], &bits, sizeof bits);
        exact = -(double)x[bits % 19] * log((double)x[bits % 19]);
        ck_near(k->entropy(x, 19), exact, 0x1p-34 * fabs(exact));
        x[bits % 19] = -1;
        ck_assert(k->entropy(x, 19) == 0);
        x[bits % 19] = 0;
    }
    x[3] = 1 - 0x1p-24f;
    ck_near(k->entropy(x, 19), (0x1p-24 - 1) * log1p(-0x1p-24), 0x1p-58);
    for (size_t i = 0; i < 16; i++)
        x[i] = 0x1p-4f;
    ck_near(k->entropy(x, 16), log(16), 1e-10);
}
END_TEST

START_TEST(products_of_rows_are_exact_and_summed_in_double)
{
    static float x[LENGTH], y[LENGTH];

    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (float)(txd_rng_normal(1, i) * (i % 9 == 0 ? 1e25 : 1e-20));
        y[i] = (float)(txd_rng_normal(2, i) * (i % 9 == 0 ? 1e10 : 1e-20));
    }
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++)
        for (size_t count = 0; count <= LENGTH; count += count < 70 ? 1 : 31) {
            struct txd_products p = txd_kernels_at(s)->products(x, y, count);
            double sum = 0, size = 0;

            for (size_t i = 0; i < count; i++) {
                sum += (double)x[i] * (double)y[i];
                size += fabs((double)x[i] * (double)y[i]);
            }
            ck_near(p.size, size, 1e-13 * size);
            ck_near(p.sum, sum, 1e-13 * size);
        }
}
END_TEST

TEST_MAIN(the_largest_is_found_in_every_place_and_a_nan_is_larger,
          sums_of_exponentials_are_those_of_the_formula,
          a_quotient_of_exponentials_is_rounded_once_where_it_is_subnormal,
          moments_lose_nothing_where_all_elements_are_nearly_the_same,
          the_first_of_the_largest_weights_is_found_wherever_they_are,
          distances_lose_nothing_where_one_weight_is_nearly_all,
          totals_are_the_same_with_and_without_places,
          sums_of_weights_are_taken_in_double,
          sizes_count_zeros_of_both_signs_and_know_the_largest_magnitude,
          each_term_of_an_entropy_is_accurate_however_near_to_1_its_weight_is,
          products_of_rows_are_exact_and_summed_in_double)
