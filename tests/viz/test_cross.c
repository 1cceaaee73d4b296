/* SPDX-License-Identifier: MIT */
/*
 * Figures of cross-attention: the memory on the key axis, judged by its padding and by
 * nothing of the tokens. A cell is found by drawing twice: the pixels that differ.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "need_gnuplot.h"
#include "png.h"

enum { QUERIES = 6, ROWS = 9, REAL = 7 };

#define WHITE 0xFFFFFFu
#define LOWEST 0x440154u
#define LEAK 0xE8371Bu

static txd_figure_request ask(const char *site, int layer, int head)
{
    return (txd_figure_request){
        .site = site, .layer = layer, .head = head, .step = -1, .batch = -1};
}

static void plot(png *out, fake *recording, txd_figure_request request)
{
    txd_mapped file;

    request.path = test_file("figure.png");
    ck_assert_msg(txd_plot(recording->trace, &request) == TXD_OK, "%s: %s",
                  request.site, txd_message());
    ck_assert_int_eq(txd_file_map(&file, request.path), TXD_OK);
    png_read(out, file.bytes, file.count);
    txd_file_unmap(&file);
}

/* A decoder that is causal and has cross-attention, with the first `real` of `rows`
 * rows of the memory real. */
static void open_cross(fake *out, size_t tokens, size_t rows, size_t real)
{
    const size_t dims[3] = {1, 1, rows};
    double valid[64];

    ck_assert_uint_le(rows, 64);
    for (size_t i = 0; i < rows; i++)
        valid[i] = i < real;
    fake_open(out);
    fake_decoder(out, tokens);
    for (size_t i = 0; i < out->meta_count; i++)
        if (strcmp(out->keys[i], "config") == 0)
            out->values[i] =
                "version = 1; model : { vocab = 512; d_model = 32; n_heads = 4; "
                "n_layers = 3; d_ff = 64; max_seq_len = 4096; cross = true; }; "
                "mask : { causal = true; };";
    fake_add(out, "input/memory_valid", "sbk", valid, dims);
}

/* Weights of one head: 0.5 at every real row, 1 at (0, 0), `value` at one place. */
static void open_head(fake *out, size_t query, size_t row, double value)
{
    const size_t dims[5] = {1, 1, 1, QUERIES, ROWS};
    double weights[QUERIES * ROWS] = {0};

    for (size_t i = 0; i < QUERIES * ROWS; i++)
        weights[i] = i % ROWS < REAL ? 0.5 : 0;
    weights[0] = 1;
    weights[query * ROWS + row] = value;
    open_cross(out, QUERIES, ROWS, REAL);
    fake_add(out, "layers.0.cross.weights", "sbhqk", weights, dims);
}

static void plot_head(png *out, size_t query, size_t row, double value)
{
    fake recording;

    open_head(&recording, query, row, value);
    plot(out, &recording, ask("layers.0.cross.weights", -1, -1));
    fake_close(&recording);
}

static png_box cell_of(size_t query, size_t row)
{
    png a, b;
    png_box box;

    plot_head(&a, query, row, 0.25);
    plot_head(&b, query, row, 0.75);
    box = png_differ(&a, &b);
    png_free(&a);
    png_free(&b);
    ck_assert_uint_gt(box.pixels, 0);
    return box;
}

static uint32_t at_cell(const png *picture, const png_box *first, size_t query,
                        size_t row)
{
    size_t side = first->right - first->left + 1;
    size_t x = (first->left + first->right) / 2 + row * side - side;
    size_t y = (first->top + first->bottom) / 2 + query * side - side;

    return picture->pixels[y * picture->width + x];
}

START_TEST(rows_of_the_memory_are_blank_where_they_are_padding)
{
    png_box first;
    png picture;

    NEED_GNUPLOT;
    first = cell_of(1, 1);
    plot_head(&picture, 2, 4, 0); /* right of the diagonal, and judged by no order */
    for (size_t q = 0; q < QUERIES; q++)
        for (size_t k = 0; k < ROWS; k++)
            ck_assert_msg((at_cell(&picture, &first, q, k) == WHITE) == (k >= REAL),
                          "query %zu, row %zu", q, k);
    ck_assert_uint_eq(at_cell(&picture, &first, 2, 4), LOWEST);
    ck_assert_uint_eq(png_count(&picture, LEAK), 0);
    png_free(&picture);
    plot_head(&picture, 2, REAL, 1e-30);
    ck_assert_uint_eq(at_cell(&picture, &first, 2, REAL), LOWEST);
    ck_assert_uint_gt(png_count(&picture, LEAK), 20);
    png_free(&picture);
}
END_TEST

/* A later step may have a shorter memory than the value has room for. */
START_TEST(a_picture_ends_with_the_memory_of_its_step)
{
    const size_t one = 1;
    const double lengths[2] = {6, 5};
    size_t differing[2];

    NEED_GNUPLOT;
    for (int i = 0; i < 2; i++) {
        png pictures[2];

        for (int j = 0; j < 2; j++) {
            fake recording;

            open_head(&recording, 1, 5, j ? 0.25 : 0.75);
            fake_add(&recording, "steps/length_memory", "n", &lengths[i], &one);
            plot(&pictures[j], &recording, ask("layers.0.cross.weights", -1, 0));
            fake_close(&recording);
        }
        differing[i] = png_differ(&pictures[0], &pictures[1]).pixels;
        png_free(&pictures[0]);
        png_free(&pictures[1]);
    }
    ck_assert_uint_gt(differing[0], 0);
    ck_assert_uint_eq(differing[1], 0);
}
END_TEST

/* 200 queries and 40 rows, of which 30 are real, in 8 x 4 cells: the row statistics
 * alone know of a weight at row 31. */
static void open_pooled(fake *out, double weight)
{
    const size_t dims[6] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 8, 4};
    const size_t row_dims[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 200};
    static double pooled[FAKE_LAYERS * FAKE_HEADS * 32];
    static double rows[2][FAKE_LAYERS * FAKE_HEADS * 200];
    const size_t place = (1 * FAKE_HEADS + 2) * 200 + 100;

    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS * 32; i++)
        pooled[i] = i % 4 == 3 ? NAN : 0.5;
    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS * 200; i++) {
        rows[0][i] = 0;
        rows[1][i] = -1;
    }
    rows[0][place] = weight;
    rows[1][place] = weight > 0 ? 31 : -1;
    open_cross(out, 200, 40, 30);
    fake_add(out, "cross_pooled/max", "slbhij", pooled, dims);
    fake_add(out, "cross_rows/hidden_max", "slbhq", rows[0], row_dims);
    fake_add(out, "cross_rows/hidden_key", "slbhq", rows[1], row_dims);
}

START_TEST(a_leak_to_padding_of_the_memory_is_marked_on_pooled_maps)
{
    const double weights[2] = {0, 0.001};
    size_t marked[3][2];
    fake recording;
    png picture;

    NEED_GNUPLOT;
    for (int i = 0; i < 2; i++) {
        open_pooled(&recording, weights[i]);
        for (int head = 1; head < 3; head++) {
            plot(&picture, &recording, ask("layers.1.cross.weights", -1, head));
            marked[head][i] = png_count(&picture, LEAK);
            ck_assert_uint_eq(png_count(&picture, 0xE000D0), 0);
            png_free(&picture);
        }
        plot(&picture, &recording, ask("layers.*.cross.weights", -1, -1));
        marked[0][i] = png_count(&picture, LEAK);
        png_free(&picture);
        fake_close(&recording);
    }
    ck_assert_uint_eq(marked[0][0], 0);
    ck_assert_uint_gt(marked[0][1], 40);
    ck_assert_uint_eq(marked[1][1], 0);
    ck_assert_uint_eq(marked[2][0], 0);
    ck_assert_uint_gt(marked[2][1], 40);
}
END_TEST

/* The self-attention of the same recording is judged by its own mask. */
START_TEST(the_overview_shows_the_attention_that_was_asked_for)
{
    const size_t none[4] = {1, 2, 5, 3}, leak[4] = {1, 2, 2, 5};
    const size_t *const places[2] = {none, leak};
    const size_t dims[5] = {1, 1, FAKE_HEADS, QUERIES, ROWS};
    double weights[FAKE_HEADS * QUERIES * ROWS];
    png self[2], cross[2];
    fake recording;

    NEED_GNUPLOT;
    for (size_t i = 0; i < FAKE_HEADS * QUERIES * ROWS; i++)
        weights[i] = i % ROWS < REAL ? 1.0 / REAL : 0;
    for (int i = 0; i < 2; i++) {
        open_cross(&recording, QUERIES, ROWS, REAL);
        fake_weights(&recording, QUERIES, places[i], 0.01);
        for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
            char name[40];

            snprintf(name, sizeof name, "layers.%zu.cross.weights", layer);
            fake_add(&recording, name, "sbhqk", weights, dims);
        }
        plot(&self[i], &recording, ask("layers.*.attn.weights", -1, -1));
        plot(&cross[i], &recording, ask("layers.*.cross.weights", -1, -1));
        fake_close(&recording);
    }
    ck_assert_uint_eq(png_count(&self[0], LEAK), 0);
    ck_assert_uint_gt(png_count(&self[1], LEAK), 40);
    ck_assert_uint_eq(png_count(&cross[0], LEAK), 0);
    ck_assert_uint_eq(png_differ(&cross[0], &cross[1]).pixels, 0);
    for (int i = 0; i < 2; i++) {
        png_free(&self[i]);
        png_free(&cross[i]);
    }
}
END_TEST

START_TEST(what_is_not_recorded_is_refused_with_the_choices)
{
    txd_figure_request request = ask("layers.*.cross.weights", -1, 1);
    fake recording;

    open_head(&recording, 1, 1, 0.25);
    request.path = test_file("refused.png");
    ck_assert_int_eq(txd_plot(recording.trace, &request), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "--layer"));
    request.site = "layers.1.cross.weights";
    ck_assert_int_eq(txd_plot(recording.trace, &request), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "recorded is layer 0"));
    request.site = "layers.0.cross.weights";
    request.head = 0;
    ck_assert_int_eq(txd_range_parse(&request.key, "9:"), TXD_OK);
    ck_assert_int_eq(txd_plot(recording.trace, &request), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "memory row"));
    fake_close(&recording);
}
END_TEST

TEST_MAIN(rows_of_the_memory_are_blank_where_they_are_padding,
          a_picture_ends_with_the_memory_of_its_step,
          a_leak_to_padding_of_the_memory_is_marked_on_pooled_maps,
          the_overview_shows_the_attention_that_was_asked_for,
          what_is_not_recorded_is_refused_with_the_choices)
