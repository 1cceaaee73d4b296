/* SPDX-License-Identifier: MIT
 *
 * The chart of norms: what it draws are the recorded numbers, and positions are told
 * beside tokens.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>

#include "charted.h"
#include "series.h"

static const size_t sizes[][2] = {{1, 1}, {1, 48}, {3, 4}, {1000, 1}, {1000, 48}};

START_TEST(norms_are_the_recorded_means_in_order_of_execution)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const series_plan plan = {.steps = sizes[i][0], .layers = sizes[i][1]};
        size_t sites = 3 + 3 * plan.layers;
        txd_chart chart;
        txd_graph *graph = &chart.graphs[0];
        txd_arena *arena;
        fake recording;

        fake_open(&recording);
        series_add_norms(&recording, &plan);
        arena = charted_chart(&chart, &recording, txd_chart_norms, -1);
        ck_assert_uint_eq(graph->line_count, plan.steps == 1 ? 3 : plan.steps);
        for (size_t step = 0; step < plan.steps; step++)
            for (size_t j = 0; j < sites; j++)
                ck_assert(graph->lines[step].y[j] == series_value(step, j));
        for (size_t j = 0; j < sites && plan.steps == 1; j++) {
            ck_assert(graph->lines[1].y[j] == series_value(0, j) / 2);
            ck_assert(graph->lines[2].y[j] == series_value(0, j) * 2);
            ck_assert(graph->lines[1].quiet && graph->lines[2].quiet);
        }
        for (size_t j = 0; j < sites; j++) {
            ck_assert(j == 0 || graph->lines[0].x[j] > graph->lines[0].x[j - 1]);
            if (j >= 3 && j % 3 == 0)
                ck_assert(graph->lines[0].x[j] == (double)(j / 3 - 1));
        }
        ck_assert_str_eq(graph->tics[1].label, "embed.pos");
        ck_assert_str_eq(graph->tics[3].label, "layer 0");
        ck_assert_str_eq(graph->tics[4].name, "layers.0.resid.mid");
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(positions_are_told_beside_tokens)
{
    const series_plan plan = {.steps = 3, .layers = 2};
    double factor = charted_threshold("checks.position_norm.factor"), worst = 1;
    size_t step = 0;
    char words[2][80];
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    for (size_t i = 0; i < plan.steps; i++) {
        double ratio = series_value(i, 1) / series_value(i, 0);

        if (fabs(log(ratio)) > fabs(log(worst))) {
            worst = ratio;
            step = i;
        }
    }
    snprintf(words[0], sizeof words[0], "%.3g times as long as embed.tok (step %zu)",
             worst, step);
    snprintf(words[1], sizeof words[1], "usual is %g to %g", 1 / factor, factor);
    fake_open(&recording);
    series_add_norms(&recording, &plan);
    arena = charted_chart(&chart, &recording, txd_chart_norms, -1);
    ck_assert(charted_note(&chart, words[0]) && charted_note(&chart, words[1]));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(norms_are_the_recorded_means_in_order_of_execution,
          positions_are_told_beside_tokens)
