/* SPDX-License-Identifier: MIT
 *
 * Configurations of models whose weights a file has.
 */
#include "cfg_text.h"

#define SIZES "vocab = 11; d_model = 24; n_heads = 6; n_layers = 4; max_seq_len = 9;"

START_TEST(a_preset_is_for_files_that_state_no_conventions)
{
    const char *text = "model : { preset = \"llama\"; from = \"x\"; " SIZES " };";
    txd_config stated = cfg_text_config("model : { preset = \"mini\"; " SIZES " };");
    txd_config c = cfg_text_config(text);

    ck_assert(c.gated); /* as the preset */
    ck_assert_int_eq(
        txd_config_read(&c, cfg_text_memory(), cfg_text_tree(text), &stated),
        TXD_ERR_CONFIG);
    ck_message_has("model.preset");
    ck_message_has("remove");
    cfg_text_finish();
}
END_TEST

START_TEST(weights_are_not_drawn_beside_a_file)
{
    txd_config c;

    ck_assert_int_eq(txd_config_read(&c, cfg_text_memory(),
                                     cfg_text_tree("model : { from = \"x\"; " SIZES
                                                   " }; weights : { init = (); };"),
                                     NULL),
                     TXD_ERR_CONFIG);
    ck_message_has("m.cfg");
    ck_message_has("weights");
    ck_message_has("model.from");
    cfg_text_finish();
}
END_TEST

TEST_MAIN(a_preset_is_for_files_that_state_no_conventions,
          weights_are_not_drawn_beside_a_file)
