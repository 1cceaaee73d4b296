/* SPDX-License-Identifier: MIT */
/*
 * What must be seen in a picture whatever surrounds it: cells beside labels in any
 * script, and keys at the edge.
 */
#include "suite.h"

#include <stdlib.h>

#include "fake.h"
#include "need_gnuplot.h"
#include "png.h"

enum { TOKENS = 6 };

#define HIGHEST 0xFDE725u
#define INK 0x1B1F24u

static void plot(png *out, fake *recording, int head)
{
    const char *path = test_file("legible.png");
    txd_figure_request request = {.site = "layers.*.attn.weights",
                                  .layer = head,
                                  .head = head,
                                  .step = -1,
                                  .batch = -1,
                                  .path = path};
    txd_mapped file;

    ck_assert_msg(txd_plot(recording->trace, &request) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_file_map(&file, path), TXD_OK);
    png_read(out, file.bytes, file.count);
    txd_file_unmap(&file);
}

/* cairo paints large shapes in the colour of the text where a font has no glyph. */
START_TEST(labels_that_no_font_has_do_not_wreck_the_picture)
{
    static const char *const words[TOKENS] = {"\n",   "\t",   "日本語",
                                              "🙂", "שלום", "␊"};
    const size_t place[4] = {0, 0, 0, 0};
    png picture;
    fake recording;

    NEED_GNUPLOT;
    fake_open(&recording);
    fake_decoder(&recording, TOKENS);
    fake_strings(&recording, "input/pieces", words, TOKENS);
    fake_weights(&recording, TOKENS, place, 1);
    plot(&picture, &recording, 0);
    ck_assert_uint_gt(png_count(&picture, INK), 10);
    ck_assert_uint_gt(png_count(&picture, HIGHEST), 100);
    png_free(&picture);
    fake_close(&recording);
}
END_TEST

/* All weights 1 at one key, wherever the query may look there. */
static void draw_sink(png *out, size_t tokens, int head, size_t key)
{
    static const char *const names[FAKE_LAYERS] = {
        "layers.0.attn.weights", "layers.1.attn.weights", "layers.2.attn.weights"};
    const size_t dims[5] = {1, 1, FAKE_HEADS, tokens, tokens};
    size_t rows = FAKE_HEADS * tokens;
    double *weights = calloc(rows * tokens, sizeof *weights);
    fake recording;

    ck_assert_ptr_nonnull(weights);
    for (size_t row = 0; row < rows; row++)
        weights[row * tokens + (row % tokens < key ? row % tokens : key)] = 1;
    fake_open(&recording);
    fake_decoder(&recording, tokens);
    for (int i = 0; i < FAKE_LAYERS; i++)
        fake_add(&recording, names[i], "sbhqk", weights, dims);
    plot(out, &recording, head);
    fake_close(&recording);
    free(weights);
}

/* Rows of pixels that hold something of the palette's bright end. */
static size_t bright_rows(const png *picture, size_t right)
{
    size_t count = 0;

    for (size_t y = 0; y < picture->height; y++)
        for (size_t x = 0; x < right; x++) {
            uint32_t pixel = picture->pixels[y * picture->width + x];

            if ((pixel >> 16) > 180 && (pixel >> 8 & 0xFF) > 170 &&
                (pixel & 0xFF) < 150) {
                count++;
                break;
            }
        }
    return count;
}

/* Sinks are in the first column, which in long sequences is one pixel wide. */
START_TEST(no_frame_covers_the_first_key)
{
    const size_t tokens = 485;

    NEED_GNUPLOT;
    for (int head = -1; head < 2; head += 2) {
        png first, second;
        size_t rows;

        draw_sink(&first, tokens, head, 0);
        draw_sink(&second, tokens, head, 20);
        rows = bright_rows(&second, second.width - 120);
        ck_assert_uint_ge(rows, 450); /* one head; three panels of layers */
        ck_assert_uint_ge(bright_rows(&first, first.width - 120) + 3, rows);
        png_free(&first);
        png_free(&second);
    }
}
END_TEST

TEST_MAIN(labels_that_no_font_has_do_not_wreck_the_picture,
          no_frame_covers_the_first_key)
