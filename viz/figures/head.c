/* SPDX-License-Identifier: MIT
 *
 * Figure: the attention of one head, queries down and keys across. Cells that the
 * claimed mask hides are blank if they are as silent as they must be, and marked if
 * not: that is the difference which a plain heat map never shows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/read/recorded.h"
#include "viz/read/tile.h"

static txd_status set_title(txd_map *map, const txd_slice *slice)
{
    char title[TXD_SITE_BYTES + 40];

    if (slice->head < 0)
        snprintf(title, sizeof title, "%s", slice->site);
    else
        snprintf(title, sizeof title, "%s, head %d", slice->site, slice->head);
    map->title = txd_arena_string(map->arena, title);
    return map->title ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status note_blank(txd_map *map, const txd_claim *claim,
                             const txd_slice *slice, const txd_blank *blank)
{
    txd_text words;
    txd_status status;

    if (!blank->mask)
        return txd_map_note(map, false, TXD_COLOUR_QUIET,
                            "The claimed mask was not recorded: nothing is blank and "
                            "nothing is judged");
    txd_text_init(&words);
    txd_claim_words(&words, claim,
                    &(txd_claim_block){.kind = txd_site_attention(slice->site),
                                       .layer = slice->layer,
                                       .batch = slice->batch});
    status = txd_text_status(&words);
    if (status == TXD_OK)
        status = txd_map_note_marks(map, txd_text_get(&words));
    txd_text_finish(&words);
    return status == TXD_OK ? txd_map_note_edges(map) : status;
}

static bool is_padding(const txd_axis *rows, size_t row, const txd_blank *blank)
{
    for (size_t i = 0; i < rows->count; i++)
        if (i * rows->cells / rows->count == row && blank->query_valid[rows->places[i]])
            return false;
    return true;
}

void txd_map_grey_padding(txd_map *map, const txd_blank *blank)
{
    size_t columns = map->columns.cells;

    for (size_t row = 0; row < map->rows.cells; row++) {
        if (!is_padding(&map->rows, row, blank))
            continue;
        for (size_t at = row * columns; at < (row + 1) * columns; at++) {
            if (isnan(map->cells[at]) && map->hidden[at] != TXD_SEEN)
                continue;
            map->cells[at] = NAN;
            map->flags[at] |= TXD_FLAG_UNKNOWN;
        }
    }
}

txd_status txd_map_note_grey(txd_map *map)
{
    size_t cells = map->rows.cells * map->columns.cells;

    for (size_t i = 0; i < cells; i++)
        if (map->flags[i] & TXD_FLAG_UNKNOWN)
            return txd_map_note(map, false, TXD_COLOUR_QUIET,
                                "Grey: what padded queries attend to, which nobody "
                                "reads");
    return TXD_OK;
}

static txd_status note_what(txd_map *map, const txd_slice *slice)
{
    txd_text line;
    txd_status status;

    txd_text_init(&line);
    txd_text_addf(&line, "step %zu, batch %zu", slice->step, slice->batch);
    if (slice->is_tile) {
        txd_text_add(&line, "; exact, recorded by the probe tile: ");
        txd_tile_words(&line, slice->recording, slice->site);
    }
    status = txd_text_status(&line);
    if (status == TXD_OK)
        status = txd_map_note_scale(map, txd_text_get(&line));
    txd_text_finish(&line);
    return status;
}

static txd_status fill(txd_map *map, const txd_slice *slice, const txd_claim *claim,
                       const txd_figure_request *request)
{
    const size_t lengths[2] = {txd_axis_filled(claim, slice, slice->row_axis),
                               txd_axis_filled(claim, slice, slice->column_axis)};
    txd_mask_view mask;
    txd_figure_request zoomed = *request;
    txd_blank blank;

    txd_blank_of(&blank, &mask, claim, slice);
    map->square = true;
    map->loud = blank.silent == TXD_SILENT_MASKED ? "not masked" : "not 0";
    map->by_size = strstr(slice->site, "weights") == NULL;
    TXD_TRY(set_title(map, slice));
    TXD_TRY(txd_tile_zoom(&zoomed, slice));
    TXD_TRY(txd_map_select(map, slice, &zoomed, lengths));
    TXD_TRY(txd_map_label(map, claim, slice));
    TXD_TRY(txd_map_fill(map, slice, &blank));
    if (blank.mask) {
        TXD_TRY(txd_map_find_edges(map, blank.mask));
        txd_map_grey_padding(map, &blank);
    }
    TXD_TRY(txd_map_scale(map, request->scale, !map->by_size));
    TXD_TRY(note_what(map, slice));
    TXD_TRY(txd_map_note_recording(map, slice->recording));
    if (txd_site_is_weights(slice->site))
        TXD_TRY(txd_map_note_peak(map, NULL));
    TXD_TRY(note_blank(map, claim, slice, &blank));
    return txd_map_note_grey(map);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_slice slice;
    txd_claim claim;
    txd_status status;

    TXD_TRY(txd_slice_find(&slice, recording, request));
    TXD_TRY(txd_recorded_slice(&slice));
    status = txd_claim_init(&claim, recording, slice.step);
    if (status == TXD_OK)
        status = fill(&map, &slice, &claim, request);
    txd_claim_finish(&claim);
    return status == TXD_OK ? txd_map_draw(out, &map) : status;
}

const txd_figure txd_figure_head = {
    .name = "head",
    .sentence = "the attention of one head, queries down and keys across, the hidden "
                "half blank",
    .usage = "txdiag plot REC.h5 layers.0.attn.weights --head 1 -o FILE",
    .draw = draw,
};
