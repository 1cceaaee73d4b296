/* SPDX-License-Identifier: MIT
 *
 * Rotary positions that are scaled, against the formulas of the papers written out here
 * by wavelengths, lane by lane.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

#define PI 3.14159265358979323846
#define LENGTH 21
#define LANES 12

#define CFG                                                                            \
    "model : { preset = \"llama\"; vocab = 17; d_model = 24; n_heads = 2; n_layers = " \
    "2; d_ff = 10; rope_base = 50.0; %s };"

/* Radians per position of pair i of LANES / 2. */
typedef double speed_of(int i);

static double plain(int i)
{
    return 1 / pow(50, 2.0 * i / LANES);
}

static double linear(int i)
{
    return plain(i) / 2.5;
}

/* Wavelengths from 16 / 1 on are slowed down, those up to 16 / 2.5 are not. */
static double llama3(int i)
{
    double wavelength = 2 * PI / plain(i), smooth;

    if (wavelength < 16.0 / 2.5)
        return plain(i);
    if (wavelength > 16.0)
        return plain(i) / 4;
    smooth = (16 / wavelength - 1) / (2.5 - 1);
    return (1 - smooth) * plain(i) / 4 + smooth * plain(i);
}

/* The pair whose wavelength fits this often into 40 positions. */
static double pair_of(double rotations)
{
    return LANES * log(40 / (rotations * 2 * PI)) / (2 * log(50));
}

static double ramp(int i, double low, double high)
{
    double x = (i - low) / (high - low), kept = x < 0 ? 1 : x > 1 ? 0 : 1 - x;

    return plain(i) / 8 * (1 - kept) + plain(i) * kept;
}

static double yarn(int i)
{
    return ramp(i, floor(pair_of(4)), ceil(pair_of(0.5)));
}

static double yarn_exact(int i)
{
    return ramp(i, pair_of(4), pair_of(0.5));
}

static const struct {
    const char *model;
    speed_of *speed;
    double factor;
    int unlike; /* a pair that the scaling slows down by a part of its factor, or -1 */
} cases[] = {
    {"", plain, 1, -1},
    {"rope_scaling = \"linear\"; rope_factor = 2.5;", linear, 1, -1},
    {"rope_scaling = \"llama3\"; rope_factor = 4.0; rope_original_length = 16; "
     "rope_high = 2.5;",
     llama3, 1, 1},
    {"rope_scaling = \"yarn\"; rope_factor = 8.0; rope_original_length = 40; "
     "rope_beta_fast = 4.0; rope_beta_slow = 0.5;",
     yarn, 1.2079441541679836, 2},
    {"rope_scaling = \"yarn\"; rope_factor = 8.0; rope_original_length = 40; "
     "rope_beta_fast = 4.0; rope_beta_slow = 0.5; rope_exact = true; "
     "rope_attention_factor = 0.9;",
     yarn_exact, 0.9, 2},
    {"rope_scaling = \"yarn\"; rope_factor = 8.0; rope_original_length = 40; "
     "rope_beta_fast = 4.0; rope_beta_slow = 0.5; rope_pairing = \"adjacent\";",
     yarn, 1.2079441541679836, 2},
};

/* Row t of head h: out is x with its pairs turned. */
static void check_row(const double *out, const double *x, int which, int t)
{
    bool adjacent = strstr(cases[which].model, "adjacent") != NULL;

    for (int i = 0; i < LANES / 2; i++) {
        int a = adjacent ? 2 * i : i, b = adjacent ? 2 * i + 1 : i + LANES / 2;
        double angle = t * cases[which].speed(i), f = cases[which].factor;
        double first = f * (x[a] * cos(angle) - x[b] * sin(angle));
        double second = f * (x[b] * cos(angle) + x[a] * sin(angle));

        ck_assert_msg(txd_close(out[a], first, 1e-13) &&
                          txd_close(out[b], second, 1e-13),
                      "case %d, position %d, pair %d: %.17g %.17g, not %.17g %.17g",
                      which, t, i, out[a], out[b], first, second);
    }
}

static void check_point(observed *o, const char *to, const char *from, int which)
{
    const struct observed_site *out = observe_site(o, to), *x = observe_site(o, from);

    ck_assert(out && x && out->count == x->count);
    ck_assert_uint_eq(out->count, 2 * LENGTH * LANES);
    for (int row = 0; row < 2 * LENGTH; row++)
        check_row(out->values + row * LANES, x->values + row * LANES, which,
                  row % LENGTH);
}

START_TEST(scaled_rotations_turn_by_the_formulas_of_their_papers)
{
    for (int which = 0; which < (int)(sizeof cases / sizeof *cases); which++) {
        observed o = {0};
        char cfg[768];

        snprintf(cfg, sizeof cfg, CFG, cases[which].model);
        OK(observe_cfg(&o, cfg, "ref64"));
        OK(observe_random(&o, 1, LENGTH));
        OK(observe_pass(&o));
        check_point(&o, "layers.1.attn.q", "layers.1.attn.q_proj", which);
        check_point(&o, "layers.1.attn.k", "layers.1.attn.k_proj", which);
        observe_finish(&o);
    }
}
END_TEST

/* Else the cases would not tell a ramp from a step. */
START_TEST(the_cases_have_pairs_on_the_ramp)
{
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++) {
        int i = cases[which].unlike;

        if (i < 0)
            continue;
        ck_assert(cases[which].speed(i) < 0.99 * plain(i));
        ck_assert(cases[which].speed(i) > 1.01 * plain(i) / 4);
        ck_assert(cases[which].speed(0) == plain(0));
    }
    ck_assert(fabs(yarn(2) - yarn_exact(2)) > 0.01 * plain(2));
}
END_TEST

START_TEST(layers_are_scaled_each_by_its_own)
{
    observed o = {0};
    char cfg[768];

    snprintf(
        cfg, sizeof cfg, CFG,
        "layers = ( { range = \"1\"; rope_scaling = \"linear\"; rope_factor = 2.5; "
        "} );");
    OK(observe_cfg(&o, cfg, "ref64"));
    OK(observe_random(&o, 1, LENGTH));
    OK(observe_pass(&o));
    check_point(&o, "layers.0.attn.q", "layers.0.attn.q_proj", 0);
    check_point(&o, "layers.1.attn.k", "layers.1.attn.k_proj", 1);
    observe_finish(&o);
}
END_TEST

static void refused(const char *more, const char *first, const char *second)
{
    observed o = {0};
    char cfg[768];

    snprintf(cfg, sizeof cfg, CFG, more);
    ck_assert_int_eq(observe_cfg(&o, cfg, "ref64"), TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), first) && strstr(txd_message(), second), "%s",
                  txd_message());
    observe_finish(&o);
}

START_TEST(scalings_without_their_numbers_are_refused)
{
    refused("rope_scaling = \"yarn\";", "rope_original_length", "yarn");
    refused("rope_scaling = \"llama3\"; rope_original_length = 8; rope_low = 4.0;",
            "rope_high 4", "rope_low 4");
    refused("rope_scaling = \"yarn\"; rope_original_length = 8; rope_beta_fast = 0.5;",
            "rope_beta_fast 0.5", "rope_beta_slow 1");
    refused("rope_scaling = \"yarn\"; rope_original_length = 8; layers = ( { range = "
            "\"1\"; rope_base = 1.0; } );",
            "rope_base 1", "yarn");
}
END_TEST

TEST_MAIN(scaled_rotations_turn_by_the_formulas_of_their_papers,
          the_cases_have_pairs_on_the_ramp, layers_are_scaled_each_by_its_own,
          scalings_without_their_numbers_are_refused)
