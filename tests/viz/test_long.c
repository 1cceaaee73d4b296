/* SPDX-License-Identifier: MIT */
/*
 * Long sequences: many weights in one cell, by the largest or by the mean, on a scale
 * on which they can be told apart; the weight that stands out is named.
 */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

enum { TOKENS = 750, WINDOW = 600, CELLS = 700, WIDE = 9000 };

static txd_figure_request ask(const char *site, int head)
{
    return (txd_figure_request){
        .site = site, .layer = -1, .head = head, .step = -1, .batch = -1};
}

static void draw(txd_drawing *out, const fake *recording, txd_figure_request request)
{
    const txd_figure *figure;

    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    OK(txd_figure_choose(&figure, &request, recording->trace));
    OK(figure->draw(out, recording->trace, &request));
}

/* --- pooling --- */

/* Documents of 50 tokens in turn, so that what a query sees is not one run of keys. */
static bool is_seen(size_t q, size_t k, bool documents)
{
    return k <= q && q - k < WINDOW && (!documents || k / 50 % 2 == q / 50 % 2);
}

static double weight(size_t q, size_t k)
{
    return (double)((q * 7919 + k * 104729) % 1009 + 1) / 1009;
}

/* Weights of one head of 750 tokens, whatever the rows add up to. */
static void open_weights(fake *out, bool documents)
{
    const size_t plane[3] = {1, 1, TOKENS}, dims[5] = {1, 1, 1, TOKENS, TOKENS};
    double *weights = calloc((size_t)TOKENS * TOKENS, sizeof *weights), ids[TOKENS];

    ck_assert_ptr_nonnull(weights);
    for (size_t i = 0; i < (size_t)TOKENS * TOKENS; i++)
        if (is_seen(i / TOKENS, i % TOKENS, documents))
            weights[i] = weight(i / TOKENS, i % TOKENS);
    for (size_t i = 0; i < TOKENS; i++)
        ids[i] = (double)(i / 50 % 2);
    fake_open(out);
    fake_meta(out, "config",
              "version = 1; model : { vocab = 512; d_model = 32; n_heads = 1; n_layers "
              "= 1; d_ff = 64; max_seq_len = 1024; }; mask : { causal = true; window = "
              "600; };");
    fake_add(out, "input/tokens", "sbt", ids, plane);
    if (documents)
        fake_add(out, "input/document", "sbt", ids, plane);
    fake_add(out, "layers.0.attn.weights", "sbhqk", weights, dims);
    free(weights);
}

/* The cells of a map of `count` places each `every` apart, in a plain loop. */
static double *pool(size_t count, size_t every, bool documents, bool mean)
{
    size_t side = count < CELLS ? count : CELLS;
    double *cells = malloc(side * side * sizeof *cells);
    double *shares = calloc(side * side, sizeof *shares);

    ck_assert(cells && shares);
    for (size_t i = 0; i < side * side; i++)
        cells[i] = NAN;
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c < count; c++) {
            size_t at = r * side / count * side + c * side / count;
            double value = weight(r * every, c * every);

            if (!is_seen(r * every, c * every, documents))
                continue;
            if (mean)
                cells[at] = (shares[at]++ == 0 ? 0 : cells[at]) + value;
            else if (!(cells[at] >= value))
                cells[at] = value;
        }
    }
    for (size_t i = 0; mean && i < side * side; i++)
        cells[i] /= shares[i];
    free(shares);
    return cells;
}

static void check_pooled(bool documents, bool mean, size_t every)
{
    txd_figure_request request = ask("layers.0.attn.weights", 0);
    size_t drawn = (TOKENS + every - 1) / every, count;
    double *expected = pool(drawn, every, documents, mean);
    const double *cells;
    txd_drawing drawing;
    fake recording;

    open_weights(&recording, documents);
    request.scale = TXD_SCALE_LINEAR;
    request.pool = mean ? TXD_POOL_MEAN : TXD_POOL_MAX;
    if (every > 1) {
        OK(txd_range_parse(&request.query, "0:750:3"));
        OK(txd_range_parse(&request.key, "0:750:3"));
    }
    draw(&drawing, &recording, request);
    cells = drawn_numbers(&drawing, "cells", &count);
    drawn = drawn < CELLS ? drawn : CELLS;
    ck_assert_uint_eq(count, drawn * drawn);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(isnan(expected[i]) ? isnan(cells[i])
                                         : fabs(cells[i] - expected[i]) < 1e-12,
                      "cell %zu: %g, not %g", i, cells[i], expected[i]);
    ck_assert_int_eq(drawn_words(&drawing, "the mean of what may be seen"),
                     mean && every == 1);
    txd_drawing_finish(&drawing);
    fake_close(&recording);
    free(expected);
}

START_TEST(cells_hold_what_a_plain_loop_finds)
{
    check_pooled(false, false, 1);
    check_pooled(false, true, 1);
    check_pooled(true, false, 1);
    check_pooled(true, true, 1);
    check_pooled(true, false, 3);
}
END_TEST

/* One cell holds the hidden weight beside seen ones: it is marked, not averaged. */
START_TEST(a_leak_is_no_part_of_a_mean)
{
    const size_t dims[5] = {1, 1, 1, TOKENS, TOKENS}, at = 15 * TOKENS + 16;
    txd_figure_request request = ask("layers.0.attn.weights", 0);
    double *weights = calloc((size_t)TOKENS * TOKENS, sizeof *weights), kept[CELLS];
    const size_t row = 15 * CELLS / TOKENS * CELLS;
    const double *cells;
    txd_drawing drawing;
    size_t count;

    ck_assert_ptr_nonnull(weights);
    request.scale = TXD_SCALE_LINEAR;
    request.pool = TXD_POOL_MEAN;
    for (size_t i = 0; i < (size_t)TOKENS * TOKENS; i++)
        weights[i] = i % TOKENS <= i / TOKENS ? 0.25 : 0;
    for (int leaks = 0; leaks < 2; leaks++) {
        fake recording;

        weights[at] = leaks ? 0.75 : 0;
        fake_open(&recording);
        fake_decoder(&recording, TOKENS);
        fake_add(&recording, "layers.0.attn.weights", "sbhqk", weights, dims);
        draw(&drawing, &recording, request);
        cells = drawn_numbers(&drawing, "cells", &count);
        for (size_t i = 0; i < CELLS && !leaks; i++)
            kept[i] = cells[row + i];
        for (size_t i = 0; i < CELLS && leaks; i++)
            ck_assert_msg(isnan(kept[i]) || cells[row + i] == kept[i], "cell %zu", i);
        ck_assert_int_eq(drawn_has(&drawing, "leaks"), leaks);
        txd_drawing_finish(&drawing);
        fake_close(&recording);
    }
    free(weights);
}
END_TEST

/* Wider than what is read at once; the value largest in size, and the mean. */
START_TEST(a_wide_value_is_pooled_across_its_blocks)
{
    const size_t dims[4] = {1, 1, 2, WIDE};
    txd_figure_request request = ask("layers.0.resid.post", -1);
    double *values = malloc(2 * WIDE * sizeof *values);
    fake recording;

    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < 2 * WIDE; i++)
        values[i] = sin((double)i);
    fake_open(&recording);
    fake_add(&recording, "layers.0.resid.post", "sbtd", values, dims);
    for (int mean = 0; mean < 2; mean++) {
        txd_drawing drawing;
        const double *cells;
        size_t count;

        request.pool = mean ? TXD_POOL_MEAN : TXD_POOL_MAX;
        draw(&drawing, &recording, request);
        cells = drawn_numbers(&drawing, "cells", &count);
        ck_assert_uint_eq(count, 2 * CELLS);
        for (size_t i = 0; i < count; i++) {
            size_t first = (i % CELLS * WIDE + CELLS - 1) / CELLS;
            size_t end = ((i % CELLS + 1) * WIDE + CELLS - 1) / CELLS;
            double largest = 0, sum = 0;

            for (size_t k = first; k < end; k++) {
                double value = values[i / CELLS * WIDE + k];

                largest = fabs(value) > fabs(largest) ? value : largest;
                sum += value;
            }
            ck_assert_double_eq_tol(
                cells[i], mean ? sum / (double)(end - first) : largest, 1e-12);
        }
        txd_drawing_finish(&drawing);
    }
    fake_close(&recording);
    free(values);
}
END_TEST

/* --- the scale --- */

static bool is_logarithmic(const double *values, size_t tokens, txd_scale scale)
{
    const size_t dims[4] = {1, 1, tokens, tokens};
    txd_figure_request request = ask("layers.0.resid.post", -1);
    txd_drawing drawing;
    fake recording;
    bool is;

    request.scale = scale;
    fake_open(&recording);
    fake_add(&recording, "layers.0.resid.post", "sbtd", values, dims);
    draw(&drawing, &recording, request);
    is = drawn_words(&drawing, "set logscale cb");
    ck_assert_int_eq(is, drawn_words(&drawing, "colours logarithmic from"));
    ck_assert_int_ne(is, drawn_words(&drawing, "colours linear from"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
    return is;
}

START_TEST(a_scale_on_which_all_would_be_dark_is_logarithmic)
{
    double values[16];

    for (int i = 0; i < 16; i++)
        values[i] = i < 7 ? 1 : 0.049;
    ck_assert(is_logarithmic(values, 4, TXD_SCALE_AUTO));
    ck_assert(!is_logarithmic(values, 4, TXD_SCALE_LINEAR));
    values[7] = values[8] = 1; /* no longer more than half */
    ck_assert(!is_logarithmic(values, 4, TXD_SCALE_AUTO));
    ck_assert(is_logarithmic(values, 4, TXD_SCALE_LOG));
    for (int i = 0; i < 16; i++)
        values[i] = i < 7 ? 1 : 0.051;
    ck_assert(!is_logarithmic(values, 4, TXD_SCALE_AUTO));
    for (int i = 0; i < 16; i++)
        values[i] = i < 7 ? 1 : -1e-3; /* has no logarithm */
    ck_assert(!is_logarithmic(values, 4, TXD_SCALE_AUTO));
    for (int i = 0; i < 16; i++)
        values[i] = 0;
    ck_assert(!is_logarithmic(values, 4, TXD_SCALE_AUTO));
}
END_TEST

/* --- the weight that stands out --- */

/* Even attention of `tokens`, but for 0.9 at (query, key) if that is more than 0. */
static void open_even(fake *out, size_t tokens, size_t query, size_t key)
{
    const size_t dims[5] = {1, 1, 2, tokens, tokens};
    double *weights = calloc(2 * tokens * tokens, sizeof *weights);

    ck_assert_ptr_nonnull(weights);
    for (size_t i = 0; i < tokens * tokens; i++)
        if (i % tokens <= i / tokens)
            weights[i] = weights[tokens * tokens + i] = 1 / (double)(i / tokens + 1);
    if (query)
        weights[tokens * tokens + query * tokens + key] = 0.9;
    fake_open(out);
    fake_decoder(out, tokens);
    fake_add(out, "layers.0.attn.weights", "sbhqk", weights, dims);
    free(weights);
}

START_TEST(the_weight_furthest_above_an_even_share_is_named_and_pointed_at)
{
    txd_figure_request request = ask("layers.0.attn.weights", 1);
    txd_drawing drawing;
    fake recording;

    open_even(&recording, 300, 250, 17);
    draw(&drawing, &recording, request);
    drawn_has_words(&drawing,
                    "an even share: 0.9 at query 250, key 17, 226 times 1/251");
    drawn_has_words(&drawing, "set arrow from screen");
    txd_drawing_finish(&drawing);
    OK(txd_range_parse(&request.query,
                       "200:280")); /* of keys that are not drawn, too */
    OK(txd_range_parse(&request.key, "10:30"));
    draw(&drawing, &recording, request);
    drawn_has_words(&drawing,
                    "an even share: 0.9 at query 250, key 17, 226 times 1/251");
    txd_drawing_finish(&drawing);
    OK(txd_range_parse(&request.query, "0:250"));
    draw(&drawing, &recording, request);
    ck_assert(!drawn_words(&drawing, "even share") &&
              !drawn_words(&drawing, "set arrow from screen"));
    txd_drawing_finish(&drawing);
    draw(&drawing, &recording, ask("layers.0.attn.weights", 0));
    ck_assert(!drawn_words(&drawing, "even share") &&
              !drawn_words(&drawing, "set arrow from screen"));
    txd_drawing_finish(&drawing);
    draw(&drawing, &recording, ask("layers.*.attn.weights", -1));
    drawn_has_words(&drawing,
                    "0.9 in layer 0, head 1, query 250, key 17, 226 times 1/251");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(cells_hold_what_a_plain_loop_finds, a_leak_is_no_part_of_a_mean,
          a_wide_value_is_pooled_across_its_blocks,
          a_scale_on_which_all_would_be_dark_is_logarithmic,
          the_weight_furthest_above_an_even_share_is_named_and_pointed_at)
