/* SPDX-License-Identifier: MIT
 *
 * Which parameters a model has, their shapes, and how they are found.
 */
#include <string.h>

#include "cfg_text.h"
#include "model/params.h"
#include "suite.h"

#define SIZES "vocab = 11; d_model = 12; n_heads = 6; n_layers = 3; max_seq_len = 9;"

static txd_params *params_of(const char *text, txd_dtype dtype)
{
    txd_config config = cfg_text_config(text);
    txd_params *params = NULL;

    ck_assert_msg(txd_params_create(&params, &config, dtype) == TXD_OK, "%s",
                  txd_message());
    return params;
}

static void finish(txd_params *params)
{
    txd_params_destroy(params);
    cfg_text_finish();
}

static void has_shape(txd_params *params, const char *name, const char *shape)
{
    const txd_param *param = txd_params_find(params, name);
    char text[64];

    ck_assert_msg(param != NULL, "no %s", name);
    ck_assert_str_eq(
        txd_shape_text(text, sizeof text, param->value.dims, param->value.rank), shape);
}

START_TEST(weights_are_out_by_in)
{
    txd_params *params =
        params_of("model : { preset = \"llama\"; " SIZES
                  " n_kv_heads = 3; head_dim = 4; value_dim = 5; d_ff = 7; };",
                  TXD_F32);

    has_shape(params, "embed.tok.weight", "(11, 12)");
    has_shape(params, "layers.2.attn.q.weight", "(24, 12)");
    has_shape(params, "layers.2.attn.k.weight", "(12, 12)");
    has_shape(params, "layers.2.attn.v.weight", "(15, 12)");
    has_shape(params, "layers.2.attn.o.weight", "(12, 30)");
    has_shape(params, "layers.2.mlp.gate.weight", "(7, 12)");
    has_shape(params, "layers.2.mlp.down.weight", "(12, 7)");
    has_shape(params, "layers.0.norm1.weight", "(12)");
    has_shape(params, "head.weight", "(11, 12)");
    ck_assert_ptr_null(txd_params_find(params, "embed.pos.weight"));
    ck_assert_ptr_null(txd_params_find(params, "layers.0.attn.qkv.weight"));
    ck_assert_ptr_null(txd_params_find(params, "layers.3.attn.q.weight"));
    finish(params);
}
END_TEST

START_TEST(a_fused_matrix_holds_q_k_and_v)
{
    txd_params *params = params_of("model : { preset = \"gpt2\"; " SIZES
                                   " n_kv_heads = 3; head_dim = 4; value_dim = 5; };",
                                   TXD_F32);

    has_shape(params, "layers.0.attn.qkv.weight", "(51, 12)");
    has_shape(params, "layers.0.attn.qkv.bias", "(51)");
    has_shape(params, "embed.pos.weight", "(9, 12)");
    has_shape(params, "final_norm.bias", "(12)");
    ck_assert_ptr_null(txd_params_find(params, "layers.0.attn.q.weight"));
    ck_assert_ptr_null(txd_params_find(params, "head.weight"));
    finish(params);
}
END_TEST

START_TEST(every_parameter_is_found_by_id_and_by_name)
{
    txd_params *params = params_of("model : { " SIZES " bias = true; };", TXD_F64);

    ck_assert_uint_eq(txd_params_count(params), 2 + 3 * 10 + 2);
    for (size_t i = 0; i < txd_params_count(params); i++) {
        txd_param *param = txd_params_at(params, i);
        char name[64];

        ck_assert_ptr_eq(txd_params_get(params, param->id, param->layer), param);
        ck_assert_ptr_eq(txd_params_find(params, param->name), param);
        ck_assert_str_eq(txd_param_name(name, sizeof name, param->id, param->layer),
                         param->name);
        ck_assert_int_eq(param->value.dtype, TXD_F64);
        for (size_t k = 0; k < txd_tensor_count(&param->value); k++)
            ck_assert(txd_tensor_get(&param->value, k) == 0);
    }
    ck_assert_ptr_null(txd_params_get(params, TXD_PARAM_O_WEIGHT, -1));
    ck_assert_ptr_null(txd_params_get(params, TXD_PARAM_O_WEIGHT, 3));
    ck_assert_ptr_null(txd_params_get(params, TXD_PARAM_EMBED_TOK, 0));
    ck_assert_ptr_null(txd_params_get(params, TXD_PARAM_GATE_WEIGHT, 0));
    finish(params);
}
END_TEST

START_TEST(layers_stand_between_the_embeddings_and_the_head)
{
    txd_params *params = params_of("model : { " SIZES " };", TXD_F32);
    size_t last = txd_params_count(params) - 1;
    int layer = -1;

    ck_assert_str_eq(txd_params_at(params, 0)->name, "embed.tok.weight");
    ck_assert_str_eq(txd_params_at(params, last)->name, "head.weight");
    for (size_t i = 2; i < last - 1; i++) {
        ck_assert_int_ge(txd_params_at(params, i)->layer, layer);
        layer = txd_params_at(params, i)->layer;
    }
    ck_assert_int_eq(layer, 2);
    finish(params);
}
END_TEST

START_TEST(parameters_beyond_memory_are_refused_by_name)
{
    txd_config config =
        cfg_text_config("model : { vocab = 16777216; d_model = 16777216; n_heads = 1; "
                        "n_layers = 1; d_ff = 1; "
                        "positions = \"none\"; };");
    txd_params *params = NULL;

    ck_assert_int_eq(txd_params_create(&params, &config, TXD_F64), TXD_ERR_MEMORY);
    ck_message_has("layers.0.attn.qkv.weight and the other parameters");
    ck_assert_ptr_null(params);
    txd_params_destroy(NULL);
    cfg_text_finish();
}
END_TEST

TEST_MAIN(weights_are_out_by_in, a_fused_matrix_holds_q_k_and_v,
          every_parameter_is_found_by_id_and_by_name,
          layers_stand_between_the_embeddings_and_the_head,
          parameters_beyond_memory_are_refused_by_name)
