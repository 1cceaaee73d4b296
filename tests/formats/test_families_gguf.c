/* SPDX-License-Identifier: MIT
 *
 * What families make of the metadata of GGUF files. Whole models of most families, and
 * what they compute, are tests/model/test_parity.c's.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "formats/checkpoint.h"
#include "made_gguf.h"
#include "suite.h"

/* A value beside those of the model, or instead of one. */
struct change {
    const char *key;
    const char *text; /* NULL: a number; "true" and "false" are truth values */
    double number;    /* whole ones are u32; -1 leaves the key out */
};

static struct made_gguf made;

static bool is_changed(const struct change *change, const char *key)
{
    return change && strcmp(change->key, key) == 0;
}

static bool is_false(const struct change *change)
{
    return strcmp(change->text, "false") == 0;
}

static void put(const struct change *change)
{
    if (change->text && (strcmp(change->text, "true") == 0 || is_false(change)))
        gguf_put_bool(&made, change->key, !is_false(change));
    else if (change->text)
        gguf_put_string(&made, change->key, change->text);
    else if (change->number == (double)(uint32_t)change->number)
        gguf_put_u32(&made, change->key, (uint32_t)change->number);
    else
        gguf_put_f32(&made, change->key, (float)change->number);
}

static const struct change values[] = {
    {"general.architecture", "llama", 0},
    {"llama.block_count", NULL, 1},
    {"llama.embedding_length", NULL, 4},
    {"llama.feed_forward_length", NULL, 5},
    {"llama.attention.head_count", NULL, 2},
    {"llama.attention.head_count_kv", NULL, 1},
    {"llama.context_length", NULL, 32},
    {"llama.attention.layer_norm_rms_epsilon", NULL, 1e-5},
};

/* Shapes with the fastest axis first. */
static const struct {
    const char *name;
    uint64_t shape[2];
} tensors[] = {
    {"token_embd.weight", {4, 7}},        {"output_norm.weight", {4, 0}},
    {"blk.0.attn_norm.weight", {4, 0}},   {"blk.0.attn_q.weight", {4, 4}},
    {"blk.0.attn_k.weight", {4, 2}},      {"blk.0.attn_v.weight", {4, 2}},
    {"blk.0.attn_output.weight", {4, 4}}, {"blk.0.ffn_norm.weight", {4, 0}},
    {"blk.0.ffn_gate.weight", {4, 5}},    {"blk.0.ffn_up.weight", {4, 5}},
    {"blk.0.ffn_down.weight", {5, 4}},    {"output.weight", {4, 7}},
};
enum {
    VALUES = sizeof values / sizeof *values,
    TENSORS = sizeof tensors / sizeof *tensors
};

/* Leaves the last tensor, the head, out if the model is tied. */
static txd_status open_with(txd_checkpoint **out, const struct change *change,
                            bool tied)
{
    bool replaces = false, drops = change && !change->text && change->number < 0;
    size_t count = TENSORS - tied;

    for (size_t i = 0; i < VALUES; i++)
        replaces = replaces || is_changed(change, values[i].key);
    gguf_begin(&made, 3, count, VALUES + (change && !replaces) - (replaces && drops));
    for (size_t i = 0; i < VALUES; i++)
        if (!is_changed(change, values[i].key))
            put(&values[i]);
    if (change && !drops)
        put(change);
    for (size_t i = 0; i < count; i++)
        gguf_put_tensor(&made, tensors[i].name, 0, tensors[i].shape[1] ? 2 : 1,
                        tensors[i].shape);
    gguf_end(&made);
    return txd_checkpoint_parse_gguf(out, made.bytes, made.used);
}

static void refuses(struct change change, const char *first, const char *second)
{
    txd_checkpoint *checkpoint = NULL;

    ck_assert_msg(open_with(&checkpoint, &change, true) != TXD_OK, "%s", change.key);
    ck_assert_ptr_null(checkpoint);
    ck_message_has(first);
    ck_message_has(second);
}

START_TEST(metadata_become_a_configuration)
{
    txd_checkpoint *checkpoint = NULL;
    const txd_config *c;

    OK(open_with(&checkpoint, NULL, true));
    c = txd_checkpoint_config(checkpoint);
    ck_assert_str_eq(txd_checkpoint_family(checkpoint), "llama");
    ck_assert_uint_eq(c->vocab, 7); /* the rows of the embedding */
    ck_assert_uint_eq(c->head_dim, 2);
    ck_assert_uint_eq(c->n_kv_heads, 1);
    ck_assert_uint_eq(c->max_seq_len, 32);
    ck_assert(c->tie_embeddings);
    ck_assert(c->layers[0].norm_eps == 1e-5);
    ck_assert(c->layers[0].rope_base == 10000);
    ck_assert_int_eq(c->layers[0].rope_pairing, TXD_PAIRING_ADJACENT);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(a_stored_head_unties_the_model)
{
    txd_checkpoint *checkpoint = NULL;

    OK(open_with(&checkpoint, NULL, false));
    ck_assert(!txd_checkpoint_config(checkpoint)->tie_embeddings);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(windows_and_scaled_rotations_are_read)
{
    txd_checkpoint *checkpoint = NULL;

    OK(open_with(&checkpoint,
                 &(struct change){"llama.attention.sliding_window", NULL, 6}, true));
    ck_assert_uint_eq(txd_checkpoint_config(checkpoint)->layers[0].window, 6);
    txd_checkpoint_destroy(checkpoint);
    OK(open_with(&checkpoint,
                 &(struct change){"llama.attention.sliding_window", NULL, 0}, true));
    ck_assert_uint_eq(txd_checkpoint_config(checkpoint)->layers[0].window, 0);
    txd_checkpoint_destroy(checkpoint);
    OK(open_with(&checkpoint, &(struct change){"llama.rope.scaling.type", "linear", 0},
                 true));
    ck_assert_int_eq(txd_checkpoint_config(checkpoint)->layers[0].rope_scaling,
                     TXD_ROPE_LINEAR);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(values_that_make_no_sense_are_refused_by_their_key)
{
    static const char *const sizes[] = {
        "llama.block_count",
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.attention.head_count",
        "llama.attention.head_count_kv",
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        refuses((struct change){sizes[i], NULL, 0}, "model.gguf", sizes[i]);
        refuses((struct change){sizes[i], NULL, 4294967295.0}, "model.gguf", sizes[i]);
        refuses((struct change){sizes[i], "many", 0}, "model.gguf", sizes[i]);
        refuses((struct change){sizes[i], NULL, 1.5}, "model.gguf", sizes[i]);
        if (!strstr(sizes[i], "kv"))
            refuses((struct change){sizes[i], NULL, -1}, "model.gguf", sizes[i]);
    }
    refuses((struct change){"llama.attention.head_count_kv", NULL, 3}, "head_count_kv",
            "does not divide llama.attention.head_count 2");
    refuses((struct change){"llama.block_count", NULL, 60000}, "60000 layers",
            "tensors");
    refuses((struct change){"llama.vocab_size", NULL, 8}, "token_embd.weight",
            "expected shape (8, 4)");
    refuses((struct change){"llama.rope.dimension_count", NULL, 1},
            "llama.rope.dimension_count", "even");
}
END_TEST

START_TEST(models_that_compute_something_else_are_refused)
{
    txd_checkpoint *checkpoint = NULL;

    refuses((struct change){"llama.expert_count", NULL, 8}, "llama.expert_count",
            "mixture of experts");
    refuses((struct change){"general.architecture", "mamba", 0}, "general.architecture",
            "state space");
    refuses((struct change){"general.architecture", "deepseek2", 0}, "deepseek2",
            "latent");
    refuses((struct change){"general.architecture", "nobody", 0}, "nobody",
            "gptneox, llama");
    refuses((struct change){"llama.rope.scaling.type", "longrope", 0},
            "llama.rope.scaling.type", "not supported");
    OK(open_with(&checkpoint, &(struct change){"llama.expert_count", NULL, 0}, true));
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

/* What other architectures have, and what none has. */
START_TEST(keys_that_nothing_reads_are_refused_by_their_name)
{
    static const struct change keys[] = {
        {"llama.attention.clamp_kqv", NULL, 0.5},
        {"llama.attention.max_alibi_bias", NULL, 8},
        {"llama.attention.scale", NULL, 0.25},
        {"llama.attn_logit_softcapping", NULL, 30},
        {"llama.final_logit_softcapping", NULL, 30},
        {"llama.logit_scale", NULL, 0.5},
        {"llama.embedding_scale", NULL, 12},
        {"llama.residual_scale", NULL, 0.25},
        {"llama.use_parallel_residual", "true", 0},
        {"llama.foo.bar", NULL, 1},
        {"llama.rope.scaling.attn_factor", NULL, 2},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        refuses(keys[i], keys[i].key, "it may change what the model computes");
}
END_TEST

START_TEST(keys_that_change_nothing_are_told_of)
{
    static const char key[] = "llama.rope.scaling.original_context_length";
    txd_checkpoint *checkpoint = NULL;
    txd_text text;

    txd_text_init(&text);
    OK(open_with(&checkpoint, NULL, true));
    OK(txd_checkpoint_unused(&text, checkpoint));
    ck_assert_uint_eq(text.length, 0);
    txd_checkpoint_destroy(checkpoint);
    OK(open_with(&checkpoint, &(struct change){key, NULL, 64}, true));
    OK(txd_checkpoint_unused(&text, checkpoint));
    ck_assert_str_eq(txd_text_get(&text), key);
    ck_assert_int_eq(txd_checkpoint_config(checkpoint)->layers[0].rope_scaling,
                     TXD_ROPE_PLAIN);
    txd_checkpoint_destroy(checkpoint);
    txd_text_finish(&text);
}
END_TEST

START_TEST(attention_may_go_both_ways)
{
    txd_checkpoint *checkpoint = NULL;

    OK(open_with(&checkpoint, &(struct change){"llama.attention.causal", "true", 0},
                 true));
    ck_assert(txd_checkpoint_config(checkpoint)->layers[0].causal);
    txd_checkpoint_destroy(checkpoint);
    OK(open_with(&checkpoint, &(struct change){"llama.attention.causal", "false", 0},
                 true));
    ck_assert(!txd_checkpoint_config(checkpoint)->layers[0].causal);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

START_TEST(a_factor_of_positions_without_a_kind_is_linear)
{
    txd_checkpoint *checkpoint = NULL;

    OK(open_with(&checkpoint, &(struct change){"llama.rope.scale_linear", NULL, 4},
                 true));
    ck_assert_int_eq(txd_checkpoint_config(checkpoint)->layers[0].rope_scaling,
                     TXD_ROPE_LINEAR);
    ck_assert(txd_checkpoint_config(checkpoint)->layers[0].rope_factor == 4);
    txd_checkpoint_destroy(checkpoint);
}
END_TEST

TEST_MAIN(metadata_become_a_configuration, a_stored_head_unties_the_model,
          windows_and_scaled_rotations_are_read,
          values_that_make_no_sense_are_refused_by_their_key,
          models_that_compute_something_else_are_refused,
          keys_that_nothing_reads_are_refused_by_their_name,
          keys_that_change_nothing_are_told_of, attention_may_go_both_ways,
          a_factor_of_positions_without_a_kind_is_linear)
