/* SPDX-License-Identifier: MIT
 *
 * Fields of config.json that a family's library does not have, or takes otherwise than
 * one would think.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "family_file.h"
#include "suite.h"

static family_file file;

/* What config.json and the tensors come to, as model.cfg has it. */
static void describe(txd_text *out, const char *fixture, const char *field,
                     const char *value)
{
    txd_checkpoint *checkpoint = NULL;

    family_load(&file, fixture);
    if (field)
        family_set(&file, field, value);
    ck_assert_msg(family_open(&checkpoint, &file) == TXD_OK, "%s: %s = %s: %s", fixture,
                  field ? field : "", value, txd_message());
    txd_text_init(out);
    txd_config_print(out, txd_checkpoint_config(checkpoint));
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
}

START_TEST(fields_that_the_library_does_not_have_change_nothing)
{
    static const struct {
        const char *fixture, *field, *value;
    } strangers[] = {
        {"llama", "sliding_window", "3"},        {"mistral", "attention_bias", "true"},
        {"mistral", "mlp_bias", "true"},         {"qwen2", "attention_bias", "true"},
        {"phi3", "attention_bias", "true"},      {"phi", "attention_bias", "false"},
        {"qwen3", "mlp_bias", "true"},           {"gemma", "mlp_bias", "true"},
        {"gemma3", "mlp_bias", "true"},          {"olmo2", "mlp_bias", "true"},
        {"llama", "partial_rotary_factor", "1"}, {"opt", "hidden_act", "\"silu\""},
    };

    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        txd_text without, with;

        describe(&without, strangers[i].fixture, NULL, "");
        describe(&with, strangers[i].fixture, strangers[i].field, strangers[i].value);
        ck_assert_str_eq(txd_text_get(&with), txd_text_get(&without));
        txd_text_finish(&with);
        txd_text_finish(&without);
    }
}
END_TEST

START_TEST(a_width_of_heads_may_be_stated_wherever_the_library_takes_it)
{
    static const struct {
        const char *fixture, *width, *shape;
    } models[] = {{"olmo2", "2", "(12, 24)"},
                  {"starcoder2", "2", "(12, 24)"},
                  {"phi", "4", "(24, 36)"},
                  {"smollm3", "2", "(12, 24)"},
                  {"qwen2", "2", "(12, 24)"}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        txd_checkpoint *checkpoint = NULL;

        family_load(&file, models[i].fixture);
        family_set(&file, "head_dim", models[i].width);
        ck_assert_int_eq(family_open(&checkpoint, &file), TXD_ERR_FORMAT);
        ck_message_has("q_proj.weight");
        ck_message_has(models[i].shape);
        family_finish(&file);
    }
}
END_TEST

/* What one group of rotary positions leaves open is the usual, not the other's. */
START_TEST(layers_with_windows_take_nothing_from_the_scaling_of_full_ones)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_layer_config *layers;

    family_load(&file, "gemma3"); /* layer 2 of 4 is full */
    family_set(&file, "rope_parameters",
               "{\"full_attention\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
               "\"beta_fast\": 9.0, \"beta_slow\": 2.0, \"attention_factor\": 1.5, "
               "\"original_max_position_embeddings\": 16}, "
               "\"sliding_attention\": {\"rope_type\": \"yarn\", \"factor\": 1.0}}");
    OK(family_open(&checkpoint, &file));
    layers = txd_checkpoint_config(checkpoint)->layers;
    ck_assert(layers[2].rope_beta_fast == 9 && layers[2].rope_beta_slow == 2);
    ck_assert(layers[2].rope_attention_factor == 1.5);
    ck_assert_uint_eq(layers[2].rope_original_length, 16);
    ck_assert(layers[0].rope_beta_fast == 32 && layers[0].rope_beta_slow == 1);
    ck_assert(layers[0].rope_attention_factor == 1);
    ck_assert_uint_eq(layers[0].rope_original_length, 32);
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
}
END_TEST

START_TEST(bloom_without_biases_behind_sums_of_parts_is_refused)
{
    txd_checkpoint *checkpoint = NULL;

    family_load(&file, "bloom");
    family_set(&file, "slow_but_exact", "true");
    OK(family_open(&checkpoint, &file));
    txd_checkpoint_destroy(checkpoint);
    family_set(&file, "pretraining_tp", "2");
    ck_assert_int_eq(family_open(&checkpoint, &file), TXD_ERR_UNSUPPORTED);
    ck_message_has("slow_but_exact");
    ck_message_has("pretraining_tp");
    family_finish(&file);
}
END_TEST

/* The library makes the masks by layer_types alone where they are listed. */
START_TEST(listed_layers_of_smollm3_have_windows_whether_or_not_they_are_switched_on)
{
    static const char *const switches[] = {"true", "false", NULL};
    txd_checkpoint *checkpoint = NULL;

    for (int i = 0; i < 3; i++) {
        const txd_config *c;

        family_load(&file, "smollm3");
        family_set(&file, "sliding_window", "4");
        family_set(&file, "use_sliding_window", switches[i]);
        family_set(&file, "layer_types",
                   "[\"sliding_attention\", \"full_attention\", "
                   "\"full_attention\", \"sliding_attention\"]");
        OK(family_open(&checkpoint, &file));
        c = txd_checkpoint_config(checkpoint);
        ck_assert_uint_eq(c->layers[0].window, 4);
        ck_assert_uint_eq(c->layers[1].window, 0);
        ck_assert_uint_eq(c->layers[3].window, 4);
        txd_checkpoint_destroy(checkpoint);
        family_set(&file, "layer_types", "null"); /* then those that do not rotate */
        OK(family_open(&checkpoint, &file));
        c = txd_checkpoint_config(checkpoint);
        ck_assert_uint_eq(c->layers[0].window, 0);
        ck_assert_uint_eq(c->layers[1].window, i == 0 ? 4 : 0);
        txd_checkpoint_destroy(checkpoint);
        family_finish(&file);
    }
}
END_TEST

START_TEST(fields_that_are_not_used_are_told_of)
{
    static const char *const models[] = {"llama", "gpt2", "falcon", "phi"};
    static const char *const fields[] = {"clip_qkv", "attention_multiplier",
                                         "logits_scaling"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t j = 0; j < sizeof fields / sizeof *fields; j++) {
            txd_checkpoint *checkpoint = NULL;
            txd_text text;

            txd_text_init(&text);
            family_load(&file, models[i]);
            OK(family_open(&checkpoint, &file));
            OK(txd_checkpoint_unused(&text, checkpoint));
            ck_assert_ptr_null(strstr(txd_text_get(&text), fields[j]));
            ck_assert_ptr_null(strstr(txd_text_get(&text), "hidden_size"));
            txd_checkpoint_destroy(checkpoint);
            family_set(&file, fields[j], "2.5");
            OK(family_open(&checkpoint, &file));
            text.length = 0;
            OK(txd_checkpoint_unused(&text, checkpoint));
            ck_assert_ptr_nonnull(strstr(txd_text_get(&text), fields[j]));
            txd_checkpoint_destroy(checkpoint);
            family_finish(&file);
            txd_text_finish(&text);
        }
}
END_TEST

START_TEST(every_decoder_attends_both_ways_where_its_library_does)
{
    static const char *const models[] = {"llama", "gpt2",  "bloom", "falcon", "opt",
                                         "phi",   "gemma", "qwen3", "olmo2"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        txd_checkpoint *checkpoint = NULL;

        family_load(&file, models[i]);
        family_set(&file, "is_causal", "false");
        OK(family_open(&checkpoint, &file));
        if (txd_checkpoint_config(checkpoint)->layers[0].causal)
            ck_abort_msg("%s: is_causal", models[i]);
        txd_checkpoint_destroy(checkpoint);
        family_finish(&file);
    }
}
END_TEST

START_TEST(attention_both_ways_is_refused_where_it_would_be_another)
{
    static const char *const models[] = {"t5", "mistral", "gemma2"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        txd_checkpoint *checkpoint = NULL;

        family_load(&file, models[i]);
        family_set(&file, "is_causal", "false");
        ck_assert_int_eq(family_open(&checkpoint, &file), TXD_ERR_UNSUPPORTED);
        ck_message_has("is_causal");
        family_finish(&file);
    }
}
END_TEST

TEST_MAIN(fields_that_the_library_does_not_have_change_nothing,
          a_width_of_heads_may_be_stated_wherever_the_library_takes_it,
          layers_with_windows_take_nothing_from_the_scaling_of_full_ones,
          bloom_without_biases_behind_sums_of_parts_is_refused,
          listed_layers_of_smollm3_have_windows_whether_or_not_they_are_switched_on,
          fields_that_are_not_used_are_told_of,
          every_decoder_attends_both_ways_where_its_library_does,
          attention_both_ways_is_refused_where_it_would_be_another)
