/* SPDX-License-Identifier: MIT
 *
 * The rounding floor is what rounding a stream leaves: a stream is rounded here, and
 * the floor is formed from the sizes of the exact one alone.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "series.h"
#include "viz/read/rounding.h"

enum { LAYERS = 6, SUMS = 2, WIDTH = 20000, SITES = LAYERS * (SUMS + 1) };

static double sizes[SITES]; /* rms of resid.pre, resid.mid, resid.post of each layer */

static double size_of(size_t step, size_t row)
{
    (void)step;
    return sizes[row];
}

/* Nearly normal, of standard deviation 1. */
static double noise(uint64_t *state)
{
    double sum = 0;

    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 33) / (double)(1u << 31);
    }
    return sum - 6;
}

/* To the 8 bits of bf16, to nearest. */
static double rounded(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);

    return ldexp(rint(ldexp(mantissa, 8)), exponent - 8);
}

/* Adds branches that are larger in the middle of the model; errors[layer] of resid.post
 * is |rounded - exact| / |exact|. */
static void run_stream(double errors[LAYERS])
{
    static double exact[WIDTH], stored[WIDTH];
    uint64_t state = 7;

    for (size_t i = 0; i < WIDTH; i++)
        exact[i] = stored[i] = rounded(noise(&state));
    for (size_t sum = 0; sum < LAYERS * SUMS; sum++) {
        double branch = 0.3 + 2 * (double)(sum % 5), square = 0, off = 0;

        for (size_t i = 0; i < WIDTH; i++) {
            double addend = branch * noise(&state);

            sizes[sum / SUMS * (SUMS + 1)] +=
                sum % SUMS == 0 ? exact[i] * exact[i] / WIDTH : 0;
            exact[i] += addend;
            stored[i] = rounded(stored[i] + addend);
            square += exact[i] * exact[i];
            off += (stored[i] - exact[i]) * (stored[i] - exact[i]);
        }
        sizes[sum / SUMS * (SUMS + 1) + 1 + sum % SUMS] = sqrt(square / WIDTH);
        errors[sum / SUMS] = sqrt(off / square);
    }
    for (size_t layer = 0; layer < LAYERS; layer++)
        sizes[layer * (SUMS + 1)] = sqrt(sizes[layer * (SUMS + 1)]);
}

static void open_stream(fake *out, const char *config, bool with_statistics)
{
    static const char *const points[] = {"resid.pre", "resid.mid", "resid.post"};
    static char names[SITES][32];
    static const char *sites[SITES];
    const series_stats plan = {.sites = sites,
                               .steps = 1,
                               .count = SITES,
                               .nonfinite = SIZE_MAX,
                               .gap = SIZE_MAX,
                               .rms = size_of,
                               .std = size_of,
                               .largest = size_of};

    for (size_t i = 0; i < SITES; i++) {
        snprintf(names[i], sizeof names[i], "layers.%zu.%s", i / (SUMS + 1),
                 points[i % (SUMS + 1)]);
        sites[i] = names[i];
    }
    fake_open(out);
    fake_meta(out, "config", config);
    if (with_statistics)
        series_add_stats(out, &plan);
}

#define MODEL                                                                          \
    "version = 1; model : { vocab = 512; d_model = 32; n_heads = 4; n_layers = 6; "    \
    "d_ff = 64; max_seq_len = 64; "
static const char pre[] = MODEL "norm_placement = \"pre\"; };";
static const char post[] = MODEL "norm_placement = \"post\"; };";

static txd_arena *find_floor(double **errors, size_t *count, const fake *recording)
{
    const txd_compared compared = {.reference = recording->trace,
                                   .roundoff = 0x1p-8,
                                   .common = 1,
                                   .layers = LAYERS};
    txd_arena *arena;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_rounding_floor(errors, count, arena, &compared) == TXD_OK, "%s",
                  txd_message());
    return arena;
}

START_TEST(the_floor_is_what_rounding_the_sums_leaves)
{
    double measured[LAYERS], *errors;
    txd_arena *arena;
    fake recording;
    size_t count;

    run_stream(measured);
    open_stream(&recording, pre, true);
    arena = find_floor(&errors, &count, &recording);
    ck_assert_uint_eq(count, LAYERS);
    for (size_t layer = 0; layer < LAYERS; layer++)
        /* Mantissas of these numbers are not quite as likely as their logarithms. */
        ck_assert_msg(fabs(errors[layer] / measured[layer] - 1) < 0.1,
                      "layer %zu: %g, measured %g", layer, errors[layer],
                      measured[layer]);
    ck_assert(errors[LAYERS - 1] > 1.5 * errors[0]); /* it grows */
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(without_sizes_or_with_norms_in_the_stream_there_is_no_floor)
{
    const struct {
        const char *config;
        bool with_statistics;
    } cases[] = {{pre, false}, {post, true}};

    for (size_t i = 0; i < 2; i++) {
        double *errors;
        txd_arena *arena;
        fake recording;
        size_t count;

        for (size_t j = 0; j < SITES; j++)
            sizes[j] = 1;
        open_stream(&recording, cases[i].config, cases[i].with_statistics);
        arena = find_floor(&errors, &count, &recording);
        ck_assert_uint_eq(count, 0);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

TEST_MAIN(the_floor_is_what_rounding_the_sums_leaves,
          without_sizes_or_with_norms_in_the_stream_there_is_no_floor)
