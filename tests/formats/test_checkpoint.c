/* SPDX-License-Identifier: MIT
 *
 * Checkpoints that are read: real ones first, then made ones of other conventions.
 * Those that are refused have a file of their own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "made_checkpoint.h"
#include "suite.h"

#define MOST 300000

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

static txd_params *params_of(const txd_checkpoint *checkpoint)
{
    txd_params *params = NULL;

    ck_assert_msg(txd_checkpoint_params(&params, checkpoint,
                                        txd_checkpoint_config(checkpoint), 0) == TXD_OK,
                  "%s", txd_message());
    return params;
}

/* The stored tensor and the parameter hold the same numbers, one of them transposed
 * if it says so. */
static void ck_stored(const txd_checkpoint *checkpoint, txd_params *params,
                      const char *stored, const char *name, bool transposed)
{
    const txd_trace *trace = txd_checkpoint_tensors(checkpoint);
    const txd_param *param = txd_params_find(params, name);
    static double values[MOST];
    size_t index, rows, width, same = 0;

    ck_assert_msg(param != NULL, "no %s", name);
    ck_assert_int_eq(txd_trace_find(trace, &index, stored), TXD_OK);
    ck_assert_int_eq(txd_trace_read_all(trace, values, MOST, index, TXD_F64), TXD_OK);
    rows = param->value.dims[0];
    width = param->value.rank == 2 ? param->value.dims[1] : 1;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            same += txd_tensor_get(&param->value, r * width + c) ==
                    values[transposed ? c * rows + r : r * width + c];
    ck_assert_msg(same == rows * width, "%s: %zu of %zu are the same", name, same,
                  rows * width);
}

START_TEST(the_real_llama_is_read_in_three_dtypes)
{
    static const char *const files[] = {"stories260K",
                                        "stories260K/model.f16.safetensors",
                                        "stories260K/model.bf16.safetensors"};

    for (int i = 0; i < 3; i++) {
        const char *path = test_model(files[i]);
        txd_checkpoint *checkpoint = NULL;
        const txd_config *c;
        txd_params *params;

        if (!path)
            test_skip(TEST_NO_MODEL);
        ck_assert_msg(txd_checkpoint_open(&checkpoint, path) == TXD_OK, "%s",
                      txd_message());
        c = txd_checkpoint_config(checkpoint);
        params = params_of(checkpoint);
        ck_assert_str_eq(txd_checkpoint_family(checkpoint), "llama");
        ck_assert_uint_eq(c->n_layers, 5);
        ck_assert_uint_eq(c->n_kv_heads, 4);
        ck_assert(c->tie_embeddings && c->gated && !c->qkv_bias);
        ck_assert(c->layers[4].norm_eps == 1e-5);
        ck_assert_uint_eq(txd_params_count(params), 1 + 5 * 9 + 1);
        ck_stored(checkpoint, params, "model.layers.3.self_attn.k_proj.weight",
                  "layers.3.attn.k.weight", false);
        ck_stored(checkpoint, params, "model.layers.4.mlp.down_proj.weight",
                  "layers.4.mlp.down.weight", false);
        ck_stored(checkpoint, params, "model.norm.weight", "final_norm.weight", false);
        txd_params_destroy(params);
        txd_checkpoint_destroy(checkpoint);
    }
}
END_TEST

START_TEST(the_real_gpt2_is_transposed)
{
    const char *path = test_model("gpt-nano-sort");
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;
    txd_params *params;

    if (!path)
        test_skip(TEST_NO_MODEL);
    ck_assert_msg(txd_checkpoint_open(&checkpoint, path) == TXD_OK, "%s",
                  txd_message());
    c = txd_checkpoint_config(checkpoint);
    params = params_of(checkpoint);
    ck_assert_str_eq(txd_checkpoint_family(checkpoint), "gpt2");
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_GELU_TANH);
    ck_assert(c->qkv_bias && c->out_bias && c->mlp_bias && c->norm_bias);
    ck_assert(!c->tie_embeddings);
    ck_stored(checkpoint, params, "transformer.h.2.attn.c_attn.weight",
              "layers.2.attn.qkv.weight", true);
    ck_stored(checkpoint, params, "transformer.h.0.mlp.c_fc.weight",
              "layers.0.mlp.up.weight", true);
    ck_stored(checkpoint, params, "transformer.h.1.mlp.c_proj.weight",
              "layers.1.mlp.down.weight", true);
    ck_stored(checkpoint, params, "transformer.h.1.ln_2.bias", "layers.1.norm2.bias",
              false);
    ck_stored(checkpoint, params, "transformer.wpe.weight", "embed.pos.weight", false);
    ck_stored(checkpoint, params, "lm_head.weight", "head.weight", false);
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

/* Matrices of more than one piece: stored rows of four, and four long ones. */
START_TEST(long_matrices_are_transposed_piece_by_piece)
{
    txd_checkpoint *checkpoint;
    txd_params *params;

    made_gpt2(&made, "");
    for (int i = 0; i < 2; i++) {
        char name[64];

        snprintf(name, sizeof name, "h.%d.mlp.c_fc.weight", i);
        made_find(&made, name)->dims[1] = 70000;
        snprintf(name, sizeof name, "h.%d.mlp.c_fc.bias", i);
        made_find(&made, name)->dims[0] = 70000;
        snprintf(name, sizeof name, "h.%d.mlp.c_proj.weight", i);
        made_find(&made, name)->dims[0] = 70000;
    }
    checkpoint = open_made(GPT2 ", \"n_inner\": 70000}");
    params = params_of(checkpoint);
    ck_stored(checkpoint, params, "h.1.mlp.c_proj.weight", "layers.1.mlp.down.weight",
              true);
    ck_stored(checkpoint, params, "h.1.mlp.c_fc.weight", "layers.1.mlp.up.weight",
              true);
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(both_families_are_read_with_and_without_their_prefix)
{
    static const char *const llama[] = {"model.", ""}, *const gpt2[] = {"transformer.",
                                                                        ""};

    for (int i = 0; i < 2; i++) {
        txd_checkpoint *checkpoint;
        txd_params *params;
        char name[64];

        made_llama(&made, llama[i]);
        checkpoint = open_made(LLAMA "}");
        params = params_of(checkpoint);
        snprintf(name, sizeof name, "%slayers.1.mlp.up_proj.weight", llama[i]);
        ck_stored(checkpoint, params, name, "layers.1.mlp.up.weight", false);
        txd_params_destroy(params);
        txd_checkpoint_destroy(checkpoint);
        made_gpt2(&made, gpt2[i]);
        checkpoint = open_made(GPT2 "}");
        params = params_of(checkpoint);
        snprintf(name, sizeof name, "%sh.1.attn.c_attn.weight", gpt2[i]);
        ck_stored(checkpoint, params, name, "layers.1.attn.qkv.weight", true);
        ck_assert(txd_checkpoint_config(checkpoint)->tie_embeddings);
        txd_params_destroy(params);
        txd_checkpoint_destroy(checkpoint);
    }
}
END_TEST

START_TEST(fields_decide_what_they_name)
{
    txd_checkpoint *checkpoint;
    const txd_config *c;

    made_llama(&made, "model.");
    checkpoint = open_made(LLAMA ", \"rms_norm_eps\": 1e-3, \"rope_theta\": 500, "
                                 "\"hidden_act\": \"gelu_pytorch_tanh\", "
                                 "\"rope_scaling\": {\"rope_type\": \"default\"}}");
    c = txd_checkpoint_config(checkpoint);
    ck_assert(c->layers[1].norm_eps == 1e-3);
    ck_assert(c->layers[1].rope_base == 500);
    ck_assert_uint_eq(c->layers[1].rope_width, 4);
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_GELU_TANH);
    ck_assert_uint_eq(c->max_seq_len, 32);
    ck_assert_uint_eq(c->head_dim, 4);
    ck_assert(c->layers[1].score_scale == 1 / sqrt(4.0));
    txd_checkpoint_destroy(checkpoint);

    made_gpt2(&made, "");
    checkpoint = open_made(GPT2 ", \"scale_attn_by_inverse_layer_idx\": true, "
                                "\"layer_norm_epsilon\": 1e-3, \"n_inner\": 16, "
                                "\"activation_function\": \"relu\"}");
    c = txd_checkpoint_config(checkpoint);
    ck_assert(c->layers[0].score_scale == 1 / sqrt(2.0));
    ck_assert(c->layers[1].score_scale == 1 / sqrt(2.0) / 2);
    ck_assert(c->layers[1].norm_eps == 1e-3);
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_RELU);
    txd_checkpoint_destroy(checkpoint);
    checkpoint = open_made(GPT2 ", \"scale_attn_weights\": false}");
    ck_assert(txd_checkpoint_config(checkpoint)->layers[1].score_scale == 1);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(an_equal_stored_head_is_accepted_as_tied)
{
    static const char config[] = LLAMA ", \"tie_word_embeddings\": true}";
    txd_checkpoint *checkpoint = NULL;
    size_t head = 7 * 4 * sizeof(float);

    made_llama(&made, "model.");
    made_write(&made);
    /* The embedding is the first tensor, the head the last. */
    for (size_t i = 0; i < head; i += 4) {
        float value = (float)i / 4 / 1024;

        memcpy(made.bytes + made.used - head + i, &value, sizeof value);
    }
    ck_assert_msg(txd_checkpoint_parse(&checkpoint, config, strlen(config), made.bytes,
                                       made.used) == TXD_OK,
                  "%s", txd_message());
    ck_assert(txd_checkpoint_config(checkpoint)->tie_embeddings);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(a_double_tensor_makes_double_parameters)
{
    txd_checkpoint *checkpoint;
    txd_params *params;

    made_gpt2(&made, "");
    made_find(&made, "h.1.attn.c_attn.weight")->dtype = "F64";
    checkpoint = open_made(GPT2 "}");
    params = params_of(checkpoint);
    ck_assert_int_eq(txd_params_at(params, 0)->value.dtype, TXD_F64);
    ck_stored(checkpoint, params, "h.1.attn.c_attn.weight", "layers.1.attn.qkv.weight",
              true);
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

TEST_MAIN(the_real_llama_is_read_in_three_dtypes, the_real_gpt2_is_transposed,
          long_matrices_are_transposed_piece_by_piece,
          both_families_are_read_with_and_without_their_prefix,
          fields_decide_what_they_name, an_equal_stored_head_is_accepted_as_tied,
          a_double_tensor_makes_double_parameters)
