/* SPDX-License-Identifier: MIT */
/*
 * One value in two recordings, and the difference.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

enum { TOKENS = 8, CELLS = TOKENS * TOKENS, HEADS = FAKE_LAYERS * FAKE_HEADS };

static void open_pair(fake pair[2], const size_t place[4], double value)
{
    for (int i = 0; i < 2; i++) {
        fake_open(&pair[i]);
        fake_decoder(&pair[i], TOKENS);
        fake_weights(&pair[i], TOKENS, i ? place : NULL, value);
    }
}

static void close_pair(fake pair[2])
{
    fake_close(&pair[0]);
    fake_close(&pair[1]);
}

static txd_status draw_change(txd_drawing *out, fake pair[2], int layer, int head)
{
    const txd_figure_request request = {.site = "layers.*.attn.weights",
                                        .layer = layer,
                                        .head = head,
                                        .step = -1,
                                        .batch = -1,
                                        .other = pair[1].trace};
    txd_figure_request actual = request;
    const txd_figure *figure;

    OK(txd_figure_choose(&figure, &actual, pair[0].trace));
    ck_assert_ptr_eq(figure, &txd_figure_change);
    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    return figure->draw(out, pair[0].trace, &actual);
}

START_TEST(the_third_map_is_the_other_minus_this)
{
    const size_t place[4] = {1, 2, 5, 3};
    const double *a, *b, *difference;
    txd_drawing drawing;
    fake pair[2];
    size_t count;

    open_pair(pair, place, 0.0625);
    OK(draw_change(&drawing, pair, 1, 2));
    a = drawn_numbers(&drawing, "cells", &count);
    ck_assert_uint_eq(count, CELLS);
    b = drawn_numbers(&drawing, "cells2", &count);
    ck_assert_uint_eq(count, CELLS);
    difference = drawn_numbers(&drawing, "cells3", &count);
    ck_assert_uint_eq(count, CELLS);
    for (size_t i = 0; i < CELLS; i++) {
        bool hidden = i % TOKENS > i / TOKENS;

        ck_assert_int_eq(isnan(difference[i]), hidden);
        if (!hidden)
            ck_assert_double_eq_tol(difference[i], b[i] - a[i], 1e-15);
    }
    ck_assert_double_lt(difference[5 * TOKENS + 3], -0.01);
    drawn_says(&drawing, "set multiplot");
    drawn_says(&drawing, "the other minus this");
    drawn_says(&drawing, "at query 5, key 3");
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

START_TEST(what_padded_queries_attend_to_is_no_difference)
{
    const double valid[TOKENS] = {1, 1, 1, 1, 1, 1};
    const size_t dims[3] = {1, 1, TOKENS}, place[4] = {1, 2, 7, 3};
    static const char *const greys[] = {"unknown", "unknown2", "unknown3"};
    txd_drawing drawing;
    fake pair[2];
    size_t count;

    open_pair(pair, place, 0.0625);
    for (int i = 0; i < 2; i++)
        fake_add(&pair[i], "input/valid", "sbt", valid, dims);
    OK(draw_change(&drawing, pair, 1, 2));
    for (int map = 0; map < 3; map++) {
        const unsigned char *grey = drawn_file(&drawing, greys[map], &count);

        ck_assert_uint_eq(count, 4 * CELLS);
        for (size_t i = 0; i < CELLS; i++)
            ck_assert_int_eq(grey[4 * i + 3] != 0,
                             i / TOKENS >= 6 && i % TOKENS <= i / TOKENS);
    }
    drawn_says(&drawing, "Grey: what padded queries attend to");
    drawn_says(&drawing, "The two are the same wherever");
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

START_TEST(a_leak_of_one_alone_is_a_difference_and_ringed_there)
{
    const size_t place[4] = {1, 2, 5, 7};
    const double *difference;
    txd_drawing drawing;
    fake pair[2];
    size_t count;

    open_pair(pair, place, 0.25);
    OK(draw_change(&drawing, pair, 1, 2));
    difference = drawn_numbers(&drawing, "cells3", &count);
    ck_assert_double_eq(difference[5 * TOKENS + 7], 0.25);
    ck_assert(!drawn_has(&drawing, "leaks"));
    ck_assert(drawn_has(&drawing, "leaks2"));
    drawn_says(&drawing, "set cbrange [-0.25:0.25]");
    drawn_says(&drawing, "in the other 1 hidden cell is not 0");
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

START_TEST(what_is_not_finite_in_one_has_no_difference_but_a_mark)
{
    const size_t place[4] = {1, 2, 5, 3};
    const double *difference;
    txd_drawing drawing;
    fake pair[2];
    size_t count;

    open_pair(pair, place, NAN);
    OK(draw_change(&drawing, pair, 1, 2));
    difference = drawn_numbers(&drawing, "cells3", &count);
    ck_assert(isnan(difference[5 * TOKENS + 3]));
    ck_assert_double_eq(difference[5 * TOKENS + 2], 0);
    ck_assert(drawn_has(&drawing, "nonfinite3"));
    txd_drawing_finish(&drawing);
    OK(draw_change(&drawing, pair, -1, -1));
    ck_assert(drawn_has(&drawing, "nonfinite"));
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

START_TEST(without_a_head_the_largest_difference_of_each_is_shown)
{
    const size_t place[4] = {1, 2, 5, 7};
    const double *cells;
    txd_drawing drawing;
    fake pair[2];
    size_t count;

    open_pair(pair, place, 0.25);
    OK(draw_change(&drawing, pair, -1, -1));
    cells = drawn_numbers(&drawing, "cells", &count);
    ck_assert_uint_eq(count, HEADS);
    for (size_t i = 0; i < HEADS; i++)
        if (i == 1 * FAKE_HEADS + 2)
            ck_assert_double_eq(cells[i], 0.25);
        else
            ck_assert(isnan(cells[i]));
    drawn_says(&drawing, "Largest: 0.25 in layer 1, head 2, batch 0");
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

START_TEST(other_tokens_are_refused_and_no_second_recording_is_asked_for)
{
    const txd_figure_request alone = {
        .site = "change", .layer = -1, .head = -1, .step = -1, .batch = -1};
    txd_drawing drawing;
    fake pair[2];

    for (int i = 0; i < 2; i++) {
        fake_open(&pair[i]);
        fake_decoder(&pair[i], (size_t)TOKENS + (size_t)i);
        fake_weights(&pair[i], (size_t)TOKENS + (size_t)i, NULL, 0);
    }
    ck_assert_int_eq(draw_change(&drawing, pair, 0, 0), TXD_ERR_CONFIG);
    ck_assert_int_eq(txd_figure_change.draw(&drawing, pair[0].trace, &alone),
                     TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "--other"));
    txd_drawing_finish(&drawing);
    close_pair(pair);
}
END_TEST

TEST_MAIN(the_third_map_is_the_other_minus_this,
          what_padded_queries_attend_to_is_no_difference,
          a_leak_of_one_alone_is_a_difference_and_ringed_there,
          what_is_not_finite_in_one_has_no_difference_but_a_mark,
          without_a_head_the_largest_difference_of_each_is_shown,
          other_tokens_are_refused_and_no_second_recording_is_asked_for)
