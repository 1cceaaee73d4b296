/* SPDX-License-Identifier: MIT */
/*
 * Maps of layers by heads: every cell is the number that the recorded values give, the
 * spread stands beside the mean, and what is not a number is marked, not averaged.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "need_gnuplot.h"
#include "sheet.h"

enum { QUERIES = 23, CELLS = FAKE_LAYERS * FAKE_HEADS };

static const size_t row_dims[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS, QUERIES};

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Blocks `first` to `first + 2` are mean and tenths of the values of queries from
 * `from` on. */
static void check_head(const sheet *drawn, size_t first, size_t layer, size_t head,
                       const double *values, size_t from)
{
    double sorted[QUERIES], sum = 0;
    size_t count = QUERIES - from, tenth = (count + 9) / 10;

    memcpy(sorted, values + from, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    ck_assert_double_eq_tol(sheet_cell(drawn, first, layer, head), sum / (double)count,
                            1e-12);
    ck_assert_double_eq_tol(sheet_cell(drawn, first + 1, layer, head),
                            sorted[tenth - 1], 1e-12);
    ck_assert_double_eq_tol(sheet_cell(drawn, first + 2, layer, head),
                            sorted[count - tenth], 1e-12);
}

/* --- made up rows --- */

static const char *const columns[] = {"rows/entropy", "rows/first", "rows/self",
                                      "rows/peak",    "rows/seen",  "rows/peak_key"};

static double made_up(size_t column, size_t layer, size_t head, size_t query)
{
    return 0.5 + 0.4 * sin(1 + (double)(column * 17 + layer * 31 + head * 7 + query));
}

/* Columns of row statistics with numbers of no meaning; a causal row q sees q + 1. */
static void add_rows(fake *recording)
{
    double values[CELLS * QUERIES];

    for (size_t column = 0; column < 6; column++) {
        for (size_t i = 0; i < CELLS * QUERIES; i++) {
            size_t query = i % QUERIES, head = i / QUERIES % FAKE_HEADS;

            values[i] = column == 4 ? (double)query + 1
                        : column == 5
                            ? (double)query - (query % 3 == 0 ? 1 : 0)
                            : made_up(column, i / QUERIES / FAKE_HEADS, head, query);
        }
        fake_add(recording, columns[column], "slbhq", values, row_dims);
    }
}

START_TEST(entropy_is_that_of_the_recorded_rows_over_the_log_of_the_keys_seen)
{
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    add_rows(&recording);
    sheet_open(&drawn, &recording, "entropy");
    ck_assert_uint_eq(drawn.blocks, 3);
    for (size_t i = 0; i < CELLS; i++) {
        double values[QUERIES] = {0};

        for (size_t q = 1; q < QUERIES; q++)
            values[q] = made_up(0, i / FAKE_HEADS, i % FAKE_HEADS, q) / log(q + 1.0);
        check_head(&drawn, 0, i / FAKE_HEADS, i % FAKE_HEADS, values, 1);
    }
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

START_TEST(first_and_own_keys_are_the_recorded_columns)
{
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    add_rows(&recording);
    sheet_open(&drawn, &recording, "profiles");
    ck_assert_uint_eq(drawn.blocks, 9);
    for (size_t i = 0; i < CELLS; i++)
        for (size_t column = 0; column < 2; column++) {
            size_t layer = i / FAKE_HEADS, head = i % FAKE_HEADS;
            double values[QUERIES];

            for (size_t q = 0; q < QUERIES; q++)
                values[q] = made_up(1 + column, layer, head, q);
            check_head(&drawn, 3 * column, layer, head, values, 1);
        }
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

/* Row statistics know the key before only where the largest weight is on it. */
START_TEST(without_weights_the_previous_key_has_at_least_what_its_peaks_say)
{
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    add_rows(&recording);
    sheet_open(&drawn, &recording, "profiles");
    ck_assert(sheet_says(&drawn, "previous, at least: mean"));
    ck_assert(sheet_says(&drawn, "probe \"full\""));
    for (size_t i = 0; i < CELLS; i++) {
        double values[QUERIES] = {0};

        for (size_t q = 0; q < QUERIES; q += 3)
            values[q] = made_up(3, i / FAKE_HEADS, i % FAKE_HEADS, q);
        check_head(&drawn, 6, i / FAKE_HEADS, i % FAKE_HEADS, values, 1);
    }
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

/* --- weights in full --- */

static void read_weights(double *out, const fake *recording, size_t layer)
{
    char name[64];
    size_t entry;

    snprintf(name, sizeof name, "layers.%zu.attn.weights", layer);
    ck_assert_int_eq(txd_trace_find(recording->trace, &entry, name), TXD_OK);
    ck_assert_int_eq(txd_trace_read_all(recording->trace, out,
                                        FAKE_HEADS * QUERIES * QUERIES, entry, TXD_F64),
                     TXD_OK);
}

/* 0: entropy, 1: first, 2: own, 3: previous key. */
static double of_row(int measure, const double *row, size_t query)
{
    double entropy = 0;

    for (size_t k = 0; k <= query; k++)
        entropy -= row[k] > 0 ? row[k] * log(row[k]) : 0;
    return measure == 0   ? entropy / log((double)query + 1)
           : measure == 1 ? row[0]
           : measure == 2 ? row[query]
                          : row[query ? query - 1 : 0];
}

static void check_weights(const fake *recording, const sheet *entropy,
                          const sheet *profiles)
{
    static double weights[FAKE_HEADS * QUERIES * QUERIES];

    for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
        read_weights(weights, recording, layer);
        for (size_t head = 0; head < FAKE_HEADS; head++)
            for (int measure = 0; measure < 4; measure++) {
                double values[QUERIES];

                for (size_t q = 0; q < QUERIES; q++)
                    values[q] =
                        of_row(measure, weights + (head * QUERIES + q) * QUERIES, q);
                check_head(measure ? profiles : entropy,
                           measure ? 3 * (size_t)(measure - 1) : 0, layer, head, values,
                           1);
            }
    }
}

START_TEST(without_row_statistics_all_is_taken_from_the_weights)
{
    sheet entropy, profiles;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    fake_weights(&recording, QUERIES, NULL, 0);
    sheet_open(&entropy, &recording, "entropy");
    sheet_open(&profiles, &recording, "profiles");
    ck_assert(sheet_says(&profiles, "previous key: mean"));
    check_weights(&recording, &entropy, &profiles);
    sheet_close(&entropy);
    sheet_close(&profiles);
    fake_close(&recording);
}
END_TEST

START_TEST(the_previous_key_is_exact_where_weights_are_there_in_full)
{
    static double weights[FAKE_HEADS * QUERIES * QUERIES];
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    add_rows(&recording);
    fake_weights(&recording, QUERIES, NULL, 0);
    sheet_open(&drawn, &recording, "profiles");
    ck_assert(!sheet_says(&drawn, "at least"));
    for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
        read_weights(weights, &recording, layer);
        for (size_t head = 0; head < FAKE_HEADS; head++) {
            double values[QUERIES];

            for (size_t q = 0; q < QUERIES; q++)
                values[q] = of_row(3, weights + (head * QUERIES + q) * QUERIES, q);
            check_head(&drawn, 6, layer, head, values, 1);
        }
    }
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

/* --- what is not a number, what was not recorded --- */

START_TEST(rows_that_are_not_finite_are_left_out_and_marked)
{
    const size_t place[4] = {1, 2, 7, 3};
    sheet healthy, drawn;
    fake recordings[2];

    for (int i = 0; i < 2; i++) {
        fake_open(&recordings[i]);
        fake_decoder(&recordings[i], QUERIES);
        fake_weights(&recordings[i], QUERIES, i ? place : NULL, NAN);
    }
    sheet_open(&healthy, &recordings[0], "entropy");
    sheet_open(&drawn, &recordings[1], "entropy");
    ck_assert(!sheet_says(&healthy, "NaN"));
    ck_assert(
        sheet_says(&drawn, "Marked in this colour: 1 head of which rows with NaN"));
    ck_assert(sheet_says(&drawn, "layer 1, head 2"));
    ck_assert_ptr_null(sheet_file(&healthy, "nonfinite"));
    ck_assert_ptr_nonnull(sheet_file(&drawn, "nonfinite"));
    ck_assert(isfinite(sheet_cell(&drawn, 0, 1, 2)));
    ck_assert(sheet_cell(&drawn, 0, 1, 2) != sheet_cell(&healthy, 0, 1, 2));
    ck_assert(sheet_cell(&drawn, 0, 1, 1) == sheet_cell(&healthy, 0, 1, 1));
    sheet_close(&healthy);
    sheet_close(&drawn);
    for (int i = 0; i < 2; i++)
        fake_close(&recordings[i]);
}
END_TEST

/* What a probe did not select is NaN in the file, and no fault of the model. */
START_TEST(heads_that_were_not_selected_are_blank)
{
    fake recording;
    sheet drawn;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    fake_meta(&recording, "record", "rows\t*\t*\t*\t*\nfull\tlayers.*\t*\t0:2\t*");
    fake_weights(&recording, QUERIES, NULL, 0);
    sheet_open(&drawn, &recording, "entropy");
    for (size_t layer = 0; layer < FAKE_LAYERS; layer++)
        for (size_t head = 0; head < FAKE_HEADS; head++)
            ck_assert_int_eq(isnan(sheet_cell(&drawn, 0, layer, head)) != 0, head >= 2);
    ck_assert(sheet_says(&drawn, "Blank: not recorded"));
    ck_assert(!sheet_says(&drawn, "Marked"));
    sheet_close(&drawn);
    fake_close(&recording);
}
END_TEST

/* Entropy is a share of what can be; weights may all be small. */
START_TEST(small_weights_are_not_all_black_but_entropy_has_one_scale)
{
    double values[CELLS * QUERIES];
    sheet entropy, profiles;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    for (size_t column = 0; column < 6; column++) {
        for (size_t i = 0; i < CELLS * QUERIES; i++)
            values[i] = column == 4 ? 20 : 0.015625;
        fake_add(&recording, columns[column], "slbhq", values, row_dims);
    }
    sheet_open(&entropy, &recording, "entropy");
    sheet_open(&profiles, &recording, "profiles");
    ck_assert(sheet_says(&entropy, "set cbrange [0:1]"));
    ck_assert(sheet_says(&profiles, "set cbrange [0:0.015625]"));
    sheet_close(&entropy);
    sheet_close(&profiles);
    fake_close(&recording);
}
END_TEST

START_TEST(a_recording_without_rows_and_weights_says_how_to_record_them)
{
    static const char *const names[] = {"entropy", "profiles"};
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    for (size_t i = 0; i < 2; i++) {
        const txd_figure_request request = {
            .site = names[i], .layer = -1, .head = -1, .step = -1, .batch = -1};
        txd_drawing drawing;

        ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
        ck_assert_int_eq(
            txd_figure_find(names[i])->draw(&drawing, recording.trace, &request),
            TXD_ERR_MISSING);
        ck_assert(strstr(txd_message(), "record = ( { probe = \"rows\"; } )"));
        txd_drawing_finish(&drawing);
    }
    fake_close(&recording);
}
END_TEST

/* A column of another shape would be read past its end. */
START_TEST(columns_of_different_shapes_are_refused)
{
    const size_t dims[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS + 1, QUERIES};
    static double values[FAKE_LAYERS * (FAKE_HEADS + 1) * QUERIES];
    static const char *const names[] = {"rows/seen", "rows/first", "rows/self"};
    const txd_figure_request request = {
        .site = "entropy", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    for (size_t i = 0; i < 3; i++)
        fake_add(&recording, names[i], "slbhq", values, row_dims);
    fake_add(&recording, "rows/entropy", "slbhq", values, dims);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_int_eq(
        txd_figure_find("entropy")->draw(&drawing, recording.trace, &request),
        TXD_ERR_FORMAT);
    ck_assert(strstr(txd_message(), "rows/entropy"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(gnuplot_draws_them_in_every_kind)
{
    static const char *const names[] = {"entropy", "profiles"};
    fake recording;

    NEED_GNUPLOT;
    fake_open(&recording);
    fake_decoder(&recording, QUERIES);
    add_rows(&recording);
    for (size_t i = 0; i < 2; i++) {
        const txd_figure_request request = {.site = names[i],
                                            .layer = -1,
                                            .head = -1,
                                            .step = -1,
                                            .batch = -1,
                                            .path = test_file(i ? "a.svg" : "a.png")};

        ck_assert_msg(txd_plot(recording.trace, &request) == TXD_OK, "%s",
                      txd_message());
    }
    fake_close(&recording);
}
END_TEST

TEST_MAIN(entropy_is_that_of_the_recorded_rows_over_the_log_of_the_keys_seen,
          first_and_own_keys_are_the_recorded_columns,
          without_weights_the_previous_key_has_at_least_what_its_peaks_say,
          without_row_statistics_all_is_taken_from_the_weights,
          the_previous_key_is_exact_where_weights_are_there_in_full,
          rows_that_are_not_finite_are_left_out_and_marked,
          heads_that_were_not_selected_are_blank,
          small_weights_are_not_all_black_but_entropy_has_one_scale,
          a_recording_without_rows_and_weights_says_how_to_record_them,
          columns_of_different_shapes_are_refused, gnuplot_draws_them_in_every_kind)
