/* SPDX-License-Identifier: MIT
 *
 * Opening a checkpoint: config.json says what the model is, the tensors say which
 * biases it has, and then every tensor must be accounted for. Neither file is trusted.
 */
#include "formats/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint_internal.h"
#include "formats/json_read.h"
#include "formats/safetensors.h"
#include "model/rope.h"

#define CONFIG "config.json"
#define TENSORS "model.safetensors"
#define OWN_NAME "embed.tok.weight"
#define ROPE_FACTORS "rope_freqs.weight"

/* Llama 3.1 in GGUF has no other word on how its positions are scaled. */
static txd_status read_rope_factors(txd_checkpoint *checkpoint)
{
    txd_stored *stored = txd_stored_find(checkpoint, ROPE_FACTORS);
    txd_layer_config *layer = &checkpoint->reading.layer;
    float factors[TXD_ROPE_PAIRS_MAX];
    txd_trace_info info;

    if (!checkpoint->reading.architecture || !stored || !layer->rotary)
        return TXD_OK;
    TXD_TRY(txd_trace_get(checkpoint->trace, &info, stored->index));
    if (info.foreign || info.rank != 1 || info.dims[0] != layer->rope_width / 2 ||
        info.dims[0] > TXD_ROPE_PAIRS_MAX)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: tensor \"" ROPE_FACTORS
                        "\": expected %zu numbers, one for each pair of lanes that "
                        "turns",
                        checkpoint->path, layer->rope_width / 2);
    TXD_TRY(txd_trace_read_all(checkpoint->trace, factors, TXD_ROPE_PAIRS_MAX,
                               stored->index, TXD_F32));
    stored->used = true;
    if (txd_rope_factors_fit(layer, factors, info.dims[0]))
        return TXD_OK;
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: tensor \"" ROPE_FACTORS
                    "\": no scaling like that of Llama 3.1 slows pairs of lanes like "
                    "this",
                    checkpoint->path);
}

/* As many layers as there are tensors at most: that bounds the memory. */
static txd_status make_layers(txd_checkpoint *checkpoint)
{
    const txd_reading *r = &checkpoint->reading;
    txd_config *c = &checkpoint->config;

    if (c->n_layers > checkpoint->count || c->encoder_layers > checkpoint->count)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: the configuration states %zu layers, but there are only "
                        "%zu tensors",
                        checkpoint->path, c->n_layers, checkpoint->count);
    c->layers = txd_arena_alloc(checkpoint->arena, c->n_layers, sizeof *c->layers);
    if (!c->layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < c->n_layers; i++) {
        TXD_TRY(txd_family_layer(&c->layers[i], r, i));
        txd_rope_resolve(&c->layers[i]);
    }
    return TXD_OK;
}

/* GGUF files may leave it to the embedding to say how large the vocabulary is. */
static txd_status count_vocab(txd_checkpoint *checkpoint)
{
    static const txd_wanted embedding = {.id = TXD_PARAM_EMBED_TOK, .layer = -1};
    char name[TXD_NAME_BYTES];
    txd_trace_info info;

    if (!txd_source_exists(name, checkpoint, &embedding))
        return TXD_OK;
    TXD_TRY(txd_trace_get(checkpoint->trace, &info,
                          txd_stored_find(checkpoint, name)->index));
    if (info.rank == 2)
        checkpoint->reading.vocab_rows = info.dims[0];
    return TXD_OK;
}

/* Whether the head is the embedding: as stated, or else as the tensors say. */
static bool is_tied(const txd_checkpoint *checkpoint)
{
    static const txd_wanted head = {.id = TXD_PARAM_HEAD_WEIGHT, .layer = -1};
    char name[TXD_NAME_BYTES];

    if (checkpoint->reading.tied != TXD_UNSTATED)
        return checkpoint->reading.tied == TXD_STATED_TRUE;
    return !txd_source_exists(name, checkpoint, &head);
}

/* Without config.json the conventions are left to whoever asks for parameters. */
static txd_status resolve_bare(txd_checkpoint *checkpoint)
{
    TXD_TRY(txd_stored_index(checkpoint));
    checkpoint->has_own_names = txd_stored_find(checkpoint, OWN_NAME) != NULL;
    if (!checkpoint->has_own_names)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: no " CONFIG " is beside it, and no array is named as "
                        "txdiag names parameters (\"" OWN_NAME
                        "\", \"layers.0.attn.q.weight\"): put the model's " CONFIG
                        " beside it, or rename the arrays and give the sizes in the "
                        "cfg",
                        checkpoint->path);
    checkpoint->reading.family = &txd_family_own;
    txd_stored_prefix(checkpoint);
    return TXD_OK;
}

/* Everything after the files are open. */
static txd_status resolve(txd_checkpoint *checkpoint, txd_setting *root, bool is_gguf)
{
    TXD_TRY(txd_settings_record(checkpoint->arena, root));
    TXD_TRY(txd_family_find(&checkpoint->reading, root, is_gguf));
    checkpoint->reading.checkpoint = checkpoint;
    TXD_TRY(txd_stored_index(checkpoint));
    checkpoint->has_own_names = txd_stored_find(checkpoint, OWN_NAME) != NULL;
    txd_stored_prefix(checkpoint);
    TXD_TRY(count_vocab(checkpoint));
    TXD_TRY(txd_family_read(&checkpoint->reading));
    TXD_TRY(read_rope_factors(checkpoint));
    checkpoint->config = checkpoint->reading.config;
    TXD_TRY(make_layers(checkpoint));
    TXD_TRY(txd_family_refuse_unknown(&checkpoint->reading));
    checkpoint->config.tie_embeddings = is_tied(checkpoint);
    TXD_TRY(txd_checkpoint_find_biases(checkpoint));
    TXD_TRY(txd_config_check(&checkpoint->config));
    TXD_TRY(txd_config_make_encoder(&checkpoint->config, checkpoint->arena));
    TXD_TRY(txd_stored_refuse_classifier(checkpoint));
    TXD_TRY(txd_checkpoint_check_params(checkpoint, &checkpoint->config));
    return txd_stored_unused(checkpoint);
}

static txd_status open_files(txd_checkpoint *checkpoint, const char *path)
{
    txd_setting *root = NULL;
    bool is_gguf = false;

    TXD_TRY(txd_arena_create(&checkpoint->arena));
    TXD_TRY(txd_checkpoint_files(&root, &is_gguf, checkpoint, path));
    return root ? resolve(checkpoint, root, is_gguf) : resolve_bare(checkpoint);
}

static txd_status open_bytes(txd_checkpoint *checkpoint, const char *config,
                             size_t config_count, const void *tensors,
                             size_t tensors_count)
{
    txd_setting *root;

    TXD_TRY(txd_arena_create(&checkpoint->arena));
    checkpoint->path = TENSORS;
    TXD_TRY(txd_json_parse(&root, checkpoint->arena, CONFIG, config, config_count));
    TXD_TRY(txd_safetensors_parse(&checkpoint->trace, TENSORS, tensors, tensors_count));
    return resolve(checkpoint, root, false);
}

static txd_status open_gguf_bytes(txd_checkpoint *checkpoint, const void *bytes,
                                  size_t count)
{
    const txd_gguf *gguf = NULL;
    txd_setting *root = NULL;

    TXD_TRY(txd_arena_create(&checkpoint->arena));
    checkpoint->path = "model.gguf";
    TXD_TRY(txd_gguf_parse(&checkpoint->trace, &gguf, checkpoint->path, bytes, count));
    TXD_TRY(txd_checkpoint_take_gguf(&root, checkpoint, gguf));
    return resolve(checkpoint, root, true);
}

static txd_status finish(txd_checkpoint **out, txd_checkpoint *checkpoint,
                         txd_status status)
{
    if (status != TXD_OK)
        txd_checkpoint_destroy(checkpoint);
    else
        *out = checkpoint;
    return status;
}

txd_status txd_checkpoint_open(txd_checkpoint **out, const char *path)
{
    txd_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);

    if (!checkpoint)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", path);
    return finish(out, checkpoint, open_files(checkpoint, path));
}

txd_status txd_checkpoint_parse(txd_checkpoint **out, const char *config,
                                size_t config_count, const void *tensors,
                                size_t tensors_count)
{
    txd_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);

    if (!checkpoint)
        return txd_fail(TXD_ERR_MEMORY, "no memory");
    return finish(out, checkpoint,
                  open_bytes(checkpoint, config, config_count, tensors, tensors_count));
}

txd_status txd_checkpoint_parse_gguf(txd_checkpoint **out, const void *bytes,
                                     size_t count)
{
    txd_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);

    if (!checkpoint)
        return txd_fail(TXD_ERR_MEMORY, "no memory");
    return finish(out, checkpoint, open_gguf_bytes(checkpoint, bytes, count));
}

void txd_checkpoint_destroy(txd_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    txd_trace_destroy(checkpoint->trace);
    txd_arena_destroy(checkpoint->arena);
    free(checkpoint);
}

const char *txd_checkpoint_family(const txd_checkpoint *checkpoint)
{
    return checkpoint->reading.family->name;
}

const txd_config *txd_checkpoint_config(const txd_checkpoint *checkpoint)
{
    return checkpoint->config.n_layers > 0 ? &checkpoint->config : NULL;
}

const char *txd_checkpoint_path(const txd_checkpoint *checkpoint)
{
    return checkpoint->path;
}

txd_status txd_checkpoint_unused(txd_text *out, const txd_checkpoint *checkpoint)
{
    txd_family_list_unused(out, &checkpoint->reading);
    return txd_text_status(out);
}

const txd_trace *txd_checkpoint_tensors(const txd_checkpoint *checkpoint)
{
    return checkpoint->trace;
}
