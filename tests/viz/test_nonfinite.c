/* SPDX-License-Identifier: MIT */
/*
 * The map of what is not finite: a row per value, a column per layer, the first ringed.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

enum { SITES = 6, LAYERS = 2, STEPS = 2, FIELDS = 2, ROWS = 4 };

/* Rows of the map: embed.out, attn.scores, resid.post, logits. */
static const char *const sites[SITES] = {"embed.out",           "layers.0.attn.scores",
                                         "layers.0.resid.post", "layers.1.attn.scores",
                                         "layers.1.resid.post", "logits"};

/* Statistics of two steps, 100 elements each; bad[step][site] are not finite, NaN = not
 * recorded. */
static void open_statistics(fake *out, const double bad[STEPS][SITES])
{
    const size_t dims[3] = {STEPS, SITES, FIELDS};
    double numbers[STEPS * SITES * FIELDS];

    for (size_t i = 0; i < (size_t)STEPS * SITES; i++) {
        numbers[2 * i] = 100;
        numbers[2 * i + 1] = bad[i / SITES][i % SITES];
    }
    fake_open(out);
    fake_add(out, "series/stats", "sxy", numbers, dims);
    fake_strings(out, "series/stats_sites", sites, SITES);
    fake_meta(out, "series/stats:fields", "count,nonfinite");
}

static void draw_spread(txd_drawing *out, fake *recording, int step)
{
    const txd_figure_request request = {
        .site = "nonfinite", .layer = -1, .head = -1, .step = step, .batch = -1};

    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    OK(txd_figure_nonfinite.draw(out, recording->trace, &request));
}

/* Checks the cells; -1 stands for white, -2 for grey. */
static void check_cells(const txd_drawing *drawing, const double expected[ROWS][LAYERS])
{
    size_t count, bytes;
    const double *cells = drawn_numbers(drawing, "cells", &count);
    const unsigned char *grey =
        drawn_has(drawing, "unknown") ? drawn_file(drawing, "unknown", &bytes) : NULL;

    ck_assert_uint_eq(count, ROWS * LAYERS);
    for (size_t i = 0; i < count; i++) {
        double value = expected[i / LAYERS][i % LAYERS];

        if (value > 0)
            ck_assert_double_eq_tol(cells[i], value, 1e-12);
        else
            ck_assert_msg(isnan(cells[i]), "cell %zu is %g", i, cells[i]);
        ck_assert_int_eq(grey && grey[4 * i + 3] != 0, value == -2);
    }
}

START_TEST(a_cell_per_value_and_layer_shows_the_share_that_is_not_finite)
{
    const double bad[STEPS][SITES] = {{0, 0, 0, 0, 0, 0}, {0, 25, 50, 0, NAN, 100}};
    const double *ring;
    txd_drawing drawing;
    fake recording;
    size_t count;

    open_statistics(&recording, bad);
    draw_spread(&drawing, &recording, -1);
    check_cells(&drawing,
                (const double[ROWS][LAYERS]){{-1, -1}, {0.25, -1}, {0.5, -2}, {1, 1}});
    ring = drawn_numbers(&drawing, "nonfinite", &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq(ring[0], 0);
    ck_assert_double_eq(ring[1], 1);
    drawn_says(&drawing, "step 1;");
    drawn_says(&drawing, "layers.0.attn.scores");
    drawn_says(&drawing, "'attn.scores' 1");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(a_healthy_step_is_white_and_says_so)
{
    const double bad[STEPS][SITES] = {{0, 0, 0, 0, 0, 0}, {0, 1, 1, 0, 0, 1}};
    txd_drawing drawing;
    fake recording;

    open_statistics(&recording, bad);
    draw_spread(&drawing, &recording, 0);
    check_cells(&drawing,
                (const double[ROWS][LAYERS]){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}});
    ck_assert(!drawn_has(&drawing, "nonfinite"));
    drawn_says(&drawing, "No value is NaN or infinite");
    drawn_says(&drawing, "6 values, all finite");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

/* Events know parameters, and where in a value it begins. */
START_TEST(the_first_event_is_named_and_parameters_come_before_values)
{
    static const char *const where[3] = {"layers.1.attn.q.weight",
                                         "layers.1.attn.scores", "logits"};
    const double bad[STEPS][SITES] = {{0, 0, 0, 10, 0, 100}, {0}};
    const double zeros[3] = {0, 0, 0}, counts[3] = {1, 10, 100},
                 elements[3] = {64, 100, 100}, rows[3] = {5, 2, 0},
                 values[3] = {-INFINITY, NAN, NAN};
    const size_t three = 3;
    const double *ring;
    txd_drawing drawing;
    fake recording;
    size_t count;

    open_statistics(&recording, bad);
    fake_strings(&recording, "events/nonfinite/site", where, 3);
    fake_add(&recording, "events/nonfinite/step", "n", zeros, &three);
    fake_add(&recording, "events/nonfinite/count", "n", counts, &three);
    fake_add(&recording, "events/nonfinite/elements", "n", elements, &three);
    fake_add(&recording, "events/nonfinite/row", "n", rows, &three);
    fake_add(&recording, "events/nonfinite/value", "n", values, &three);
    draw_spread(&drawing, &recording, -1);
    ring = drawn_numbers(&drawing, "nonfinite", &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq(ring[0], 1);
    ck_assert_double_eq(ring[1], 0);
    drawn_says(&drawing, "'attn.q.weight' 0");
    drawn_says(&drawing, "layers.1.attn.q.weight:");
    drawn_says(&drawing, "-Inf, row 5; 1 of 64 elements");
    drawn_says(&drawing, "spreads to 3 of 7 values");
    drawn_says(&drawing, "as logits'");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(without_events_and_statistics_it_says_how_to_record_them)
{
    const txd_figure_request request = {
        .site = "nonfinite", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, 4);
    OK(txd_drawing_init(&drawing, TXD_IMAGE_PNG));
    ck_assert_int_eq(txd_figure_nonfinite.draw(&drawing, recording.trace, &request),
                     TXD_ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(txd_message(), "probe = \"nonfinite\""));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(a_cell_per_value_and_layer_shows_the_share_that_is_not_finite,
          a_healthy_step_is_white_and_says_so,
          the_first_event_is_named_and_parameters_come_before_values,
          without_events_and_statistics_it_says_how_to_record_them)
