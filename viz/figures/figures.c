/* SPDX-License-Identifier: MIT
 *
 * The registry of figures, and what they share.
 */
#include "viz/figures/figures.h"

#include <string.h>

static const txd_figure *const figures[] = {
#define TXD_FIGURE(name) &txd_figure_##name,
#include "viz/registry.def"
#undef TXD_FIGURE
};

const txd_figure *txd_figure_at(size_t i)
{
    return i < sizeof figures / sizeof *figures ? figures[i] : NULL;
}

const txd_figure *txd_figure_find(const char *name)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i]->name, name) == 0)
            return figures[i];
    return NULL;
}

bool txd_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

void txd_blank_of(txd_blank *out, txd_mask_view *mask, const txd_claim *claim,
                  const txd_slice *slice)
{
    const size_t *dims = slice->info.dims;
    const txd_claim_block block = {.kind = txd_site_attention(slice->site),
                                   .layer = slice->layer,
                                   .batch = slice->batch,
                                   .queries =
                                       dims[slice->row_axis < 0 ? 0 : slice->row_axis],
                                   .keys = dims[slice->column_axis]};

    memset(out, 0, sizeof *out);
    if (!txd_claim_mask(mask, claim, &block))
        return;
    out->mask = mask;
    out->query_valid = claim->inputs.valid + slice->batch * claim->inputs.length;
    if (claim->configured && slice->layer >= 0 &&
        (size_t)slice->layer < claim->config.n_layers)
        out->fill = claim->config.layers[slice->layer].fill;
    out->silent = txd_ends_in(slice->site, ".masked")   ? TXD_SILENT_MASKED
                  : txd_ends_in(slice->site, ".scores") ? TXD_SILENT_ANY
                                                        : TXD_SILENT_ZERO;
}

static size_t first_known(size_t a, size_t b)
{
    return a ? a : b;
}

txd_pooling txd_pooling_of(const txd_claim *claim, const char *site,
                           const txd_trace_info *info)
{
    const txd_inputs *inputs = &claim->inputs;
    txd_pooling out;

    out.tokens[0] = out.tokens[1] = first_known(claim->length_q, inputs->length);
    if (txd_site_attention(site) == TXD_ATTENTION_CROSS)
        out.tokens[1] = first_known(claim->length_memory, inputs->memory_length);
    for (int i = 0; i < 2; i++) {
        size_t cells = info->dims[info->rank - 2 + i];

        out.cells[i] = out.tokens[i] && out.tokens[i] < cells ? out.tokens[i] : cells;
    }
    return out;
}

const char *txd_pooled_site_by(txd_attention_kind kind, txd_pool pool)
{
    static const char *const names[2][2] = {{"pooled/max", "pooled/mean"},
                                            {"cross_pooled/max", "cross_pooled/mean"}};

    return names[kind == TXD_ATTENTION_CROSS][pool == TXD_POOL_MEAN];
}

const char *txd_pooled_site(txd_attention_kind kind)
{
    return txd_pooled_site_by(kind, TXD_POOL_MAX);
}

bool txd_site_is_weights(const char *site)
{
    static const char *const endings[] = {".attn.weights", ".cross.weights"};

    for (size_t i = 0; i < 2; i++)
        if (txd_ends_in(site, endings[i]) && strlen(site) > strlen(endings[i]))
            return true;
    return false;
}

/* True if no valid query of pooled row i sees a key of pooled column j. */
static bool all_hidden(const txd_mask_view *mask, const int32_t *valid,
                       const txd_pooling *pooling, const size_t cell[2])
{
    const size_t *tokens = pooling->tokens, *cells = pooling->cells;
    size_t query_end = (cell[0] + 1) * tokens[0] / cells[0];
    size_t key_end = (cell[1] + 1) * tokens[1] / cells[1];

    for (size_t q = cell[0] * tokens[0] / cells[0]; q < query_end; q++)
        for (size_t k = cell[1] * tokens[1] / cells[1]; valid[q] && k < key_end; k++)
            if (!txd_mask_hides(mask, q, k))
                return false;
    return true;
}

void txd_blank_pooled(txd_blank *out, unsigned char *hidden, const txd_pooling *pooling,
                      const txd_claim *claim, const txd_slice *slice)
{
    const size_t *cells = pooling->cells;
    const txd_claim_block block = {.kind = txd_site_attention(slice->site),
                                   .layer = slice->layer,
                                   .batch = slice->batch,
                                   .queries = pooling->tokens[0],
                                   .keys = pooling->tokens[1]};
    txd_mask_view mask;

    *out = (txd_blank){.is_pooled = true, .pooled_side = cells[1]};
    if (block.queries < cells[0] || block.keys < cells[1] ||
        !txd_claim_mask(&mask, claim, &block))
        return;
    for (size_t i = 0; i < cells[0] * cells[1]; i++) {
        const size_t cell[2] = {i / cells[1], i % cells[1]};

        hidden[i] =
            all_hidden(&mask, claim->inputs.valid + slice->batch * claim->inputs.length,
                       pooling, cell);
    }
    out->pooled = hidden;
}

size_t txd_axis_filled(const txd_claim *claim, const txd_slice *slice, int axis)
{
    if (axis < 0)
        return 0;
    if (txd_axis_of_memory(slice, axis))
        return claim->length_memory;
    switch (slice->info.axes[axis]) {
    case 't':
    case 'q':
    case 'i': /* a cell is one token, until there are more tokens than cells */
    case 'j':
        return claim->length_q;
    case 'k':
        return claim->length_k;
    default:
        return 0;
    }
}

static bool has_padding(const txd_claim *claim, size_t batch)
{
    const txd_inputs *inputs = &claim->inputs;

    for (size_t i = 0; inputs->memory_valid && i < inputs->memory_length; i++)
        if (batch < inputs->batch &&
            !inputs->memory_valid[batch * inputs->memory_length + i])
            return true;
    return false;
}

static txd_status label(txd_axis *axis, txd_arena *arena, const txd_claim *claim,
                        size_t batch, bool of_memory)
{
    txd_text text;

    axis->labels = txd_arena_alloc(arena, axis->count, sizeof *axis->labels);
    if (!axis->labels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < axis->count; i++) {
        txd_text_init(&text);
        if (of_memory)
            txd_claim_memory(&text, claim, batch, axis->places[i]);
        else
            txd_claim_token(&text, claim, batch, axis->places[i]);
        axis->labels[i] = txd_arena_string(arena, txd_text_get(&text));
        txd_text_finish(&text);
        if (!axis->labels[i])
            return TXD_ERR_MEMORY;
    }
    return TXD_OK;
}

txd_status txd_map_label(txd_map *map, const txd_claim *claim, const txd_slice *slice)
{
    for (int i = 0; i < 2; i++) {
        txd_axis *axis = i ? &map->columns : &map->rows;
        int number = i ? slice->column_axis : slice->row_axis;
        bool of_memory = txd_axis_of_memory(slice, number);

        if (number < 0 || !strchr("tqk", slice->info.axes[number]) ||
            axis->count > TXD_MAP_LABELS || axis->cells != axis->count ||
            !(of_memory ? claim->memory_pieces || has_padding(claim, slice->batch)
                        : claim->has_tokens))
            continue;
        TXD_TRY(label(axis, map->arena, claim, slice->batch, of_memory));
    }
    return TXD_OK;
}

void txd_recording_words(txd_text *out, const txd_trace *recording)
{
    const char *complete = txd_trace_meta(recording, "complete");

    txd_claim_faults(out, recording);
    if (complete && strcmp(complete, "0") == 0)
        txd_text_addf(out, "%srecording not completed", out->length ? "; " : "");
}

txd_status txd_map_note_recording(txd_map *map, const txd_trace *recording)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_recording_words(&text, recording);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note(map, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}
