/* SPDX-License-Identifier: MIT
 *
 * Masks without a recording: cells count what the rule says of each pair, layers and
 * batch rows that are alike are one mask, and the picture has its colours in place.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "cfg_text.h"
#include "need_gnuplot.h"
#include "png.h"
#include "viz/mask.h"

#define MODEL                                                                          \
    "model : { vocab = 9; d_model = 8; n_heads = 2; n_layers = 4; max_seq_len = 64; "  \
    "layers = ( { range = \"1:4:2\"; window = 3; } ); };"

static txd_arena *arena;

static txd_inputs batch_of(size_t batch, size_t length)
{
    txd_inputs inputs;

    if (!arena)
        ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_inputs_make(&inputs, arena, batch, length), TXD_OK);
    txd_inputs_count_positions(&inputs);
    return inputs;
}

static txd_masks find(const txd_config *config, const txd_inputs *inputs,
                      const txd_mask_request *request)
{
    txd_masks masks;

    ck_assert_msg(txd_masks_find(&masks, arena, config, inputs, NULL, request) ==
                      TXD_OK,
                  "%s", txd_message());
    return masks;
}

/* The counts of every cell against the rule, pair by pair. */
static void counted(txd_mask *mask, size_t rows, size_t columns)
{
    const size_t limit[2] = {rows, columns};
    size_t queries = mask->query.end - mask->query.begin;
    size_t keys = mask->key.end - mask->key.begin;
    uint64_t expected[8 * 8 * TXD_MASK_REASONS] = {0};

    ck_assert_int_eq(txd_mask_count(mask, arena, limit), TXD_OK);
    ck_assert_uint_le(mask->cells[0], rows);
    ck_assert_uint_le(mask->cells[1], columns);
    for (size_t q = 0; q < queries; q++)
        for (size_t k = 0; k < keys; k++) {
            size_t cell = q * mask->cells[0] / queries * mask->cells[1] +
                          k * mask->cells[1] / keys;

            expected[cell * TXD_MASK_REASONS + txd_mask_hides(&mask->view,
                                                              mask->query.begin + q,
                                                              mask->key.begin + k)]++;
        }
    ck_assert_mem_eq(mask->counts, expected,
                     mask->cells[0] * mask->cells[1] * TXD_MASK_REASONS *
                         sizeof *expected);
}

START_TEST(cells_count_what_the_rule_says_of_each_pair)
{
    txd_config config = cfg_text_config(MODEL);
    txd_mask_request request = {.layer = 1, .batch = 0};

    for (uint64_t trial = 0; trial < 200; trial++) {
        size_t length = 1 + (size_t)(txd_rng_bits(trial, 0) % 23);
        txd_inputs inputs = batch_of(1, length);
        size_t padding = (size_t)(txd_rng_bits(trial, 1) % (length + 1));
        txd_masks masks;

        for (size_t i = 0; i < length; i++) {
            inputs.valid[i] = trial % 3 ? i >= padding : i < padding;
            inputs.document[i] = trial % 2 ? (int32_t)(i / 4) : 0;
        }
        txd_inputs_count_positions(&inputs);
        request.layer = (int)(trial % 2);
        request.query = (txd_range){.count = 1, .parts = {{length / 4, length, 1}}};
        masks = find(&config, &inputs, &request);
        ck_assert_uint_eq(masks.count, 1);
        counted(&masks.masks[0], 1 + trial % 8, 1 + trial / 3 % 8);
        txd_arena_reset(arena);
    }
    cfg_text_finish();
}
END_TEST

START_TEST(layers_and_batch_rows_that_are_alike_are_one_mask)
{
    txd_config config = cfg_text_config(MODEL);
    txd_inputs inputs = batch_of(3, 6);
    txd_mask_request all = {.layer = -1, .batch = -1}, one = {.layer = 3, .batch = 2};
    txd_masks masks;

    inputs.valid[6 + 5] = 0;
    txd_inputs_count_positions(&inputs);
    masks = find(&config, &inputs, &all);
    ck_assert_uint_eq(masks.count, 4);
    ck_assert_str_eq(masks.masks[0].layers, "layers 0, 2");
    ck_assert_str_eq(masks.masks[0].rows, "batch rows 0, 2");
    ck_assert_str_eq(masks.masks[1].rows, "batch row 1");
    ck_assert_str_eq(masks.masks[2].layers, "layers 1, 3");
    ck_assert_str_eq(masks.masks[2].rule, "causal, window 3");
    masks = find(&config, &inputs, &one);
    ck_assert_uint_eq(masks.count, 1);
    ck_assert_str_eq(masks.masks[0].layers, "layer 3");
    ck_assert_str_eq(masks.masks[0].rows, "batch row 2");
    cfg_text_finish();
}
END_TEST

START_TEST(what_is_not_there_is_refused_with_the_choices)
{
    txd_config config = cfg_text_config(MODEL);
    txd_inputs inputs = batch_of(1, 6);
    txd_mask_request requests[] = {
        {.layer = 4, .batch = -1},
        {.layer = -1, .batch = 1},
        {.layer = -1, .batch = -1, .query = {.count = 1, .parts = {{6, 9, 1}}}},
        {.layer = -1, .batch = -1, .key = {.count = 1, .parts = {{0, 6, 2}}}}};
    static const char *const words[] = {"from 0 to 3", "from 0 to 0", "from 0 to 5",
                                        "without gaps"};
    txd_masks masks;

    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(
            txd_masks_find(&masks, arena, &config, &inputs, NULL, &requests[i]),
            TXD_ERR_CONFIG);
        ck_assert_msg(strstr(txd_message(), words[i]) != NULL, "%s", txd_message());
    }
    cfg_text_finish();
}
END_TEST

/* Row 0 is on top: the first query sees one key, the last all within its window. */
START_TEST(the_picture_has_the_colours_of_reasons_at_their_pixels)
{
    txd_config config = cfg_text_config(MODEL);
    txd_inputs inputs = batch_of(1, 6);
    txd_mask_request request = {.layer = 1, .batch = 0};
    const char *before;
    txd_drawing drawing;
    txd_masks masks;
    txd_text bytes;
    png picture;
    int left, top;

    NEED_GNUPLOT;
    masks = find(&config, &inputs, &request);
    txd_text_init(&bytes);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_int_eq(txd_masks_draw(&drawing, &masks, "Mask"), TXD_OK);
    before = strstr(txd_text_get(&drawing.script), "set lmargin at screen ");
    ck_assert_ptr_nonnull(before);
    ck_assert_int_eq(sscanf(before, "set lmargin at screen %d", &left), 1);
    before = strstr(before, "set tmargin at screen 1-");
    ck_assert_int_eq(sscanf(before, "set tmargin at screen 1-%d", &top), 1);
    ck_assert_msg(txd_drawing_image(&bytes, &drawing) == TXD_OK, "%s", txd_message());
    png_read(&picture, bytes.data, bytes.length);
    for (size_t q = 0; q < 6; q++)
        for (size_t k = 0; k < 6; k++) {
            size_t x = (size_t)left + k * 28 + 14, y = (size_t)top + q * 28 + 14;
            uint32_t expected = k > q ? 0xEEF0F2 : q - k >= 3 ? 0xC3DCEE : 0x123A63;

            ck_assert_msg(picture.pixels[y * picture.width + x] == expected,
                          "query %zu, key %zu: %06x", q, k,
                          picture.pixels[y * picture.width + x]);
        }
    png_free(&picture);
    txd_text_finish(&bytes);
    txd_drawing_finish(&drawing);
    cfg_text_finish();
}
END_TEST

TEST_MAIN(cells_count_what_the_rule_says_of_each_pair,
          layers_and_batch_rows_that_are_alike_are_one_mask,
          what_is_not_there_is_refused_with_the_choices,
          the_picture_has_the_colours_of_reasons_at_their_pixels)
