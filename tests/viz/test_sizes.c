/* SPDX-License-Identifier: MIT
 *
 * The chart of sizes: what its drawing holds are the recorded statistics, and what is
 * beyond the end of a format, or not finite, is seen and named.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "charted.h"
#include "series.h"

enum { LAYERS = 3, STEPS = 2 };

/* Rows of the series. */
enum { TOKENS, SCORES, OUT, BRANCH, PRE, POST, LAYER_SITES, LOGITS = 16, SITES };

static const char *const sites[SITES] = {
    "embed.tok",
    "layers.0.attn.scores",
    "layers.0.attn.out",
    "layers.0.attn.branch",
    "layers.0.resid.pre",
    "layers.0.resid.post",
    "layers.1.attn.scores",
    "layers.1.attn.out",
    "layers.1.attn.branch",
    "layers.1.resid.pre",
    "layers.1.resid.post",
    "layers.2.attn.scores",
    "layers.2.attn.out",
    "layers.2.attn.branch",
    "layers.2.resid.pre",
    "layers.2.resid.post",
    "logits",
};

static size_t row_of(size_t layer, size_t site)
{
    return layer * (LAYER_SITES - 1) + site;
}

/* A branch is what its projection puts out. */
static size_t same(size_t row)
{
    return row != 0 && row != LOGITS && (row - 1) % (LAYER_SITES - 1) == BRANCH - 1
               ? row - 1
               : row;
}

/* Larger in the second step in every third row, in the first in the others. */
static double rms(size_t step, size_t row)
{
    double value = 0.5 + fabs(sin(1.0 + (double)same(row) * 1.7));

    return (step == 1) == (same(row) % 3 == 0) ? value : value / 2;
}

static double largest(size_t step, size_t row)
{
    return 7 * rms(step, row);
}

static double enormous(size_t step, size_t row)
{
    return row == row_of(2, POST) ? 1e25 : largest(step, row);
}

static double beyond_float16(size_t step, size_t row)
{
    return row == row_of(2, POST) ? 70000 : largest(step, row);
}

static const series_stats plain = {.sites = sites,
                                   .steps = STEPS,
                                   .count = SITES,
                                   .nonfinite = SIZE_MAX,
                                   .gap = SIZE_MAX,
                                   .rms = rms,
                                   .std = rms,
                                   .largest = largest};

/* Of step `step`, or of both the larger. */
static double expected(double (*value)(size_t, size_t), int step, size_t row)
{
    return step >= 0 ? value((size_t)step, row) : fmax(value(0, row), value(1, row));
}

static void check_layers(const txd_graph *graph, const char *name, size_t site,
                         double (*value)(size_t, size_t), int step)
{
    const txd_line *line = charted_line(graph, name);

    ck_assert_msg(line != NULL, "no line of %s", name);
    ck_assert_uint_eq(line->count, LAYERS);
    for (size_t layer = 0; layer < LAYERS; layer++) {
        ck_assert(line->x[layer] == (double)layer);
        ck_assert(line->y[layer] == expected(value, step, row_of(layer, site)));
        ck_assert(graph->low < line->y[layer] && line->y[layer] < graph->high);
    }
}

START_TEST(sizes_by_layer_are_the_recorded_ones_and_of_several_steps_the_largest)
{
    for (int step = -1; step < STEPS; step++) {
        double (*const values[2])(size_t, size_t) = {largest, rms};
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        fake_open(&recording);
        series_add_stats(&recording, &plain);
        arena = charted_chart(&chart, &recording, txd_chart_activations, step);
        ck_assert_uint_eq(chart.graph_count, 2);
        for (size_t g = 0; g < 2; g++) {
            const txd_line *outside =
                charted_line(&chart.graphs[g], "outside the layers");

            check_layers(&chart.graphs[g], "attn.scores", SCORES, values[g], step);
            check_layers(&chart.graphs[g], "attn.out", OUT, values[g], step);
            check_layers(&chart.graphs[g], "resid.post", POST, values[g], step);
            ck_assert_uint_eq(outside->count, 2);
            ck_assert(outside->x[0] == -1 && outside->x[1] == LAYERS);
            ck_assert(outside->y[0] == expected(values[g], step, TOKENS));
            ck_assert(outside->y[1] == expected(values[g], step, LOGITS));
        }
        charted_check(&recording, "activations", &chart, step);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(what_says_the_same_twice_is_drawn_once)
{
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    series_add_stats(&recording, &plain);
    arena = charted_chart(&chart, &recording, txd_chart_activations, -1);
    ck_assert_ptr_null(charted_line(&chart.graphs[0], "attn.branch"));
    ck_assert_ptr_null(charted_line(&chart.graphs[0], "resid.pre"));
    ck_assert_uint_eq(chart.graphs[0].line_count, 4);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(float16_ends_in_every_picture_and_float32_where_it_is_near)
{
    static const struct {
        double (*size)(size_t, size_t);
        size_t levels;
        const char *words[2];
    } cases[] = {
        {largest, 1, {"below the end of float16 (65504)", "in layers."}},
        {beyond_float16, 1, {"beyond the end of float16", "70000, in layers.2.resid"}},
        {enormous, 2, {"beyond the end of float16", "float32 and bf16 (3.4028e+38)"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        series_stats plan = plain;
        txd_chart chart;
        const txd_graph *graph = &chart.graphs[0];
        txd_arena *arena;
        fake recording;

        plan.largest = cases[i].size;
        fake_open(&recording);
        series_add_stats(&recording, &plan);
        arena = charted_chart(&chart, &recording, txd_chart_activations, -1);
        ck_assert_uint_eq(graph->level_count, cases[i].levels);
        ck_assert(graph->levels[0].y == 65504);
        ck_assert(graph->low < 65504 && graph->high > 65504);
        if (cases[i].levels > 1)
            ck_assert(graph->levels[1].y == (double)3.40282347e+38F);
        for (size_t j = 0; j < 2; j++)
            ck_assert_msg(charted_note(&chart, cases[i].words[j]), "case %zu: \"%s\"",
                          i, cases[i].words[j]);
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(a_size_that_is_not_finite_is_marked_and_leaves_no_headroom)
{
    series_stats plan = plain;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    plan.nonfinite = row_of(1, OUT);
    fake_open(&recording);
    series_add_stats(&recording, &plan);
    arena = charted_chart(&chart, &recording, txd_chart_activations, -1);
    ck_assert_uint_eq(chart.graphs[0].nonfinite.total, 1);
    ck_assert_uint_eq(chart.graphs[1].nonfinite.total, 1);
    ck_assert(charted_note(&chart, "No headroom: layers.1.attn.out is not finite"));
    ck_assert(charted_note(&chart, "NaN or infinite; first: attn.out, layer 1"));
    ck_assert_uint_eq(chart.below_count, 2); /* what both graphs say is said once */
    txd_arena_destroy(arena);
    arena = charted_chart(&chart, &recording, txd_chart_activations, 1);
    ck_assert_uint_eq(chart.graphs[0].nonfinite.total, 0);
    ck_assert(!charted_note(&chart, "No headroom"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(the_first_mark_is_the_leftmost_or_that_of_the_first_line_of_a_sequence)
{
    double x[3] = {0, 1, 2}, y[2][3] = {{1, 1, NAN}, {1, NAN, 1}};

    for (int ordered = 0; ordered < 2; ordered++) {
        txd_line lines[2] = {{.name = "a", .x = x, .y = y[0], .count = 3},
                             {.name = "b", .x = x, .y = y[1], .count = 3}};
        txd_chart chart = {.title = "", .graph_count = 1};
        txd_graph *graph = &chart.graphs[0];

        *graph = (txd_graph){.x_title = "layer",
                             .ordered = ordered != 0,
                             .lines = lines,
                             .line_count = 2};
        ck_assert_int_eq(txd_arena_create(&chart.arena), TXD_OK);
        ck_assert_int_eq(txd_chart_settle(&chart), TXD_OK);
        ck_assert_uint_eq(graph->nonfinite.total, 2);
        ck_assert_ptr_eq(graph->nonfinite.line, &lines[ordered ? 0 : 1]);
        ck_assert(graph->nonfinite.x == (ordered ? 2 : 1));
        txd_arena_destroy(chart.arena);
    }
}
END_TEST

START_TEST(a_layer_that_was_not_recorded_is_a_gap)
{
    series_stats plan = plain;
    const txd_line *line;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    plan.gap = row_of(1, POST);
    fake_open(&recording);
    series_add_stats(&recording, &plan);
    arena = charted_chart(&chart, &recording, txd_chart_activations, -1);
    line = charted_line(&chart.graphs[0], "resid.post");
    ck_assert_uint_eq(line->count, 2);
    ck_assert(line->x[0] == 0 && line->x[1] == 2);
    ck_assert_uint_eq(chart.graphs[0].nonfinite.total, 0);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(without_statistics_it_is_said_how_to_record_them)
{
    static const char *const gradients[1] = {"layers.0.norm1.out@grad"};
    static const char *const names[2] = {"activations", "norm_output"};
    series_stats plan = plain;
    fake recording;

    plan.sites = gradients;
    plan.count = 1;
    for (size_t i = 0; i < 2; i++) {
        fake_open(&recording);
        charted_missing(&recording, names[i], "probe = \"stats\"");
        series_add_stats(&recording, &plan);
        charted_missing(&recording, names[i], "probe = \"stats\"");
        fake_close(&recording);
    }
}
END_TEST

TEST_MAIN(sizes_by_layer_are_the_recorded_ones_and_of_several_steps_the_largest,
          what_says_the_same_twice_is_drawn_once,
          float16_ends_in_every_picture_and_float32_where_it_is_near,
          a_size_that_is_not_finite_is_marked_and_leaves_no_headroom,
          the_first_mark_is_the_leftmost_or_that_of_the_first_line_of_a_sequence,
          a_layer_that_was_not_recorded_is_a_gap,
          without_statistics_it_is_said_how_to_record_them)
