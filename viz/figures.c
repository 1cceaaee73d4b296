/* SPDX-License-Identifier: MIT
 *
 * The registry of figures, and what they share.
 */
#include "viz/figures.h"

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

bool txd_is_cross(const char *site)
{
    return strstr(site, ".cross.") != NULL;
}

void txd_blank_of(txd_blank *out, txd_mask_view *mask, const txd_claim *claim,
                  const txd_slice *slice)
{
    const size_t *dims = slice->info.dims;
    size_t queries = dims[slice->row_axis < 0 ? 0 : slice->row_axis];
    size_t keys = dims[slice->column_axis];

    memset(out, 0, sizeof *out);
    if (txd_is_cross(slice->site)
            ? !txd_claim_memory_mask(mask, claim, slice->batch, queries, keys)
            : !txd_claim_mask(mask, claim, slice->layer, slice->batch, queries, keys))
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

/* True if no valid query of pooled row i sees a key of pooled column j. */
static bool all_hidden(const txd_mask_view *mask, const int32_t *valid, size_t tokens,
                       size_t side, const size_t cell[2])
{
    size_t key_end = (cell[1] + 1) * tokens / side;

    for (size_t q = cell[0] * tokens / side; q < (cell[0] + 1) * tokens / side; q++)
        for (size_t k = cell[1] * tokens / side; valid[q] && k < key_end; k++)
            if (!txd_mask_hides(mask, q, k))
                return false;
    return true;
}

void txd_blank_pooled(txd_blank *out, unsigned char *hidden, size_t side,
                      const txd_claim *claim, const txd_slice *slice)
{
    size_t tokens = claim->length_q ? claim->length_q : claim->inputs.length;
    txd_mask_view mask;

    *out = (txd_blank){.is_pooled = true, .pooled_side = side};
    if (tokens < side ||
        !txd_claim_mask(&mask, claim, slice->layer, slice->batch, tokens, tokens))
        return;
    for (size_t i = 0; i < side * side; i++) {
        const size_t cell[2] = {i / side, i % side};

        hidden[i] =
            all_hidden(&mask, claim->inputs.valid + slice->batch * claim->inputs.length,
                       tokens, side, cell);
    }
    out->pooled = hidden;
}

txd_status txd_axis_tokens(txd_axis *axis, txd_arena *arena, const txd_claim *claim,
                           size_t batch)
{
    txd_text text;

    if (axis->count > TXD_MAP_LABELS || axis->cells != axis->count ||
        !claim->has_tokens)
        return TXD_OK;
    axis->labels = txd_arena_alloc(arena, axis->count, sizeof *axis->labels);
    if (!axis->labels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < axis->count; i++) {
        txd_text_init(&text);
        txd_claim_token(&text, claim, batch, axis->places[i]);
        axis->labels[i] = txd_arena_string(arena, txd_text_get(&text));
        txd_text_finish(&text);
        if (!axis->labels[i])
            return TXD_ERR_MEMORY;
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
