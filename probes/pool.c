/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of pooling. Cell i of C covers the tokens from floor(i*N/C) to
 * floor((i+1)*N/C) - 1, so that cells differ in size by one at most. Values are never
 * cleaned: a NaN makes its cell NaN.
 */
#include "probes/pool.h"

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

/* The edges of the cells along the keys, and valid rows of a block that share a row of
 * cells. */
typedef struct strip {
    const txd_block *block;
    size_t first, rows;                /* of the block's rows */
    uint32_t edges[TXD_POOL_MOST + 1]; /* cell j covers edges[j] to edges[j + 1] - 1 */
    size_t cells;
    double *sum, *top; /* the row of cells */
} strip;

/* Where a strip's cells end in the keys begin to begin + keys - 1, the first of which
 * is in cell j. */
static size_t ends_of(uint32_t *ends, const strip *from, size_t j, size_t begin,
                      size_t keys)
{
    size_t count = 0;

    do {
        size_t end = from->edges[j + count + 1] - begin;

        ends[count++] = (uint32_t)(end < keys ? end : keys);
    } while (ends[count - 1] < keys);
    return count;
}

/* Each returns how many cells the piece of the keys touches. */
static size_t pool_floats(const strip *from, size_t j, size_t begin, size_t keys)
{
    const txd_kernels *kernels = txd_kernels_here();
    const txd_tensor *value = &from->block->value;
    const float *x = (const float *)value->data + from->first * value->dims[3];
    double sums[PIECE], cell_sums[TXD_POOL_MOST];
    float tops[PIECE], cell_tops[TXD_POOL_MOST];
    uint32_t ends[TXD_POOL_MOST];
    size_t start = from->block->start[3], count;

    count = ends_of(ends, from, j, begin, keys);
    kernels->columns(sums, tops, x + (begin - start), keys,
                     (struct txd_lines){from->rows, value->dims[3]});
    kernels->column_runs(cell_sums, cell_tops, (struct txd_columns){sums, tops}, ends,
                         count);
    for (size_t i = 0; i < count; i++) {
        from->sum[j + i] += cell_sums[i];
        from->top[j + i] = txd_pool_larger((double)cell_tops[i], from->top[j + i]);
    }
    return count;
}

static size_t pool_any(const strip *from, size_t j, size_t begin, size_t keys)
{
    size_t width = from->block->value.dims[3];
    size_t place = from->first * width + begin - from->block->start[3], count;
    double weights[PIECE];
    uint32_t ends[TXD_POOL_MOST];

    count = ends_of(ends, from, j, begin, keys);
    for (size_t r = 0; r < from->rows; r++) {
        txd_block_read(weights, from->block, place + r * width, keys);
        for (size_t k = 0, i = 0; k < keys; k++) {
            i += k == ends[i];
            from->sum[j + i] += weights[k];
            from->top[j + i] = txd_pool_larger(weights[k], from->top[j + i]);
        }
    }
    return count;
}

static void pool_strip(const strip *from)
{
    const txd_tensor *value = &from->block->value;
    size_t begin = from->block->start[3], end = begin + value->dims[3], j = 0, keys;

    while (j < from->cells && from->edges[j + 1] <= begin)
        j++;
    for (; begin < end; begin += keys) {
        size_t count;

        keys = end - begin < PIECE ? end - begin : PIECE;
        count = value->dtype == TXD_F32 ? pool_floats(from, j, begin, keys)
                                        : pool_any(from, j, begin, keys);
        j += count - (begin + keys < from->edges[j + count]);
    }
}

void txd_pool_head(const txd_pool_grid *to, const txd_block *block, size_t index)
{
    size_t first = block->start[2], queries = block->value.dims[2];
    size_t batch = block->start[0] + index / block->value.dims[1];
    strip from = {.block = block, .cells = to->keys.cells};

    for (size_t j = 0; j <= from.cells && to->keys.tokens > 0; j++)
        from.edges[j] = (uint32_t)begin_of(j, to->keys);
    for (size_t q = 0, rows; q < queries; q += rows) {
        size_t i = txd_pool_cell(first + q, to->queries);
        size_t end = begin_of(i + 1, to->queries) - first;
        bool valid = txd_block_is_valid(block, batch, first + q);

        end = end < queries ? end : queries;
        for (rows = 1; q + rows < end; rows++)
            if (txd_block_is_valid(block, batch, first + q + rows) != valid)
                break;
        if (!valid)
            continue;
        from.first = index * queries + q;
        from.rows = rows;
        from.sum = to->sum + (i - to->first) * from.cells;
        from.top = to->top + (i - to->first) * from.cells;
        pool_strip(&from);
    }
}

void txd_pool_keys(double *keys, const txd_pool_grid *like, const txd_block *block)
{
    size_t begin = block->start[3], end = begin + block->value.dims[3];

    for (size_t j = 0, from = 0, to; j < like->keys.cells; j++, from = to) {
        size_t low, high;

        to = begin_of(j + 1, like->keys);
        low = from > begin ? from : begin;
        high = to < end ? to : end;
        keys[j] = high > low ? (double)(high - low) : 0;
    }
}

void txd_pool_count(double *count, const txd_pool_grid *like, const txd_block *block,
                    const double *keys, size_t index)
{
    size_t batch = block->start[0] + index / block->value.dims[1];
    size_t first = block->start[2], end = first + block->value.dims[2];

    for (size_t query = first; query < end;) {
        size_t i = txd_pool_cell(query, like->queries), real = 0;
        size_t next = begin_of(i + 1, like->queries);
        double *row = count + i * like->keys.cells;

        for (next = next < end ? next : end; query < next; query++)
            real += txd_block_is_valid(block, batch, query);
        for (size_t j = 0; j < like->keys.cells; j++)
            row[j] += (double)real * keys[j];
    }
}
