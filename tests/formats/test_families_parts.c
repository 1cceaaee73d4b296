/* SPDX-License-Identifier: MIT
 *
 * Checkpoints that are more, or less, than a family's model: the text part of a larger
 * one, other versions of one family.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "family_file.h"
#include "made_checkpoint.h"
#include "suite.h"

static family_file file;
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

/* ---- Gemma 3 among pictures ---- */

static void add_layer(const char *prefix, const char *name, int rank, size_t d0,
                      size_t d1)
{
    char full[96];

    snprintf(full, sizeof full, "%slayers.0.%s", prefix, name);
    made_add(&made, full, rank, d0, d1);
}

/* 8 heads of 2 lanes on 4 KV heads, width 6, vocabulary 7, MLP 5. */
static void make_gemma3(const char *prefix, const char *vision)
{
    char name[96];

    made.count = 0;
    snprintf(name, sizeof name, "%sembed_tokens.weight", prefix);
    made_add(&made, name, 2, 7, 6);
    snprintf(name, sizeof name, "%snorm.weight", prefix);
    made_add(&made, name, 1, 6, 1);
    add_layer(prefix, "input_layernorm.weight", 1, 6, 1);
    add_layer(prefix, "post_attention_layernorm.weight", 1, 6, 1);
    add_layer(prefix, "pre_feedforward_layernorm.weight", 1, 6, 1);
    add_layer(prefix, "post_feedforward_layernorm.weight", 1, 6, 1);
    add_layer(prefix, "self_attn.q_norm.weight", 1, 2, 1);
    add_layer(prefix, "self_attn.k_norm.weight", 1, 2, 1);
    add_layer(prefix, "self_attn.q_proj.weight", 2, 16, 6);
    add_layer(prefix, "self_attn.k_proj.weight", 2, 8, 6);
    add_layer(prefix, "self_attn.v_proj.weight", 2, 8, 6);
    add_layer(prefix, "self_attn.o_proj.weight", 2, 6, 16);
    add_layer(prefix, "mlp.gate_proj.weight", 2, 5, 6);
    add_layer(prefix, "mlp.up_proj.weight", 2, 5, 6);
    add_layer(prefix, "mlp.down_proj.weight", 2, 6, 5);
    made_add(&made, vision, 2, 3, 3);
}

#define GEMMA3                                                                         \
    "{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 3}, "           \
    "\"text_config\": {\"model_type\": \"gemma3_text\", \"vocab_size\": 7, "           \
    "\"hidden_size\": 6, \"intermediate_size\": 5, \"num_hidden_layers\": 1, "         \
    "\"head_dim\": 2, \"sliding_window\": 9"

START_TEST(the_text_part_of_a_model_of_pictures_is_read)
{
    static const char *const prefixes[] = {"language_model.model.",
                                           "model.language_model."};
    static const char *const visions[] = {"vision_tower.patch.weight",
                                          "model.vision_tower.patch.weight"};

    for (int i = 0; i < 2; i++) {
        txd_checkpoint *checkpoint;
        const txd_config *c;

        make_gemma3(prefixes[i], visions[i]);
        checkpoint = open_made(GEMMA3 "}}");
        c = txd_checkpoint_config(checkpoint);
        ck_assert_str_eq(txd_checkpoint_family(checkpoint), "gemma3");
        ck_assert_uint_eq(c->n_heads, 8); /* the library's, where it is not said */
        ck_assert_uint_eq(c->n_kv_heads, 4);
        ck_assert(c->layers[0].score_scale == 1 / sqrt(256.0));
        ck_assert_uint_eq(c->layers[0].window, 9);
        ck_assert(c->layers[0].rope_base == 10000);
        ck_assert(c->layers[0].rope_scaling == TXD_ROPE_PLAIN);
        ck_assert(c->tie_embeddings);
        txd_checkpoint_destroy(checkpoint);
    }
}
END_TEST

START_TEST(fields_of_the_text_part_are_named_with_their_group)
{
    txd_checkpoint *checkpoint = NULL;
    static const char config[] = GEMMA3 ", \"rms_norm_eps\": \"small\"}}";

    make_gemma3("language_model.model.", "vision_tower.patch.weight");
    made_write(&made);
    ck_assert_int_ne(txd_checkpoint_parse(&checkpoint, config, strlen(config),
                                          made.bytes, made.used),
                     TXD_OK);
    ck_message_has("text_config.rms_norm_eps");
}
END_TEST

START_TEST(layers_of_gemma3_differ_in_window_and_rotation)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;

    family_load(&file, "gemma3");
    family_set(&file, "layer_types", NULL);
    family_set(&file, "sliding_window_pattern", "2");
    OK(family_open(&checkpoint, &file));
    c = txd_checkpoint_config(checkpoint);
    for (size_t i = 0; i < 4; i++) {
        bool is_full = i % 2 == 1;

        ck_assert_uint_eq(c->layers[i].window, is_full ? 0 : 4);
        ck_assert(c->layers[i].rope_base == (is_full ? 1000 : 30));
        ck_assert_int_eq(c->layers[i].rope_scaling,
                         is_full ? TXD_ROPE_LINEAR : TXD_ROPE_PLAIN);
        ck_assert(c->layers[i].rope_factor == (is_full ? 2 : 1));
    }
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
}
END_TEST

/* ---- versions of T5 ---- */

static const txd_config *t5_with(txd_checkpoint **checkpoint, const char *name,
                                 const char *field, const char *value)
{
    family_load(&file, name);
    family_set(&file, field, value);
    ck_assert_msg(family_open(checkpoint, &file) == TXD_OK, "%s", txd_message());
    return txd_checkpoint_config(*checkpoint);
}

START_TEST(the_head_of_t5_is_scaled_where_it_is_the_embedding)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c = t5_with(&checkpoint, "t5", "tie_word_embeddings", NULL);

    ck_assert(c->tie_embeddings && c->logit_scale == 1 / sqrt(20.0));
    ck_assert_uint_eq(c->encoder_layers, 3);
    ck_assert_uint_eq(c->n_layers, 2);
    ck_assert(c->cross && !c->encoder->layers[0].causal && c->layers[0].causal);
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
    /* Later versions of the library write true, whatever is stored. */
    c = t5_with(&checkpoint, "t5_gated", "tie_word_embeddings", "true");
    ck_assert(!c->tie_embeddings && c->logit_scale == 1 && c->gated);
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
    /* Earlier ones know nothing of scale_decoder_outputs. */
    c = t5_with(&checkpoint, "t5_gated", "scale_decoder_outputs", NULL);
    ck_assert(!c->tie_embeddings && c->logit_scale == 1);
    txd_checkpoint_destroy(checkpoint);
    family_finish(&file);
}
END_TEST

START_TEST(the_decoder_of_t5_is_as_deep_as_the_encoder_unless_it_says_so)
{
    family_load(&file, "t5");
    family_set(&file, "num_decoder_layers", NULL);
    ck_assert_int_ne(family_open(&(txd_checkpoint *){NULL}, &file), TXD_OK);
    ck_message_has("decoder.block.2"); /* the fixture has two */
    ck_message_has("missing");
    family_finish(&file);
}
END_TEST

TEST_MAIN(the_text_part_of_a_model_of_pictures_is_read,
          fields_of_the_text_part_are_named_with_their_group,
          layers_of_gemma3_differ_in_window_and_rotation,
          the_head_of_t5_is_scaled_where_it_is_the_embedding,
          the_decoder_of_t5_is_as_deep_as_the_encoder_unless_it_says_so)
