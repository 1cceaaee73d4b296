/* SPDX-License-Identifier: MIT
 *
 * The heatmap of attention that is never formed. A warp has strips of 8 queries, and
 * sums of its own for each row of cells that a strip touches: strip s and row of cells
 * i have the line s + i, which no other pair has, since either both ascend or one does.
 * The lines of a row of cells are then added in order (attend_rows.cu).
 */
#ifndef TXD_CUDA_ATTEND_POOL_H
#define TXD_CUDA_ATTEND_POOL_H

#include "cuda/attend_tile.h"

#define ATTEND_STRIP 8 /* queries of a warp: rows of two groups of 16 threads */

/* An axis and its cells, as probes/pool.h has them. */
struct attend_axis {
    size_t cells, tokens;
};

struct attend_map {
    double *sums; /* (heads, lines, key cells); NULL: no heatmap */
    float *tops;
    struct attend_axis queries, keys;
    size_t lines;
    const uint8_t *padded;
};

static __device__ inline size_t attend_cell(size_t token, attend_axis axis)
{
    return ((token + 1) * axis.cells - 1) / axis.tokens;
}

static __device__ inline size_t attend_cell_begin(size_t i, attend_axis axis)
{
    return i * axis.tokens / axis.cells;
}

/* A warp's weights of the tile at `first`, which are 0 where a key is not used, into
 * the lines of its strip. */
static __device__ inline void attend_pool(const attend_map &map, const float w[4][4],
                                          size_t first_query, size_t first)
{
    size_t strip = first_query + threadIdx.x / TXD_WARP * ATTEND_STRIP;
    size_t last = first + TXD_ATTEND_BLOCK - 1, end = strip + ATTEND_STRIP - 1;
    size_t rows[4], columns[4];
    txd_how_max larger;

    if (strip >= map.queries.tokens)
        return;
    last = last < map.keys.tokens ? last : map.keys.tokens - 1;
    end = end < map.queries.tokens ? end : map.queries.tokens - 1;
    for (int i = 0; i < 4; i++) {
        size_t query = first_query + attend_row(i), key = first + attend_column(i);
        bool counts = query < map.queries.tokens && !map.padded[query];

        rows[i] = counts ? attend_cell(query, map.queries) : map.queries.cells;
        columns[i] =
            key < map.keys.tokens ? attend_cell(key, map.keys) : map.keys.cells;
    }
    for (size_t row = attend_cell(strip, map.queries);
         row <= attend_cell(end, map.queries); row++)
        for (size_t column = attend_cell(first, map.keys);
             column <= attend_cell(last, map.keys); column++) {
            size_t line = blockIdx.y * map.lines + strip / ATTEND_STRIP + row;
            double sum = 0;
            float top = 0;

            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    if (rows[i] == row && columns[j] == column) {
                        sum += (double)w[i][j];
                        top = larger(w[i][j], top);
                    }
            sum = txd_warp_sum(sum);
            top = txd_warp_max(top);
            if (threadIdx.x % TXD_WARP != 0)
                continue;
            map.sums[line * map.keys.cells + column] += sum;
            map.tops[line * map.keys.cells + column] =
                larger(top, map.tops[line * map.keys.cells + column]);
        }
}

#endif
