/* SPDX-License-Identifier: MIT
 *
 * Of many keys every n-th, before and after the query, so that not all rows show the
 * same.
 */
#include "checks/scores/cells.h"

/* Cells of a layer that are judged per step; of a query; queries of a head at least. */
#define CELLS_JUDGED 8192
#define KEYS_JUDGED 256
#define QUERIES_LEAST 2

txd_cells txd_cells_of(const txd_block *block)
{
    const size_t *whole = block->dims;
    size_t keys = whole[3] < KEYS_JUDGED ? whole[3] : KEYS_JUDGED;

    return (txd_cells){.block = block,
                       .wanted = txd_picks_wanted(
                           CELLS_JUDGED, whole[0] * whole[1] * keys, QUERIES_LEAST),
                       .every = whole[3] / KEYS_JUDGED | 1};
}

/* False behind the last head of the block. */
static bool enter_head(txd_cells *w)
{
    const txd_block *block = w->block;
    size_t heads = block->value.dims[1];

    if (w->is_in_head && ++w->head == heads) {
        w->head = 0;
        w->batch++;
    }
    if (w->batch == block->value.dims[0] || heads == 0)
        return false;
    w->is_in_head = true;
    w->picks = txd_picks_of_head(block, w->batch, w->head, w->wanted);
    w->mask = txd_mask_of_attention(txd_point_attention(block->site->point),
                                    &block->pass->claimed->layers[block->site->layer],
                                    block->pass->inputs, block->start[0] + w->batch);
    w->at = (txd_law_place){block->site->step, (int64_t)(block->start[0] + w->batch),
                            (int64_t)(block->start[1] + w->head), -1, -1};
    return true;
}

/* False behind the last query of the head. */
static bool enter_row(txd_cells *w)
{
    const txd_block *block = w->block;
    const size_t *dims = block->value.dims;
    size_t query, begin = block->start[3];

    if (!w->is_in_head || !txd_picks_next(&query, &w->picks))
        return false;
    w->is_in_row = true;
    w->at.query = (int64_t)query;
    w->row = (w->batch * dims[1] + w->head) * dims[2] + query - block->start[2];
    w->column = (query % w->every + w->every - begin % w->every) % w->every;
    return true;
}

bool txd_cells_next(txd_cells *w)
{
    size_t keys = w->block->value.dims[3];

    for (;;) {
        while (w->is_in_row && w->column < keys) {
            size_t column = w->column, key = w->block->start[3] + column;

            w->column += w->every;
            if (txd_mask_hides(&w->mask, (size_t)w->at.query, key) != TXD_SEEN)
                continue;
            w->at.key = (int64_t)key;
            w->flat = w->row * keys + column;
            return true;
        }
        w->is_in_row = false;
        if (!enter_row(w) && !enter_head(w))
            return false;
    }
}
