/* SPDX-License-Identifier: MIT */
/*
 * Where weights were recorded in part: ranges of tokens on pooled maps, and heads that
 * were not selected.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

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

static void check_refused(const fake *recording, txd_figure_request request,
                          const char *words)
{
    txd_drawing drawing;
    const txd_figure *figure;
    txd_status status;

    OK(txd_drawing_init(&drawing, TXD_IMAGE_PNG));
    status = txd_figure_choose(&figure, &request, recording->trace);
    if (status == TXD_OK)
        status = figure->draw(&drawing, recording->trace, &request);
    ck_assert_int_eq(status, TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), words), "no \"%s\" in: %s", words,
                  txd_message());
    txd_drawing_finish(&drawing);
}

/* 200 tokens in 8 x 8 cells of 25: of head h the largest is 0.5 + h / 10, the mean 0.1.
 */
static void open_pooled(fake *out, bool with_rows)
{
    const size_t dims[6] = {1, 1, 1, 3, 8, 8}, rows[5] = {1, 1, 1, 3, 200};
    static double largest[3 * 64], mean[3 * 64], peak[3 * 200], key[3 * 200];
    static double seen[3 * 200];

    for (size_t i = 0; i < 3 * 64; i++) {
        bool hidden = i % 8 > i / 8 % 8;

        largest[i] = hidden ? NAN : 0.5 + (double)(i / 64) / 10;
        mean[i] = hidden ? NAN : 0.1;
    }
    for (size_t i = 0; i < 3 * 200; i++) {
        seen[i] = (double)(i % 200 + 1);
        peak[i] = i == 2 * 200 + 130 ? 0.7 : 1 / seen[i];
        key[i] = i == 2 * 200 + 130 ? 58 : 0;
    }
    fake_open(out);
    fake_decoder(out, 200);
    fake_add(out, "pooled/max", "slbhij", largest, dims);
    fake_add(out, "pooled/mean", "slbhij", mean, dims);
    if (!with_rows)
        return;
    fake_add(out, "rows/peak", "slbhq", peak, rows);
    fake_add(out, "rows/peak_key", "slbhq", key, rows);
    fake_add(out, "rows/seen", "slbhq", seen, rows);
}

START_TEST(a_range_of_tokens_chooses_cells_of_a_pooled_map)
{
    txd_figure_request request = ask("layers.0.attn.weights", 2);
    const double *cells;
    txd_drawing drawing;
    fake recording;
    size_t count;

    open_pooled(&recording, true);
    OK(txd_range_parse(&request.query, "99:200")); /* 99 is the last of cell 3 */
    OK(txd_range_parse(&request.key, "0:99"));
    draw(&drawing, &recording, request);
    drawn_has_words(&drawing, "array=(4,5)");
    drawn_has_words(&drawing, "'75' 0");
    drawn_has_words(&drawing,
                    "200 x 200 weights in 8 x 8 cells, the probe pooled kept the "
                    "largest of each");
    drawn_has_words(&drawing, "0.7 at query 130, key 58, 92 times 1/131");
    cells = drawn_numbers(&drawing, "cells", &count);
    ck_assert_double_eq(cells[0], 0.7);
    txd_drawing_finish(&drawing);
    request.pool = TXD_POOL_MEAN;
    draw(&drawing, &recording, request);
    drawn_has_words(&drawing, "the probe pooled kept the mean of each");
    cells = drawn_numbers(&drawing, "cells", &count);
    ck_assert_double_eq(cells[0], 0.1);
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(what_pooled_maps_are_too_coarse_for_is_refused_with_how_to_record_it)
{
    txd_figure_request request = ask("layers.0.attn.weights", 2);
    fake recording;

    open_pooled(&recording, false);
    OK(txd_range_parse(&request.query, "100:125"));
    check_refused(&recording, request,
                  "a cell holds about 25 queries: too coarse for the 25 that were "
                  "chosen. To see every weight of layer 0, head 2, in model.cfg: "
                  "record = ( { probe = \"full\"; points = \"layers.0.attn.weights\"; "
                  "heads = \"2\"; } );");
    OK(txd_range_parse(&request.query, "300:"));
    check_refused(&recording, request, "range of queries is empty: there are 0 to 199");
    fake_close(&recording);
}
END_TEST

START_TEST(heads_that_were_not_selected_are_not_called_nan)
{
    const size_t dims[5] = {1, 1, 4, 2, 2};
    double weights[16];
    txd_drawing drawing;
    fake recording;

    for (size_t i = 0; i < 16; i++) /* heads 1 and 2 */
        weights[i] = i / 4 == 1 || i / 4 == 2 ? (double)(i % 4 != 1) / 2 : NAN;
    fake_open(&recording);
    fake_decoder(&recording, 2);
    fake_add(&recording, "layers.0.attn.weights", "sbhqk", weights, dims);
    fake_meta(&recording, "record",
              "pooled\tlayers.*.attn.weights\t*\t*\t*\n"
              "full\tlayers.*.attn.weights,logits\t0\t1:3\t*\n");
    check_refused(&recording, ask("layers.0.attn.weights", 3),
                  "layers.0.attn.weights, head 3: `record` of this run does not select "
                  "it; recorded heads: 1, 2");
    draw(&drawing, &recording, ask("layers.0.attn.weights", 2));
    ck_assert(!drawn_has(&drawing, "nonfinite"));
    txd_drawing_finish(&drawing);
    draw(&drawing, &recording, ask("layers.0.attn.weights", -1));
    ck_assert(!drawn_has(&drawing, "marks"));
    drawn_has_words(&drawing, "heads that `record` of this run does not select");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(a_range_of_tokens_chooses_cells_of_a_pooled_map,
          what_pooled_maps_are_too_coarse_for_is_refused_with_how_to_record_it,
          heads_that_were_not_selected_are_not_called_nan)
