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

/* Rows of a piece of the keys, one added to the other. */
typedef struct columns {
    double sum[PIECE], top[PIECE];
    float top_of_floats[PIECE]; /* of float32, instead of top */
} columns;

static void start_columns(columns *to, size_t keys)
{
    for (size_t k = 0; k < keys; k++) {
        to->sum[k] = 0;
        to->top[k] = -INFINITY;
        to->top_of_floats[k] = -INFINITY;
    }
}

static void add_row(columns *to, const txd_block *block, size_t at, size_t keys)
{
    double weights[PIECE];

    if (block->value.dtype == TXD_F32) {
        txd_kernels_here()->columns(to->sum, to->top_of_floats,
                                    (const float *)block->value.data + at, keys);
        return;
    }
    txd_block_read(weights, block, at, keys);
    for (size_t k = 0; k < keys; k++) {
        to->sum[k] += weights[k];
        to->top[k] = larger(weights[k], to->top[k]);
    }
}

/* Columns of the keys begin to begin + keys - 1 into a row of cells. */
static void pool_columns(const txd_pool_grid *to, size_t i, const columns *from,
                         size_t begin, size_t keys)
{
    double *sum = to->sum + i * to->keys.cells, *top = to->top + i * to->keys.cells;
    size_t j = txd_pool_cell(begin, to->keys);

    for (size_t k = 0; k < keys; j++) {
        size_t end = begin_of(j + 1, to->keys) - begin;

        for (end = end < keys ? end : keys; k < end; k++) {
            sum[j] += from->sum[k];
            top[j] = larger(from->top[k], top[j]);
            top[j] = larger((double)from->top_of_floats[k], top[j]);
        }
    }
}

/* Queries `from` to `end` - 1 of the block, which share the row of cells i. */
static void pool_rows(const txd_pool_grid *to, size_t i, const txd_block *block,
                      size_t index, size_t from, size_t end)
{
    size_t queries = block->value.dims[2], keys = block->value.dims[3];
    size_t batch = block->start[0] + index / block->value.dims[1];
    columns piece;

    for (size_t k = 0, n; k < keys; k += n) {
        n = keys - k < PIECE ? keys - k : PIECE;
        start_columns(&piece, n);
        for (size_t q = from; q < end; q++)
            if (txd_block_is_valid(block, batch, block->start[2] + q))
                add_row(&piece, block, (index * queries + q) * keys + k, n);
        pool_columns(to, i, &piece, block->start[3] + k, n);
    }
}

void txd_pool_head(const txd_pool_grid *to, const txd_block *block, size_t index)
{
    size_t first = block->start[2], queries = block->value.dims[2];

    for (size_t q = 0, end; q < queries; q = end) {
        size_t i = txd_pool_cell(first + q, to->queries);

        end = begin_of(i + 1, to->queries) - first;
        end = end < queries ? end : queries;
        pool_rows(to, i - to->first, block, index, q, end);
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
