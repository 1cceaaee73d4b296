/* SPDX-License-Identifier: MIT
 *
 * What families make of config.json: every field that can change the arithmetic is
 * looked at, and refused by name where it makes no sense; absent ones are those of the
 * library. What they make of the tensors is tests/model/test_parity.c's.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "family_file.h"
#include "suite.h"

static const char *const fixtures[] = {
    "bert",       "bloom",   "falcon",   "falcon_groups", "gemma",      "gemma2",
    "gemma3",     "gpt2",    "gpt_neox", "gpt_oss",       "llama",      "llama3",
    "llama_yarn", "mistral", "olmo2",    "opt",           "opt_post",   "phi",
    "phi3",       "qwen2",   "qwen3",    "smollm3",       "starcoder2", "t5",
    "t5_gated"};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* Fields that no value can make matter: names, numbers of tokens, training. */
static const char *const idle[] = {
    "architectures",
    "dtype",
    "transformers_version",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "initializer_range",
    "init_std",
    "use_cache",
    "attention_dropout",
    "hidden_dropout",
    "classifier_dropout",
    "embd_pdrop",
    "resid_pdrop",
    "attn_pdrop",
    "embedding_dropout",
    "residual_dropout",
    "pretraining_tp",
    "is_decoder",
    "reorder_and_upcast_attn",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "dropout_rate",
    "initializer_factor",
    "output_router_logits",
    "router_aux_loss_coef",
    "swiglu_alpha",
    "swiglu_limit",
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "layerdrop",
    "dropout",
    "slow_but_exact",
    "original_max_position_embeddings", /* without scaling */
};

static bool is_idle(const char *field)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (strcmp(idle[i], field) == 0)
            return true;
    return false;
}

static family_file file;

START_TEST(every_fixture_opens)
{
    for (int i = 0; i < FIXTURES; i++) {
        txd_checkpoint *checkpoint = NULL;

        family_load(&file, fixtures[i]);
        ck_assert_msg(family_open(&checkpoint, &file) == TXD_OK, "%s: %s", fixtures[i],
                      txd_message());
        txd_checkpoint_destroy(checkpoint);
        family_finish(&file);
    }
}
END_TEST

/* A value of a kind that this one is not. */
static const char *of_other_kind(const char *value)
{
    return value[0] == '"' ? "7" : "\"strange\"";
}

static void refuses(const char *field, const char *value)
{
    txd_checkpoint *checkpoint = NULL;
    char old[8192];

    snprintf(old, sizeof old, "%s", file.config);
    family_set(&file, field, value);
    ck_assert_msg(family_open(&checkpoint, &file) != TXD_OK, "%s: %s = %s is read",
                  file.name, field, value);
    ck_assert_ptr_null(checkpoint);
    ck_assert_msg(strstr(txd_message(), field) != NULL, "%s: %s = %s: %s", file.name,
                  field, value, txd_message());
    ck_assert_msg(strstr(txd_message(), "config.json") != NULL, "%s", txd_message());
    strcpy(file.config, old);
}

START_TEST(every_field_is_looked_at)
{
    char field[64], value[512];

    for (int i = 0; i < FIXTURES; i++) {
        family_load(&file, fixtures[i]);
        for (size_t k = 0; family_field(&file, k, field, value); k++)
            if (!is_idle(field))
                refuses(field, of_other_kind(value));
        family_finish(&file);
    }
}
END_TEST

static bool is_size(const char *value)
{
    return strspn(value, "0123456789") == strlen(value) && *value;
}

START_TEST(sizes_that_no_file_can_have_are_refused)
{
    static const char *const hostile[] = {"-1", "4611686018427387904", "1e300", "-0.5"};
    char field[64], value[512];

    for (int i = 0; i < FIXTURES; i++) {
        family_load(&file, fixtures[i]);
        for (size_t k = 0; family_field(&file, k, field, value); k++)
            for (size_t n = 0; n < sizeof hostile / sizeof *hostile; n++)
                if (is_size(value) && !is_idle(field))
                    refuses(field, hostile[n]);
        family_finish(&file);
    }
}
END_TEST

/* Sizes that are possible, and not those of the tensors. */
START_TEST(sizes_that_are_not_those_of_the_tensors_are_refused)
{
    static const char *const fields[] = {
        "vocab_size",        "hidden_size",       "n_embd",
        "intermediate_size", "num_hidden_layers", "n_layer"};
    static const char *const others[] = {"1", "48", "65536"};
    char field[64], value[512];

    for (int i = 0; i < FIXTURES; i++) {
        family_load(&file, fixtures[i]);
        for (size_t k = 0; family_field(&file, k, field, value); k++)
            for (size_t n = 0; n < sizeof fields / sizeof *fields; n++)
                for (int o = 0; o < 3 && strcmp(fields[n], field) == 0; o++) {
                    txd_checkpoint *checkpoint = NULL;

                    family_set(&file, field, others[o]);
                    ck_assert_msg(family_open(&checkpoint, &file) != TXD_OK,
                                  "%s: %s = %s", fixtures[i], field, others[o]);
                    family_set(&file, field, value);
                }
        family_finish(&file);
    }
}
END_TEST

/* ---- absent fields ---- */

static const txd_config *config_without(txd_checkpoint **checkpoint, const char *name,
                                        const char *const *fields)
{
    family_load(&file, name);
    for (; *fields; fields++)
        family_set(&file, *fields, NULL);
    ck_assert_msg(family_open(checkpoint, &file) == TXD_OK, "%s: %s", name,
                  txd_message());
    return txd_checkpoint_config(*checkpoint);
}

static void done(txd_checkpoint *checkpoint)
{
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
}

#define WITHOUT(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(absent_fields_are_those_of_the_library)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;

    c = config_without(&checkpoint, "llama",
                       WITHOUT("rms_norm_eps", "hidden_act", "rope_parameters"));
    ck_assert(c->layers[1].norm_eps == 1e-6);
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_SILU);
    ck_assert(c->layers[1].rope_base == 10000);
    done(checkpoint);
    c = config_without(&checkpoint, "mistral", WITHOUT("sliding_window"));
    ck_assert_uint_eq(c->layers[1].window, 4096);
    done(checkpoint);
    c = config_without(
        &checkpoint, "starcoder2",
        WITHOUT("sliding_window", "norm_epsilon", "hidden_act", "tie_word_embeddings"));
    ck_assert_uint_eq(c->layers[1].window, 0);
    ck_assert(c->layers[1].norm_eps == 1e-5);
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_GELU_TANH);
    ck_assert(c->tie_embeddings);
    done(checkpoint);
    c = config_without(&checkpoint, "phi3", WITHOUT("rms_norm_eps", "sliding_window"));
    ck_assert(c->layers[1].norm_eps == 1e-5);
    ck_assert_uint_eq(c->layers[1].window, 0);
    done(checkpoint);
    c = config_without(
        &checkpoint, "gpt_neox",
        WITHOUT("layer_norm_eps", "hidden_act", "use_parallel_residual"));
    ck_assert(c->layers[1].norm_eps == 1e-5);
    ck_assert(c->parallel);
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_GELU);
    done(checkpoint);
    c = config_without(&checkpoint, "falcon",
                       WITHOUT("multi_query", "parallel_attn", "layer_norm_epsilon",
                               "new_decoder_architecture", "bias", "alibi"));
    ck_assert_uint_eq(c->n_kv_heads, 1);
    ck_assert(c->parallel && c->shared_norm);
    done(checkpoint);
}
END_TEST

START_TEST(absent_fields_of_younger_families_are_those_of_the_library)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;

    c = config_without(&checkpoint, "bloom",
                       WITHOUT("layer_norm_epsilon", "tie_word_embeddings"));
    ck_assert(c->layers[1].norm_eps == 1e-5);
    ck_assert(c->tie_embeddings && c->embed_norm);
    done(checkpoint);
    c = config_without(&checkpoint, "opt",
                       WITHOUT("activation_function", "word_embed_proj_dim",
                               "do_layer_norm_before", "tie_word_embeddings"));
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_RELU);
    ck_assert_int_eq(c->norm_placement, TXD_PLACEMENT_PRE);
    ck_assert(c->tie_embeddings && c->final_norm);
    ck_assert_uint_eq(c->position_offset, 2);
    done(checkpoint);
    c = config_without(&checkpoint, "gemma",
                       WITHOUT("hidden_act", "rms_norm_eps", "tie_word_embeddings"));
    ck_assert_int_eq(c->activation, TXD_ACTIVATION_GELU_TANH);
    ck_assert(c->layers[1].norm_eps == 1e-6 && c->norm_offset == 1);
    ck_assert(c->embed_scale == sqrt(18.0));
    done(checkpoint);
    c = config_without(&checkpoint, "olmo2", WITHOUT("rms_norm_eps"));
    ck_assert(c->layers[1].norm_eps == 1e-5);
    ck_assert_int_eq(c->norm_placement, TXD_PLACEMENT_BRANCH);
    done(checkpoint);
    c = config_without(&checkpoint, "qwen3",
                       WITHOUT("layer_types", "use_sliding_window", "sliding_window"));
    ck_assert_uint_eq(c->layers[1].window, 0);
    ck_assert_int_eq(c->qk_norm, TXD_QK_NORM_HEAD);
    done(checkpoint);
}
END_TEST

/* "gelu" is what early files of Gemma say of the approximation by tanh. */
START_TEST(the_activation_of_gemma_is_the_approximation_whatever_it_is_called)
{
    txd_checkpoint *checkpoint = NULL;

    family_load(&file, "gemma");
    family_set(&file, "hidden_act", "\"gelu\"");
    OK(family_open(&checkpoint, &file));
    ck_assert_int_eq(txd_checkpoint_config(checkpoint)->activation,
                     TXD_ACTIVATION_GELU_TANH);
    done(checkpoint);
}
END_TEST

START_TEST(layers_differ_where_fields_do_not_list_them)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;

    c = config_without(&checkpoint, "smollm3",
                       WITHOUT("no_rope_layers", "layer_types"));
    ck_assert(c->layers[0].rotary && !c->layers[1].rotary && c->layers[2].rotary);
    done(checkpoint);
    c = config_without(&checkpoint, "smollm3",
                       WITHOUT("no_rope_layers", "no_rope_layer_interval"));
    ck_assert(c->layers[1].rotary && c->layers[2].rotary && !c->layers[3].rotary);
    done(checkpoint);
    c = config_without(&checkpoint, "qwen2", WITHOUT("layer_types"));
    ck_assert_uint_eq(c->layers[0].window, 0); /* max_window_layers is 1 */
    ck_assert_uint_eq(c->layers[1].window, 4);
    done(checkpoint);
    c = config_without(&checkpoint, "qwen2",
                       WITHOUT("layer_types", "use_sliding_window"));
    ck_assert_uint_eq(c->layers[1].window, 0);
    done(checkpoint);
}
END_TEST

/* ---- what is not read at all ---- */

/* The library's default is a mixture of 128. */
START_TEST(gpt_oss_must_say_that_it_has_no_experts)
{
    family_load(&file, "gpt_oss");
    family_set(&file, "num_local_experts", NULL);
    ck_assert_int_eq(family_open(&(txd_checkpoint *){NULL}, &file),
                     TXD_ERR_UNSUPPORTED);
    ck_message_has("num_local_experts");
    ck_message_has("128");
    family_finish(&file);
}
END_TEST

START_TEST(models_that_compute_something_else_are_refused_with_what_it_is)
{
    static const struct {
        const char *type, *why;
    } models[] = {
        {"\"mixtral\"", "mixture of experts"}, {"\"qwen2_moe\"", "mixture of experts"},
        {"\"deepseek_v3\"", "latent"},         {"\"mamba\"", "state space"},
        {"\"jamba\"", "state space"},          {"\"rwkv\"", "recurrent"},
    };

    family_load(&file, "llama");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        refuses("model_type", models[i].type);
        family_set(&file, "model_type", models[i].type);
        ck_assert_int_eq(family_open(&(txd_checkpoint *){NULL}, &file),
                         TXD_ERR_UNSUPPORTED);
        ck_message_has(models[i].why);
    }
    family_finish(&file);
}
END_TEST

START_TEST(fields_of_other_arithmetic_are_refused_by_name)
{
    static const struct {
        const char *fixture, *field, *value;
    } changes[] = {
        {"llama", "num_local_experts", "8"},
        {"llama", "n_routed_experts", "64"},
        {"llama", "kv_lora_rank", "512"},
        {"llama", "quantization_config", "{\"bits\": 4}"},
        {"llama", "rope_scaling", "{\"rope_type\": \"longrope\", \"factor\": 4.0}"},
        {"llama", "rope_scaling", "{\"type\": \"dynamic\", \"factor\": 4.0}"},
        {"llama", "rope_scaling", "{\"rope_type\": \"linear\"}"},
        {"llama", "hidden_act", "\"quick_gelu\""},
        {"qwen2", "layer_types", "[\"linear_attention\", \"full_attention\"]"},
        {"qwen2", "layer_types", "[\"full_attention\"]"},
        {"smollm3", "no_rope_layers", "[1, 0, 1]"},
        {"smollm3", "no_rope_layers", "[1, 0, 1, 2]"},
        {"gpt_oss", "num_local_experts", "4"},
        {"llama", "partial_rotary_factor", "0.5"},
        {"qwen3", "partial_rotary_factor", "0.5"},
        {"falcon", "alibi", "true"},
        {"gemma3", "attn_logit_softcapping", "30.0"},
        {"gpt2", "add_cross_attention", "true"},
    };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        family_load(&file, changes[i].fixture);
        refuses(changes[i].field, changes[i].value);
        family_finish(&file);
    }
}
END_TEST

TEST_MAIN(every_fixture_opens, every_field_is_looked_at,
          sizes_that_no_file_can_have_are_refused,
          sizes_that_are_not_those_of_the_tensors_are_refused,
          absent_fields_are_those_of_the_library,
          absent_fields_of_younger_families_are_those_of_the_library,
          the_activation_of_gemma_is_the_approximation_whatever_it_is_called,
          layers_differ_where_fields_do_not_list_them,
          gpt_oss_must_say_that_it_has_no_experts,
          models_that_compute_something_else_are_refused_with_what_it_is,
          fields_of_other_arithmetic_are_refused_by_name)
