/* SPDX-License-Identifier: MIT */
/*
 * The numbers that a report holds for its explorer: exact while that is small, pooled
 * within a budget beyond, and nothing of a leak lost.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "viz/report/explorer.h"

enum { TOKENS = 96, CELLS = TOKENS * TOKENS };

static double number_at(const txd_text *text, size_t at, size_t width)
{
    double wide;
    float narrow;
    uint16_t code;

    ck_assert_uint_le(at + width, text->length);
    if (width == 8) {
        memcpy(&wide, text->data + at, 8);
        return wide;
    }
    if (width == 4) {
        memcpy(&narrow, text->data + at, 4);
        return (double)narrow;
    }
    memcpy(&code, text->data + at, 2);
    if ((code >> 9 & 63) == 63)
        return code & 511 ? NAN : code & 0x8000 ? -INFINITY : INFINITY;
    wide = code >> 9 & 63 ? ldexp(1 + (code & 511) / 512.0, (code >> 9 & 63) - 47)
                          : ldexp(code & 511, -55);
    return code & 0x8000 ? -wide : wide;
}

static double short_of(double value)
{
    txd_text text;
    double back;

    txd_text_init(&text);
    txd_held_number(&text, value, 2);
    ck_assert_uint_eq(text.length, 2);
    back = number_at(&text, 0, 2);
    txd_text_finish(&text);
    return back;
}

START_TEST(short_numbers_have_three_digits_and_keep_what_matters)
{
    static const double exact[] = {0, 1, 0.5, 0.25, 1.5, -0.75, 4096};
    double before = 0;

    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        ck_assert(short_of(exact[i]) == exact[i]);
    for (double value = 1e-13; value < 6e4; value *= 1.0137) {
        double back = short_of(value);

        ck_assert_msg(fabs(back / value - 1) <= 1.0 / 1024, "%g became %g", value,
                      back);
        ck_assert_msg(back >= before, "%g became %g, after %g", value, back, before);
        ck_assert(short_of(-value) == -back);
        before = back;
    }
    ck_assert(short_of(1e-300) > 0 && short_of(1e-300) < 1e-16);
    ck_assert(short_of(1e300) > 6.5e4 && isfinite(short_of(1e300)));
    ck_assert(isnan(short_of(NAN)));
    ck_assert(short_of(-INFINITY) == -INFINITY && short_of(INFINITY) == INFINITY);
}
END_TEST

static bool seen(const txd_text *mask, size_t cell)
{
    ck_assert_uint_lt(cell / 8, mask->length);
    return ((unsigned char)mask->data[cell / 8] >> cell % 8 & 1) != 0;
}

typedef struct holder {
    fake recording;
    txd_held held;
    txd_claim claim;
    txd_held_map map;
    double weights[CELLS]; /* of the layer and head at hand */
} holder;

static void open_holder(holder *h, const size_t leak[4], double value)
{
    memset(h, 0, sizeof *h);
    fake_open(&h->recording);
    fake_decoder(&h->recording, TOKENS);
    fake_weights(&h->recording, TOKENS, leak, value);
    h->held = (txd_held){.recordings = {h->recording.trace}, .recording_count = 1};
}

static void close_holder(holder *h)
{
    txd_text_finish(&h->map.bytes);
    txd_text_finish(&h->map.mask);
    txd_claim_finish(&h->claim);
    fake_close(&h->recording);
}

static void plan(holder *h, double bytes)
{
    const txd_held_budget budget = {.bytes = bytes, .values = 1e9, .excess = 1};
    txd_status status = txd_held_plan(&h->held, h->recording.arena, &budget, -1, -1);

    ck_assert_msg(status == TXD_OK, "%s", txd_message());
    ck_assert_uint_eq(h->held.frame_count, 1);
    h->held.frames[0].rows = h->held.frames[0].queries = TOKENS;
    h->held.frames[0].columns = h->held.frames[0].keys = TOKENS;
    ck_assert_int_eq(txd_claim_init(&h->claim, h->recording.trace, 0), TXD_OK);
}

static void fill(holder *h, int layer, size_t head)
{
    const size_t start[5] = {0, 0, head, 0, 0};
    const size_t count[5] = {1, 1, 1, TOKENS, TOKENS};
    char name[64];
    size_t entry;

    ck_assert_msg(txd_held_fill(&h->map, &h->held, &h->claim, 0, &h->held.frames[0],
                                layer, head) == TXD_OK,
                  "%s", txd_message());
    snprintf(name, sizeof name, "layers.%d.attn.weights", layer);
    ck_assert_int_eq(txd_trace_find(h->recording.trace, &entry, name), TXD_OK);
    ck_assert_int_eq(
        txd_trace_read(h->recording.trace, h->weights, entry, start, count, TXD_F64),
        TXD_OK);
}

static size_t half(size_t cells)
{
    return cells * (cells + 1) / 2;
}

START_TEST(small_maps_are_held_to_the_last_bit)
{
    static holder h;
    size_t at = 0;

    open_holder(&h, NULL, 0);
    plan(&h, 1e6);
    ck_assert_uint_eq(h.held.side, 1);
    ck_assert_uint_eq(h.held.width, 8);
    ck_assert_uint_eq(h.held.layer_count, FAKE_LAYERS);
    ck_assert_uint_eq(h.held.heads, FAKE_HEADS);
    fill(&h, 2, 3);
    ck_assert_uint_eq(h.map.bytes.length, half(TOKENS) * 8);
    for (size_t i = 0; i < CELLS; i++) {
        ck_assert_int_eq(seen(&h.map.mask, i), i % TOKENS <= i / TOKENS);
        if (!seen(&h.map.mask, i))
            continue;
        ck_assert(number_at(&h.map.bytes, at, 8) == h.weights[i]);
        at += 8;
    }
    close_holder(&h);
}
END_TEST

START_TEST(leaks_come_behind_the_cells_that_are_seen)
{
    static const size_t leak[4] = {1, 2, 3, 20};
    static holder h;
    size_t at = half(TOKENS) * 8;

    open_holder(&h, leak, 0.375);
    plan(&h, 1e6);
    fill(&h, 1, 1);
    ck_assert_uint_eq(h.map.bytes.length, at);
    fill(&h, 1, 2);
    ck_assert_uint_eq(h.map.bytes.length, at + 12);
    ck_assert(!seen(&h.map.mask, 3 * TOKENS + 20));
    ck_assert(memcmp(h.map.bytes.data + at, "\3\0\24\0", 4) == 0);
    ck_assert(number_at(&h.map.bytes, at + 4, 8) == 0.375);
    close_holder(&h);
}
END_TEST

/* Cells on the diagonal hold seen and hidden pairs: only the seen ones count. */
START_TEST(what_does_not_fit_is_pooled_by_the_largest_and_the_mean)
{
    static const size_t hot[4] = {0, 1, 17, 5};
    static holder h;
    size_t side, cells, at = 0;

    open_holder(&h, hot, 7);
    plan(&h, 3.5 * CELLS);
    side = h.held.side;
    cells = (TOKENS + side - 1) / side;
    ck_assert_uint_gt(side, 1);
    ck_assert(h.held.mean);
    fill(&h, 0, 1);
    ck_assert_uint_eq(h.map.bytes.length, 2 * h.held.width * half(cells));
    for (size_t i = 0; i < cells * cells; i++) {
        double top = -1, sum = 0, count = 0, bound = h.held.width == 2 ? 1e-3 : 1e-7;

        for (size_t j = 0; j < side * side; j++) {
            size_t q = i / cells * side + j / side, k = i % cells * side + j % side;

            if (q >= TOKENS || k > q)
                continue;
            top = fmax(top, h.weights[q * TOKENS + k]);
            sum += h.weights[q * TOKENS + k];
            count++;
        }
        ck_assert_int_eq(seen(&h.map.mask, i), count > 0);
        if (count == 0)
            continue;
        ck_assert(fabs(number_at(&h.map.bytes, at, h.held.width) / top - 1) <= bound);
        ck_assert(fabs(number_at(&h.map.bytes, at + half(cells) * h.held.width,
                                 h.held.width) /
                           (sum / count) -
                       1) <= bound);
        if (i == 17 / side * cells + 5 / side)
            ck_assert(number_at(&h.map.bytes, at, h.held.width) == 7);
        at += h.held.width;
    }
    close_holder(&h);
}
END_TEST

/* Everything hidden leaks: more bytes than a plan can know. */
START_TEST(leaks_make_cells_larger_and_not_the_page)
{
    static double weights[FAKE_HEADS * CELLS];
    const size_t dims[5] = {1, 1, FAKE_HEADS, TOKENS, TOKENS};
    txd_explorer e = {.report = NULL};
    txd_report report;
    double bytes, most = 13.0 * CELLS;
    fake recording;

    for (size_t i = 0; i < FAKE_HEADS * CELLS; i++)
        weights[i] = 1.0 / TOKENS;
    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    for (int layer = 0; layer < FAKE_LAYERS; layer++) {
        char name[64];

        snprintf(name, sizeof name, "layers.%d.attn.weights", layer);
        fake_add(&recording, name, "sbhqk", weights, dims);
    }
    txd_page_init(&report, recording.trace, "r.h5");
    e.report = &report;
    e.arena = recording.arena;
    ck_assert_int_eq(txd_explorer_kind(&e, TXD_ATTENTION_SELF, most, &bytes), TXD_OK);
    ck_assert_msg(bytes > most / 8 && bytes <= most, "%g of %g bytes", bytes, most);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&e.kinds), "share a cell"));
    txd_text_finish(&e.kinds);
    txd_text_finish(&e.masks);
    txd_text_finish(&e.tokens);
    txd_page_finish(&report);
    fake_close(&recording);
}
END_TEST

START_TEST(of_many_steps_the_first_the_last_and_that_of_a_finding_are_held)
{
    enum { STEPS = 40, SHORT = 8 };
    static double weights[STEPS * SHORT * SHORT];
    const size_t dims[5] = {STEPS, 1, 1, SHORT, SHORT};
    const txd_held_budget budget = {
        .bytes = 5 * (36 * 8 + TXD_HELD_FRAME), .values = 1e9, .excess = 1};
    txd_held held = {.kind = TXD_ATTENTION_SELF};
    bool found = false;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, SHORT);
    fake_add(&recording, "layers.0.attn.weights", "sbhqk", weights, dims);
    held.recordings[0] = recording.trace;
    held.recording_count = 1;
    ck_assert_int_eq(txd_held_plan(&held, recording.arena, &budget, 23, 0), TXD_OK);
    ck_assert_uint_eq(held.side, 1);
    ck_assert_uint_eq(held.frame_count, 5);
    ck_assert_uint_eq(held.steps, STEPS);
    ck_assert_uint_eq(held.frames[0].step, 0);
    ck_assert_uint_eq(held.frames[4].step, STEPS - 1);
    for (size_t i = 0; i < 5; i++)
        found |= held.frames[i].step == 23;
    ck_assert(found);
    fake_close(&recording);
}
END_TEST

START_TEST(too_many_layers_are_thinned_and_a_row_that_fits_no_page_is_refused)
{
    static holder h;
    const txd_held_budget few = {.bytes = 5000, .values = 1e9, .excess = 1};
    const txd_held_budget unread = {.bytes = 1e6, .values = 100, .excess = 1};

    open_holder(&h, NULL, 0);
    ck_assert_int_eq(txd_held_plan(&h.held, h.recording.arena, &few, -1, -1), TXD_OK);
    ck_assert_uint_eq(h.held.layers_recorded, FAKE_LAYERS);
    ck_assert_uint_lt(h.held.layer_count, FAKE_LAYERS);
    ck_assert_int_eq(txd_held_plan(&h.held, h.recording.arena, &unread, -1, -1),
                     TXD_ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(txd_message(), "pooled"));
    close_holder(&h);
}
END_TEST

/* The recorded cells as they are; the row statistics tell where a leak is. */
START_TEST(pooled_maps_are_held_as_recorded)
{
    enum { SIDE = 4, LONG = 16 };
    static double top[FAKE_LAYERS * FAKE_HEADS * SIDE * SIDE];
    static double mean[FAKE_LAYERS * FAKE_HEADS * SIDE * SIDE];
    static double leak[FAKE_LAYERS * FAKE_HEADS * LONG],
        key[FAKE_LAYERS * FAKE_HEADS * LONG];
    const size_t dims[6] = {1, FAKE_LAYERS, 1, FAKE_HEADS, SIDE, SIDE};
    const size_t rows[5] = {1, FAKE_LAYERS, 1, FAKE_HEADS, LONG};
    const txd_held_budget budget = {.bytes = 1e6, .values = 1e9, .excess = 1};
    txd_held_map map;
    txd_held held = {.kind = TXD_ATTENTION_SELF, .recording_count = 1};
    txd_held_frame frame = {0, 0, SIDE, SIDE, LONG, LONG};
    txd_claim claim;
    fake recording;

    for (size_t i = 0; i < sizeof top / sizeof *top; i++) {
        top[i] = (double)(i + 1) / 1000;
        mean[i] = top[i] / 3;
    }
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        key[i] = -1;
    leak[(1 * FAKE_HEADS + 2) * LONG + 5] = 0.625; /* query 5 is in row 1 */
    key[(1 * FAKE_HEADS + 2) * LONG + 5] = 14;     /* in column 3 */
    fake_open(&recording);
    fake_decoder(&recording, LONG);
    fake_add(&recording, "pooled/max", "slbhij", top, dims);
    fake_add(&recording, "pooled/mean", "slbhij", mean, dims);
    fake_add(&recording, "rows/hidden_max", "slbhq", leak, rows);
    fake_add(&recording, "rows/hidden_key", "slbhq", key, rows);
    held.recordings[0] = recording.trace;
    ck_assert_int_eq(txd_held_plan(&held, recording.arena, &budget, -1, -1), TXD_OK);
    ck_assert(held.pooled && held.mean && held.side == 1);
    ck_assert_int_eq(txd_claim_init(&claim, recording.trace, 0), TXD_OK);
    txd_text_init(&map.bytes);
    txd_text_init(&map.mask);
    ck_assert_msg(txd_held_fill(&map, &held, &claim, 0, &frame, 1, 2) == TXD_OK, "%s",
                  txd_message());
    ck_assert_uint_eq(map.bytes.length, 2 * half(SIDE) * 8 + 12);
    for (size_t i = 0, at = 0; i < SIDE * SIDE; i++) {
        size_t from = (1 * FAKE_HEADS + 2) * SIDE * SIDE + i;

        ck_assert_int_eq(seen(&map.mask, i), i % SIDE <= i / SIDE);
        if (i % SIDE > i / SIDE)
            continue;
        ck_assert(number_at(&map.bytes, at, 8) == top[from]);
        ck_assert(number_at(&map.bytes, at + half(SIDE) * 8, 8) == mean[from]);
        at += 8;
    }
    ck_assert(memcmp(map.bytes.data + 2 * half(SIDE) * 8, "\1\0\3\0", 4) == 0);
    ck_assert(number_at(&map.bytes, 2 * half(SIDE) * 8 + 4, 8) == 0.625);
    txd_text_finish(&map.bytes);
    txd_text_finish(&map.mask);
    txd_claim_finish(&claim);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(short_numbers_have_three_digits_and_keep_what_matters,
          small_maps_are_held_to_the_last_bit,
          leaks_come_behind_the_cells_that_are_seen,
          what_does_not_fit_is_pooled_by_the_largest_and_the_mean,
          leaks_make_cells_larger_and_not_the_page,
          of_many_steps_the_first_the_last_and_that_of_a_finding_are_held,
          too_many_layers_are_thinned_and_a_row_that_fits_no_page_is_refused,
          pooled_maps_are_held_as_recorded)
