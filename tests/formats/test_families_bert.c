/* SPDX-License-Identifier: MIT
 *
 * BERT with and without its head, from tensors made for it.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
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

static void add_encoder(const char *prefix, const char *name, int rank, size_t d0,
                        size_t d1)
{
    char full[160];

    snprintf(full, sizeof full, "%sencoder.layer.0.%s", prefix, name);
    made_add(&made, full, rank, d0, d1);
}

static void add_affine(const char *prefix, const char *name, bool old)
{
    char full[96];

    snprintf(full, sizeof full, "%s%s", name, old ? "gamma" : "weight");
    add_encoder(prefix, full, 1, 4, 1);
    snprintf(full, sizeof full, "%s%s", name, old ? "beta" : "bias");
    add_encoder(prefix, full, 1, 4, 1);
}

static void add_map(const char *prefix, const char *name, size_t rows, size_t width)
{
    char full[96];

    snprintf(full, sizeof full, "%s.weight", name);
    add_encoder(prefix, full, 2, rows, width);
    snprintf(full, sizeof full, "%s.bias", name);
    add_encoder(prefix, full, 1, rows, 1);
}

/* 2 heads, width 4, vocabulary 7, MLP 5, 6 positions; gains as they were once called.
 */
static void make_bert(const char *prefix, bool old)
{
    static const char *const embeddings[] = {"word", "position", "token_type"};
    static const size_t rows[] = {7, 6, 2};
    char name[96];

    made.count = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%sembeddings.%s_embeddings.weight", prefix,
                 embeddings[i]);
        made_add(&made, name, 2, rows[i], 4);
    }
    snprintf(name, sizeof name, "%sembeddings.LayerNorm.%s", prefix,
             old ? "gamma" : "weight");
    made_add(&made, name, 1, 4, 1);
    snprintf(name, sizeof name, "%sembeddings.LayerNorm.%s", prefix,
             old ? "beta" : "bias");
    made_add(&made, name, 1, 4, 1);
    add_map(prefix, "attention.self.query", 4, 4);
    add_map(prefix, "attention.self.key", 4, 4);
    add_map(prefix, "attention.self.value", 4, 4);
    add_map(prefix, "attention.output.dense", 4, 4);
    add_affine(prefix, "attention.output.LayerNorm.", old);
    add_map(prefix, "intermediate.dense", 5, 4);
    add_map(prefix, "output.dense", 4, 5);
    add_affine(prefix, "output.LayerNorm.", old);
    snprintf(name, sizeof name, "%spooler.dense.weight", prefix);
    made_add(&made, name, 2, 4, 4);
}

#define BERT                                                                           \
    "{\"model_type\": \"bert\", \"vocab_size\": 7, \"hidden_size\": 4, "               \
    "\"intermediate_size\": 5, \"num_hidden_layers\": 1, "                             \
    "\"num_attention_heads\": 2, \"max_position_embeddings\": 6"

START_TEST(a_bare_encoder_has_no_transform_before_its_head)
{
    static const char *const prefixes[] = {"bert.", ""};

    for (int i = 0; i < 4; i++) {
        txd_checkpoint *checkpoint;
        const txd_config *c;

        make_bert(prefixes[i % 2], i / 2 == 1);
        checkpoint = open_made(BERT "}");
        c = txd_checkpoint_config(checkpoint);
        ck_assert(!c->head_transform && !c->head_bias && c->tie_embeddings);
        ck_assert(!c->layers[0].causal && c->embed_norm && c->norm_bias);
        ck_assert_uint_eq(c->token_types, 2);
        ck_assert(c->layers[0].norm_eps == 1e-12);
        txd_checkpoint_destroy(checkpoint);
    }
}
END_TEST

START_TEST(a_bias_that_is_stored_twice_must_be_the_same)
{
    txd_checkpoint *checkpoint;
    txd_params *params = NULL;

    make_bert("bert.", false);
    made_add(&made, "cls.predictions.transform.dense.weight", 2, 4, 4);
    made_add(&made, "cls.predictions.transform.dense.bias", 1, 4, 1);
    made_add(&made, "cls.predictions.transform.LayerNorm.weight", 1, 4, 1);
    made_add(&made, "cls.predictions.transform.LayerNorm.bias", 1, 4, 1);
    made_add(&made, "cls.predictions.bias", 1, 7, 1);
    checkpoint = open_made(BERT "}");
    ck_assert(txd_checkpoint_config(checkpoint)->head_transform);
    OK(txd_checkpoint_params(&params, checkpoint, txd_checkpoint_config(checkpoint),
                             0));
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
    made_add(&made, "cls.predictions.decoder.bias", 1, 7, 1); /* other values */
    checkpoint = open_made(BERT "}");
    ck_assert_int_eq(txd_checkpoint_params(&params, checkpoint,
                                           txd_checkpoint_config(checkpoint), 0),
                     TXD_ERR_FORMAT);
    ck_message_has("cls.predictions.decoder.bias");
    ck_message_has("head.bias");
    txd_checkpoint_destroy(checkpoint);
    /* A head of its own uses its own bias, and not the other. */
    made_add(&made, "cls.predictions.decoder.weight", 2, 7, 4);
    checkpoint = open_made(BERT ", \"tie_word_embeddings\": false}");
    OK(txd_checkpoint_params(&params, checkpoint, txd_checkpoint_config(checkpoint),
                             0));
    ck_assert(txd_tensor_get(&txd_params_find(params, "head.bias")->value, 0) ==
              (double)(made.count - 2));
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

TEST_MAIN(a_bare_encoder_has_no_transform_before_its_head,
          a_bias_that_is_stored_twice_must_be_the_same)
