/* SPDX-License-Identifier: MIT */
/*
 * Figures as pictures: where a value is drawn, what is blank, what is marked. A cell is
 * found by drawing twice: the pixels that differ are the cell.
 */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "need_gnuplot.h"
#include "png.h"

enum { TOKENS = 6 };

#define WHITE 0xFFFFFFu
#define LOWEST 0x440154u /* the palette's ends */
#define HIGHEST 0xFDE725u
#define LEAK 0xE8371Bu

static txd_figure_request ask(const char *site, int layer, int head)
{
    return (txd_figure_request){
        .site = site, .layer = layer, .head = head, .step = -1, .batch = -1};
}

static void plot_file(fake *recording, txd_figure_request request, const char *path)
{
    request.path = path;
    ck_assert_msg(txd_plot(recording->trace, &request) == TXD_OK, "%s: %s",
                  request.site, txd_message());
}

static void load(png *out, const char *path)
{
    txd_mapped file;

    ck_assert_int_eq(txd_file_map(&file, path), TXD_OK);
    png_read(out, file.bytes, file.count);
    txd_file_unmap(&file);
}

static void plot(png *out, fake *recording, txd_figure_request request)
{
    const char *path = test_file("figure.png");

    plot_file(recording, request, path);
    load(out, path);
}

/* Weights of one layer and head: 0.5 wherever the query may look, 1 at (0, 0), so that
 * the scale is the same in all of them, and `value` at (query, key). */
static void plot_cell(png *out, size_t query, size_t key, double value)
{
    const size_t dims[5] = {1, 1, 1, TOKENS, TOKENS};
    double weights[TOKENS * TOKENS] = {0};
    fake recording;

    for (size_t q = 0; q < TOKENS; q++)
        for (size_t k = 0; k <= q; k++)
            weights[q * TOKENS + k] = 0.5;
    weights[0] = 1;
    weights[query * TOKENS + key] = value;
    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_add(&recording, "layers.0.attn.weights", "sbhqk", weights, dims);
    plot(out, &recording, ask("layers.0.attn.weights", -1, -1));
    fake_close(&recording);
}

static png_box cell_of(size_t query, size_t key)
{
    png a, b;
    png_box box;

    plot_cell(&a, query, key, 0.25);
    plot_cell(&b, query, key, 0.75);
    box = png_differ(&a, &b);
    png_free(&a);
    png_free(&b);
    ck_assert_uint_gt(box.pixels, 0);
    return box;
}

/* Cells touch, and the frame covers a pixel of the outer ones. */
static void check_near(size_t found, size_t expected)
{
    ck_assert_uint_le(found, expected + 1);
    ck_assert_uint_ge(found + 1, expected);
}

START_TEST(row_0_is_on_top_and_key_0_on_the_left)
{
    png_box a, b, c;
    size_t side;

    NEED_GNUPLOT;
    a = cell_of(1, 1);
    b = cell_of(4, 1);
    c = cell_of(4, 4);
    side = a.right - a.left + 1;
    ck_assert_uint_gt(side, 8);
    check_near(a.bottom - a.top + 1, side);
    check_near(b.left, a.left);
    check_near(b.top, a.top + 3 * side);
    check_near(c.top, b.top);
    check_near(c.left, b.left + 3 * side);
    ck_assert_uint_ge(a.pixels, (side - 1) * (side - 1));
}
END_TEST

/* The colour in the middle of a cell. */
static uint32_t at_cell(const png *picture, size_t query, size_t key)
{
    static png_box first;
    size_t side, x, y;

    if (first.pixels == 0)
        first = cell_of(1, 1);
    side = first.right - first.left + 1;
    x = (first.left + first.right) / 2 + key * side - side;
    y = (first.top + first.bottom) / 2 + query * side - side;
    return picture->pixels[y * picture->width + x];
}

START_TEST(the_hidden_half_is_blank_and_a_seen_zero_is_not)
{
    png picture;

    NEED_GNUPLOT;
    plot_cell(&picture, 4, 2, 0);
    for (size_t q = 0; q < TOKENS; q++)
        for (size_t k = 0; k < TOKENS; k++)
            if (k > q)
                ck_assert_uint_eq(at_cell(&picture, q, k), WHITE);
            else
                ck_assert_uint_ne(at_cell(&picture, q, k), WHITE);
    ck_assert_uint_eq(at_cell(&picture, 4, 2), LOWEST);
    ck_assert_uint_eq(at_cell(&picture, 0, 0), HIGHEST);
    ck_assert_uint_eq(png_count(&picture, LEAK), 0);
    png_free(&picture);
}
END_TEST

START_TEST(a_hidden_cell_that_is_not_0_is_drawn_and_marked)
{
    png picture;

    NEED_GNUPLOT;
    plot_cell(&picture, 2, 3, 1e-30);
    ck_assert_uint_eq(at_cell(&picture, 2, 3), LOWEST);
    ck_assert_uint_gt(png_count(&picture, LEAK), 20);
    ck_assert_uint_eq(at_cell(&picture, 2, 4), WHITE);
    png_free(&picture);
}
END_TEST

START_TEST(nan_and_infinity_are_never_blank)
{
    const double values[] = {NAN, INFINITY, -INFINITY};
    png picture;

    NEED_GNUPLOT;
    for (size_t i = 0; i < 3; i++) {
        plot_cell(&picture, 3, 1, values[i]);
        ck_assert_uint_gt(png_count(&picture, 0xE000D0), 20);
        png_free(&picture);
    }
    plot_cell(&picture, 1, 4, NAN);
    ck_assert_uint_gt(png_count(&picture, 0xE000D0), 20);
    png_free(&picture);
}
END_TEST

/* One leak in a million cells: a pixel would not be seen. */
START_TEST(one_leak_in_a_long_sequence_is_seen)
{
    const size_t tokens = 900, leak[4] = {1, 2, 5, 700}, none[4] = {1, 2, 5, 3};
    const size_t *const places[2] = {leak, none};
    png pictures[2], overviews[2];
    fake recording;

    NEED_GNUPLOT;
    for (int i = 0; i < 2; i++) {
        fake_open(&recording);
        fake_decoder(&recording, tokens);
        fake_weights(&recording, tokens, places[i], 0.01);
        plot(&pictures[i], &recording, ask("layers.*.attn.weights", 1, 2));
        plot(&overviews[i], &recording, ask("layers.*.attn.weights", -1, -1));
        fake_close(&recording);
    }
    ck_assert_uint_gt(png_count(&pictures[0], LEAK), 40);
    ck_assert_uint_eq(png_count(&pictures[1], LEAK), 0);
    ck_assert_uint_gt(png_count(&overviews[0], LEAK), 200);
    ck_assert_uint_eq(png_count(&overviews[1], LEAK), 0);
    for (int i = 0; i < 2; i++) {
        png_free(&pictures[i]);
        png_free(&overviews[i]);
    }
}
END_TEST

/* Pooled maps of 200 tokens in 8 x 8 cells: (100, 101) lies in a cell that is partly
 * seen. Only the row statistics know of it. */
static void open_pooled(fake *out, double hidden_weight)
{
    const size_t dims[6] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 8, 8};
    const size_t row_dims[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 200};
    static double pooled[FAKE_LAYERS * FAKE_HEADS * 64];
    static double rows[2][FAKE_LAYERS * FAKE_HEADS * 200];
    const size_t place = (1 * FAKE_HEADS + 2) * 200 + 100;

    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS * 64; i++)
        pooled[i] = i % 8 > i / 8 % 8 ? NAN : 0.5; /* hidden cells got nothing */
    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS * 200; i++) {
        rows[0][i] = 0;
        rows[1][i] = -1;
    }
    rows[0][place] = hidden_weight;
    rows[1][place] = hidden_weight > 0 ? 101 : -1;
    fake_open(out);
    fake_decoder(out, 200);
    fake_add(out, "pooled/max", "slbhij", pooled, dims);
    fake_add(out, "rows/hidden_max", "slbhq", rows[0], row_dims);
    fake_add(out, "rows/hidden_key", "slbhq", rows[1], row_dims);
}

START_TEST(a_leak_inside_a_pooled_cell_is_marked)
{
    const double weights[2] = {0, 0.001};
    size_t marked[3][2];
    fake recording;
    png picture;

    NEED_GNUPLOT;
    for (int i = 0; i < 2; i++) {
        open_pooled(&recording, weights[i]);
        plot(&picture, &recording, ask("layers.1.attn.weights", -1, 2));
        marked[0][i] = png_count(&picture, LEAK);
        ck_assert_uint_eq(png_count(&picture, 0xE000D0), 0);
        png_free(&picture);
        plot(&picture, &recording, ask("layers.1.attn.weights", -1, 1));
        marked[1][i] = png_count(&picture, LEAK);
        png_free(&picture);
        plot(&picture, &recording, ask("layers.*.attn.weights", -1, -1));
        marked[2][i] = png_count(&picture, LEAK);
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

START_TEST(labels_of_tokens_are_drawn_on_both_axes)
{
    static const char *const words[2][TOKENS] = {{"a", "a", "a", "a", "a", "a"},
                                                 {"W", "W", "W", "W", "W", "W"}};
    png_box panel, box;
    png pictures[2];
    fake recording;
    const size_t place[4] = {0, 0, 0, 0};

    NEED_GNUPLOT;
    panel = cell_of(1, 1);
    for (int i = 0; i < 2; i++) {
        fake_open(&recording);
        fake_decoder(&recording, TOKENS);
        fake_strings(&recording, "input/pieces", words[i], TOKENS);
        fake_weights(&recording, TOKENS, place, 1);
        plot(&pictures[i], &recording, ask("layers.*.attn.weights", 0, 0));
        fake_close(&recording);
    }
    box = png_differ(&pictures[0], &pictures[1]);
    ck_assert_uint_gt(box.pixels, 100);
    ck_assert_uint_lt(box.left, panel.left);
    ck_assert_uint_gt(box.bottom, panel.top + TOKENS * (panel.bottom - panel.top));
    png_free(&pictures[0]);
    png_free(&pictures[1]);
}
END_TEST

START_TEST(a_zoom_draws_the_chosen_range_alone)
{
    txd_figure_request request = ask("layers.0.attn.weights", -1, 1);
    const size_t place[4] = {0, 1, 12, 3};
    png whole, part;
    fake recording;

    NEED_GNUPLOT;
    fake_open(&recording);
    fake_decoder(&recording, 20);
    fake_weights(&recording, 20, place, 1);
    plot(&whole, &recording, request);
    ck_assert_int_eq(txd_range_parse(&request.query, "10:15"), TXD_OK);
    ck_assert_int_eq(txd_range_parse(&request.key, "0:8"), TXD_OK);
    plot(&part, &recording, request);
    ck_assert_uint_lt(part.height, whole.height);
    ck_assert_uint_lt(part.width, whole.width);
    ck_assert_uint_eq(png_count(&part, HIGHEST) > 400, 1);
    png_free(&whole);
    png_free(&part);
    fake_close(&recording);
}
END_TEST

START_TEST(every_size_and_kind_of_picture_is_drawn)
{
    static const size_t sizes[] = {1, 2, 64, 65, 701};
    static const char *const names[] = {"a.png", "a.svg", "a.pdf"};
    static const char *const starts[] = {"\x89PNG", "<?xm", "%PDF"};
    txd_figure_request one = ask("layers.*.attn.weights", 2, 3);
    txd_figure_request all = ask("layers.*.attn.weights", -1, -1);

    NEED_GNUPLOT;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fake recording;

        fake_open(&recording);
        fake_decoder(&recording, sizes[i]);
        fake_weights(&recording, sizes[i], NULL, 0);
        for (int k = 0; k < 3; k++) {
            const char *path = test_file(names[k]);
            txd_mapped file;

            one.scale = all.scale = k == 1 ? TXD_SCALE_LOG : TXD_SCALE_LINEAR;
            plot_file(&recording, one, path);
            ck_assert_int_eq(txd_file_map(&file, path), TXD_OK);
            ck_assert_mem_eq(file.bytes, starts[k], 4);
            txd_file_unmap(&file);
            plot_file(&recording, all, path);
        }
        fake_close(&recording);
    }
}
END_TEST

START_TEST(a_matrix_of_any_values_is_drawn)
{
    const size_t dims[4] = {1, 2, 5, 900};
    static double values[2 * 5 * 900];
    txd_figure_request request = ask("layers.0.resid.post", -1, -1);
    png first, second;
    png_box box;
    fake recording;

    NEED_GNUPLOT;
    fake_open(&recording);
    for (size_t i = 0; i < 2 * 5 * 900; i++)
        values[i] = i % 900 == 450 ? -4 : sin((double)i);
    fake_add(&recording, "layers.0.resid.post", "sbtd", values, dims);
    plot(&first, &recording, request);
    request.batch = 1;
    plot(&second, &recording, request);
    box = png_differ(&first, &second);
    ck_assert_uint_gt(box.pixels, 100);
    png_free(&first);
    png_free(&second);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(row_0_is_on_top_and_key_0_on_the_left,
          the_hidden_half_is_blank_and_a_seen_zero_is_not,
          a_hidden_cell_that_is_not_0_is_drawn_and_marked,
          nan_and_infinity_are_never_blank, one_leak_in_a_long_sequence_is_seen,
          a_leak_inside_a_pooled_cell_is_marked,
          labels_of_tokens_are_drawn_on_both_axes, a_zoom_draws_the_chosen_range_alone,
          every_size_and_kind_of_picture_is_drawn, a_matrix_of_any_values_is_drawn)
