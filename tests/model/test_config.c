/* SPDX-License-Identifier: MIT
 *
 * Configurations: presets, values that follow others, refusals, and text there and
 * back.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "suite.h"

#define SIZES "vocab = 11; d_model = 24; n_heads = 6; n_layers = 4; max_seq_len = 9;"

/* Every field. */
static void ck_equal(const txd_config *a, const txd_config *b)
{
    ck_assert_uint_eq(a->n_layers, b->n_layers);
    for (size_t i = 0; i < a->n_layers; i++) {
        const txd_layer_config *p = &a->layers[i], *q = &b->layers[i];

#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)
#define TXD_LAYER(group, member, kind, low, high, type, fallback, unit, sentence)      \
    ck_assert_msg(p->member == q->member, #member " of layer %zu", i);
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
    }
#define TXD_CONFIG(group, member, kind, low, high, type, fallback, unit, sentence)     \
    ck_assert_msg(a->member == b->member, #member);
#define TXD_LAYER(group, member, kind, low, high, type, fallback, unit, sentence)
#include "model/config.def"
#undef TXD_CONFIG
#undef TXD_LAYER
}

static void refused(const char *text, const char *first, const char *second)
{
    txd_config config = {.vocab = 77};

    ck_assert_msg(txd_config_read(&config, cfg_text_memory(), cfg_text_tree(text),
                                  NULL) == TXD_ERR_CONFIG,
                  "%s", text);
    ck_message_has("m.cfg");
    ck_message_has(first);
    ck_message_has(second);
    ck_assert_uint_eq(config.vocab, 77);
    cfg_text_finish();
}

START_TEST(mini_is_the_documents_transformer)
{
    txd_config c = cfg_text_config("model : { preset = \"mini\"; " SIZES " };");

    ck_assert_int_eq(c.norm, TXD_NORM_RMS);
    ck_assert_int_eq(c.norm_placement, TXD_PLACEMENT_PRE);
    ck_assert(c.final_norm);
    ck_assert_int_eq(c.positions, TXD_POSITIONS_LEARNED);
    ck_assert_int_eq(c.activation, TXD_ACTIVATION_GELU);
    ck_assert(!c.gated);
    ck_assert_int_eq(c.qkv, TXD_QKV_FUSED);
    ck_assert(!c.qkv_bias && !c.out_bias && !c.mlp_bias && !c.norm_bias);
    ck_assert(!c.tie_embeddings);
    ck_assert(c.layers[3].norm_eps == (double)FLT_EPSILON);
    ck_assert(c.layers[3].score_scale == 1 / sqrt(4.0));
    ck_assert(c.layers[3].causal && !c.layers[3].rotary);
    ck_assert(isinf(c.layers[3].fill) && c.layers[3].fill < 0);
    ck_assert_uint_eq(c.d_ff, 96);
    ck_assert_uint_eq(c.head_dim, 4);
    ck_assert_uint_eq(c.value_dim, 4);
    ck_assert_uint_eq(c.n_kv_heads, 6);
    cfg_text_finish();
}
END_TEST

START_TEST(gpt2_and_llama_have_their_conventions)
{
    txd_config gpt2 = cfg_text_config("model : { preset = \"gpt2\"; " SIZES " };");
    txd_config llama = cfg_text_config("model : { preset = \"llama\"; " SIZES " };");

    ck_assert_int_eq(gpt2.norm, TXD_NORM_LAYER);
    ck_assert_int_eq(gpt2.activation, TXD_ACTIVATION_GELU_TANH);
    ck_assert(gpt2.qkv_bias && gpt2.out_bias && gpt2.mlp_bias && gpt2.norm_bias);
    ck_assert(gpt2.tie_embeddings);
    ck_assert(gpt2.layers[0].norm_eps == 1e-5);
    ck_assert_int_eq(llama.norm, TXD_NORM_RMS);
    ck_assert_int_eq(llama.positions, TXD_POSITIONS_ROTARY);
    ck_assert(llama.layers[3].rotary);
    ck_assert_uint_eq(llama.layers[3].rope_width, 4);
    ck_assert_int_eq(llama.layers[3].rope_pairing, TXD_PAIRING_HALF);
    ck_assert(llama.gated && !llama.qkv_bias && !llama.tie_embeddings);
    ck_assert_int_eq(llama.activation, TXD_ACTIVATION_SILU);
    cfg_text_finish();
}
END_TEST

START_TEST(layers_are_rotary_when_the_positions_are)
{
    txd_config a = cfg_text_config("model : { " SIZES " positions = \"rotary\"; };");
    txd_config b = cfg_text_config("model : { preset = \"llama\"; " SIZES
                                   " positions = \"learned\"; };");

    ck_assert(a.layers[0].rotary && a.layers[3].rotary);
    ck_assert(!b.layers[0].rotary && !b.layers[3].rotary);
    cfg_text_finish();
}
END_TEST

START_TEST(heads_that_do_not_divide_are_refused_with_both_numbers)
{
    refused("model : { vocab = 5; d_model = 770; n_heads = 12; n_layers = 1; };",
            "d_model 770", "n_heads 12");
    refused("model : { " SIZES " n_kv_heads = 4; };", "n_heads 6", "n_kv_heads 4");
}
END_TEST

START_TEST(head_dim_may_be_any_width_if_it_is_given)
{
    txd_config c = cfg_text_config("model : { vocab = 5; d_model = 770; n_heads = 12; "
                                   "n_layers = 1; head_dim = 10; max_seq_len = 4; };");

    ck_assert_uint_eq(c.head_dim, 10);
    ck_assert_uint_eq(c.value_dim, 10);
    ck_assert(c.layers[0].score_scale == 1 / sqrt(10.0));
    ck_assert_uint_eq(c.layers[0].rope_width, 10);
    cfg_text_finish();
}
END_TEST

START_TEST(bad_values_are_refused_by_name)
{
    refused("model : { d_model = 8; n_heads = 2; n_layers = 1; };", "vocab is missing",
            "from");
    refused("seed = 3;", "vocab is missing", "needs");
    refused("model : { vocab = 5; d_model = 8; n_heads = 2; n_layers = 1; };",
            "max_seq_len", "learned");
    refused("model : { " SIZES " d_ff = 0; };", "model.d_ff", "1 to 16777216");
    refused("model : { " SIZES " head_dim = 16777217; };", "model.head_dim",
            "16777217");
    refused("model : { " SIZES " head_dim = 16777216; };", "n_heads 6",
            "head_dim 16777216");
    refused("model : { " SIZES " parallel = true; norm_placement = \"post\"; };",
            "model", "parallel");
    refused("model : { " SIZES " parallel = true; cross = true; };", "model", "cross");
    refused("model : { " SIZES " shared_norm = true; };", "model", "parallel = true");
    refused("model : { " SIZES " parallel = true; shared_norm = true; norm_placement = "
            "\"branch\"; };",
            "model", "shared_norm");
    refused("model : { " SIZES " norm_eps = -1.0; };", "model.norm_eps", "-1");
    refused("model : { " SIZES " rope_width = 6; };", "rope_width 6", "head_dim 4");
    refused("model : { " SIZES " rope_width = 3; };", "rope_width 3", "odd");
    refused("model : { preset = \"llama\"; " SIZES " rope_width = 0; };", "rope_width",
            "rotary");
    refused("model : { preset = \"llama\"; " SIZES " head_dim = 1; };", "rope_width",
            "rotary");
    refused("version = 2; model : { " SIZES " };", "version", "2");
    refused("seed = -1; model : { " SIZES " };", "seed", "-1");
    refused("model : { " SIZES " }; mask : { fill = 1.0; };", "mask.fill", "1");
}
END_TEST

START_TEST(a_value_may_be_an_integer_where_a_real_is_meant)
{
    txd_config c = cfg_text_config("model : { " SIZES " residual_scale = 2; };"
                                   "mask : { fill = -100; };");

    ck_assert(c.layers[1].residual_scale == 2.0);
    ck_assert(c.layers[1].fill == -100.0);
    cfg_text_finish();
}
END_TEST

START_TEST(the_general_bias_is_overruled_by_the_special_one)
{
    txd_config c =
        cfg_text_config("model : { " SIZES " bias = true; out_bias = false; };");
    txd_config d =
        cfg_text_config("model : { " SIZES " norm = \"layernorm\"; bias = true; };");
    txd_config e =
        cfg_text_config("model : { preset = \"gpt2\"; " SIZES " bias = false; };");
    txd_config f = cfg_text_config("model : { preset = \"gpt2\"; " SIZES
                                   " norm = \"rmsnorm\"; };");

    ck_assert(c.qkv_bias && c.mlp_bias && !c.out_bias && !c.norm_bias);
    ck_assert(d.qkv_bias && d.norm_bias);
    ck_assert(!e.qkv_bias && !e.mlp_bias && !e.out_bias && !e.norm_bias);
    ck_assert(f.qkv_bias && !f.norm_bias);
    cfg_text_finish();
}
END_TEST

START_TEST(layers_differ_where_the_list_says_so)
{
    txd_config c = cfg_text_config(
        "model : { " SIZES " layers = ( { range = \"1:3\"; window = 5; "
        "causal = false; }, { range = \"2\"; window = 6; norm_eps = 1e-3; "
        "score_scale = 0.25; masked_row = \"nan\"; fill = -9; }, "
        "{ range = \"3:\"; score_scale = 0; rotary = true; } ); };"
        "mask : { window = 4; };");

    ck_assert_uint_eq(c.layers[0].window, 4);
    ck_assert_uint_eq(c.layers[1].window, 5);
    ck_assert_uint_eq(c.layers[2].window, 6);
    ck_assert_uint_eq(c.layers[3].window, 4);
    ck_assert(c.layers[0].causal && !c.layers[1].causal && !c.layers[2].causal);
    ck_assert(c.layers[2].norm_eps == 1e-3);
    ck_assert(c.layers[2].score_scale == 0.25);
    ck_assert(c.layers[3].score_scale == 0.5);
    ck_assert_int_eq(c.layers[2].masked_row, TXD_MASKED_ROW_NAN);
    ck_assert(c.layers[2].fill == -9);
    ck_assert(c.layers[3].rotary && !c.layers[2].rotary);
    cfg_text_finish();
}
END_TEST

START_TEST(a_list_element_that_selects_no_layer_is_refused)
{
    refused("model : { " SIZES " layers = ( { range = \"4:\"; window = 2; } ); };",
            "model.layers.0.range", "none of the 4 layers");
    refused("model : { " SIZES " layers = ( { window = 2; } ); };", "model.layers.0",
            "range is missing");
    refused("model : { " SIZES " layers = ( { range = \"x\"; } ); };",
            "model.layers.0.range", "no range");
}
END_TEST

START_TEST(values_follow_others_over_a_checkpoint)
{
    txd_config base = cfg_text_config("model : { preset = \"llama\"; " SIZES " };");
    txd_setting *root = cfg_text_tree("model : { n_heads = 3; d_ff = 50; }; "
                                      "mask : { window = 2; };");
    txd_config c;

    base.layers[1].score_scale = 7;
    ck_assert_int_eq(txd_config_read(&c, cfg_text_memory(), root, &base), TXD_OK);
    ck_assert_uint_eq(c.n_heads, 3);
    ck_assert_uint_eq(c.n_kv_heads, 3);
    ck_assert_uint_eq(c.head_dim, 8);
    ck_assert_uint_eq(c.value_dim, 8);
    ck_assert_uint_eq(c.d_ff, 50);
    ck_assert_uint_eq(c.vocab, 11);
    ck_assert_uint_eq(c.layers[0].rope_width, 8);
    ck_assert(c.layers[0].score_scale == 1 / sqrt(8.0));
    ck_assert(c.layers[1].score_scale == 7);
    ck_assert_uint_eq(c.layers[2].window, 2);
    ck_assert_uint_eq(base.layers[2].window, 0);
    cfg_text_finish();
}
END_TEST

START_TEST(a_checkpoint_is_taken_as_it_is_without_keys)
{
    txd_config base = cfg_text_config(
        "model : { preset = \"gpt2\"; " SIZES " head_dim = 5; value_dim = 3; d_ff = 9; "
        "layers = ( { range = \"1\"; window = 5; score_scale = 0.3; } ); };");
    txd_config c;

    ck_assert_int_eq(txd_config_read(&c, cfg_text_memory(), cfg_text_tree(""), &base),
                     TXD_OK);
    ck_equal(&c, &base);
    cfg_text_finish();
}
END_TEST

START_TEST(printed_text_reads_back_equal)
{
    static const char *const texts[] = {
        "model : { preset = \"mini\"; " SIZES " };",
        "model : { preset = \"gpt2\"; " SIZES " residual_scale = 0.1; };",
        "model : { preset = \"llama\"; " SIZES " n_kv_heads = 2; rope_pairing = "
        "\"adjacent\"; rope_base = 5e5; rope_width = 2; tie_embeddings = true; };",
        "model : { preset = \"llama\"; " SIZES
        " rope_scaling = \"yarn\"; rope_factor = "
        "4.0; rope_original_length = 8; rope_exact = true; layers = ( { range = \"1\"; "
        "rope_scaling = \"llama3\"; rope_low = 0.5; rope_attention_factor = 1.0; } ); "
        "};",
        "model : { " SIZES " positions = \"alibi\"; score_softcap = 30.0; layers = ( { "
        "range = \"1\"; score_softcap = 0.0; } ); };",
        "model : { " SIZES
        " positions = \"relative\"; relative_buckets = 9; sinks = true; "
        "qk_norm = \"head\"; };",
        "model : { " SIZES " norm_placement = \"post\"; norm = \"layernorm\"; "
        "bias = true; positions = \"sinusoidal\"; activation = \"relu\"; };",
        "model : { " SIZES " head_dim = 7; value_dim = 3; positions = \"none\"; "
        "score_scale = 0.3; norm_eps = 0; final_norm = false; }; mask : { causal = "
        "false; fill = -1e9; masked_row = \"uniform\"; evaluate_hidden = \"never\"; };",
        "model : { " SIZES " layers = ( { range = \"0\"; window = 3; }, { range = "
        "\"2:4\"; fill = -5.0; rotary = true; residual_scale = 0.7; } ); };",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        txd_config first = cfg_text_config(texts[i]), second;
        txd_text text;

        txd_text_init(&text);
        txd_config_print(&text, &first);
        ck_assert_int_eq(txd_text_status(&text), TXD_OK);
        second = cfg_text_config(txd_text_get(&text));
        ck_equal(&first, &second);
        txd_text_finish(&text);
    }
    cfg_text_finish();
}
END_TEST

START_TEST(a_copy_owns_its_layers)
{
    txd_config c = cfg_text_config("model : { " SIZES " };"), copy;

    ck_assert_int_eq(txd_config_copy(&copy, cfg_text_memory(), &c), TXD_OK);
    ck_equal(&c, &copy);
    copy.layers[2].window = 9;
    ck_assert_uint_eq(c.layers[2].window, 0);
    cfg_text_finish();
}
END_TEST

START_TEST(a_damaged_configuration_is_refused)
{
    txd_config c = cfg_text_config("model : { " SIZES " };");
    double saved = c.layers[1].norm_eps;

    ck_assert_int_eq(txd_config_check(&c), TXD_OK);
    c.layers[1].norm_eps = NAN;
    ck_assert_int_eq(txd_config_check(&c), TXD_ERR_CONFIG);
    ck_message_has("norm_eps");
    c.layers[1].norm_eps = saved;
    c.layers[2].fill = INFINITY;
    ck_assert_int_eq(txd_config_check(&c), TXD_ERR_CONFIG);
    c.layers[2].fill = -INFINITY;
    c.layers[3].score_scale = 0;
    ck_assert_int_eq(txd_config_check(&c), TXD_ERR_CONFIG);
    c.layers[3].score_scale = 1;
    c.n_kv_heads = 0;
    ck_assert_int_eq(txd_config_check(&c), TXD_ERR_CONFIG);
    cfg_text_finish();
}
END_TEST

/* The words of the enums are stated twice: for types of keys, and for reading. */
START_TEST(the_words_of_the_key_table_are_those_that_are_read)
{
    size_t choices = 0;

    for (const txd_key *key = txd_config_keys; key->path; key++) {
        const char *name = strrchr(key->path, '.');
        char joined[128] = "";

        if (!strchr(key->type, '|') || strncmp(key->type, "real|", 5) == 0)
            continue;
        choices++;
        for (int i = 0; txd_config_word(name + 1, i); i++)
            snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s",
                     i ? "|" : "", txd_config_word(name + 1, i));
        ck_assert_str_eq(joined, key->type);
    }
    ck_assert_uint_ge(choices, 8);
    ck_assert_ptr_null(txd_config_word("norm", 2));
    ck_assert_ptr_null(txd_config_word("norm", -1));
    ck_assert_ptr_null(txd_config_word("nothing", 0));
}
END_TEST

START_TEST(words_are_in_the_order_of_the_enums)
{
    ck_assert_str_eq(txd_config_word("norm", TXD_NORM_LAYER), "layernorm");
    ck_assert_str_eq(txd_config_word("positions", TXD_POSITIONS_ROTARY), "rotary");
    ck_assert_str_eq(txd_config_word("rope_pairing", TXD_PAIRING_ADJACENT), "adjacent");
    ck_assert_str_eq(txd_config_word("activation", TXD_ACTIVATION_SILU), "silu");
    ck_assert_str_eq(txd_config_word("qkv", TXD_QKV_FUSED), "fused");
    ck_assert_str_eq(txd_config_word("masked_row", TXD_MASKED_ROW_UNIFORM), "uniform");
    ck_assert_str_eq(txd_config_word("evaluate_hidden", TXD_HIDDEN_NEVER), "never");
    ck_assert_str_eq(txd_config_word("norm_placement", TXD_PLACEMENT_POST), "post");
}
END_TEST

TEST_MAIN(mini_is_the_documents_transformer, gpt2_and_llama_have_their_conventions,
          layers_are_rotary_when_the_positions_are,
          heads_that_do_not_divide_are_refused_with_both_numbers,
          head_dim_may_be_any_width_if_it_is_given, bad_values_are_refused_by_name,
          a_value_may_be_an_integer_where_a_real_is_meant,
          the_general_bias_is_overruled_by_the_special_one,
          layers_differ_where_the_list_says_so,
          a_list_element_that_selects_no_layer_is_refused,
          values_follow_others_over_a_checkpoint,
          a_checkpoint_is_taken_as_it_is_without_keys, printed_text_reads_back_equal,
          a_copy_owns_its_layers, a_damaged_configuration_is_refused,
          the_words_of_the_key_table_are_those_that_are_read,
          words_are_in_the_order_of_the_enums)
