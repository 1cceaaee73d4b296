/* SPDX-License-Identifier: MIT
 *
 * Figure: two axes of any recorded value: positions by channels of a residual stream,
 * positions by token ids of the logits, heads by queries of a row statistic.
 */
#include <stdio.h>
#include <string.h>

#include "viz/figures.h"

static bool is_token_axis(const txd_slice *slice, int axis)
{
    return axis >= 0 && strchr("tqk", slice->info.axes[axis]) != NULL;
}

static bool is_pooled(const txd_slice *slice)
{
    return slice->row_axis >= 0 && slice->info.axes[slice->row_axis] == 'i' &&
           slice->info.axes[slice->column_axis] == 'j';
}

/* Positions (or pooled cells) that the step filled; 0 = all of another axis. */
static size_t filled(const txd_slice *slice, const txd_claim *claim, int axis)
{
    if (is_pooled(slice))
        return claim->length_q;
    if (!is_token_axis(slice, axis))
        return 0;
    return slice->info.axes[axis] == 'k' ? claim->length_k : claim->length_q;
}

static txd_status set_title(txd_map *map, const txd_slice *slice)
{
    char title[TXD_SITE_BYTES + 80];
    int used = snprintf(title, sizeof title, "%s", slice->site);

    if (slice->layer >= 0 && txd_axis_of(&slice->info, 'l') >= 0)
        used += snprintf(title + used, sizeof title - (size_t)used, ", layer %d",
                         slice->layer);
    if (slice->head >= 0)
        snprintf(title + used, sizeof title - (size_t)used, ", head %d", slice->head);
    map->title = txd_arena_string(map->arena, title);
    return map->title ? TXD_OK : TXD_ERR_MEMORY;
}

/* Pooled cells are hidden as a whole or not at all. */
static txd_status blank_cells(txd_blank *out, const txd_map *map,
                              const txd_slice *slice, const txd_claim *claim)
{
    size_t side = slice->info.dims[slice->row_axis];
    unsigned char *hidden;

    if (claim->length_q != 0 && claim->length_q < side)
        side = claim->length_q;
    hidden = txd_arena_alloc(map->arena, side * side, 1);
    if (!hidden)
        return TXD_ERR_MEMORY;
    txd_blank_pooled(out, hidden, side, claim, slice);
    return TXD_OK;
}

static txd_status fill(txd_map *map, const txd_slice *slice, const txd_claim *claim,
                       const txd_figure_request *request)
{
    const size_t lengths[2] = {filled(slice, claim, slice->row_axis),
                               filled(slice, claim, slice->column_axis)};
    bool pooled = is_pooled(slice);
    txd_blank blank = {.mask = NULL};
    char line[64];

    map->by_size = !pooled;
    map->square = pooled;
    TXD_TRY(set_title(map, slice));
    TXD_TRY(txd_map_select(map, slice, request, lengths));
    if (is_token_axis(slice, slice->row_axis))
        TXD_TRY(txd_axis_tokens(&map->rows, map->arena, claim, slice->batch));
    if (is_token_axis(slice, slice->column_axis))
        TXD_TRY(txd_axis_tokens(&map->columns, map->arena, claim, slice->batch));
    if (pooled)
        TXD_TRY(blank_cells(&blank, map, slice, claim));
    TXD_TRY(txd_map_fill(map, slice, &blank));
    TXD_TRY(txd_map_scale(map, request->scale, pooled));
    snprintf(line, sizeof line, "step %zu, batch %zu", slice->step, slice->batch);
    TXD_TRY(txd_map_note_scale(map, line));
    TXD_TRY(txd_map_note_recording(map, slice->recording));
    return txd_map_note_marks(map, blank.pooled ? "or not computed" : NULL);
}

static txd_status image(txd_text *out, const txd_trace *recording,
                        const txd_figure_request *request)
{
    txd_image_kind kind;
    txd_slice slice;
    txd_claim claim;
    txd_status status;

    TXD_TRY(txd_image_kind_of(&kind, request->path));
    TXD_TRY(txd_slice_find(&slice, recording, request));
    status = txd_claim_init(&claim, recording, slice.step);
    if (status == TXD_OK) {
        txd_map map = {.arena = claim.arena};

        status = fill(&map, &slice, &claim, request);
        if (status == TXD_OK)
            status = txd_map_image(out, &map, kind);
    }
    txd_claim_finish(&claim);
    return status;
}

const txd_figure txd_figure_matrix = {
    .name = "matrix",
    .sentence = "two axes of any other recorded value, such as positions by channels",
    .image = image,
};
