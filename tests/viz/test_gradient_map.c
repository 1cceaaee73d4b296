/* SPDX-License-Identifier: MIT
 *
 * The map of gradient norms: cells are the recorded numbers, colours change where the
 * band of the law ends, and neither zeros, NaN nor gaps look like norms.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "charted.h"
#include "need_gnuplot.h"
#include "png.h"
#include "series.h"

static txd_arena *make(txd_map *out, fake *recording, const series_plan *plan)
{
    txd_arena *arena;

    fake_open(recording);
    series_add_gradients(recording, plan);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_map_gradients(out, arena, recording->trace) == TXD_OK, "%s",
                  txd_message());
    return arena;
}

static bool says(const txd_map *map, const char *words)
{
    for (size_t i = 0; i < map->above_count; i++)
        if (strstr(map->above[i].text, words))
            return true;
    for (size_t i = 0; i < map->below_count; i++)
        if (strstr(map->below[i].text, words))
            return true;
    return false;
}

START_TEST(cells_are_the_recorded_norms_layers_down_and_steps_across)
{
    const series_plan plan = {.steps = 7, .layers = 5};
    const txd_figure *figure = txd_figure_find("gradient_map");
    const txd_figure_request request = charted_request("gradient_map", -1);
    txd_drawing drawing;
    const double *cells;
    txd_arena *arena;
    fake recording;
    txd_map map;

    arena = make(&map, &recording, &plan);
    ck_assert_uint_eq(map.rows.cells, 5);
    ck_assert_uint_eq(map.columns.cells, 7);
    ck_assert(map.logarithmic);
    ck_assert_ptr_nonnull(figure->heading);
    ck_assert(txd_drawing_init(&drawing, TXD_IMAGE_PNG) == TXD_OK &&
              figure->draw(&drawing, recording.trace, &request) == TXD_OK);
    ck_assert_uint_eq(drawing.file_count, 1);
    ck_assert_uint_eq(drawing.files[0].count, 35 * sizeof *cells);
    cells = drawing.files[0].bytes;
    for (size_t layer = 0; layer < 5; layer++)
        for (size_t step = 0; step < 7; step++)
            ck_assert(cells[layer * 7 + step] == series_value(step, layer));
    ck_assert(strstr(txd_text_get(&drawing.script), "set logscale cb"));
    txd_drawing_finish(&drawing);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

/* The palette's position of a norm. */
static double place_of(const txd_map *map, double norm)
{
    return log10(norm / map->low) / log10(map->high / map->low);
}

START_TEST(colours_change_where_the_band_of_the_law_ends)
{
    const size_t place[2] = {3, 1};
    const series_plan plan = {.steps = 5, .layers = 3, .place = place, .value = 3e5};
    const double ends[2] = {charted_threshold("checks.grad_range.low"),
                            charted_threshold("checks.grad_range.high")};
    txd_arena *arena;
    fake recording;
    txd_map map;

    arena = make(&map, &recording, &plan);
    ck_assert(map.low < ends[0] && map.high >= 3e5);
    for (int i = 0; i < 2; i++) {
        double stands, at = place_of(&map, ends[i]);
        const char *stop = strstr(map.extra, i ? "'#2a6f9e', " : "'#12052b', ");

        ck_assert_ptr_nonnull(stop);
        ck_assert_int_eq(sscanf(strchr(stop, ',') + 1, "%lf", &stands), 1);
        ck_assert_double_eq_tol(stands, at, 1e-9);
    }
    ck_assert(says(&map, "below: 0 of the norms; yellow, above: 1"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(zero_nan_and_a_gap_are_three_things)
{
    static const size_t place[2] = {4, 2}, gap[2] = {1, 0};
    static const struct {
        series_plan plan;
        const char *words;
        int flag;
    } cases[] = {
        {{.steps = 6, .layers = 3, .place = place},
         "1 cell, exactly 0; first: layer 2, step 4",
         TXD_FLAG_LEAK},
        {{.steps = 6, .layers = 3, .place = place, .value = 1, .nonfinite = 1},
         "1 cell, NaN or infinite; first: layer 2, step 4",
         TXD_FLAG_NONFINITE},
        {{.steps = 6, .layers = 3, .place = place, .value = INFINITY},
         "1 cell, NaN or infinite; first: layer 2, step 4",
         TXD_FLAG_NONFINITE},
        {{.steps = 6, .layers = 3, .gap = gap}, NULL, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txd_arena *arena;
        fake recording;
        size_t flagged = 0;
        txd_map map;

        arena = make(&map, &recording, &cases[i].plan);
        for (size_t j = 0; j < 18; j++)
            flagged += map.flags[j] != 0;
        if (cases[i].words) {
            ck_assert_uint_eq(flagged, 1);
            ck_assert_int_eq(map.flags[2 * 6 + 4], cases[i].flag);
            ck_assert_msg(says(&map, cases[i].words), "case %zu", i);
            ck_assert(says(&map, cases[i].flag == TXD_FLAG_LEAK ? "below: 1 of"
                                                                : "below: 0 of"));
        } else {
            ck_assert_uint_eq(flagged, 0);
            ck_assert(isnan(map.cells[1]));
        }
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(of_many_steps_the_one_that_explodes_keeps_its_cell)
{
    const size_t place[2] = {4321, 1};
    const series_plan plan = {.steps = 9000, .layers = 2, .place = place, .value = 5e4};
    size_t at = 0;
    txd_arena *arena;
    fake recording;
    txd_map map;

    arena = make(&map, &recording, &plan);
    ck_assert_uint_eq(map.columns.cells, TXD_MAP_CELLS);
    for (size_t i = 0; i < 2 * TXD_MAP_CELLS; i++)
        at = map.cells[i] > map.cells[at] ? i : at;
    ck_assert(map.cells[at] == 5e4);
    ck_assert_uint_eq(at, TXD_MAP_CELLS + 4321 * (size_t)TXD_MAP_CELLS / 9000);
    ck_assert(says(&map, "above: 1"));
    ck_assert(says(&map, "cells that several share show the norm farthest outside"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(one_step_is_no_map_and_gradients_must_be_there)
{
    const series_plan plan = {.steps = 1, .layers = 3};
    static const char *const none[1] = {"layers.0.resid.pre@grad"};
    const double row[12] = {1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0};
    const size_t dims[3] = {2, 1, 6};
    fake recording;

    fake_open(&recording);
    charted_missing(&recording, "gradient_map", "probe = \"grad_norm\"");
    series_add_gradients(&recording, &plan);
    charted_missing(&recording, "gradient_map", "1 step was recorded");
    fake_close(&recording);
    fake_open(&recording);
    fake_add(&recording, "series/grad_norm", "sxy", row, dims);
    fake_strings(&recording, "series/grad_norm_sites", none, 1);
    fake_meta(&recording, "series/grad_norm:fields",
              "count,l2,rms,max_abs,zeros,nonfinite");
    charted_missing(&recording, "gradient_map", "whole layers");
    fake_close(&recording);
}
END_TEST

/* Of a planted norm just above the band, in the corner: the cell's colour is that of
 * no healthy norm. */
START_TEST(a_norm_above_the_band_is_yellow_in_the_picture)
{
    const size_t place[2] = {0, 0};
    const series_plan plan = {.steps = 4, .layers = 3, .place = place, .value = 10.5};
    const uint32_t above = 0xF5CB45;
    size_t yellow = 0;
    txd_drawing drawing;
    txd_arena *arena;
    fake recording;
    txd_text bytes;
    txd_map map;
    png picture;

    NEED_GNUPLOT;
    arena = make(&map, &recording, &plan);
    txd_text_init(&bytes);
    ck_assert(txd_drawing_init(&drawing, TXD_IMAGE_PNG) == TXD_OK &&
              txd_map_draw(&drawing, &map) == TXD_OK &&
              txd_drawing_image(&bytes, &drawing) == TXD_OK);
    png_read(&picture, bytes.data, bytes.length);
    for (size_t i = 0; i < picture.width * picture.height; i++) {
        uint32_t p = picture.pixels[i];

        yellow += labs((long)(p >> 16) - (long)(above >> 16)) < 4 &&
                  labs((long)(p >> 8 & 255) - (long)(above >> 8 & 255)) < 4 &&
                  labs((long)(p & 255) - (long)(above & 255)) < 8;
    }
    ck_assert_uint_gt(yellow, 30 * 30); /* one cell has 34 x 34 */
    ck_assert_uint_lt(yellow, 2 * 34 * 34);
    png_free(&picture);
    txd_text_finish(&bytes);
    txd_drawing_finish(&drawing);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(cells_are_the_recorded_norms_layers_down_and_steps_across,
          colours_change_where_the_band_of_the_law_ends,
          zero_nan_and_a_gap_are_three_things,
          of_many_steps_the_one_that_explodes_keeps_its_cell,
          one_step_is_no_map_and_gradients_must_be_there,
          a_norm_above_the_band_is_yellow_in_the_picture)
