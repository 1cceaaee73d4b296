/* SPDX-License-Identifier: MIT */
/*
 * What lies over the cells of one head: lines along the edges of the mask, which cover
 * no seen cell, rings over them, and padded queries in grey.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "fake.h"
#include "viz/figures/figures.h"

enum { TOKENS = 12, REAL = 10 };

static const double documents[TOKENS] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};

/* The same rule as the claim's, written down anew. */
static bool is_seen(size_t q, size_t k)
{
    return k <= q && q - k < 4 && k < REAL && documents[q] == documents[k];
}

/* A window of 4, two documents, two tokens of padding; `value` at (query, key). */
static void open_masked(fake *out, size_t query, size_t key, double value)
{
    const size_t plane[3] = {1, 1, TOKENS}, dims[5] = {1, 1, 1, TOKENS, TOKENS};
    double weights[TOKENS * TOKENS], valid[TOKENS], positions[TOKENS];

    for (size_t i = 0; i < TOKENS * TOKENS; i++)
        weights[i] = is_seen(i / TOKENS, i % TOKENS) ? 0.25 : 0;
    for (size_t i = 0; i < TOKENS; i++) {
        valid[i] = i < REAL;
        positions[i] = (double)i; /* padding would not be counted */
    }
    weights[query * TOKENS + key] = value;
    fake_open(out);
    fake_meta(out, "config",
              "version = 1; model : { vocab = 512; d_model = 32; n_heads = 1; n_layers "
              "= 1; d_ff = 64; max_seq_len = 64; }; mask : { causal = true; window = "
              "4; };");
    fake_add(out, "input/valid", "sbt", valid, plane);
    fake_add(out, "input/positions", "sbt", positions, plane);
    fake_add(out, "input/document", "sbt", documents, plane);
    fake_add(out, "layers.0.attn.weights", "sbhqk", weights, dims);
}

static void draw_head(txd_drawing *out, fake *recording)
{
    const txd_figure_request request = {.site = "layers.0.attn.weights",
                                        .layer = -1,
                                        .head = 0,
                                        .step = -1,
                                        .batch = -1};

    OK(txd_drawing_init(out, TXD_IMAGE_PNG));
    OK(txd_figure_head.draw(out, recording->trace, &request));
}

/* Lines that touch the inside of a cell. */
static size_t lines_in(const double *lines, size_t count, size_t q, size_t k)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const double *line = lines + 4 * i;
        double x = line[0] + line[2] / 2, y = line[1] + line[3] / 2;

        found += fabs(x - (double)k) < 0.5 && fabs(y - (double)q) < 0.5;
    }
    return found;
}

static bool has_seen_neighbour(size_t q, size_t k)
{
    return (k > 0 && is_seen(q, k - 1)) || (k + 1 < TOKENS && is_seen(q, k + 1)) ||
           (q > 0 && is_seen(q - 1, k)) || (q + 1 < TOKENS && is_seen(q + 1, k));
}

START_TEST(edges_of_the_mask_are_lines_in_hidden_cells_beside_seen_ones)
{
    const double *lines;
    txd_drawing drawing;
    fake recording;
    size_t count;

    open_masked(&recording, 0, 0, 1);
    draw_head(&drawing, &recording);
    lines = drawn_numbers(&drawing, "edges", &count);
    ck_assert_uint_eq(count % 4, 0);
    for (size_t q = 0; q < TOKENS; q++)
        for (size_t k = 0; k < TOKENS; k++) {
            bool expected = !is_seen(q, k) && has_seen_neighbour(q, k);

            ck_assert_msg((lines_in(lines, count / 4, q, k) != 0) == expected,
                          "query %zu, key %zu: %s", q, k,
                          expected ? "no line" : "a line");
        }
    drawn_says(&drawing, "\xE2\x94\x80\xE2\x94\x80 later keys");
    drawn_says(&drawing, "\xE2\x80\x93 \xE2\x80\x93 keys before the window");
    drawn_says(&drawing, "- - other");
    drawn_says(&drawing, "\xC2\xB7\xC2\xB7\xC2\xB7 padding");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(rings_of_leaks_are_drawn_over_the_edges)
{
    const char *edges, *leaks;
    const double *ring;
    txd_drawing drawing;
    fake recording;
    size_t count;

    open_masked(&recording, 7, 3, 0.125);
    draw_head(&drawing, &recording);
    ring = drawn_numbers(&drawing, "leaks", &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq(ring[0], 3);
    ck_assert_double_eq(ring[1], 7);
    edges = strstr(drawing.script.data, "'edges'");
    leaks = strstr(drawing.script.data, "'leaks'");
    ck_assert_ptr_nonnull(edges);
    ck_assert_ptr_nonnull(leaks);
    ck_assert(edges < leaks);
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

START_TEST(padded_queries_are_grey_and_have_no_part_in_the_colours)
{
    const unsigned char *pixels;
    const double *cells;
    txd_drawing drawing;
    fake recording;
    size_t count, bytes;

    open_masked(&recording, 11, 9, 99);
    draw_head(&drawing, &recording);
    cells = drawn_numbers(&drawing, "cells", &count);
    ck_assert_uint_eq(count, TOKENS * TOKENS);
    pixels = drawn_file(&drawing, "unknown", &bytes);
    ck_assert_uint_eq(bytes, 4 * TOKENS * TOKENS);
    for (size_t i = 0; i < TOKENS * TOKENS; i++) {
        bool real = i / TOKENS < REAL, seen = is_seen(i / TOKENS, i % TOKENS);

        ck_assert_int_eq(!isnan(cells[i]), real && seen);
        ck_assert_int_eq(pixels[4 * i + 3] != 0, !real && seen);
    }
    drawn_says(&drawing, "set cbrange [0:0.25]");
    drawn_says(&drawing, "Grey: what padded queries");
    txd_drawing_finish(&drawing);
    fake_close(&recording);
}
END_TEST

TEST_MAIN(edges_of_the_mask_are_lines_in_hidden_cells_beside_seen_ones,
          rings_of_leaks_are_drawn_over_the_edges,
          padded_queries_are_grey_and_have_no_part_in_the_colours)
