/* SPDX-License-Identifier: MIT
 *
 * The scaling of rotary positions found again from what it does to the pairs of lanes,
 * as float32 holds it.
 */
#include <math.h>

#include "formats/families/family_internal.h"
#include "model/rope.h"
#include "suite.h"

typedef struct scaling {
    size_t width, length;
    double base, factor, low, high;
} scaling;

static const scaling scalings[] = {
    {128, 8192, 500000, 8, 1, 4}, /* Llama 3.1 */
    {64, 8192, 500000, 32, 1, 4}, /* Llama 3.2 */
    {6, 16, 10000, 8, 1, 4},      /* three pairs */
    {8, 32, 100, 4, 1, 4},         {80, 4096, 10000, 2.5, 1, 4},
    {64, 1000, 10000, 8, 2, 3}, /* other words than the usual ones */
    {96, 5000, 10000, 3, 0.5, 20}, {10, 64, 50, 8, 1.5, 2},
};

static txd_layer_config layer_of(const scaling *s)
{
    return (txd_layer_config){.rotary = true,
                              .rope_base = s->base,
                              .rope_width = s->width,
                              .rope_scaling = TXD_ROPE_LLAMA3,
                              .rope_factor = s->factor,
                              .rope_original_length = s->length,
                              .rope_low = s->low,
                              .rope_high = s->high,
                              .rope_attention_factor = 1};
}

static void plain_and_scaled(double *plain, double *scaled, txd_layer_config layer)
{
    txd_rope_speeds(scaled, &layer);
    layer.rope_scaling = TXD_ROPE_PLAIN;
    txd_rope_speeds(plain, &layer);
}

START_TEST(a_scaling_is_found_again_from_its_factors)
{
    for (size_t k = 0; k < sizeof scalings / sizeof *scalings; k++) {
        const scaling *s = &scalings[k];
        txd_layer_config layer = layer_of(s), found = layer;
        double plain[64], wanted[64], speeds[64];
        float factors[64];
        size_t pairs = s->width / 2, slowed = 0;

        plain_and_scaled(plain, wanted, layer);
        for (size_t i = 0; i < pairs; i++) {
            factors[i] = (float)(plain[i] / wanted[i]);
            slowed += factors[i] != 1;
        }
        ck_assert_uint_gt(slowed, 0);
        found.rope_scaling = TXD_ROPE_PLAIN;
        found.rope_factor = found.rope_low = found.rope_high = 1;
        found.rope_original_length = 0;
        ck_assert_msg(txd_rope_factors_fit(&found, factors, pairs), "scaling %zu", k);
        txd_rope_speeds(speeds, &found);
        for (size_t i = 0; i < pairs; i++)
            ck_assert_msg(fabs(speeds[i] - wanted[i]) <= 4e-6 * wanted[i],
                          "scaling %zu, pair %zu: %.9g, expected %.9g", k, i, speeds[i],
                          wanted[i]);
        if (k < 2) { /* in the words of its config.json */
            ck_assert(found.rope_factor == s->factor && found.rope_low == 1);
            ck_assert(found.rope_high == 4);
            ck_assert_uint_eq(found.rope_original_length, 8192);
        }
    }
}
END_TEST

START_TEST(factors_that_no_scaling_gives_are_told)
{
    static const float bad[][4] = {{1, 2, 1, 8},
                                   {0.5f, 1, 2, 8},
                                   {1, 2, 2.01f, 8},
                                   {1, NAN, 4, 8},
                                   {1, 2, 4, INFINITY}};
    static const float ones[4] = {1, 1, 1, 1}, twos[4] = {2, 2, 2, 2};
    txd_layer_config layer = layer_of(&(scaling){8, 0, 10000, 1, 1, 4}), found;

    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        found = layer;
        ck_assert_msg(!txd_rope_factors_fit(&found, bad[k], 4), "%zu", k);
    }
    found = layer;
    ck_assert(!txd_rope_factors_fit(&found, ones, 3)); /* one is missing */
    found.rope_scaling = TXD_ROPE_PLAIN;
    ck_assert(txd_rope_factors_fit(&found, ones, 4));
    ck_assert_int_eq(found.rope_scaling, TXD_ROPE_PLAIN);
    ck_assert(txd_rope_factors_fit(&found, twos, 4));
    ck_assert_int_eq(found.rope_scaling, TXD_ROPE_LINEAR);
    ck_assert(found.rope_factor == 2);
}
END_TEST

TEST_MAIN(a_scaling_is_found_again_from_its_factors,
          factors_that_no_scaling_gives_are_told)
