/* SPDX-License-Identifier: MIT
 *
 * Checkpoints that are refused, or nearly: every message names the field or tensor,
 * what was expected and what was found.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "formats/file.h"
#include "formats/checkpoint.h"
#include "made_checkpoint.h"
#include "suite.h"

static struct made made;

static txd_checkpoint *open_made(const char *config)
{
    txd_checkpoint *checkpoint = NULL;

    made_write(&made);
    ck_assert_msg(txd_checkpoint_parse(&checkpoint, config, strlen(config), made.bytes,
                                       made.used) == TXD_OK,
                  "%s", txd_message());
    return checkpoint;
}

static void refused(txd_status status, const char *config, const char *first,
                    const char *second)
{
    txd_checkpoint *checkpoint = NULL;

    made_write(&made);
    ck_assert_int_eq(txd_checkpoint_parse(&checkpoint, config, strlen(config),
                                          made.bytes, made.used),
                     status);
    ck_assert_ptr_null(checkpoint);
    ck_message_has(first);
    ck_message_has(second);
}

START_TEST(fields_that_are_not_supported_are_refused_by_name)
{
    made_llama(&made, "model.");
    refused(TXD_ERR_UNSUPPORTED, "{\"model_type\": \"convnext\"}", "model_type",
            "convnext");
    refused(TXD_ERR_FORMAT, "{}", "model_type", "missing");
    refused(TXD_ERR_UNSUPPORTED,
            LLAMA ", \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 8.0}}",
            "rope_scaling", "dynamic");
    refused(TXD_ERR_FORMAT,
            LLAMA ", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0}}",
            "rope_scaling", "low_freq_factor");
    refused(TXD_ERR_UNSUPPORTED, LLAMA ", \"rope_scaling\": {\"factor\": 8.0}}",
            "rope_scaling", "null");
    refused(TXD_ERR_UNSUPPORTED, LLAMA ", \"hidden_act\": \"quick_gelu\"}",
            "hidden_act", "quick_gelu");
    refused(TXD_ERR_UNSUPPORTED, LLAMA ", \"quantization_config\": {\"bits\": 4}}",
            "quantization_config", "not supported");
    refused(TXD_ERR_UNSUPPORTED,
            "{\"model_type\": \"llama\", " LLAMA_BASE ", \"head_dim\": 3}", "head_dim",
            "even");
    refused(TXD_ERR_UNSUPPORTED, GPT2 ", \"add_cross_attention\": true}",
            "add_cross_attention", "not supported");
}
END_TEST

START_TEST(bad_fields_are_refused_before_the_tensors_are_looked_at)
{
    made_llama(&made, "model.");
    refused(TXD_ERR_FORMAT, "{\"model_type\": \"llama\"}", "config.json", "vocab_size");
    refused(TXD_ERR_FORMAT,
            "{\"model_type\": \"gpt2\", \"vocab_size\": 7, \"n_embd\": 770, "
            "\"n_layer\": 2, \"n_head\": 12, \"n_positions\": 6}",
            "n_embd 770", "n_head 12");
    refused(TXD_ERR_FORMAT,
            "{\"model_type\": \"llama\", \"vocab_size\": 7, \"hidden_size\": 770, "
            "\"intermediate_size\": 5, \"num_hidden_layers\": 2, "
            "\"num_attention_heads\": 12}",
            "hidden_size 770", "num_attention_heads 12");
    refused(TXD_ERR_CONFIG, LLAMA ", \"rms_norm_eps\": \"small\"}", "rms_norm_eps",
            "expected a number");
    refused(TXD_ERR_CONFIG,
            "{\"model_type\": \"llama\", \"vocab_size\": 4611686018427387904}",
            "vocab_size", "4611686018427387904");
    refused(TXD_ERR_FORMAT, LLAMA ", \"head_dim\": 3}", "config.json", "duplicate");
    refused(TXD_ERR_FORMAT,
            "{\"model_type\": \"gpt2\", \"vocab_size\": 7, \"n_embd\": 4, "
            "\"n_layer\": 65536, \"n_head\": 2, \"n_positions\": 6}",
            "65536 layers", "tensors");
}
END_TEST

START_TEST(a_missing_tensor_is_named)
{
    made_llama(&made, "model.");
    made_remove(&made, "model.layers.1.mlp.gate_proj.weight");
    refused(TXD_ERR_FORMAT, LLAMA "}", "model.layers.1.mlp.gate_proj.weight",
            "missing");
    made_gpt2(&made, "");
    made_remove(&made, "wte.weight");
    refused(TXD_ERR_FORMAT, GPT2 "}", "wte.weight", "missing");
}
END_TEST

START_TEST(a_wrong_shape_is_refused_with_both_shapes)
{
    made_llama(&made, "model.");
    made_find(&made, "model.layers.0.mlp.down_proj.weight")->dims[0] = 5;
    made_find(&made, "model.layers.0.mlp.down_proj.weight")->dims[1] = 4;
    refused(TXD_ERR_FORMAT, LLAMA "}", "model.layers.0.mlp.down_proj.weight",
            "shape (4, 5)");
    ck_message_has("found (5, 4)");
    made_gpt2(&made, "");
    made_find(&made, "h.1.attn.c_attn.weight")->dims[0] = 12;
    made_find(&made, "h.1.attn.c_attn.weight")->dims[1] = 4;
    refused(TXD_ERR_FORMAT, GPT2 "}", "h.1.attn.c_attn.weight", "found (12, 4)");
    made_gpt2(&made, "");
    made_find(&made, "h.1.ln_1.weight")->rank = 2;
    refused(TXD_ERR_FORMAT, GPT2 "}", "h.1.ln_1.weight", "found (4, 1)");
}
END_TEST

/* W_o is d_model x (heads x value width): 4 x 8 in this Llama, 4 x 4 in this GPT-2. */
START_TEST(an_output_projection_of_another_shape_is_refused_by_name)
{
    for (int layer = 0; layer < 2; layer++) {
        char name[64], known[64];

        made_llama(&made, "model.");
        snprintf(name, sizeof name, "model.layers.%d.self_attn.o_proj.weight", layer);
        snprintf(known, sizeof known, "(layers.%d.attn.o.weight)", layer);
        made_find(&made, name)->dims[1] = 4;
        refused(TXD_ERR_FORMAT, LLAMA "}", name, "expected shape (4, 8)");
        ck_message_has("found (4, 4)");
        ck_message_has(known);
        made_gpt2(&made, "");
        snprintf(name, sizeof name, "h.%d.attn.c_proj.weight", layer);
        made_find(&made, name)->dims[0] = 6;
        refused(TXD_ERR_FORMAT, GPT2 "}", name, "expected shape (4, 4)");
        ck_message_has("found (6, 4)");
        ck_message_has(known);
    }
}
END_TEST

START_TEST(a_wrong_dtype_is_refused_by_name)
{
    made_llama(&made, "model.");
    made_find(&made, "model.norm.weight")->dtype = "I64";
    refused(TXD_ERR_FORMAT, LLAMA "}", "model.norm.weight", "int64");
    made_find(&made, "model.norm.weight")->dtype = "F8_E4M3";
    refused(TXD_ERR_UNSUPPORTED, LLAMA "}", "model.norm.weight", "F8_E4M3");
}
END_TEST

START_TEST(a_bias_is_in_every_layer_or_in_none)
{
    txd_checkpoint *checkpoint;

    made_gpt2(&made, "transformer.");
    made_remove(&made, "transformer.h.1.mlp.c_fc.bias");
    refused(TXD_ERR_FORMAT, GPT2 "}", "transformer.h.1.mlp.c_fc.bias", "is missing");
    made_remove(&made, "transformer.h.0.mlp.c_fc.bias");
    refused(TXD_ERR_FORMAT, GPT2 "}", "mlp.c_fc.bias", "mlp.c_proj.bias");
    made_remove(&made, "transformer.h.0.mlp.c_proj.bias");
    made_remove(&made, "transformer.h.1.mlp.c_proj.bias");
    checkpoint = open_made(GPT2 "}");
    ck_assert(!txd_checkpoint_config(checkpoint)->mlp_bias);
    ck_assert(txd_checkpoint_config(checkpoint)->qkv_bias);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(the_flag_of_a_bias_and_the_tensors_must_agree)
{
    txd_checkpoint *checkpoint;
    char name[96];

    made_llama(&made, "model.");
    refused(TXD_ERR_FORMAT, LLAMA ", \"attention_bias\": true}", "attention_bias",
            "missing");
    for (int i = 0; i < 2; i++) {
        static const char *const biases[] = {"q_proj", "k_proj", "v_proj"};

        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "model.layers.%d.self_attn.%s.bias", i,
                     biases[k]);
            made_add(&made, name, 1, k == 0 ? 8 : 4, 1);
        }
    }
    refused(TXD_ERR_FORMAT, LLAMA ", \"attention_bias\": false}", "attention_bias",
            "there");
    checkpoint = open_made(LLAMA "}");
    ck_assert(txd_checkpoint_config(checkpoint)->qkv_bias);
    ck_assert(!txd_checkpoint_config(checkpoint)->out_bias);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(known_buffers_are_ignored_and_strangers_are_named)
{
    txd_checkpoint *checkpoint;

    made_gpt2(&made, "");
    made_add(&made, "h.0.attn.bias", 2, 6, 6);
    made_add(&made, "h.1.attn.masked_bias", 1, 1, 1);
    checkpoint = open_made(GPT2 "}");
    txd_checkpoint_destroy(checkpoint);
    made_add(&made, "h.2.ln_1.weight", 1, 4, 1);
    refused(TXD_ERR_FORMAT, GPT2 "}", "h.2.ln_1.weight", "no place");
    made_gpt2(&made, "");
    made_add(&made, "h.0_attn.bias", 2, 6, 6);
    refused(TXD_ERR_FORMAT, GPT2 "}", "h.0_attn.bias", "no place");
    made_llama(&made, "model.");
    made_add(&made, "model.layers.1.self_attn.rotary_emb.inv_freq", 1, 2, 1);
    checkpoint = open_made(LLAMA "}");
    txd_checkpoint_destroy(checkpoint);
    made_add(&made, "model.layers.1.self_attn.q_norm.weight", 1, 4, 1);
    refused(TXD_ERR_FORMAT, LLAMA "}", "q_norm", "no place");
}
END_TEST

/* Values are looked at when they are read: opening a checkpoint reads none. */
static void refused_by_values(const char *config, const char *first, const char *second)
{
    txd_checkpoint *checkpoint = open_made(config);
    txd_params *params = NULL;

    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint,
                                           txd_checkpoint_config(checkpoint), 0),
                     TXD_ERR_FORMAT);
    ck_assert_ptr_null(params);
    ck_message_has(first);
    ck_message_has(second);
    txd_checkpoint_destroy(checkpoint);
}

START_TEST(a_tied_head_is_absent_or_equal)
{
    txd_checkpoint *checkpoint;
    struct made_tensor *head;

    made_llama(&made, "model.");
    checkpoint = open_made(LLAMA "}");
    ck_assert(!txd_checkpoint_config(checkpoint)->tie_embeddings);
    txd_checkpoint_destroy(checkpoint);
    refused_by_values(LLAMA ", \"tie_word_embeddings\": true}", "lm_head.weight",
                      "row 0");
    head = made_find(&made, "lm_head.weight");
    head->dims[0] = 6;
    refused(TXD_ERR_FORMAT, LLAMA ", \"tie_word_embeddings\": true}", "lm_head.weight",
            "found (6, 4)");
    made_remove(&made, "lm_head.weight");
    checkpoint = open_made(LLAMA ", \"tie_word_embeddings\": true}");
    ck_assert(txd_checkpoint_config(checkpoint)->tie_embeddings);
    txd_checkpoint_destroy(checkpoint);
    refused(TXD_ERR_FORMAT, LLAMA ", \"tie_word_embeddings\": false}", "lm_head.weight",
            "missing");
    made_gpt2(&made, ""); /* tied unless config.json says otherwise */
    made_add(&made, "lm_head.weight", 2, 7, 4);
    refused_by_values(GPT2 "}", "lm_head.weight", "row 0");
}
END_TEST

START_TEST(a_changed_configuration_must_fit_the_tensors)
{
    txd_checkpoint *checkpoint;
    txd_params *params = NULL;
    txd_config c;

    made_gpt2(&made, "");
    checkpoint = open_made(GPT2 "}");
    c = *txd_checkpoint_config(checkpoint);
    c.d_ff = 15;
    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint, &c, 0), TXD_ERR_FORMAT);
    ck_message_has("expected shape (4, 15)");
    /* Queries, keys and values fill the fused matrix in other widths, too: 2 + 2 + 8
     * rows. Then W_o is the one that does not fit. */
    c = *txd_checkpoint_config(checkpoint);
    c.head_dim = 1;
    c.value_dim = 4;
    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint, &c, 0), TXD_ERR_FORMAT);
    ck_message_has("h.0.attn.c_proj.weight");
    ck_message_has("expected shape (8, 4) by the configuration, found (4, 4)");
    c = *txd_checkpoint_config(checkpoint);
    c.qkv = TXD_QKV_SEPARATE;
    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint, &c, 0), TXD_ERR_CONFIG);
    ck_message_has("layers.0.attn.q.weight");
    c = *txd_checkpoint_config(checkpoint);
    c.n_layers = 1;
    c.activation = TXD_ACTIVATION_RELU;
    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint, &c, 0), TXD_OK);
    ck_assert_ptr_null(txd_params_find(params, "layers.1.norm1.weight"));
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(what_is_no_checkpoint_is_refused_by_path)
{
    static const char gpt2[] = GPT2 "}";
    const char *folder = test_scratch(), *config = test_file("config.json");
    const char *index = test_file("model.safetensors.index.json");
    txd_checkpoint *checkpoint = NULL;

    ck_assert_int_eq(txd_checkpoint_open(&checkpoint, test_file("none")), TXD_ERR_IO);
    ck_message_has("none");
    ck_assert_int_eq(txd_checkpoint_open(&checkpoint, folder), TXD_ERR_IO);
    ck_message_has("config.json");
    ck_assert_int_eq(txd_file_replace(config, gpt2, strlen(gpt2)), TXD_OK);
    ck_assert_int_eq(txd_checkpoint_open(&checkpoint, config), TXD_ERR_UNSUPPORTED);
    ck_message_has("folder");
    ck_assert_int_eq(txd_checkpoint_open(&checkpoint, folder), TXD_ERR_IO);
    ck_message_has("model.safetensors");
    ck_assert_int_eq(txd_file_replace(index, "{}", 2), TXD_OK);
    ck_assert_int_eq(txd_checkpoint_open(&checkpoint, folder), TXD_ERR_FORMAT);
    ck_message_has("weight_map");
    ck_assert_ptr_null(checkpoint);
    made_gpt2(&made, "");
    made_write(&made);
    ck_assert_int_eq(
        txd_file_replace(test_file("model.safetensors"), made.bytes, made.used),
        TXD_OK);
    ck_assert_msg(txd_checkpoint_open(&checkpoint, folder) == TXD_OK, "%s",
                  txd_message());
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

TEST_MAIN(fields_that_are_not_supported_are_refused_by_name,
          bad_fields_are_refused_before_the_tensors_are_looked_at,
          a_missing_tensor_is_named, a_wrong_shape_is_refused_with_both_shapes,
          an_output_projection_of_another_shape_is_refused_by_name,
          a_wrong_dtype_is_refused_by_name, a_bias_is_in_every_layer_or_in_none,
          the_flag_of_a_bias_and_the_tensors_must_agree,
          known_buffers_are_ignored_and_strangers_are_named,
          a_tied_head_is_absent_or_equal, a_changed_configuration_must_fit_the_tensors,
          what_is_no_checkpoint_is_refused_by_path)
