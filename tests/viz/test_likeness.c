/* SPDX-License-Identifier: MIT */
/*
 * All heads against all: each cell is what two heads have in common, of the recorded
 * weights; heads that are one are ringed, and others are not.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need_gnuplot.h"
#include "sheet.h"

enum { TOKENS = 14, HEADS = FAKE_LAYERS * FAKE_HEADS };

static double weights[HEADS][TOKENS][TOKENS];

/* Causal rows that sum to 1 and differ in every head. */
static void fill_weights(void)
{
    for (size_t i = 0; i < HEADS; i++)
        for (size_t q = 0; q < TOKENS; q++) {
            double sum = 0;

            for (size_t k = 0; k < TOKENS; k++) {
                double score = 2 * sin((double)(i * 13 + q * 5 + k * k));

                weights[i][q][k] = k <= q ? exp(score) : 0;
                sum += weights[i][q][k];
            }
            for (size_t k = 0; k <= q; k++)
                weights[i][q][k] /= sum;
        }
}

static void open_heads(fake *out)
{
    const size_t dims[5] = {1, 1, FAKE_HEADS, TOKENS, TOKENS};
    static const char *const names[] = {
        "layers.0.attn.weights", "layers.1.attn.weights", "layers.2.attn.weights"};

    fake_open(out);
    fake_decoder(out, TOKENS);
    for (size_t layer = 0; layer < FAKE_LAYERS; layer++)
        fake_add(out, names[layer], "sbhqk", &weights[layer * FAKE_HEADS][0][0], dims);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* {mean, tenth} over the queries that see two keys or more. */
static void share(double out[2], size_t i, size_t j)
{
    double common[TOKENS], sum = 0;

    for (size_t q = 1; q < TOKENS; q++) {
        common[q - 1] = 0;
        for (size_t k = 0; k < TOKENS; k++)
            common[q - 1] += fmin(weights[i][q][k], weights[j][q][k]);
        sum += common[q - 1];
    }
    qsort(common, TOKENS - 1, sizeof *common, by_value);
    out[0] = sum / (TOKENS - 1);
    out[1] = common[1]; /* a tenth of 13 are two */
}

/* Layers are a cell apart, all in one frame. */
static double cell(const sheet *from, size_t i, size_t j)
{
    return sheet_cell(from, 0, i + i / FAKE_HEADS, j + j / FAKE_HEADS);
}

START_TEST(each_cell_is_what_two_heads_have_in_common)
{
    fake recording;
    sheet drawn;

    fill_weights();
    open_heads(&recording);
    sheet_open(&drawn, &recording, "similarity");
    for (size_t i = 0; i < HEADS; i++)
        for (size_t j = 0; j < HEADS; j++) {
            double expected[2];

            share(expected, i, j);
            if (i == j)
                ck_assert(isnan(cell(&drawn, i, j)));
            else
                ck_assert_double_eq_tol(cell(&drawn, i, j), expected[i < j], 1e-6);
        }
    ck_assert(sheet_says(&drawn, "13 of 13 queries"));
    ck_assert(!sheet_says(&drawn, "Marked"));
    ck_assert_ptr_null(sheet_file(&drawn, "leaks"));
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(heads_with_the_same_weights_are_ringed)
{
    fake recording;
    const double *rings;
    sheet drawn;

    fill_weights();
    memcpy(weights[9], weights[2], sizeof weights[2]);
    open_heads(&recording);
    sheet_open(&drawn, &recording, "similarity");
    ck_assert(sheet_says(&drawn, "1 pair of heads with the same weights"));
    ck_assert(sheet_says(&drawn, "first layer 0, head 2"));
    rings = sheet_file(&drawn, "leaks");
    ck_assert_ptr_nonnull(rings);
    ck_assert(rings[0] == 9 + 2 && rings[1] == 2);
    ck_assert(rings[2] == 2 && rings[3] == 9 + 2);
    ck_assert_double_eq_tol(cell(&drawn, 9, 2), 1, 1e-6);
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(a_row_that_is_not_finite_is_left_out_and_its_head_marked)
{
    double expected[2], sum = 0;
    fake recording;
    sheet drawn;

    fill_weights();
    weights[5][13][4] = NAN;
    open_heads(&recording);
    sheet_open(&drawn, &recording, "similarity");
    ck_assert(sheet_says(&drawn, "1 head of which rows with NaN"));
    ck_assert(sheet_says(&drawn, "layer 1, head 1"));
    for (size_t q = 1; q < TOKENS - 1; q++)
        for (size_t k = 0; k < TOKENS; k++)
            sum += fmin(weights[5][q][k], weights[0][q][k]);
    ck_assert_double_eq_tol(cell(&drawn, 5, 0), sum / (TOKENS - 2), 1e-6);
    share(expected, 4, 0);
    ck_assert_double_eq_tol(cell(&drawn, 4, 0), expected[0], 1e-6);
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(queries_are_evenly_chosen_where_they_are_many)
{
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, 300);
    fake_weights(&recording, 300, NULL, 0);
    sheet_open(&drawn, &recording, "similarity");
    ck_assert(sheet_says(&drawn, "64 of 299 queries"));
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(without_weights_in_full_it_says_how_to_record_them)
{
    const txd_figure_request request = {
        .site = "similarity", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_int_eq(
        txd_figure_find("similarity")->draw(&drawing, recording.trace, &request),
        TXD_ERR_MISSING);
    ck_assert(strstr(txd_message(), "probe = \"full\""));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(one_head_alone_is_not_compared)
{
    const size_t dims[5] = {1, 1, 1, TOKENS, TOKENS};
    const txd_figure_request request = {
        .site = "similarity", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake recording;

    fill_weights();
    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_add(&recording, "layers.0.attn.weights", "sbhqk", &weights[0][0][0], dims);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_int_eq(
        txd_figure_find("similarity")->draw(&drawing, recording.trace, &request),
        TXD_ERR_MISSING);
    ck_assert(strstr(txd_message(), "one head alone"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(of_one_layer_heads_have_their_numbers)
{
    const size_t dims[5] = {1, 1, FAKE_HEADS, TOKENS, TOKENS};
    fake recording;
    sheet drawn;

    fill_weights();
    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_add(&recording, "layers.2.attn.weights", "sbhqk", &weights[0][0][0], dims);
    sheet_open(&drawn, &recording, "similarity");
    ck_assert(sheet_says(&drawn, "Which heads attend alike: layer 2"));
    ck_assert(sheet_says(&drawn, "('0' 0, '1' 1, '2' 2, '3' 3)"));
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(gnuplot_draws_rings_and_layers)
{
    txd_figure_request request = {
        .site = "similarity", .layer = -1, .head = -1, .step = -1, .batch = -1};
    fake recording;

    NEED_GNUPLOT;
    fill_weights();
    memcpy(weights[9], weights[2], sizeof weights[2]);
    open_heads(&recording);
    request.path = test_file("a.png");
    ck_assert_msg(txd_plot(recording.trace, &request) == TXD_OK, "%s", txd_message());
    fake_close(&recording);
}
END_TEST

TEST_MAIN(each_cell_is_what_two_heads_have_in_common,
          heads_with_the_same_weights_are_ringed,
          a_row_that_is_not_finite_is_left_out_and_its_head_marked,
          queries_are_evenly_chosen_where_they_are_many,
          without_weights_in_full_it_says_how_to_record_them,
          one_head_alone_is_not_compared, of_one_layer_heads_have_their_numbers,
          gnuplot_draws_rings_and_layers)
