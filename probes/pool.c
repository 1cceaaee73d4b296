/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of pooling. Cell i of C covers the tokens from floor(i*N/C) to
 * floor((i+1)*N/C) - 1, so that cells differ in size by one at most. Values are never
 * cleaned: a NaN makes its cell NaN.
 */
#include "probes/pool.h"

#include <math.h>

#include "probes/common.h"

#define PIECE 256

txd_pool_axis txd_pool_cells(size_t most, size_t tokens)
{
    return (txd_pool_axis){tokens < most ? tokens : most, tokens};
}

/* The first token of cell i; cell i ends where cell i + 1 begins. */
static size_t begin_of(size_t i, txd_pool_axis axis)
{
    return i * axis.tokens / axis.cells;
}

size_t txd_pool_cell(size_t token, txd_pool_axis axis)
{
    return ((token + 1) * axis.cells - 1) / axis.tokens;
}

static inline double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

double txd_pool_larger(double a, double b)
{
    return larger(a, b);
}

/* Weights of the keys begin to begin + keys - 1 into a row of cells. */
static void pool_piece(double *sum, double *top, const txd_pool_grid *to,
                       const double *weights, size_t begin, size_t keys)
{
    size_t j = txd_pool_cell(begin, to->keys);

    for (size_t k = 0; k < keys; j++) {
        size_t end = begin_of(j + 1, to->keys) - begin;
        double all = sum[j], most = top[j];

        for (end = end < keys ? end : keys; k < end; k++) {
            all += weights[k];
            most = larger(weights[k], most);
        }
        sum[j] = all;
        top[j] = most;
    }
}

void txd_pool_head(const txd_pool_grid *to, const txd_block *block, size_t index)
{
    size_t queries = block->value.dims[2], keys = block->value.dims[3];
    size_t batch = block->start[0] + index / block->value.dims[1];
    double weights[PIECE];

    for (size_t q = 0; q < queries; q++) {
        size_t query = block->start[2] + q;
        size_t i = txd_pool_cell(query, to->queries) - to->first;

        if (!txd_block_is_valid(block, batch, query))
            continue;
        for (size_t k = 0, n; k < keys; k += n) {
            n = keys - k < PIECE ? keys - k : PIECE;
            txd_block_read(weights, block, (index * queries + q) * keys + k, n);
            pool_piece(to->sum + i * to->keys.cells, to->top + i * to->keys.cells, to,
                       weights, block->start[3] + k, n);
        }
    }
}

/* Adds `queries` rows of the block's keys to a row of cells. */
static void count_rows(double *row, const txd_pool_grid *like, const txd_block *block,
                       size_t queries)
{
    size_t begin = block->start[3], end = begin + block->value.dims[3];

    for (size_t j = 0; j < like->keys.cells && queries > 0; j++) {
        size_t from = begin_of(j, like->keys);
        size_t to = begin_of(j + 1, like->keys);

        from = from > begin ? from : begin;
        to = to < end ? to : end;
        row[j] += to > from ? (double)((to - from) * queries) : 0;
    }
}

void txd_pool_count(double *count, const txd_pool_grid *like, const txd_block *block,
                    size_t index)
{
    size_t batch = block->start[0] + index / block->value.dims[1];
    size_t first = block->start[2], end = first + block->value.dims[2];

    for (size_t query = first; query < end;) {
        size_t i = txd_pool_cell(query, like->queries), real = 0;
        size_t next = begin_of(i + 1, like->queries);

        for (next = next < end ? next : end; query < next; query++)
            real += txd_block_is_valid(block, batch, query);
        count_rows(count + i * like->keys.cells, like, block, real);
    }
}
