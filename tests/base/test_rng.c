/* SPDX-License-Identifier: MIT
 *
 * Known properties of the random numbers; no numbers of our own making.
 */
#include <math.h>

#include "base/rng.h"
#include "suite.h"

#define N 1000000

START_TEST(uniforms_have_the_moments_of_the_uniform_distribution)
{
    uint64_t key = txd_rng_key(3, "uniform");
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < N; i++) {
        double u = txd_rng_uniform(key, i);

        if (!(u >= 0 && u < 1))
            ck_abort_msg("%a", u);
        sum += u;
        squares += u * u;
    }
    /* Six standard errors: sqrt(1/12/N) and sqrt(4/45/N). */
    ck_assert_double_le(fabs(sum / N - 0.5), 6 * sqrt(1.0 / 12 / N));
    ck_assert_double_le(fabs(squares / N - 1.0 / 3), 6 * sqrt(4.0 / 45 / N));
}
END_TEST

START_TEST(normals_have_the_moments_and_tails_of_the_normal_distribution)
{
    uint64_t key = txd_rng_key(3, "normal");
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, beyond = 0;

    for (uint64_t i = 0; i < N; i++) {
        double x = txd_rng_normal(key, i);

        if (!isfinite(x))
            ck_abort_msg("%a", x);
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        beyond += fabs(x) > 1.959963984540054;
    }
    /* Variances of x^k: 1, 2, 15, 96; six standard errors each. */
    ck_assert_double_le(fabs(m1 / N), 6 * sqrt(1.0 / N));
    ck_assert_double_le(fabs(m2 / N - 1), 6 * sqrt(2.0 / N));
    ck_assert_double_le(fabs(m3 / N), 6 * sqrt(15.0 / N));
    ck_assert_double_le(fabs(m4 / N - 3), 6 * sqrt(96.0 / N));
    ck_assert_double_le(fabs(beyond / N - 0.05), 6 * sqrt(0.05 * 0.95 / N));
}
END_TEST

/* Pearson correlation of two streams of normals. */
static double correlation(uint64_t a, uint64_t b, uint64_t shift)
{
    double sum = 0;

    for (uint64_t i = 0; i < N; i++)
        sum += txd_rng_normal(a, i) * txd_rng_normal(b, i + shift);
    return sum / N;
}

START_TEST(streams_of_other_names_seeds_and_neighbours_are_uncorrelated)
{
    uint64_t key = txd_rng_key(1, "layers.0.attn.q.weight");

    double limit = 6 * sqrt(1.0 / N);

    ck_assert_double_le(fabs(correlation(key, key, 1)), limit);
    ck_assert_double_le(
        fabs(correlation(key, txd_rng_key(1, "layers.1.attn.q.weight"), 0)), limit);
    ck_assert_double_le(
        fabs(correlation(key, txd_rng_key(2, "layers.0.attn.q.weight"), 0)), limit);
}
END_TEST

START_TEST(a_value_depends_on_seed_name_and_index_alone)
{
    uint64_t key = txd_rng_key(7, "w");
    double forward[64];

    for (uint64_t i = 0; i < 64; i++)
        forward[i] = txd_rng_normal(key, i);
    for (uint64_t i = 64; i-- > 0;)
        ck_assert(txd_rng_normal(txd_rng_key(7, "w"), i) == forward[i]);
    ck_assert_uint_ne(txd_rng_key(7, "w"), txd_rng_key(8, "w"));
    ck_assert_uint_ne(txd_rng_key(7, "w"), txd_rng_key(7, "v"));
    ck_assert_uint_ne(txd_rng_bits(key, 0), txd_rng_bits(key, UINT64_MAX));
}
END_TEST

START_TEST(no_seed_shifts_the_stream_of_another)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15); /* of the counter */

    for (uint64_t shift = 1; shift < 100; shift++)
        ck_assert_uint_ne(txd_rng_bits(txd_rng_key(1 + shift * step, "w"), 0),
                          txd_rng_bits(txd_rng_key(1, "w"), shift));
}
END_TEST

START_TEST(every_bit_is_set_half_of_the_time)
{
    uint64_t key = txd_rng_key(5, "bits");
    int set[64] = {0};

    for (uint64_t i = 0; i < N; i++)
        for (int bit = 0; bit < 64; bit++)
            set[bit] += (int)(txd_rng_bits(key, i) >> bit & 1);
    for (int bit = 0; bit < 64; bit++)
        ck_assert_double_le(fabs(set[bit] / (double)N - 0.5), 6 * sqrt(0.25 / N));
}
END_TEST

TEST_MAIN(uniforms_have_the_moments_of_the_uniform_distribution,
          normals_have_the_moments_and_tails_of_the_normal_distribution,
          streams_of_other_names_seeds_and_neighbours_are_uncorrelated,
          a_value_depends_on_seed_name_and_index_alone,
          no_seed_shifts_the_stream_of_another, every_bit_is_set_half_of_the_time)
