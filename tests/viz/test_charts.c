/* SPDX-License-Identifier: MIT
 *
 * Charts of gradients and of steps: what they draw are the recording's numbers, and
 * what a line cannot show is marked and named.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "charted.h"
#include "need_gnuplot.h"
#include "png.h"
#include "series.h"
#include "viz/read/curves.h"
#include "viz/figures/figures.h"

#define LEAK 0xE8371Bu
#define NONFINITE 0xE000D0u

static txd_figure_request ask(const char *site)
{
    return (txd_figure_request){.site = site,
                                .layer = -1,
                                .head = -1,
                                .step = -1,
                                .batch = -1,
                                .path = test_file("chart.png")};
}

static void open_gradients(fake *out, const series_plan *plan)
{
    fake_open(out);
    fake_meta(out, "faults", "");
    series_add_gradients(out, plan);
}

static txd_arena *make(txd_chart *out, fake *recording, txd_chart_maker maker,
                       const char *site)
{
    const txd_figure_request request = ask(site);
    txd_arena *arena;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(maker(out, arena, recording->trace, &request) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_chart_settle(out), TXD_OK);
    return arena;
}

static void check_lines(const txd_graph *graph, const series_plan *plan, double times)
{
    size_t drawn = 0, legend = 0;

    ck_assert_uint_eq(graph->line_count, plan->steps);
    for (size_t step = 0; step < plan->steps; step++) {
        const txd_line *line = &graph->lines[step];

        ck_assert_uint_eq(line->count, plan->layers);
        for (size_t layer = 0; layer < plan->layers; layer++) {
            double expected = times * series_value(step, layer);

            ck_assert(line->x[layer] == (double)layer);
            ck_assert(line->y[layer] == expected);
            ck_assert(graph->low < expected && expected < graph->high);
        }
        drawn += !line->quiet;
        legend += line->legend;
    }
    ck_assert_uint_ge(legend, plan->steps < 8 ? plan->steps : 7);
    ck_assert_uint_le(legend, 8);
    ck_assert_uint_eq(drawn,
                      plan->steps < TXD_STEP_LINES ? plan->steps : TXD_STEP_LINES);
    ck_assert(graph->lines[0].legend && graph->lines[plan->steps - 1].legend);
}

static const size_t sizes[][2] = {{1, 1}, {1, 48}, {3, 4}, {1000, 1}, {1000, 48}};

START_TEST(gradients_by_layer_are_the_recorded_numbers)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const series_plan plan = {.steps = sizes[i][0], .layers = sizes[i][1]};
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        open_gradients(&recording, &plan);
        arena = make(&chart, &recording, txd_chart_gradients, "layers.*@grad");
        check_lines(&chart.graphs[0], &plan, 1);
        ck_assert_ptr_nonnull(chart.graphs[0].band_name);
        ck_assert(chart.graphs[0].low < 1e-3 && chart.graphs[0].high > 1000);
        txd_arena_destroy(arena);
        arena = make(&chart, &recording, txd_chart_gradients, "series/grad_norm");
        check_lines(&chart.graphs[0], &plan, 1);
        txd_arena_destroy(arena);
        arena =
            make(&chart, &recording, txd_chart_gradients, "layers.*.resid.pre@grad");
        check_lines(&chart.graphs[0], &plan, 2);
        ck_assert_ptr_null(chart.graphs[0].band_name);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(the_files_for_gnuplot_hold_the_numbers)
{
    const series_plan plan = {.steps = 2, .layers = 3};
    txd_drawing drawing;
    const char *text;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_gradients(&recording, &plan);
    arena = make(&chart, &recording, txd_chart_gradients, "layers.*@grad");
    ck_assert(txd_drawing_init(&drawing, TXD_IMAGE_PNG) == TXD_OK &&
              txd_chart_draw(&drawing, &chart) == TXD_OK && drawing.file_count == 2);
    for (size_t step = 0; step < 2; step++) {
        const double *pairs = drawing.files[step].bytes;

        ck_assert_uint_eq(drawing.files[step].count, 6 * sizeof *pairs);
        for (size_t layer = 0; layer < 3; layer++)
            ck_assert(pairs[2 * layer] == (double)layer &&
                      pairs[2 * layer + 1] == series_value(step, layer));
    }
    text = txd_text_get(&drawing.script);
    ck_assert(strstr(text, "first 0.001 to graph 1") && strstr(text, "first 1000 to"));
    txd_drawing_finish(&drawing);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

static bool has_note(const txd_chart *chart, const char *words)
{
    for (size_t i = 0; i < chart->below_count; i++)
        if (strstr(chart->below[i].text, words))
            return true;
    return false;
}

static void draw(png *out, fake *recording, const char *site)
{
    txd_figure_request request = ask(site);
    txd_mapped file;
    txd_status status = txd_plot(recording->trace, &request);

    ck_assert_msg(status == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_file_map(&file, request.path), TXD_OK);
    png_read(out, file.bytes, file.count);
    txd_file_unmap(&file);
}

static void count_marks(size_t out[2], const series_plan *plan)
{
    fake recording;
    png picture;

    open_gradients(&recording, plan);
    draw(&picture, &recording, "layers.*@grad");
    out[0] = png_count(&picture, LEAK);
    out[1] = png_count(&picture, NONFINITE);
    png_free(&picture);
    fake_close(&recording);
}

/* Exactly 0, with elements that are not finite, infinite; and nothing of that. */
enum { ZERO, NONE_FINITE, INFINITE, USUAL, PLANS };
static const size_t place[2] = {777, 3};
static const series_plan plans[PLANS] = {
    {.steps = 1000, .layers = 5, .place = place},
    {.steps = 1000, .layers = 5, .place = place, .value = 1, .nonfinite = 2},
    {.steps = 1000, .layers = 5, .place = place, .value = INFINITY},
    {.steps = 1000, .layers = 5},
};

START_TEST(a_norm_of_0_or_nan_is_named)
{
    for (int i = 0; i < PLANS; i++) {
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        open_gradients(&recording, &plans[i]);
        arena = make(&chart, &recording, txd_chart_gradients, "layers.*@grad");
        ck_assert(has_note(&chart, "1 value, exactly 0; first: step 777, layer 3") ==
                  (i == ZERO));
        ck_assert(
            has_note(&chart, "1 value, NaN or infinite; first: step 777, layer 3") ==
            (i == NONE_FINITE || i == INFINITE));
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(a_norm_of_0_or_nan_is_marked)
{
    size_t marks[PLANS][2];

    NEED_GNUPLOT;
    for (int i = 0; i < PLANS; i++)
        count_marks(marks[i], &plans[i]);
    ck_assert_uint_gt(marks[ZERO][0], marks[USUAL][0] + 30);
    ck_assert_uint_eq(marks[ZERO][1], 0);
    ck_assert_uint_gt(marks[NONE_FINITE][1], 20);
    ck_assert_uint_gt(marks[INFINITE][1], 20);
    ck_assert_uint_eq(marks[USUAL][1], 0);
}
END_TEST

START_TEST(all_norms_may_be_nan)
{
    const size_t first[2] = {0, 0};
    const series_plan plan = {
        .steps = 1, .layers = 1, .place = first, .value = NAN, .nonfinite = 1};
    size_t marks[2];

    NEED_GNUPLOT;
    count_marks(marks, &plan);
    ck_assert_uint_gt(marks[1], 20);
}
END_TEST

START_TEST(a_step_without_gradients_is_a_gap_and_no_nan)
{
    const size_t gap[2] = {1, 0};
    const series_plan plan = {.steps = 3, .layers = 1, .gap = gap};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_gradients(&recording, &plan);
    arena = make(&chart, &recording, txd_chart_gradients, "layers.*@grad");
    ck_assert_uint_eq(chart.graphs[0].line_count, 2);
    ck_assert_str_eq(chart.graphs[0].lines[0].name, "step 0");
    ck_assert_str_eq(chart.graphs[0].lines[1].name, "step 2");
    ck_assert_uint_eq(chart.graphs[0].nonfinite.total, 0);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(steps_are_the_recorded_loss_and_norm)
{
    const series_plan plan = {.steps = 1000, .layers = 2};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_gradients(&recording, &plan);
    arena = make(&chart, &recording, txd_chart_steps, "steps/loss");
    ck_assert_uint_eq(chart.graph_count, 2);
    for (size_t step = 0; step < 1000; step++) {
        ck_assert(chart.graphs[0].lines[0].x[step] == (double)step);
        ck_assert(chart.graphs[0].lines[0].y[step] == 6 + series_value(step, 0) / 100);
        ck_assert(chart.graphs[1].lines[0].y[step] == series_value(step, 1));
    }
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(gradients_of_layers_stand_over_those_of_their_inputs)
{
    const series_plan plan = {.steps = 2, .layers = 4};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_gradients(&recording, &plan);
    arena = make(&chart, &recording, txd_chart_gradients, "gradients");
    ck_assert_uint_eq(chart.graph_count, 2);
    check_lines(&chart.graphs[0], &plan, 1);
    check_lines(&chart.graphs[1], &plan, 2);
    ck_assert(chart.graphs[0].band_name && !chart.graphs[1].band_name);
    charted_check(&recording, "gradients", &chart, -1);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

/* The norm of a step that had no backward half is NaN in the file. */
START_TEST(forward_steps_have_no_gradient)
{
    static const char *const kinds[3] = {"forward", "backward", "backward"};
    const double loss[3] = {6, 5, 4}, norm[3] = {NAN, 2, NAN};
    const size_t steps = 3;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    fake_add(&recording, "steps/loss", "n", loss, &steps);
    fake_add(&recording, "steps/grad_norm", "n", norm, &steps);
    fake_strings(&recording, "steps/kind", kinds, 3);
    arena = make(&chart, &recording, txd_chart_steps, "steps/loss");
    ck_assert_uint_eq(chart.graph_count, 2);
    ck_assert_uint_eq(chart.graphs[1].lines[0].count, 2);
    ck_assert(chart.graphs[1].lines[0].x[0] == 1);
    ck_assert_uint_eq(chart.graphs[1].nonfinite.total, 1);
    ck_assert(has_note(&chart, "NaN or infinite; first: norm of the whole gradient, "
                               "step 2"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

static void check_refused(fake *recording, const char *site, txd_status expected,
                          const char *words)
{
    const txd_figure_request request = ask(site);
    txd_status status = txd_plot(recording->trace, &request);

    ck_assert_msg(status == expected, "%s: %d %s", site, status, txd_message());
    ck_assert_msg(strstr(txd_message(), words) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), words);
}

START_TEST(the_healthy_band_is_that_of_the_law)
{
    txd_graph graph = {.level_count = 0};

    txd_graph_gradient_band(&graph);
    ck_assert(graph.band[0] == charted_threshold("checks.grad_range.low"));
    ck_assert(graph.band[1] == charted_threshold("checks.grad_range.high"));
    ck_assert(graph.levels[0].y == charted_threshold("checks.grad_range.explode"));
}
END_TEST

START_TEST(what_is_missing_is_refused_with_what_to_do)
{
    const series_plan plan = {.steps = 2, .layers = 2};
    const double values[12] = {0};
    const size_t dims[3] = {1, 2, 6};
    static const char *const one[1] = {"layers.0@grad"};
    fake recording;

    fake_open(&recording);
    check_refused(&recording, "layers.*@grad", TXD_ERR_MISSING,
                  "probe = \"grad_norm\"");
    check_refused(&recording, "steps/loss", TXD_ERR_MISSING, "neither a loss");
    fake_add(&recording, "series/grad_norm", "sxy", values, dims);
    check_refused(&recording, "layers.*@grad", TXD_ERR_FORMAT, "names of its sites");
    fake_strings(&recording, "series/grad_norm_sites", one, 1);
    check_refused(&recording, "layers.*@grad", TXD_ERR_FORMAT, "fields");
    fake_meta(&recording, "series/grad_norm:fields", "a,b,c,d,e,f");
    check_refused(&recording, "layers.*@grad", TXD_ERR_FORMAT, "another length");
    fake_close(&recording);
    open_gradients(&recording, &plan);
    check_refused(&recording, "layers.*.attn.q@grad", TXD_ERR_CONFIG,
                  "Recorded by layer: layers.*.resid.pre@grad, layers.*@grad");
    check_refused(&recording, "x*\n!y'`@grad", TXD_ERR_CONFIG, "no gradient norms");
    fake_close(&recording);
}
END_TEST

TEST_MAIN(gradients_by_layer_are_the_recorded_numbers,
          the_files_for_gnuplot_hold_the_numbers, a_norm_of_0_or_nan_is_named,
          a_norm_of_0_or_nan_is_marked, all_norms_may_be_nan,
          a_step_without_gradients_is_a_gap_and_no_nan,
          steps_are_the_recorded_loss_and_norm,
          gradients_of_layers_stand_over_those_of_their_inputs,
          forward_steps_have_no_gradient, the_healthy_band_is_that_of_the_law,
          what_is_missing_is_refused_with_what_to_do)
