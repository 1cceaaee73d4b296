/* SPDX-License-Identifier: MIT
 *
 * The chart of norms' outputs: deviations as recorded, root mean squares beside what
 * gain and bias give, and the band of the law where the law has one.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "charted.h"
#include "series.h"

enum { LAYERS = 2, STEPS = 2, SITES = 2 * LAYERS + 1, FINAL = SITES - 1, PARAMS = 7 };

static const char *const sites[SITES] = {"layers.0.norm1.out", "layers.0.norm2.out",
                                         "layers.1.norm1.out", "layers.1.norm2.out",
                                         "final.norm"};

static const char *const params[PARAMS] = {
    "layers.0.norm1.weight", "layers.0.norm2.weight", "layers.1.norm1.weight",
    "layers.1.norm2.weight", "final_norm.weight",     "layers.0.norm1.bias",
    "unknown.weight"};

/* Mean and rms. */
static const double moments[PARAMS][2] = {{0.9, 1.1}, {1, 1},   {2, 2.5}, {0.5, 0.6},
                                          {3, 3.1},   {0, 0.3}, {7, 8}};
static const double ones[PARAMS][2] = {{1, 1}, {1, 1}, {1, 1}, {1, 1},
                                       {1, 1}, {0, 0}, {1, 1}};

/* In every other row step 1 is farther from 1, below or above. */
static double std(size_t step, size_t row)
{
    static const double far[SITES] = {0.3, 4, 0.7, 1.5, 0.9};

    return (step == 1) == (row % 2 == 1) ? far[row] : 1.01;
}

static double rms(size_t step, size_t row)
{
    return std(step, row) * 1.25;
}

static double largest(size_t step, size_t row)
{
    return 5 * rms(step, row);
}

static const series_stats plain = {.sites = sites,
                                   .steps = STEPS,
                                   .count = SITES,
                                   .nonfinite = SIZE_MAX,
                                   .gap = SIZE_MAX,
                                   .rms = rms,
                                   .std = std,
                                   .largest = largest};

#define MODEL                                                                          \
    "vocab = 512; d_model = 32; n_heads = 4; n_layers = 2; d_ff = 64; max_seq_len = "  \
    "64; "
static const char root_mean[] =
    "version = 1; model : { " MODEL "norm = \"rmsnorm\"; norm_offset = 1.0; };";
static const char centred[] =
    "version = 1; model : { " MODEL "norm = \"layernorm\"; };";

static void open_norms(fake *out, const char *config, const char *weights,
                       const double (*gains)[2])
{
    fake_open(out);
    fake_meta(out, "config", config);
    fake_meta(out, "weights", weights);
    series_add_stats(out, &plain);
    if (gains)
        series_add_params(out, params, PARAMS, gains);
}

static double farther(double a, double b)
{
    return fabs(log(a)) > fabs(log(b)) ? a : b;
}

static double expected(double (*value)(size_t, size_t), int step, size_t row)
{
    return step >= 0 ? value((size_t)step, row) : farther(value(0, row), value(1, row));
}

/* `by` divides a row's value; NULL = nothing does. */
static void check_graph(const txd_graph *graph, double (*value)(size_t, size_t),
                        const double *by, int step)
{
    static const char *const names[2] = {"norm1.out", "norm2.out"};
    const txd_line *outside = charted_line(graph, "outside the layers");

    for (size_t i = 0; i < 2; i++) {
        const txd_line *line = charted_line(graph, names[i]);

        ck_assert_ptr_nonnull(line);
        ck_assert_uint_eq(line->count, LAYERS);
        for (size_t layer = 0; layer < LAYERS; layer++) {
            size_t row = 2 * layer + i;

            ck_assert(line->x[layer] == (double)layer);
            ck_assert_double_eq_tol(
                line->y[layer], expected(value, step, row) / (by ? by[row] : 1), 1e-12);
        }
    }
    ck_assert_uint_eq(outside->count, 1);
    ck_assert_double_eq_tol(outside->y[0],
                            expected(value, step, FINAL) / (by ? by[FINAL] : 1), 1e-12);
}

START_TEST(deviations_are_the_recorded_ones_and_of_several_steps_the_farthest_from_1)
{
    for (int step = -1; step < STEPS; step++) {
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        open_norms(&recording, centred, "drawn", ones);
        arena = charted_chart(&chart, &recording, txd_chart_norm_output, step);
        ck_assert_uint_eq(chart.graph_count, 1);
        check_graph(&chart.graphs[0], std, NULL, step);
        charted_check(&recording, "norm_output", &chart, step);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

/* Of gains that are stored as their distance from 1, and of a bias. */
START_TEST(root_mean_squares_are_in_parts_of_what_gain_and_bias_give)
{
    double by[SITES];
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    for (size_t i = 0; i < SITES; i++) {
        double mean = moments[i][0], mean_square = moments[i][1] * moments[i][1];

        by[i] = sqrt(1 + 2 * mean + mean_square + (i == 0 ? 0.09 : 0));
    }
    open_norms(&recording, root_mean, "loaded", moments);
    arena = charted_chart(&chart, &recording, txd_chart_norm_output, -1);
    ck_assert_uint_eq(chart.graph_count, 2);
    check_graph(&chart.graphs[0], std, NULL, -1);
    check_graph(&chart.graphs[1], rms, by, -1);
    charted_check(&recording, "norm_output", &chart, -1);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

static bool has_band(const txd_graph *graph)
{
    return graph->band_name && graph->level_count == 2;
}

START_TEST(training_takes_the_band_from_deviations_and_not_from_what_gains_explain)
{
    static const struct {
        const char *weights;
        const double (*gains)[2];
        bool bands[2];
    } cases[] = {{"drawn", NULL, {true, true}},
                 {"drawn", moments, {true, true}},
                 {"loaded", moments, {false, true}},
                 {"loaded", NULL, {false, false}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        open_norms(&recording, root_mean, cases[i].weights, cases[i].gains);
        arena = charted_chart(&chart, &recording, txd_chart_norm_output, -1);
        ck_assert_uint_eq(chart.graph_count, 2);
        for (size_t g = 0; g < 2; g++)
            ck_assert_msg(has_band(&chart.graphs[g]) == cases[i].bands[g],
                          "case %zu, graph %zu", i, g);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(band_and_alarms_are_those_of_the_law)
{
    txd_chart chart;
    const txd_graph *graph = &chart.graphs[0];
    txd_arena *arena;
    fake recording;

    open_norms(&recording, centred, "drawn", ones);
    arena = charted_chart(&chart, &recording, txd_chart_norm_output, -1);
    ck_assert(graph->band[0] == charted_threshold("checks.norm_moments.std_low"));
    ck_assert(graph->band[1] == charted_threshold("checks.norm_moments.std_high"));
    ck_assert(graph->levels[0].y ==
              charted_threshold("checks.norm_moments.std_alarm_low"));
    ck_assert(graph->levels[1].y ==
              charted_threshold("checks.norm_moments.std_alarm_high"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(an_output_that_is_not_finite_is_marked_and_no_deviation)
{
    series_stats plan = plain;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    plan.nonfinite = 3;
    fake_open(&recording);
    fake_meta(&recording, "config", root_mean);
    series_add_stats(&recording, &plan);
    arena = charted_chart(&chart, &recording, txd_chart_norm_output, -1);
    for (size_t g = 0; g < 2; g++)
        ck_assert_uint_eq(chart.graphs[g].nonfinite.total, 1);
    ck_assert(charted_note(&chart, "NaN or infinite; first: norm2.out, layer 1"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(deviations_are_the_recorded_ones_and_of_several_steps_the_farthest_from_1,
          root_mean_squares_are_in_parts_of_what_gain_and_bias_give,
          training_takes_the_band_from_deviations_and_not_from_what_gains_explain,
          band_and_alarms_are_those_of_the_law,
          an_output_that_is_not_finite_is_marked_and_no_deviation)
