/* SPDX-License-Identifier: MIT
 *
 * Reads configuration and inputs back from a recording. Nothing here is required: a
 * dump of another program may have weights alone, and is drawn all the same, by the
 * mask of its configuration and with places for labels.
 */
#include "viz/read/claim.h"

#include <string.h>

#include "viz/draw/script.h"

#define MAX_TOKENS ((size_t)1 << 26)

/* Shape of the recorded tokens: (s, b, t). */
static bool find_inputs(size_t *entry, txd_trace_info *info, const txd_trace *recording,
                        const char *name)
{
    return txd_trace_find(recording, entry, name) == TXD_OK &&
           txd_trace_get(recording, info, *entry) == TXD_OK && info->rank == 3;
}

static txd_status read_plane(int32_t *out, const txd_claim *claim, size_t step,
                             const char *name, size_t length)
{
    size_t count[3] = {1, claim->inputs.batch, length};
    const size_t start[3] = {step, 0, 0};
    txd_trace_info info;
    size_t entry;

    if (!find_inputs(&entry, &info, claim->recording, name) || info.dims[0] <= step ||
        info.dims[1] != count[1] || info.dims[2] != count[2])
        return TXD_OK;
    return txd_trace_read(claim->recording, out, entry, start, count, TXD_I32);
}

static const char *const *read_pieces(const txd_claim *claim, size_t step,
                                      const char *name, size_t length)
{
    size_t plane = claim->inputs.batch * length, count = 0;
    const char *const *strings = NULL;

    if (txd_trace_strings(claim->recording, &strings, &count, name) != TXD_OK ||
        plane == 0 || count / plane <= step)
        return NULL;
    return strings + step * plane;
}

/* {steps, batch rows, tokens, rows of memory, keys}. */
static txd_status find_shape(size_t out[TXD_REPLAY_SHAPE], txd_claim *claim)
{
    txd_trace_info info;
    size_t entry;

    claim->has_tokens = find_inputs(&entry, &info, claim->recording, "input/tokens");
    TXD_TRY(txd_replay_shape(out, claim->recording));
    if (claim->has_tokens)
        memcpy(out, info.dims, 3 * sizeof *out);
    if (find_inputs(&entry, &info, claim->recording, "input/memory_valid"))
        out[3] = info.dims[2];
    return TXD_OK;
}

static txd_status read_memory(txd_claim *claim, size_t step, size_t length)
{
    txd_inputs *inputs = &claim->inputs;
    size_t cells;

    if (length == 0 || txd_size_mul(&cells, inputs->batch, length) != TXD_OK ||
        cells > MAX_TOKENS)
        return TXD_OK;
    inputs->memory_valid =
        txd_arena_alloc(claim->arena, cells, sizeof *inputs->memory_valid);
    if (!inputs->memory_valid)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++)
        inputs->memory_valid[i] = 1;
    inputs->memory_length = length;
    return read_plane(inputs->memory_valid, claim, step, "input/memory_valid", length);
}

static txd_status read_inputs(txd_claim *claim, size_t step)
{
    txd_inputs *inputs = &claim->inputs;
    size_t shape[TXD_REPLAY_SHAPE], cells, length;

    TXD_TRY(find_shape(shape, claim));
    if (shape[0] <= step || shape[1] == 0 || shape[2] == 0 ||
        txd_size_mul(&cells, shape[1], shape[2]) != TXD_OK || cells > MAX_TOKENS) {
        claim->has_tokens = false;
        return TXD_OK;
    }
    TXD_TRY(txd_inputs_make(inputs, claim->arena, shape[1], shape[2]));
    length = inputs->length;
    TXD_TRY(read_plane(inputs->tokens, claim, step, "input/tokens", length));
    TXD_TRY(read_plane(inputs->valid, claim, step, "input/valid", length));
    TXD_TRY(read_plane(inputs->document, claim, step, "input/document", length));
    txd_inputs_count_positions(inputs);
    TXD_TRY(read_plane(inputs->positions, claim, step, "input/positions", length));
    TXD_TRY(read_memory(claim, step, shape[3]));
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        inputs->valid[i] = inputs->valid[i] > 0; /* -1 after the end of a short step */
    claim->has_inputs = true;
    claim->pieces = read_pieces(claim, step, "input/pieces", length);
    claim->memory_pieces =
        read_pieces(claim, step, "memory/pieces", inputs->memory_length);
    return TXD_OK;
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
    read_length(&out->length_memory, recording, step, "steps/length_memory");
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

bool txd_claim_mask(txd_mask_view *out, const txd_claim *claim,
                    const txd_claim_block *block)
{
    const txd_inputs *inputs = &claim->inputs;
    bool cross = block->kind == TXD_ATTENTION_CROSS;

    if (!claim->has_inputs || block->batch >= inputs->batch ||
        block->queries > inputs->length ||
        block->keys > (cross ? inputs->memory_length : inputs->length) ||
        (cross ? !inputs->memory_valid : !layer_known(claim, block->layer)))
        return false;
    *out = cross
               ? txd_mask_of_memory(inputs, block->batch)
               : txd_mask_of(&claim->config.layers[block->layer], inputs, block->batch);
    return true;
}

static bool varies(const int32_t *values, size_t count, int32_t usual)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != usual)
            return true;
    return false;
}

static size_t cut(size_t length, size_t filled)
{
    return filled != 0 && filled < length ? filled : length;
}

static void add_words(txd_text *out, const txd_claim *claim,
                      const txd_layer_config *masks, size_t batch)
{
    size_t row = batch * claim->inputs.length;
    size_t length = cut(claim->inputs.length, claim->length_k);

    if (masks->causal)
        txd_text_add(out, "causal, ");
    if (masks->window != 0)
        txd_text_addf(out, "window %zu, ", masks->window);
    if (varies(claim->inputs.valid + row, length, 1))
        txd_text_add(out, "padding, whose own rows are not judged, ");
    if (varies(claim->inputs.document + row, length, claim->inputs.document[row]))
        txd_text_add(out, "documents, ");
}

static void add_memory_words(txd_text *out, const txd_claim *claim, size_t batch)
{
    const txd_inputs *inputs = &claim->inputs;
    size_t length = cut(inputs->memory_length, claim->length_memory);

    if (inputs->memory_valid &&
        varies(inputs->memory_valid + batch * inputs->memory_length, length, 1))
        txd_text_add(out, "padding of the memory, ");
}

void txd_claim_words(txd_text *out, const txd_claim *claim,
                     const txd_claim_block *block)
{
    size_t before = out->length;

    if (block->batch >= claim->inputs.batch)
        return;
    if (block->kind == TXD_ATTENTION_CROSS)
        add_memory_words(out, claim, block->batch);
    else if (!layer_known(claim, block->layer))
        return;
    else
        add_words(out, claim, &claim->config.layers[block->layer], block->batch);
    if (out->length >= before + 2)
        out->data[out->length -= 2] = '\0';
    else
        txd_text_add(out, "which hides nothing");
}

/* A piece with its blanks visible: " once" is another token than "once"; and so is a
 * backslash before an n another than the end of a line. */
static void add_piece(txd_text *out, const char *piece)
{
    txd_text escaped, cleaned;

    txd_text_init(&escaped);
    txd_text_init(&cleaned);
    for (; *piece; piece++)
        txd_text_add_bytes(&escaped, *piece == '\\' ? "\\\\" : piece,
                           *piece == '\\' ? 2 : 1);
    txd_clean(&cleaned, txd_text_get(&escaped), 14);
    for (const char *at = txd_text_get(&cleaned); *at; at++)
        txd_text_add_bytes(out, *at == ' ' ? "\xE2\x90\xA3" : at, *at == ' ' ? 3 : 1);
    txd_text_finish(&cleaned);
    txd_text_finish(&escaped);
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

const char *txd_claim_piece(const txd_claim *claim, size_t step, size_t batch,
                            size_t place, bool of_memory)
{
    size_t length = of_memory ? claim->inputs.memory_length : claim->inputs.length;
    const char *name = of_memory ? "memory/pieces" : "input/pieces";
    const char *const *strings = read_pieces(claim, step, name, length);

    if (!strings || batch >= claim->inputs.batch || place >= length)
        return NULL;
    strings += batch * length;
    return strings[place] && *strings[place] ? strings[place] : NULL;
}

void txd_claim_memory(txd_text *out, const txd_claim *claim, size_t batch, size_t place)
{
    const txd_inputs *inputs = &claim->inputs;
    size_t at = batch * inputs->memory_length + place;

    txd_text_addf(out, "%zu", place);
    if (!inputs->memory_valid || batch >= inputs->batch ||
        place >= inputs->memory_length)
        return;
    if (inputs->memory_valid[at] <= 0) {
        txd_text_add(out, " (pad)");
    } else if (claim->memory_pieces && claim->memory_pieces[at] &&
               *claim->memory_pieces[at]) {
        txd_text_add(out, " ");
        add_piece(out, claim->memory_pieces[at]);
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
