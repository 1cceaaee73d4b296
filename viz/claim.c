/* SPDX-License-Identifier: MIT
 *
 * Reads configuration and inputs back from a recording. Nothing here is required: a
 * dump of another program may have weights alone, and is drawn all the same, by the
 * mask of its configuration and with places for labels.
 */
#include "viz/claim.h"

#include <string.h>

#include "viz/script.h"

#define MAX_TOKENS ((size_t)1 << 26)

/* Shape of the recorded tokens: (s, b, t). */
static bool find_inputs(size_t *entry, txd_trace_info *info, const txd_trace *recording,
                        const char *name)
{
    return txd_trace_find(recording, entry, name) == TXD_OK &&
           txd_trace_get(recording, info, *entry) == TXD_OK && info->rank == 3;
}

static txd_status read_plane(int32_t *out, const txd_claim *claim, size_t step,
                             const char *name)
{
    size_t count[3] = {1, claim->inputs.batch, claim->inputs.length};
    const size_t start[3] = {step, 0, 0};
    txd_trace_info info;
    size_t entry;

    if (!find_inputs(&entry, &info, claim->recording, name) || info.dims[0] <= step ||
        info.dims[1] != count[1] || info.dims[2] != count[2])
        return TXD_OK;
    return txd_trace_read(claim->recording, out, entry, start, count, TXD_I32);
}

static void read_pieces(txd_claim *claim, size_t step)
{
    size_t plane = claim->inputs.batch * claim->inputs.length, count = 0;
    const char *const *strings = NULL;

    if (txd_trace_strings(claim->recording, &strings, &count, "input/pieces") ==
            TXD_OK &&
        plane != 0 && count / plane > step)
        claim->pieces = strings + step * plane;
}

/* {steps, batch rows, tokens, rows of memory}. */
static txd_status find_shape(size_t out[4], txd_claim *claim)
{
    txd_trace_info info;
    size_t entry;

    claim->has_tokens = find_inputs(&entry, &info, claim->recording, "input/tokens");
    TXD_TRY(txd_replay_shape(out, claim->recording));
    if (claim->has_tokens)
        memcpy(out, info.dims, 3 * sizeof *out);
    return TXD_OK;
}

/* Which rows of the memory are real, for cross-attention. */
static txd_status read_memory(txd_claim *claim, size_t step)
{
    txd_inputs *inputs = &claim->inputs;
    txd_trace_info info;
    size_t entry;

    if (!find_inputs(&entry, &info, claim->recording, "input/memory_valid") ||
        info.dims[0] <= step || info.dims[1] != inputs->batch || info.dims[2] == 0 ||
        info.dims[2] > MAX_TOKENS / inputs->batch)
        return TXD_OK;
    inputs->memory_valid =
        txd_arena_alloc(claim->arena, info.dims[1] * info.dims[2], sizeof(int32_t));
    if (!inputs->memory_valid)
        return TXD_ERR_MEMORY;
    inputs->memory_length = info.dims[2];
    TXD_TRY(txd_trace_read(claim->recording, inputs->memory_valid, entry,
                           (const size_t[3]){step, 0, 0},
                           (const size_t[3]){1, info.dims[1], info.dims[2]}, TXD_I32));
    for (size_t i = 0; i < info.dims[1] * info.dims[2]; i++)
        inputs->memory_valid[i] = inputs->memory_valid[i] > 0;
    return TXD_OK;
}

static txd_status read_inputs(txd_claim *claim, size_t step)
{
    txd_inputs *inputs = &claim->inputs;
    size_t shape[4], cells;

    TXD_TRY(find_shape(shape, claim));
    if (shape[0] <= step || shape[1] == 0 || shape[2] == 0 ||
        txd_size_mul(&cells, shape[1], shape[2]) != TXD_OK || cells > MAX_TOKENS) {
        claim->has_tokens = false;
        return TXD_OK;
    }
    TXD_TRY(txd_inputs_make(inputs, claim->arena, shape[1], shape[2]));
    TXD_TRY(read_plane(inputs->tokens, claim, step, "input/tokens"));
    TXD_TRY(read_plane(inputs->valid, claim, step, "input/valid"));
    TXD_TRY(read_plane(inputs->document, claim, step, "input/document"));
    txd_inputs_count_positions(inputs);
    TXD_TRY(read_plane(inputs->positions, claim, step, "input/positions"));
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        inputs->valid[i] = inputs->valid[i] > 0; /* -1 after the end of a short step */
    claim->has_inputs = true;
    read_pieces(claim, step);
    return read_memory(claim, step);
}

static void read_length(size_t *out, const txd_trace *recording, size_t step,
                        const char *name)
{
    const size_t one = 1;
    txd_trace_info info;
    int64_t value = 0;
    size_t entry;

    if (txd_trace_find(recording, &entry, name) == TXD_OK &&
        txd_trace_get(recording, &info, entry) == TXD_OK && info.rank == 1 &&
        info.dims[0] > step &&
        txd_trace_read(recording, &value, entry, &step, &one, TXD_I64) == TXD_OK &&
        value > 0)
        *out = (size_t)value;
}

static void read_config(txd_claim *claim)
{
    const char *text = txd_trace_meta(claim->recording, "config");
    txd_setting *root;

    claim->configured =
        text && txd_cfg_parse(&root, claim->arena, "recorded config", text) == TXD_OK &&
        txd_config_read(&claim->config, claim->arena, root, NULL) == TXD_OK;
}

txd_status txd_claim_init(txd_claim *out, const txd_trace *recording, size_t step)
{
    memset(out, 0, sizeof *out);
    out->recording = recording;
    TXD_TRY(txd_arena_create(&out->arena));
    read_config(out);
    read_length(&out->length_q, recording, step, "steps/length_q");
    read_length(&out->length_k, recording, step, "steps/length_k");
    return read_inputs(out, step);
}

void txd_claim_finish(txd_claim *claim)
{
    txd_arena_destroy(claim->arena);
    memset(claim, 0, sizeof *claim);
}

static bool layer_known(const txd_claim *claim, int layer)
{
    return claim->configured && layer >= 0 && (size_t)layer < claim->config.n_layers;
}

bool txd_claim_mask(txd_mask_view *out, const txd_claim *claim, int layer, size_t batch,
                    size_t queries, size_t keys)
{
    if (!layer_known(claim, layer) || !claim->has_inputs ||
        batch >= claim->inputs.batch || queries > claim->inputs.length ||
        keys > claim->inputs.length)
        return false;
    *out = txd_mask_of(&claim->config.layers[layer], &claim->inputs, batch);
    return true;
}

bool txd_claim_memory_mask(txd_mask_view *out, const txd_claim *claim, size_t batch,
                           size_t queries, size_t keys)
{
    const txd_inputs *inputs = &claim->inputs;

    if (!claim->has_inputs || !inputs->memory_valid || batch >= inputs->batch ||
        queries > inputs->length || keys > inputs->memory_length)
        return false;
    *out = txd_mask_of_memory(inputs, batch);
    return true;
}

static bool varies(const int32_t *values, size_t count, int32_t usual)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != usual)
            return true;
    return false;
}

void txd_claim_words(txd_text *out, const txd_claim *claim, int layer, size_t batch)
{
    size_t length = claim->inputs.length, row = batch * length, before = out->length;
    const txd_layer_config *masks;

    if (!layer_known(claim, layer) || batch >= claim->inputs.batch)
        return;
    if (claim->length_k != 0 && claim->length_k < length)
        length = claim->length_k;
    masks = &claim->config.layers[layer];
    if (masks->causal)
        txd_text_add(out, "causal, ");
    if (masks->window != 0)
        txd_text_addf(out, "window %zu, ", masks->window);
    if (varies(claim->inputs.valid + row, length, 1))
        txd_text_add(out, "padding, whose own rows are not judged, ");
    if (varies(claim->inputs.document + row, length, claim->inputs.document[row]))
        txd_text_add(out, "documents, ");
    if (out->length >= before + 2)
        out->data[out->length -= 2] = '\0';
    else
        txd_text_add(out, "which hides nothing");
}

/* A piece with its blanks visible: " once" is another token than "once". */
static void add_piece(txd_text *out, const char *piece)
{
    txd_text cleaned;

    txd_text_init(&cleaned);
    txd_clean(&cleaned, piece, 14);
    for (const char *at = txd_text_get(&cleaned); *at; at++)
        txd_text_add_bytes(out, *at == ' ' ? "\xE2\x90\xA3" : at, *at == ' ' ? 3 : 1);
    txd_text_finish(&cleaned);
}

void txd_claim_token(txd_text *out, const txd_claim *claim, size_t batch, size_t place)
{
    size_t at = batch * claim->inputs.length + place;

    txd_text_addf(out, "%zu", place);
    if (!claim->has_inputs || batch >= claim->inputs.batch ||
        place >= claim->inputs.length)
        return;
    if (!claim->inputs.valid[at]) {
        txd_text_add(out, " (pad)");
    } else if (claim->pieces && claim->pieces[at] && *claim->pieces[at]) {
        txd_text_add(out, " ");
        add_piece(out, claim->pieces[at]);
    } else if (claim->has_tokens) {
        txd_text_addf(out, " #%d", (int)claim->inputs.tokens[at]);
    }
}

void txd_claim_faults(txd_text *out, const txd_trace *recording)
{
    const char *faults = txd_trace_meta(recording, "faults");

    if (!faults)
        return;
    if (*faults == '\0' || strcmp(faults, "[]") == 0 || strcmp(faults, "none") == 0) {
        txd_text_add(out, "no fault planted");
        return;
    }
    txd_text_add(out, "faults planted: ");
    txd_clean(out, faults, 400);
}
