/* SPDX-License-Identifier: MIT */
/*
 * Weight by distance: lines hold the means over the recorded weights, the grey range
 * all heads, and keys that the mask hides appear if, and only if, they have weight.
 */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "need_gnuplot.h"
#include "viz/figures/figures.h"

/* Distances up to 16 stand alone; the longest here are in bins of 4 and 5. */
enum { TOKENS = 23, BINS = 19 };

static const size_t bins[BINS][2] = {{0, 1},   {1, 2},   {2, 3},   {3, 4},   {4, 5},
                                     {5, 6},   {6, 7},   {7, 8},   {8, 9},   {9, 10},
                                     {10, 11}, {11, 12}, {12, 13}, {13, 14}, {14, 15},
                                     {15, 16}, {16, 17}, {17, 21}, {21, 26}};

static double weights[FAKE_LAYERS][FAKE_HEADS][TOKENS][TOKENS];

static void read_weights(const fake *recording)
{
    static const char *const names[] = {
        "layers.0.attn.weights", "layers.1.attn.weights", "layers.2.attn.weights"};
    size_t entry;

    for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
        ck_assert_int_eq(txd_trace_find(recording->trace, &entry, names[layer]),
                         TXD_OK);
        ck_assert_int_eq(txd_trace_read_all(recording->trace, weights[layer],
                                            FAKE_HEADS * TOKENS * TOKENS, entry,
                                            TXD_F64),
                         TXD_OK);
    }
}

static double mean_at(size_t layer, size_t head, const size_t bin[2])
{
    double sum = 0;
    size_t count = 0;

    for (size_t q = 0; q < TOKENS; q++)
        for (size_t k = 0; k <= q; k++)
            if (q - k >= bin[0] && q - k < bin[1]) {
                sum += weights[layer][head][q][k];
                count++;
            }
    return sum / (double)count;
}

static double place_of(const size_t bin[2])
{
    return log2(1 + ((double)bin[0] + (double)bin[1] - 1) / 2);
}

static void check_near(double found, double expected)
{
    ck_assert_double_eq_tol(found / expected, 1, 1e-12);
}

static void open_decoder(fake *out, const size_t place[4], double value)
{
    fake_open(out);
    fake_decoder(out, TOKENS);
    fake_weights(out, TOKENS, place, value);
    read_weights(out);
}

static txd_arena *make(txd_chart *out, const fake *recording, int layer)
{
    const txd_figure_request request = {.site = "distance",
                                        .layer = layer,
                                        .head = -1,
                                        .step = -1,
                                        .batch = -1,
                                        .path = "a.png"};
    txd_arena *arena;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_chart_distance(out, arena, recording->trace, &request) == TXD_OK,
                  "%s", txd_message());
    return arena;
}

START_TEST(the_drawn_lines_are_the_means_of_each_layer_by_distance)
{
    const txd_figure_request request = {
        .site = "distance", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake recording;

    open_decoder(&recording, NULL, 0);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_msg(
        txd_figure_find("distance")->draw(&drawing, recording.trace, &request) ==
            TXD_OK,
        "%s", txd_message());
    ck_assert_uint_eq(drawing.file_count, 1 + FAKE_LAYERS + 1);
    for (size_t bin = 0; bin < BINS; bin++) {
        const double *range = drawing.files[0].bytes;
        double least = INFINITY, most = 0;

        for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
            const double *pairs = drawing.files[1 + layer].bytes;
            double sum = 0;

            ck_assert_uint_eq(drawing.files[1 + layer].count, BINS * 2 * sizeof *pairs);
            for (size_t head = 0; head < FAKE_HEADS; head++) {
                double mean = mean_at(layer, head, bins[bin]);

                sum += mean;
                least = fmin(least, mean);
                most = fmax(most, mean);
            }
            check_near(1 + pairs[2 * bin], 1 + place_of(bins[bin]));
            check_near(pairs[2 * bin + 1], sum / FAKE_HEADS);
        }
        check_near(range[3 * bin + 1], least);
        check_near(range[3 * bin + 2], most);
    }
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(the_reference_is_what_a_query_gives_each_of_its_keys_if_all_are_alike)
{
    txd_chart chart;
    txd_arena *arena;
    fake recording;
    const txd_line *line;

    open_decoder(&recording, NULL, 0);
    arena = make(&chart, &recording, -1);
    line = &chart.graphs[0].lines[chart.graphs[0].line_count - 1];
    ck_assert(line->dashed && line->count == BINS);
    for (size_t distance = 0; distance <= 16; distance++) {
        double sum = 0;

        for (size_t q = distance; q < TOKENS; q++)
            sum += 1 / (double)(q + 1);
        check_near(line->y[distance], sum / (double)(TOKENS - distance));
    }
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(of_one_layer_every_head_has_a_line)
{
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_decoder(&recording, NULL, 0);
    arena = make(&chart, &recording, 2);
    ck_assert_uint_eq(chart.graph_count, 1);
    ck_assert_uint_eq(chart.graphs[0].line_count, FAKE_HEADS + 1);
    for (size_t head = 0; head < FAKE_HEADS; head++) {
        const txd_line *line = &chart.graphs[0].lines[head];

        ck_assert(!line->quiet && line->legend && line->count == BINS);
        for (size_t bin = 0; bin < BINS; bin++)
            check_near(line->y[bin], mean_at(2, head, bins[bin]));
    }
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

/* Query 5 of layer 1, head 2 also sees the key behind it. */
START_TEST(a_later_key_with_weight_has_a_graph_of_its_own_and_a_warning)
{
    const size_t place[4] = {1, 2, 5, 6};
    const txd_graph *after;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_decoder(&recording, place, 0.25);
    arena = make(&chart, &recording, -1);
    ck_assert_uint_eq(chart.graph_count, 2);
    after = &chart.graphs[1];
    for (size_t i = 0; i < after->line_count; i++) {
        bool leaks = strcmp(after->lines[i].name, "layer 1") == 0 ||
                     strcmp(after->lines[i].name, "layer 1, head 2") == 0;

        ck_assert_uint_eq(after->lines[i].count, leaks ? 1 : 0);
        if (leaks)
            ck_assert(after->lines[i].x[0] == 1 && after->lines[i].y[0] == 0.25);
    }
    ck_assert_uint_eq(chart.below_count, 1);
    ck_assert(
        strstr(chart.below[0].text, "layer 1, though the claimed mask is causal"));
    ck_assert_str_eq(chart.below[0].colour, TXD_COLOUR_LEAK);
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(a_nan_is_marked_and_not_averaged_away)
{
    const size_t place[4] = {0, 1, 9, 6};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_decoder(&recording, place, NAN);
    arena = make(&chart, &recording, -1);
    ck_assert_int_eq(txd_chart_settle(&chart), TXD_OK);
    ck_assert_uint_eq(chart.graphs[0].nonfinite.total, 2); /* the layer and its head */
    ck_assert(isnan(chart.graphs[0].lines[0].y[3]));
    ck_assert(isfinite(chart.graphs[0].lines[0].y[4]));
    ck_assert(strstr(chart.below[0].text, "first: layer 0, distance 3"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(a_hidden_nan_is_no_leak)
{
    const size_t place[4] = {1, 2, 5, 6};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    open_decoder(&recording, place, NAN);
    arena = make(&chart, &recording, -1);
    ck_assert_int_eq(txd_chart_settle(&chart), TXD_OK);
    ck_assert_uint_eq(chart.graphs[1].nonfinite.total, 2);
    ck_assert_uint_eq(chart.below_count, 1);
    ck_assert(
        strstr(chart.below[0].text, "NaN or infinite; first: layer 1, distance 1"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

/* Beyond the window keys have no weight: a healthy line ends, and does not fall. */
START_TEST(lines_end_at_a_window_and_go_on_where_it_is_ignored)
{
    const char *config =
        "version = 1; model : { vocab = 512; d_model = 32; n_heads = 4; n_layers = 3; "
        "d_ff = 64; max_seq_len = 4096; }; mask : { causal = true; window = 4; };";
    size_t counts[2];

    for (int ignored = 0; ignored < 2; ignored++) {
        const size_t dims[5] = {1, 1, 1, TOKENS, TOKENS};
        static double row[TOKENS * TOKENS];
        txd_chart chart;
        txd_arena *arena;
        fake recording;

        for (size_t i = 0; i < (size_t)TOKENS * TOKENS; i++) {
            size_t q = i / TOKENS, k = i % TOKENS;

            row[i] = k <= q && (q - k < 4 || ignored) ? 0.1 : 0;
        }
        fake_open(&recording);
        fake_decoder(&recording, TOKENS);
        for (size_t i = 0; i < recording.meta_count; i++)
            if (strcmp(recording.keys[i], "config") == 0)
                recording.values[i] = config;
        fake_add(&recording, "layers.0.attn.weights", "sbhqk", row, dims);
        arena = make(&chart, &recording, -1);
        counts[ignored] = chart.graphs[0].lines[0].count;
        txd_arena_destroy(arena);
        fake_close(&recording);
    }
    ck_assert_uint_eq(counts[0], 4);
    ck_assert_uint_eq(counts[1], BINS);
}
END_TEST

START_TEST(without_weights_in_full_it_says_how_to_record_them)
{
    const txd_figure_request request = {
        .site = "distance", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_chart_distance(&chart, arena, recording.trace, &request),
                     TXD_ERR_MISSING);
    ck_assert(strstr(txd_message(), "probe = \"full\"; points = "
                                    "\"layers.*.attn.weights\""));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(gnuplot_draws_both_graphs)
{
    const size_t place[4] = {1, 2, 5, 6};
    txd_figure_request request = {
        .site = "distance", .layer = -1, .head = -1, .step = -1, .batch = -1};
    fake recording;

    NEED_GNUPLOT;
    open_decoder(&recording, place, 0.25);
    request.path = test_file("a.png");
    ck_assert_msg(txd_plot(recording.trace, &request) == TXD_OK, "%s", txd_message());
    fake_close(&recording);
}
END_TEST

TEST_MAIN(the_drawn_lines_are_the_means_of_each_layer_by_distance,
          the_reference_is_what_a_query_gives_each_of_its_keys_if_all_are_alike,
          of_one_layer_every_head_has_a_line,
          a_later_key_with_weight_has_a_graph_of_its_own_and_a_warning,
          a_nan_is_marked_and_not_averaged_away, a_hidden_nan_is_no_leak,
          lines_end_at_a_window_and_go_on_where_it_is_ignored,
          without_weights_in_full_it_says_how_to_record_them, gnuplot_draws_both_graphs)
