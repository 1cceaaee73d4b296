/* SPDX-License-Identifier: MIT */
/*
 * Tiles: a block of a matrix that was recorded alone is drawn where it belongs.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

#define SITE "layers.1.attn.weights"

enum { TOKENS = 50, QUERY = 30, QUERIES = 6, KEY = 28, KEYS = 8, HEAD = 2 };

static txd_figure_request ask(const char *query, const char *key)
{
    txd_figure_request request = {
        .site = SITE, .layer = -1, .head = HEAD, .step = -1, .batch = -1};

    OK(txd_range_parse(&request.query, query));
    OK(txd_range_parse(&request.key, key));
    return request;
}

static double weight(size_t query, size_t key)
{
    return key > query ? 0 : (double)(query + 1) / (double)(4 * key + 100);
}

/* Queries 30 to 35 and keys 28 to 35; query 31 sees key 35, which it must not. */
static void open_tile(fake *out, const char *tiles)
{
    const size_t dims[5] = {1, 1, FAKE_HEADS, QUERIES, KEYS};
    static double values[FAKE_HEADS * QUERIES * KEYS];

    for (size_t i = 0; i < FAKE_HEADS * QUERIES * KEYS; i++) {
        size_t query = i / KEYS % QUERIES + QUERY, key = i % KEYS + KEY;

        values[i] = i / (QUERIES * KEYS) != HEAD ? NAN : weight(query, key);
    }
    values[(HEAD * QUERIES + 1) * KEYS + 7] = 0.125;
    fake_open(out);
    fake_decoder(out, TOKENS);
    fake_add(out, "tile/layers/1/attn/weights", "sbhqk", values, dims);
    fake_meta(out, "record", "tile\tlayers.1.attn.weights\t*\t2\t*\n");
    if (tiles)
        fake_meta(out, "tiles", tiles);
}

static const char place[] = SITE " queries 30:36 of 50 keys 28:36 of 50";

static txd_status draw(txd_drawing *out, const fake *recording,
                       txd_figure_request request)
{
    const txd_figure *figure;

    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    TXD_TRY(txd_figure_choose(&figure, &request, recording->trace));
    return figure->draw(out, recording->trace, &request);
}

static void check_refused(const fake *recording, txd_figure_request request,
                          const char *words)
{
    txd_drawing drawing;

    ck_assert_int_ne(draw(&drawing, recording, request), TXD_OK);
    ck_assert_msg(strstr(txd_message(), words), "no \"%s\" in: %s", words,
                  txd_message());
    txd_drawing_finish(&drawing);
}

/* Cells of queries from..., keys from...; hidden ones are blank, but for the leak. */
static void check_cells(const txd_drawing *drawing, const size_t first[2],
                        const size_t shape[2])
{
    size_t count, blank = 0;
    const double *cells = drawn_numbers(drawing, "cells", &count);

    ck_assert_uint_eq(count, shape[0] * shape[1]);
    for (size_t i = 0; i < count; i++) {
        size_t query = first[0] + i / shape[1], key = first[1] + i % shape[1];
        bool leak = query == 31 && key == 35;

        if (key > query && !leak)
            ck_assert_msg(isnan(cells[i]), "%zu, %zu: %g", query, key, cells[i]);
        else
            ck_assert_double_eq(cells[i], leak ? 0.125 : weight(query, key));
        blank += isnan(cells[i]);
    }
    ck_assert_uint_gt(blank, 0);
}

START_TEST(a_tile_is_drawn_exactly_with_tokens_edges_and_leaks)
{
    txd_drawing drawing;
    fake recording;

    open_tile(&recording, place);
    OK(draw(&drawing, &recording, ask("*", "*")));
    check_cells(&drawing, (const size_t[]){QUERY, KEY},
                (const size_t[]){QUERIES, KEYS});
    drawn_has_words(&drawing, "exact, recorded by the probe tile: queries 30 to 35, "
                              "keys 28 to 35");
    drawn_has_words(&drawing, SITE ", head 2");
    drawn_says(&drawing, "30 #130"); /* place and token */
    drawn_says(&drawing, "28 #128");
    drawn_has_words(&drawing, "query 31, key 35");
    ck_assert(drawn_has(&drawing, "leaks"));
    drawn_has_words(&drawing, "later keys"); /* of the line along the diagonal */
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(ranges_within_a_tile_are_drawn_and_others_are_refused)
{
    txd_figure_request request = ask("*", "*");
    txd_drawing drawing;
    fake recording;

    open_tile(&recording, place);
    OK(draw(&drawing, &recording, ask("32:35", "*")));
    check_cells(&drawing, (const size_t[]){32, KEY}, (const size_t[]){3, KEYS});
    txd_drawing_finish(&drawing);
    OK(draw(&drawing, &recording, ask("31:36", "30:36")));
    check_cells(&drawing, (const size_t[]){31, 30}, (const size_t[]){5, 6});
    txd_drawing_finish(&drawing);
    check_refused(&recording, ask("29:36", "*"),
                  SITE ": one tile was recorded, by the probe tile: queries 30 to 35, "
                       "keys 28 to 35; what was chosen is not all within it");
    check_refused(&recording, ask("*", "30:"), "not all within it");
    check_refused(&recording, ask("60:70", "*"),
                  "range of query is empty: there are 0 to 49");
    request.head = 1;
    check_refused(&recording, request, "recorded heads: 2");
    request.head = -1;
    check_refused(&recording, request, SITE ": a picture has two axes");
    fake_close(&recording);
}
END_TEST

/* Of 8 x 8 pooled cells. */
static void add_pooled(fake *recording)
{
    const size_t dims[6] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 8, 8};
    static double values[FAKE_LAYERS * FAKE_HEADS * 64];

    for (size_t i = 0; i < FAKE_LAYERS * FAKE_HEADS * 64; i++)
        values[i] = i % 8 > i / 8 % 8 ? NAN : 0.5;
    fake_add(recording, "pooled/max", "slbhij", values, dims);
}

START_TEST(full_weights_go_first_then_the_tile_then_pooled_maps)
{
    const size_t shape[2] = {QUERIES, KEYS}, first[2] = {QUERY, KEY};
    txd_drawing drawing;
    fake recording;

    open_tile(&recording, place);
    add_pooled(&recording);
    OK(draw(&drawing, &recording, ask("30:36", "28:36")));
    check_cells(&drawing, first, shape);
    txd_drawing_finish(&drawing);
    OK(draw(&drawing, &recording, ask("*", "*"))); /* the whole, if coarse */
    drawn_has_words(&drawing, "50 x 50 weights in 8 x 8 cells");
    txd_drawing_finish(&drawing);
    check_refused(&recording, ask("20:26", "*"),
                  "recorded by the probe tile are queries 30 to 35, keys 28 to 35");
    fake_close(&recording);

    open_tile(&recording, place);
    fake_weights(&recording, TOKENS, NULL, 0);
    fake_meta(&recording, "record", "full\tlayers.*.attn.weights\t*\t*\t*\n");
    OK(draw(&drawing, &recording, ask("10:12", "0:4")));
    ck_assert(!drawn_words(&drawing, "probe tile"));
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(a_tile_of_which_nobody_knows_where_it_lies_is_not_drawn)
{
    static const char *const unknown[] = {
        NULL,
        SITE " queries 30:35 of 50 keys 28:36 of 50", /* not as many as there are */
        SITE " queries 30:36 of 32 keys 28:36 of 50",
        SITE " queries -6:0 of 50 keys 28:36 of 50",
        SITE " queries 99999999999999999990:36 of 50 keys 28:36 of 50",
        "layers.0.attn.weights queries 30:36 of 50 keys 28:36 of 50",
    };
    txd_figure_request request = ask("*", "*");
    fake recording;

    request.site = "tile/layers/1/attn/weights";
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        open_tile(&recording, unknown[i]);
        check_refused(&recording, request, "\"tiles\" does not say");
        fake_close(&recording);
    }
}
END_TEST

TEST_MAIN(a_tile_is_drawn_exactly_with_tokens_edges_and_leaks,
          ranges_within_a_tile_are_drawn_and_others_are_refused,
          full_weights_go_first_then_the_tile_then_pooled_maps,
          a_tile_of_which_nobody_knows_where_it_lies_is_not_drawn)
