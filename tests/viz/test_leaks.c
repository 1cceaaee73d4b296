/* SPDX-License-Identifier: MIT */
/*
 * The map of leaks: layers by heads, and queries by keys of all of them together.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

enum { TOKENS = 8, ROWS = FAKE_LAYERS * FAKE_HEADS * TOKENS };

static txd_status draw_leaks(txd_drawing *out, fake *recording, int layer)
{
    const txd_figure_request request = {
        .site = "leaks", .layer = layer, .head = -1, .step = -1, .batch = -1};

    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    return txd_figure_leaks.draw(out, recording->trace, &request);
}

/* Checks that cell `at` alone has a value. */
static void check_only(const txd_drawing *drawing, const char *name, size_t cells,
                       size_t at, double value)
{
    size_t count;
    const double *numbers = drawn_numbers(drawing, name, &count);

    ck_assert_uint_eq(count, cells);
    for (size_t i = 0; i < count; i++)
        if (i == at)
            ck_assert_double_eq_tol(numbers[i], value, 1e-12);
        else
            ck_assert_msg(isnan(numbers[i]), "%s: cell %zu is %g", name, i, numbers[i]);
}

START_TEST(a_leak_is_found_by_layer_and_head_and_by_query_and_key)
{
    const size_t place[4] = {1, 2, 5, 7};
    const double *ring;
    txd_drawing drawing;
    fake recording;
    size_t count;

    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_weights(&recording, TOKENS, place, 0.25);
    OK(draw_leaks(&drawing, &recording, -1));
    check_only(&drawing, "cells", FAKE_LAYERS * FAKE_HEADS, 1 * FAKE_HEADS + 2,
               0.25 / TOKENS);
    check_only(&drawing, "cells2", TOKENS * TOKENS, 5 * TOKENS + 7, 0.25);
    ring = drawn_numbers(&drawing, "leaks", &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq(ring[0], 2);
    ck_assert_double_eq(ring[1], 1);
    ck_assert(drawn_has(&drawing, "edges2"));
    drawn_says(&drawing, "weight in 1 row ");
    drawn_says(&drawing, "head 2, batch 0: query 5 gives 0.25 to key 7, a later key");
    txd_drawing_finish(&drawing);
    OK(draw_leaks(&drawing, &recording, 0));
    drawn_says(&drawing, "No leaks");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(without_a_leak_the_map_is_white_and_alone)
{
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_weights(&recording, TOKENS, NULL, 0);
    OK(draw_leaks(&drawing, &recording, -1));
    check_only(&drawing, "cells", FAKE_LAYERS * FAKE_HEADS, SIZE_MAX, 0);
    ck_assert(!drawn_has(&drawing, "cells2"));
    ck_assert(!drawn_has(&drawing, "unknown"));
    drawn_says(&drawing, "No leaks: no hidden key has any weight");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

static void add_rows(fake *out, const double *sums, const double *largest,
                     const double *keys)
{
    const size_t dims[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS, TOKENS};

    fake_open(out);
    fake_decoder(out, TOKENS);
    fake_add(out, "rows/hidden_sum", "slbhq", sums, dims);
    fake_add(out, "rows/hidden_max", "slbhq", largest, dims);
    fake_add(out, "rows/hidden_key", "slbhq", keys, dims);
}

/* Query 5 of layer 2, head 3 gives 0.5 to hidden keys, 0.375 of it to key 6; layer 0,
 * head 0 was not recorded. */
static void open_rows(fake *out)
{
    const size_t at = (2 * FAKE_HEADS + 3) * TOKENS + 5;
    double sums[ROWS] = {0}, largest[ROWS] = {0}, keys[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        keys[i] = -1;
    for (size_t i = 0; i < TOKENS; i++)
        sums[i] = largest[i] = NAN;
    sums[at] = 0.5;
    largest[at] = 0.375;
    keys[at] = 6;
    add_rows(out, sums, largest, keys);
}

static void open_unknown_rows(fake *out)
{
    double unknown[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        unknown[i] = NAN;
    add_rows(out, unknown, unknown, unknown);
}

START_TEST(row_statistics_tell_where_weights_were_not_recorded)
{
    const unsigned char *grey;
    txd_drawing drawing;
    fake recording;
    size_t bytes;

    open_rows(&recording);
    OK(draw_leaks(&drawing, &recording, -1));
    check_only(&drawing, "cells", FAKE_LAYERS * FAKE_HEADS, 2 * FAKE_HEADS + 3,
               0.5 / TOKENS);
    check_only(&drawing, "cells2", TOKENS * TOKENS, 5 * TOKENS + 6, 0.375);
    grey = drawn_file(&drawing, "unknown", &bytes);
    ck_assert_uint_eq(bytes, 4 * FAKE_LAYERS * FAKE_HEADS);
    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS; i++)
        ck_assert_int_eq(grey[4 * i + 3] != 0, i == 0);
    drawn_says(&drawing, "largest of each query, summed");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(a_batch_row_that_is_not_there_is_no_healthy_one)
{
    txd_figure_request request = {
        .site = "leaks", .layer = -1, .head = -1, .step = -1, .batch = 1};
    txd_drawing drawing;
    fake recording;

    open_rows(&recording);
    OK(txd_drawing_init(&drawing, TXD_IMAGE_PNG));
    ck_assert_int_eq(txd_figure_leaks.draw(&drawing, recording.trace, &request),
                     TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "batch 1: recorded are 0 to 0"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(what_is_not_known_is_not_called_free_of_leaks)
{
    txd_drawing drawing;
    fake recording;

    open_rows(&recording);
    OK(draw_leaks(&drawing, &recording, 0));
    drawn_says(&drawing, "No leaks in what is known");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
    open_unknown_rows(&recording);
    OK(draw_leaks(&drawing, &recording, -1));
    drawn_says(&drawing, "Leaks: nothing is known of them");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(without_weights_and_rows_nothing_is_called_healthy)
{
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    ck_assert_int_eq(draw_leaks(&drawing, &recording, -1), TXD_ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(txd_message(), "record"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(without_a_claimed_mask_nothing_is_called_healthy)
{
    const size_t dims[5] = {1, 1, 1, 2, 2};
    const double weights[4] = {0.5, 0.5, 0.5, 0.5};
    txd_drawing drawing;
    fake recording;

    fake_open(&recording);
    fake_add(&recording, "layers.0.attn.weights", "sbhqk", weights, dims);
    ck_assert_int_eq(draw_leaks(&drawing, &recording, -1), TXD_ERR_MISSING);
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(a_leak_is_found_by_layer_and_head_and_by_query_and_key,
          without_a_leak_the_map_is_white_and_alone,
          row_statistics_tell_where_weights_were_not_recorded,
          a_batch_row_that_is_not_there_is_no_healthy_one,
          what_is_not_known_is_not_called_free_of_leaks,
          without_weights_and_rows_nothing_is_called_healthy,
          without_a_claimed_mask_nothing_is_called_healthy)
