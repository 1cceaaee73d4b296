/* SPDX-License-Identifier: MIT
 *
 * Conventions in words. What a layer does is put into a sentence; layers with the same
 * sentence are told together.
 */
#include "cli/conventions.h"

#include <string.h>

typedef void sentence_of(txd_text *out, const txd_config *config, size_t layer);

/* "0:5,6:11": the layers from `first` on whose sentence is that of `first`. */
static void add_ranges(txd_text *out, const char *const *sentences, size_t count,
                       size_t first)
{
    const char *comma = "";

    for (size_t i = first; i < count; i++) {
        size_t end = i;

        while (end < count && strcmp(sentences[end], sentences[first]) == 0)
            end++;
        if (end == i)
            continue;
        if (end == i + 1)
            txd_text_addf(out, "%s%zu", comma, i);
        else
            txd_text_addf(out, "%s%zu:%zu", comma, i, end);
        comma = ",";
        i = end;
    }
}

static bool is_first(const char *const *sentences, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(sentences[j], sentences[i]) == 0)
            return false;
    return true;
}

static size_t count_same(const char *const *sentences, size_t count, size_t i)
{
    size_t same = 0;

    for (size_t j = 0; j < count; j++)
        same += strcmp(sentences[j], sentences[i]) == 0;
    return same;
}

static void add_groups(txd_text *out, const char *const *sentences, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t same;

        if (!is_first(sentences, i))
            continue;
        same = count_same(sentences, count, i);
        txd_text_addf(out, "%s%s", i > 0 ? "; " : "", sentences[i]);
        if (same == count)
            return;
        txd_text_add(out, same == 1 ? " in layer " : " in layers ");
        add_ranges(out, sentences, count, i);
    }
}

/* The sentences of all layers, and those that are alike together. */
static txd_status add_by_layer(txd_facts *facts, const char *name,
                               const txd_config *config, sentence_of *sentence)
{
    const char **sentences =
        txd_arena_alloc(facts->arena, config->n_layers, sizeof *sentences);
    txd_status status = sentences ? TXD_OK : TXD_ERR_MEMORY;
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; status == TXD_OK && i < config->n_layers; i++) {
        text.length = 0;
        sentence(&text, config, i);
        sentences[i] = txd_arena_string(facts->arena, txd_text_get(&text));
        if (!sentences[i])
            status = TXD_ERR_MEMORY;
    }
    if (status == TXD_OK) {
        text.length = 0;
        add_groups(&text, sentences, config->n_layers);
        txd_facts_text(facts, name, txd_text_get(&text));
        status = txd_text_status(&text);
    }
    txd_text_finish(&text);
    return status;
}

static void say_sizes(txd_text *out, const txd_config *c)
{
    txd_text_addf(out, "%zu layers of width %zu, MLP of %zu, vocabulary of %zu",
                  c->n_layers, c->d_model, c->d_ff, c->vocab);
    if (c->max_seq_len > 0)
        txd_text_addf(out, ", up to %zu tokens", c->max_seq_len);
    if (c->encoder_layers > 0)
        txd_text_addf(out, ", an encoder of %zu layers", c->encoder_layers);
}

static void say_cross(txd_text *out, const txd_config *c)
{
    txd_text_addf(out, "in every layer, %zu heads on %s", c->n_heads,
                  c->encoder ? "what the encoder makes of its tokens"
                             : "rows that the input gives");
}

static void say_encoder(txd_text *out, const txd_config *c)
{
    const txd_config *e = c->encoder;

    txd_text_addf(out,
                  "%zu layers of width %zu, MLP of %zu, %zu heads of %zu lanes, %s, ",
                  e->n_layers, e->d_model, e->d_ff, e->n_heads, e->head_dim,
                  e->layers[0].causal ? "causal" : "both ways");
    if (e->positions == TXD_POSITIONS_RELATIVE)
        txd_text_addf(out,
                      "relative positions of its own, %zu ranges up to %zu for keys "
                      "before and after",
                      e->relative_buckets, e->relative_distance);
    else
        txd_text_addf(out, "%s positions",
                      txd_config_word("positions", (int)e->positions));
}

static void say_heads(txd_text *out, const txd_config *c)
{
    txd_text_addf(out, "%zu heads of %zu lanes", c->n_heads, c->head_dim);
    if (c->value_dim != c->head_dim)
        txd_text_addf(out, " (values %zu)", c->value_dim);
    if (c->n_kv_heads != c->n_heads)
        txd_text_addf(out, " on %zu of keys and values", c->n_kv_heads);
    txd_text_addf(out, ", %s projections", txd_config_word("qkv", (int)c->qkv));
    if (c->qk_norm == TXD_QK_NORM_HEAD)
        txd_text_add(out, ", norms of queries and keys per head");
    if (c->qk_norm == TXD_QK_NORM_WIDTH)
        txd_text_add(out, ", norms of queries and keys over all heads");
    if (c->sinks)
        txd_text_add(out, ", a sink per head");
}

static void say_window(txd_text *out, const txd_config *c, size_t layer)
{
    const txd_layer_config *l = &c->layers[layer];

    txd_text_add(out, l->causal ? "causal, " : "both ways, ");
    if (l->window > 0)
        txd_text_addf(out, "window of %zu", l->window);
    else
        txd_text_add(out, "no window");
}

static void say_scores(txd_text *out, const txd_config *c, size_t layer)
{
    const txd_layer_config *l = &c->layers[layer];

    txd_text_add(out, "times ");
    txd_text_add_real(out, l->score_scale);
    if (l->score_softcap > 0) {
        txd_text_add(out, ", capped at ");
        txd_text_add_real(out, l->score_softcap);
    }
}

static void add_named(txd_text *out, const char *name, double value)
{
    txd_text_addf(out, ", %s ", name);
    txd_text_add_real(out, value);
}

static void say_scaling(txd_text *out, const txd_layer_config *l)
{
    if (l->rope_scaling == TXD_ROPE_PLAIN) {
        txd_text_add(out, ", not scaled");
        return;
    }
    txd_text_addf(out, ", scaled (%s",
                  txd_config_word("rope_scaling", (int)l->rope_scaling));
    add_named(out, "factor", l->rope_factor);
    if (l->rope_scaling != TXD_ROPE_LINEAR)
        txd_text_addf(out, ", from %zu", l->rope_original_length);
    txd_text_add(out, ")");
}

static void say_positions(txd_text *out, const txd_config *c, size_t layer)
{
    const txd_layer_config *l = &c->layers[layer];

    txd_text_add(out, txd_config_word("positions", (int)c->positions));
    if (c->positions == TXD_POSITIONS_RELATIVE)
        txd_text_addf(out, ", %zu ranges up to %zu", c->relative_buckets,
                      c->relative_distance);
    if (c->positions != TXD_POSITIONS_ROTARY && !l->rotary)
        return;
    if (!l->rotary) {
        txd_text_add(out, ", none");
        return;
    }
    txd_text_addf(out, ", %s pairs",
                  txd_config_word("rope_pairing", (int)l->rope_pairing));
    if (l->rope_width != c->head_dim)
        txd_text_addf(out, ", %zu of %zu lanes", l->rope_width, c->head_dim);
    add_named(out, "base", l->rope_base);
    say_scaling(out, l);
}

static void say_embedding(txd_text *out, const txd_config *c)
{
    if (c->embed_dim != c->d_model && c->embed_dim > 0)
        txd_text_addf(out, "%zu lanes, ", c->embed_dim);
    if (c->embed_scale != 1 && c->embed_scale != 0) {
        txd_text_add(out, "times ");
        txd_text_add_real(out, c->embed_scale);
    } else {
        txd_text_add(out, "as it is");
    }
    if (c->position_offset > 0)
        txd_text_addf(out, ", positions from row %zu on", c->position_offset);
    if (c->token_types > 0)
        txd_text_addf(out, ", %zu token types", c->token_types);
    if (c->embed_norm)
        txd_text_add(out, ", a norm over the sum");
}

static void say_norm(txd_text *out, const txd_config *c, size_t layer)
{
    txd_text_addf(out, "%s, %s", txd_config_word("norm", (int)c->norm),
                  txd_config_word("norm_placement", (int)c->norm_placement));
    add_named(out, "eps", c->layers[layer].norm_eps);
    if (c->norm_offset != 0)
        add_named(out, "gains +", c->norm_offset);
    if (c->parallel)
        txd_text_add(out, c->shared_norm ? ", one for both branches of parallel blocks"
                                         : ", parallel blocks");
    if (!c->final_norm)
        txd_text_add(out, ", no final norm");
}

static void say_biases(txd_text *out, const txd_config *c)
{
    const struct {
        bool there;
        const char *name;
    } biases[] = {{c->qkv_bias, "queries, keys and values"},
                  {c->out_bias, "attention's output"},
                  {c->mlp_bias, "MLP"},
                  {c->norm_bias, "norms"}};
    const char *comma = "";

    for (size_t i = 0; i < sizeof biases / sizeof *biases; i++) {
        if (!biases[i].there)
            continue;
        txd_text_addf(out, "%s%s", comma, biases[i].name);
        comma = ", ";
    }
    if (!*comma)
        txd_text_add(out, "none");
}

typedef void whole_sentence(txd_text *out, const txd_config *config);

static txd_status add_whole(txd_facts *facts, const char *name,
                            const txd_config *config, whole_sentence *sentence)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    sentence(&text, config);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        txd_facts_text(facts, name, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static void say_mlp(txd_text *out, const txd_config *c)
{
    txd_text_addf(out, "%s%s", c->gated ? "gated, " : "",
                  txd_config_word("activation", (int)c->activation));
}

static void say_head(txd_text *out, const txd_config *c)
{
    txd_text_add(out,
                 c->tie_embeddings ? "tied to the embedding" : "a matrix of its own");
    if (c->head_transform)
        txd_text_add(out, ", after a map, an activation and a norm");
    if (c->head_bias)
        txd_text_add(out, ", a bias");
    if (c->logit_scale != 0 && c->logit_scale != 1)
        add_named(out, "logits times", c->logit_scale);
    if (c->logit_softcap > 0)
        add_named(out, "logits capped at", c->logit_softcap);
}

txd_status txd_conventions_add(txd_facts *facts, const txd_config *config)
{
    txd_facts_number(facts, "parameters",
                     txd_params_bytes(config, TXD_F32) / (double)sizeof(float));
    TXD_TRY(add_whole(facts, "sizes", config, say_sizes));
    TXD_TRY(add_whole(facts, "attention", config, say_heads));
    if (config->cross)
        TXD_TRY(add_whole(facts, "cross", config, say_cross));
    if (config->encoder)
        TXD_TRY(add_whole(facts, "encoder", config, say_encoder));
    TXD_TRY(add_by_layer(facts, "scores", config, say_scores));
    TXD_TRY(add_by_layer(facts, "mask", config, say_window));
    TXD_TRY(add_by_layer(facts, "positions", config, say_positions));
    TXD_TRY(add_whole(facts, "embedding", config, say_embedding));
    TXD_TRY(add_by_layer(facts, "norm", config, say_norm));
    TXD_TRY(add_whole(facts, "mlp", config, say_mlp));
    TXD_TRY(add_whole(facts, "biases", config, say_biases));
    return add_whole(facts, "head", config, say_head);
}
