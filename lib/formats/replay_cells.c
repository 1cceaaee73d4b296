/* SPDX-License-Identifier: MIT
 *
 * Which cells of an attention the claimed mask hides. Most masks are one run of keys
 * per query (ops/mask.h): found once for all heads. Else every tile has a map.
 */
#include "formats/replay_internal.h"

static txd_mask_view mask_of(const txd_feed *feed, txd_attention_kind kind, int layer,
                             size_t batch)
{
    return txd_mask_of_attention(kind, &feed->replay->config.layers[layer],
                                 &feed->inputs, batch);
}

static txd_status reserve(txd_replay_cells *cells, size_t batch, size_t length)
{
    size_t rows, bytes;

    TXD_TRY(txd_size_mul(&rows, batch, length));
    TXD_TRY(txd_size_mul(&bytes, rows, 4 * sizeof(int32_t)));
    TXD_TRY(txd_size_add(&bytes, bytes, batch * (sizeof *cells->sides + sizeof(bool))));
    TXD_TRY(txd_replay_reserve(&cells->memory, bytes, 1));
    cells->sides = cells->memory.data;
    cells->begin = (int32_t *)(void *)(cells->sides + batch);
    cells->end = cells->begin + rows;
    cells->seen = cells->end + rows;
    cells->first_seen = cells->seen + rows;
    cells->is_regular = (bool *)(cells->first_seen + rows);
    return TXD_OK;
}

txd_status txd_feed_cells(txd_feed *feed, txd_attention_kind kind, int layer)
{
    const txd_inputs *inputs = &feed->inputs;
    size_t length = inputs->length;
    const size_t shape[2] = {length, kind == TXD_ATTENTION_CROSS
                                         ? inputs->memory_length
                                         : inputs->past + length};
    txd_replay_cells *cells = &feed->cells;

    TXD_TRY(reserve(cells, inputs->batch, length));
    for (size_t b = 0; b < inputs->batch; b++) {
        txd_mask_view mask = mask_of(feed, kind, layer, b);
        size_t at = b * length;

        cells->is_regular[b] = txd_mask_spans(cells->begin + at, cells->end + at,
                                              &cells->sides[b], &mask, shape);
        for (size_t q = at; cells->is_regular[b] && q < at + length; q++) {
            bool some = cells->begin[q] < cells->end[q];

            cells->seen[q] = some ? cells->end[q] - cells->begin[q] : 0;
            cells->first_seen[q] = some ? cells->begin[q] : -1;
        }
    }
    return TXD_OK;
}

static txd_status make_map(txd_replay_tile *tile)
{
    const txd_replay_attention *job = tile->band->job;
    size_t keys = job->keys, rows = tile->rows, bytes;
    txd_mask_view mask = mask_of(job->feed, job->kind, job->layer, tile->band->batch);
    int32_t *seen, *first_seen;
    uint8_t *hidden;

    TXD_TRY(txd_size_mul(&bytes, rows, keys + 2 * sizeof(int32_t)));
    TXD_TRY(txd_replay_reserve(&tile->map, bytes, 1));
    seen = tile->map.data;
    first_seen = seen + rows;
    hidden = (uint8_t *)(first_seen + rows);
    for (size_t r = 0; r < rows; r++) {
        seen[r] = 0;
        first_seen[r] = -1;
        for (size_t j = 0; j < keys; j++) {
            txd_hidden why = txd_mask_hides(&mask, tile->first + r, j);

            if (why == TXD_SEEN && seen[r]++ == 0)
                first_seen[r] = (int32_t)j;
            hidden[r * keys + j] = (uint8_t)why;
        }
    }
    tile->marks =
        (txd_replay_marks){.hidden = hidden, .seen = seen, .first_seen = first_seen};
    return TXD_OK;
}

txd_status txd_feed_marks(txd_replay_tile *tile)
{
    const txd_feed *feed = tile->band->job->feed;
    const txd_replay_cells *cells = &feed->cells;
    size_t batch = tile->band->batch, at = batch * feed->inputs.length + tile->first;

    if (tile->is_marked)
        return TXD_OK;
    if (cells->is_regular[batch])
        tile->marks = (txd_replay_marks){
            .spans = {cells->begin + at, cells->end + at, 0},
            .sides = cells->sides[batch],
            .seen = cells->seen + at,
            .first_seen = cells->first_seen + at,
        };
    else
        TXD_TRY(make_map(tile));
    tile->is_marked = true;
    return TXD_OK;
}
