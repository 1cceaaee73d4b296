/* SPDX-License-Identifier: MIT
 *
 * Embedding rows and sinusoids (formulas: ops/args.h; the reference: ops/ref_linear.c,
 * ops/ref_rest.c). Rows with one id are added to the table one after the other: first
 * all rows are ordered by id, rows of one id staying in order, then one block takes all
 * rows of an id.
 */
#include "cuda/quads.h"

/* ---- embed ---- */

static __global__ void embed_rows(float *out, const float *table, const int32_t *ids,
                                  size_t rows, size_t width, bool fit)
{
    for (size_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const float *from = table + (size_t)ids[r] * width;

        for (size_t i = txd_block_begin(); i < width; i += txd_block_step())
            txd_store(out + r * width, i, width, fit, txd_load(from, i, width, fit, 0));
    }
}

static txd_status embed_any(const struct txd_embed_args *a)
{
    bool fit = txd_quads_fit_rows(a->out, a->width) && txd_quads_fit(a->table);
    const int32_t *ids;

    if (a->rows == 0 || a->width == 0)
        return TXD_OK;
    ids = (const int32_t *)txd_cuda_stage(a->ids, a->rows * sizeof *a->ids);
    if (ids == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(embed_rows, txd_row_blocks(a->rows),
               txd_row_threads(a->width, TXD_THREADS), 0, (float *)a->out,
               (const float *)a->table, ids, a->rows, a->width, fit);
    return txd_cuda_check("embed");
}

TXD_CUDA_ENTRIES_ANY(embed, embed)

/* ---- embed_back ---- */

namespace
{
/* The rows, ascending by id and then by row, and at the first of each id how many rows
 * have it; else 0. */
struct ranks {
    int32_t *rows, *same;
};
} // namespace

/* A row's place is the number of those before it. A block compares its rows with all
 * others, some at a time. */
static __global__ void rank_rows(struct ranks to, const int32_t *ids, size_t rows)
{
    __shared__ int32_t others[TXD_THREADS];
    size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned smaller = 0, earlier = 0, same = 0;
    int32_t id = row < rows ? ids[row] : 0;

    for (size_t first = 0; first < rows; first += blockDim.x) {
        size_t left = rows - first;
        unsigned count = left < blockDim.x ? (unsigned)left : blockDim.x;

        if (threadIdx.x < count)
            others[threadIdx.x] = ids[first + threadIdx.x];
        __syncthreads();
        for (unsigned k = 0; k < count; k++) {
            smaller += others[k] < id;
            same += others[k] == id;
            earlier += others[k] == id && first + k < row;
        }
        __syncthreads();
    }
    if (row < rows) {
        to.rows[smaller + earlier] = (int32_t)row;
        to.same[smaller + earlier] = earlier == 0 ? (int32_t)same : 0;
    }
}

/* A block per place; the first place of an id does all of its rows. */
template <typename Round>
static __global__ void embed_back_ids(float *d_table, const float *d_out,
                                      const int32_t *ids, struct ranks ranks,
                                      size_t rows, size_t width, bool fit)
{
    for (size_t place = blockIdx.x; place < rows; place += gridDim.x) {
        const int32_t *row = ranks.rows + place;
        float *to = d_table + (size_t)ids[*row] * width;

        if (ranks.same[place] == 0)
            continue;
        for (size_t i = txd_block_begin(); i < width; i += txd_block_step()) {
            txd_quad sum = txd_load(to, i, width, fit, 0);

            for (int32_t p = 0; p < ranks.same[place]; p++) {
                const float *from = d_out + (size_t)row[p] * width;
                txd_quad d = txd_load(from, i, width, fit, 0);

                for (unsigned k = 0; k < TXD_QUAD; k++)
                    sum.at[k] += d.at[k];
            }
            for (unsigned k = 0; k < TXD_QUAD; k++)
                sum.at[k] = Round()(sum.at[k]);
            txd_store(to, i, width, fit, sum);
        }
    }
}

template <typename Round>
static txd_status embed_back_as(const struct txd_embed_back_args *a)
{
    bool fit = txd_quads_fit_rows(a->d_table, a->width) && txd_quads_fit(a->d_out);
    unsigned blocks = (unsigned)((a->rows + TXD_THREADS - 1) / TXD_THREADS);
    struct ranks ranks;
    const int32_t *ids;

    if (a->rows == 0 || a->width == 0)
        return TXD_OK;
    ids = (const int32_t *)txd_cuda_stage(a->ids, a->rows * sizeof *ids);
    ranks.rows = (int32_t *)txd_cuda_workspace(2 * a->rows * sizeof *ranks.rows);
    if (ids == NULL || ranks.rows == NULL)
        return TXD_ERR_MEMORY;
    ranks.same = ranks.rows + a->rows;
    TXD_LAUNCH(rank_rows, blocks, TXD_THREADS, 0, ranks, ids, a->rows);
    TXD_LAUNCH((embed_back_ids<Round>), txd_row_blocks(a->rows),
               txd_row_threads(a->width, TXD_THREADS), 0, (float *)a->d_table,
               (const float *)a->d_out, ids, ranks, a->rows, a->width, fit);
    return txd_cuda_check("embed_back");
}

TXD_CUDA_ENTRIES(embed_back, embed_back)

/* ---- sinusoid ---- */

/* A thread per pair of lanes, which have one angle. */
template <typename Round>
static __global__ void sinusoid_pairs(float *out, const int32_t *positions, size_t rows,
                                      size_t width)
{
    size_t pairs = (width + 1) / 2, step = (size_t)gridDim.x * blockDim.x;

    for (size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x; p < rows * pairs;
         p += step) {
        size_t r = p / pairs, i = 2 * (p % pairs);
        double angle = positions[r] * pow(10000.0, -((double)i / (double)width));

        out[r * width + i] = Round()((float)sin(angle));
        if (i + 1 < width)
            out[r * width + i + 1] = Round()((float)cos(angle));
    }
}

template <typename Round>
static txd_status sinusoid_as(const struct txd_sinusoid_args *a)
{
    size_t pairs = a->rows * ((a->width + 1) / 2);
    const int32_t *positions;

    if (pairs == 0)
        return TXD_OK;
    positions =
        (const int32_t *)txd_cuda_stage(a->positions, a->rows * sizeof *positions);
    if (positions == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH((sinusoid_pairs<Round>), txd_cuda_blocks(pairs, TXD_THREADS),
               TXD_THREADS, 0, (float *)a->out, positions, a->rows, a->width);
    return txd_cuda_check("sinusoid");
}

TXD_CUDA_ENTRIES(sinusoid, sinusoid)
