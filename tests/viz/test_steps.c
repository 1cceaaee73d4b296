/* SPDX-License-Identifier: MIT
 *
 * The chart of steps where some have no loss.
 */
#include <math.h>

#include "fake.h"
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

TEST_MAIN(a_step_without_a_loss_is_no_nan)
