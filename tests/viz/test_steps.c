/* SPDX-License-Identifier: MIT
 *
 * The chart of steps where some have no loss.
 */
#include <math.h>

#include "charted.h"
#include "suite.h"
#include "viz/read/curves.h"
#include "viz/figures/figures.h"

/* Of four steps the first has no token that predicts another. */
START_TEST(a_step_without_a_loss_is_no_nan)
{
    static const double labels[4][2] = {{-1, -1}, {4, -1}, {4, -1}, {4, -1}};
    static const double loss[4] = {NAN, 3, NAN, 2}, norms[4] = {0, 1, NAN, 0};
    static const size_t steps = 4, dims[3] = {4, 1, 2};
    const txd_figure_request request = {.site = "steps/loss"};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    fake_add(&recording, "steps/loss", "n", loss, &steps);
    fake_add(&recording, "steps/grad_norm", "n", norms, &steps);
    fake_add(&recording, "input/labels", "sbt", labels[0], dims);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_chart_steps(&chart, arena, recording.trace, &request) == TXD_OK,
                  "%s", txd_message());
    ck_assert_uint_eq(chart.graph_count, 2);
    for (int graph = 0; graph < 2; graph++) {
        const txd_line *line = &chart.graphs[graph].lines[0];

        ck_assert_uint_eq(line->count, 3);
        for (int i = 0; i < 3; i++)
            ck_assert(line->x[i] == i + 1);
    }
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(one_step_is_no_curve_unless_its_column_is_asked_for)
{
    static const double loss[1] = {3};
    static const size_t steps = 1;
    const txd_figure_request request = charted_request("steps/loss", -1);
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_add(&recording, "steps/loss", "n", loss, &steps);
    charted_missing(&recording, "steps", "a curve needs several steps");
    ck_assert(txd_drawing_init(&drawing, TXD_IMAGE_SVG) == TXD_OK &&
              txd_figure_steps.draw(&drawing, recording.trace, &request) == TXD_OK);
    ck_assert(((const double *)drawing.files[0].bytes)[1] == 3);
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(a_drawn_model_begins_where_guessing_evenly_stands)
{
    static const char *const weights[3] = {"drawn", "loaded", NULL};
    static const double loss[2] = {6.4, 6.1};
    static const size_t steps = 2;

    for (size_t i = 0; i < 3; i++) {
        txd_chart chart;
        const txd_graph *graph = &chart.graphs[0];
        txd_arena *arena;
        fake recording;

        fake_open(&recording);
        fake_decoder(&recording, 4); /* a vocabulary of 512 */
        if (weights[i])
            fake_meta(&recording, "weights", weights[i]);
        fake_add(&recording, "steps/loss", "n", loss, &steps);
        arena = charted_chart(&chart, &recording, txd_chart_steps, -1);
        ck_assert_uint_eq(graph->level_count, i == 0);
        if (i == 0) {
            ck_assert_double_eq_tol(graph->levels[0].y, 9 * 0.69314718056, 1e-9);
            ck_assert_str_eq(graph->levels[0].name, "guessing evenly: ln 512 = 6.238");
        }
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

TEST_MAIN(a_step_without_a_loss_is_no_nan,
          a_drawn_model_begins_where_guessing_evenly_stands,
          one_step_is_no_curve_unless_its_column_is_asked_for)
