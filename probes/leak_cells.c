/* SPDX-License-Identifier: MIT
 *
 * Leaks of one head, found by the claimed mask. A NaN is a leak: it is not proven to
 * be zero, and it is worse than any number.
 */
#include "probes/leak_cells.h"

#include <math.h>
#include <stdlib.h>

#include "probes/common.h"

#define PIECE 256

/* Cells of one row, from `first` on: keys begin to begin + count - 1. */
static size_t scan_piece(txd_leak_cell *out, const txd_mask_view *mask,
                         const txd_leak_cell *row, const double *weights, size_t count)
{
    size_t found = 0;

    for (size_t k = 0; k < count; k++) {
        txd_leak_cell leak = *row;

        if (weights[k] == 0)
            continue;
        leak.key += k;
        leak.kind = txd_mask_hides(mask, leak.query, leak.key);
        if (leak.kind == TXD_SEEN)
            continue;
        leak.weight = weights[k];
        if (out)
            out[found] = leak;
        found++;
    }
    return found;
}

static size_t scan_row(txd_leak_cell *out, const txd_mask_view *mask, txd_leak_cell row,
                       const txd_block *block, size_t first)
{
    size_t keys = block->value.dims[3], found = 0;
    double weights[PIECE];

    for (size_t k = 0, n; k < keys; k += n) {
        n = keys - k < PIECE ? keys - k : PIECE;
        row.key = block->start[3] + k;
        txd_block_read(weights, block, first + k, n);
        found += scan_piece(out ? out + found : NULL, mask, &row, weights, n);
    }
    return found;
}

/* The row's statistics may already say that nothing leaks. */
static bool is_clean(const txd_block *block, size_t row)
{
    return block->rows && block->rows[row * TXD_ROW_COUNT + TXD_ROW_HIDDEN_SUM] == 0;
}

size_t txd_leak_cells_scan(txd_leak_cell *out, const txd_block *block, size_t index)
{
    const txd_layer_config *layer = &block->pass->claimed->layers[block->site->layer];
    size_t queries = block->value.dims[2], keys = block->value.dims[3], found = 0;
    txd_leak_cell row = {.batch = block->start[0] + index / block->value.dims[1],
                         .head = block->start[1] + index % block->value.dims[1]};
    txd_mask_view mask = txd_mask_of(layer, block->pass->inputs, row.batch);

    for (size_t q = 0; q < queries; q++) {
        size_t place = index * queries + q;

        row.query = block->start[2] + q;
        if (txd_block_is_valid(block, row.batch, row.query) && !is_clean(block, place))
            found +=
                scan_row(out ? out + found : NULL, &mask, row, block, place * keys);
    }
    return found;
}

static double badness(const txd_leak_cell *one)
{
    return isnan(one->weight) ? INFINITY : fabs(one->weight);
}

static int by_badness(const void *left, const void *right)
{
    const txd_leak_cell *a = left, *b = right;

    if (badness(a) != badness(b))
        return badness(a) > badness(b) ? -1 : 1;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

static int by_query(const void *left, const void *right)
{
    const txd_leak_cell *a = left, *b = right;

    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return by_badness(a, b);
}

void txd_leak_cells_keep_worst(txd_leak_cell *list, size_t count, size_t keep)
{
    qsort(list, count, sizeof *list, by_badness);
    qsort(list, keep, sizeof *list, by_query);
}
