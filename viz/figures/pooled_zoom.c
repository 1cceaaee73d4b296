/* SPDX-License-Identifier: MIT
 *
 * A range of tokens on a pooled map. Its cells hold what of their tokens is largest, or
 * the mean of them: a range of many cells can be drawn, one of few shows nothing, and
 * what would show it must be recorded.
 */
#include <stdio.h>

#include "viz/figures/figures.h"
#include "viz/read/tile.h"

enum { LEAST_CELLS = 4 };

/* Cell i of `side` begins at token floor(i * tokens / side). */
size_t txd_pooled_cell(size_t token, size_t side, size_t tokens)
{
    return ((token + 1) * side - 1) / tokens;
}

static size_t count_in(const txd_range *range, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += txd_range_has(range, i);
    return found;
}

static txd_range cells_of(const txd_range *range, size_t side, size_t tokens)
{
    txd_range out = {.count = range->count};

    for (int i = 0; i < range->count; i++) {
        size_t begin = range->parts[i].begin, end = range->parts[i].end;

        if (end > tokens)
            end = tokens;
        out.parts[i].every = 1;
        if (begin >= end)
            continue; /* empty: 0 to 0 */
        out.parts[i].begin = txd_pooled_cell(begin, side, tokens);
        out.parts[i].end = txd_pooled_cell(end - 1, side, tokens) + 1;
    }
    return out;
}

static txd_status too_coarse(const txd_slice *slice, const char *word, size_t asked,
                             size_t shared)
{
    const char *point = txd_site_attention(slice->site) == TXD_ATTENTION_CROSS
                            ? "cross.weights"
                            : "attn.weights";

    char site[TXD_SITE_BYTES];
    txd_text tile;

    snprintf(site, sizeof site, "layers.%d.%s", slice->layer, point);
    txd_text_init(&tile);
    txd_tile_words(&tile, slice->recording, site);
    (void)txd_fail(TXD_ERR_CONFIG,
                   "%s: pooled maps alone were recorded, of which a cell holds about "
                   "%zu %s: too coarse for the %zu that were chosen. To see every "
                   "weight of layer %d, "
                   "head %d, in model.cfg: record = ( { probe = \"full\"; points = "
                   "\"%s\"; heads = \"%d\"; } ); or, for a block of them, probe = "
                   "\"tile\" with queries and keys%s%s",
                   slice->site, shared, word, asked, slice->layer, slice->head, site,
                   slice->head, tile.length ? "; recorded by the probe tile are " : "",
                   txd_text_get(&tile));
    txd_text_finish(&tile);
    return TXD_ERR_CONFIG;
}

static txd_status zoom(txd_range *range, const char *word, size_t side, size_t tokens,
                       const txd_slice *slice)
{
    txd_range cells;
    size_t asked;

    if (range->count == 0 || tokens <= side)
        return TXD_OK;
    asked = count_in(range, tokens);
    if (asked == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: the chosen range of %s is empty: there are 0 to %zu",
                        slice->site, word, tokens - 1);
    cells = cells_of(range, side, tokens);
    if (count_in(&cells, side) < LEAST_CELLS)
        return too_coarse(slice, word, asked, (tokens + side - 1) / side);
    *range = cells;
    return TXD_OK;
}

txd_status txd_pooled_zoom(txd_figure_request *request, const txd_pooling *pooling,
                           const txd_slice *slice)
{
    bool cross = txd_site_attention(slice->site) == TXD_ATTENTION_CROSS;

    TXD_TRY(
        zoom(&request->query, "queries", pooling->cells[0], pooling->tokens[0], slice));
    return zoom(&request->key, cross ? "rows of the memory" : "keys", pooling->cells[1],
                pooling->tokens[1], slice);
}
