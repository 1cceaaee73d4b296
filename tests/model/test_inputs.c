/* SPDX-License-Identifier: MIT
 *
 * Batches: positions, what is refused, and the mask of a layer over them.
 */
#include <string.h>

#include "cfg_text.h"
#include "model/inputs.h"
#include "suite.h"

#define SIZES "vocab = 11; d_model = 12; n_heads = 6; n_layers = 2;"

static txd_inputs batch_of(size_t batch, size_t length)
{
    txd_inputs inputs;

    ck_assert_int_eq(txd_inputs_make(&inputs, cfg_text_memory(), batch, length),
                     TXD_OK);
    return inputs;
}

static void refused(const txd_inputs *inputs, const txd_config *config,
                    const char *first, const char *second)
{
    ck_assert_int_eq(txd_inputs_check(inputs, config), TXD_ERR_CONFIG);
    ck_message_has(first);
    ck_message_has(second);
}

START_TEST(a_new_batch_is_valid_zeros)
{
    txd_inputs inputs = batch_of(2, 3);

    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(inputs.valid[i], 1);
        ck_assert_int_eq(inputs.tokens[i], 0);
        ck_assert_int_eq(inputs.positions[i], 0);
        ck_assert_int_eq(inputs.document[i], 0);
    }
    cfg_text_finish();
}
END_TEST

START_TEST(padding_on_either_side_shifts_no_position)
{
    static const int32_t valid[] = {0, 0, 1, 1, 1, 1, 1, 1, 0, 0};
    static const int32_t expected[] = {0, 0, 0, 1, 2, 0, 1, 2, 0, 0};
    txd_inputs inputs = batch_of(2, 5);

    memcpy(inputs.valid, valid, sizeof valid);
    txd_inputs_count_positions(&inputs);
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(inputs.positions[i], expected[i]);
    cfg_text_finish();
}
END_TEST

START_TEST(a_token_id_out_of_range_is_refused_by_place)
{
    txd_config c = cfg_text_config("model : { " SIZES " max_seq_len = 9; };");
    txd_inputs inputs = batch_of(2, 4);

    ck_assert_int_eq(txd_inputs_check(&inputs, &c), TXD_OK);
    inputs.tokens[4 + 2] = 11;
    refused(&inputs, &c, "row 1, place 2", "token id 11");
    inputs.tokens[4 + 2] = -1;
    refused(&inputs, &c, "token id -1", "0 to 10");
    inputs.tokens[4 + 2] = 10;
    ck_assert_int_eq(txd_inputs_check(&inputs, &c), TXD_OK);
    cfg_text_finish();
}
END_TEST

START_TEST(a_sequence_longer_than_the_positions_is_refused_with_both_numbers)
{
    txd_config learned = cfg_text_config("model : { " SIZES " max_seq_len = 3; };");
    txd_config rotary =
        cfg_text_config("model : { preset = \"llama\"; " SIZES " max_seq_len = 3; };");
    txd_config endless = cfg_text_config("model : { preset = \"llama\"; " SIZES " };");
    txd_inputs inputs = batch_of(1, 4);

    txd_inputs_count_positions(&inputs);
    refused(&inputs, &learned, "has 4 tokens", "3 positions");
    refused(&inputs, &rotary, "has 4 tokens", "3 positions");
    ck_assert_int_eq(txd_inputs_check(&inputs, &endless), TXD_OK);
    inputs.positions[3] = -2;
    refused(&inputs, &endless, "position -2", "place 3");
    cfg_text_finish();
}
END_TEST

START_TEST(padding_does_not_count_against_the_positions)
{
    txd_config c = cfg_text_config("model : { " SIZES " max_seq_len = 3; };");
    txd_inputs inputs = batch_of(1, 4);

    inputs.valid[0] = 0;
    txd_inputs_count_positions(&inputs);
    ck_assert_int_eq(txd_inputs_check(&inputs, &c), TXD_OK);
    cfg_text_finish();
}
END_TEST

START_TEST(empty_batches_and_odd_flags_are_refused)
{
    txd_config c = cfg_text_config("model : { " SIZES " max_seq_len = 3; };");
    txd_inputs empty = batch_of(0, 4), odd = batch_of(1, 2);

    refused(&empty, &c, "empty", "0 rows");
    odd.valid[1] = 2;
    refused(&odd, &c, "valid is 2", "place 1");
    cfg_text_finish();
}
END_TEST

START_TEST(the_mask_of_a_row_has_its_numbers_and_its_layers_rules)
{
    txd_config c = cfg_text_config("model : { " SIZES
                                   " max_seq_len = 9; layers = ( { range = \"1\"; "
                                   "window = 2; causal = false; } ); };");
    txd_inputs inputs = batch_of(2, 4);
    txd_mask_view first, second;

    inputs.valid[4] = 0;
    inputs.document[7] = 1;
    txd_inputs_count_positions(&inputs);
    first = txd_mask_of(&c.layers[0], &inputs, 0);
    ck_assert_int_eq(txd_mask_hides(&first, 1, 1), TXD_SEEN);
    ck_assert_int_eq(txd_mask_hides(&first, 1, 2), TXD_HIDDEN_FUTURE);
    ck_assert_int_eq(txd_mask_hides(&first, 3, 0), TXD_SEEN);
    second = txd_mask_of(&c.layers[1], &inputs, 1);
    ck_assert_int_eq(txd_mask_hides(&second, 1, 0), TXD_HIDDEN_PADDING);
    ck_assert_int_eq(txd_mask_hides(&second, 1, 2), TXD_SEEN);
    ck_assert_int_eq(txd_mask_hides(&second, 1, 3), TXD_HIDDEN_DOCUMENT);
    inputs.document[7] = 0;
    ck_assert_int_eq(txd_mask_hides(&second, 3, 1), TXD_HIDDEN_WINDOW);
    ck_assert_int_eq(txd_mask_hides(&second, 1, 3), TXD_HIDDEN_WINDOW);
    cfg_text_finish();
}
END_TEST

TEST_MAIN(a_new_batch_is_valid_zeros, padding_on_either_side_shifts_no_position,
          a_token_id_out_of_range_is_refused_by_place,
          a_sequence_longer_than_the_positions_is_refused_with_both_numbers,
          padding_does_not_count_against_the_positions,
          empty_batches_and_odd_flags_are_refused,
          the_mask_of_a_row_has_its_numbers_and_its_layers_rules)
