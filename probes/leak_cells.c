/* SPDX-License-Identifier: MIT
 *
 * Leaks of one head, found by the claimed mask. A NaN is a leak: it is not proven to
 * be zero, and it is worse than any number. The worst are kept in a heap whose root is
 * the least of them, because a mask that is missing leaks half of all cells.
 */
#include "probes/leak_cells.h"

#include <math.h>
#include <stdlib.h>

#include "probes/common.h"

#define PIECE 256

/* What a scan has found; `list` is NULL if it only counts. */
typedef struct finds {
    size_t count, kept, keep;
    txd_leak_cell *list;
} finds;

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

/* Puts `cell` at `place` of the heap, or below it. */
static void sift_down(finds *to, size_t place, txd_leak_cell cell)
{
    for (size_t child; (child = 2 * place + 1) < to->kept; place = child) {
        if (child + 1 < to->kept &&
            by_badness(&to->list[child], &to->list[child + 1]) < 0)
            child++;
        if (by_badness(&cell, &to->list[child]) >= 0)
            break;
        to->list[place] = to->list[child];
    }
    to->list[place] = cell;
}

static void sift_up(finds *to, size_t place, txd_leak_cell cell)
{
    for (; place > 0; place = (place - 1) / 2) {
        if (by_badness(&cell, &to->list[(place - 1) / 2]) <= 0)
            break;
        to->list[place] = to->list[(place - 1) / 2];
    }
    to->list[place] = cell;
}

static void add(finds *to, txd_leak_cell cell)
{
    to->count++;
    if (to->kept < to->keep)
        sift_up(to, to->kept++, cell);
    else if (to->keep > 0 && by_badness(&cell, &to->list[0]) < 0)
        sift_down(to, 0, cell);
}

static void scan_row(finds *to, const txd_mask_view *mask, txd_leak_cell row,
                     const txd_block *block, size_t first)
{
    size_t keys = block->value.dims[3];
    double weights[PIECE];

    for (size_t k = 0; k < keys; k++) {
        if (k % PIECE == 0)
            txd_block_read(weights, block, first + k,
                           keys - k < PIECE ? keys - k : PIECE);
        if (weights[k % PIECE] == 0)
            continue;
        row.key = block->start[3] + k;
        row.kind = txd_mask_hides(mask, row.query, row.key);
        row.weight = weights[k % PIECE];
        if (row.kind != TXD_SEEN)
            add(to, row);
    }
}

/* The row's statistics may already say that nothing leaks. */
static bool is_clean(const txd_block *block, size_t row)
{
    return block->rows && block->rows[row * TXD_ROW_COUNT + TXD_ROW_HIDDEN_SUM] == 0;
}

static void scan(finds *to, const txd_block *block, size_t index)
{
    const txd_layer_config *layer = &block->pass->claimed->layers[block->site->layer];
    size_t queries = block->value.dims[2], keys = block->value.dims[3];
    txd_leak_cell row = {.batch = block->start[0] + index / block->value.dims[1],
                         .head = block->start[1] + index % block->value.dims[1]};
    txd_mask_view mask = txd_mask_of_attention(txd_point_attention(block->site->point),
                                               layer, block->pass->inputs, row.batch);

    for (size_t q = 0; q < queries; q++) {
        size_t place = index * queries + q;

        row.query = block->start[2] + q;
        if (txd_block_is_valid(block, row.batch, row.query) && !is_clean(block, place))
            scan_row(to, &mask, row, block, place * keys);
    }
}

size_t txd_leak_cells_count(const txd_block *block, size_t index)
{
    finds found = {.keep = 0};

    scan(&found, block, index);
    return found.count;
}

void txd_leak_cells_worst(txd_leak_cell *out, size_t keep, const txd_block *block,
                          size_t index)
{
    finds found = {.keep = keep, .list = out};

    scan(&found, block, index);
    qsort(out, found.kept, sizeof *out, by_query);
}
