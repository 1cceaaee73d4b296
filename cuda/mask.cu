/* SPDX-License-Identifier: MIT
 *
 * Which keys a query sees, and what hides the others' scores and gradients: copies, by
 * the rules of ops/mask.h and ops/ref_softmax.c.
 */
#include "cuda/launch.h"
#include "cuda/tiles.h"

/* ---- visible ---- */

/* txd_mask_hides(...) == TXD_SEEN; pointers of the mask are the device's. */
static __device__ bool sees(const txd_mask_view &mask, size_t query, size_t key)
{
    int64_t distance, away;

    if (!mask.key_valid[key])
        return false;
    if (mask.key_document != NULL &&
        mask.key_document[key] != mask.query_document[query])
        return false;
    if (!mask.causal && mask.window == 0)
        return true;
    distance = (int64_t)mask.query_positions[query] - mask.key_positions[key];
    if (mask.causal && distance < 0)
        return false;
    away = distance < 0 ? -distance : distance;
    return mask.window == 0 || away < (int64_t)mask.window;
}

static __global__ void visible_kernel(uint8_t *out, txd_mask_view mask, size_t rows,
                                      size_t keys)
{
    TXD_CELLS(r, rows, j, keys)
    out[r * keys + j] = sees(mask, r, j);
}

/* Stages what is read of an array; false if there was no room. */
static bool stage(const int32_t **out, const int32_t *from, size_t count, bool read)
{
    *out = read ? (const int32_t *)txd_cuda_stage(from, count * sizeof *from) : NULL;
    return !read || *out != NULL;
}

/* The mask of the queries from `first` on, in the device's memory. */
static txd_status stage_mask(txd_mask_view *out, const struct txd_visible_args *a)
{
    const txd_mask_view *mask = a->mask;
    size_t first = (size_t)a->at.first_query;
    bool ranged = mask->causal || mask->window != 0;
    bool packed = mask->key_document != NULL;

    *out = *mask;
    return stage(&out->key_valid, mask->key_valid, a->keys, true) &&
                   stage(&out->key_document, mask->key_document, a->keys, packed) &&
                   stage(&out->query_document,
                         packed ? mask->query_document + first : NULL, a->rows,
                         packed) &&
                   stage(&out->key_positions, mask->key_positions, a->keys, ranged) &&
                   stage(&out->query_positions,
                         ranged ? mask->query_positions + first : NULL, a->rows, ranged)
               ? TXD_OK
               : TXD_ERR_MEMORY;
}

static txd_status visible_any(const struct txd_visible_args *a)
{
    txd_mask_view mask;
    uint8_t *out;

    if (a->rows == 0 || a->keys == 0)
        return TXD_OK;
    out = (uint8_t *)txd_cuda_result(a->rows * a->keys);
    if (out == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(stage_mask(&mask, a));
    TXD_LAUNCH(visible_kernel, txd_cuda_cell_blocks(a->rows, a->keys),
               txd_cuda_row_threads(a->keys), 0, out, mask, a->rows, a->keys);
    TXD_TRY(txd_cuda_check("visible"));
    return txd_cuda_fetch(a->out, out, a->rows * a->keys);
}

TXD_CUDA_ENTRIES_ANY(visible, visible)

/* ---- mask ---- */

/* What counts is copied, unless it is there. */
static __device__ void mask_cell(float *out, const float *from, size_t at, bool counts,
                                 float fill)
{
    if (!counts)
        out[at] = fill;
    else if (out != from)
        out[at] = from[at];
}

static __global__ void mask_kernel(float *out, const float *from, txd_cuda_cells cells,
                                   size_t rows, size_t stride, float fill)
{
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t r = blockIdx.y; r < rows; r += gridDim.y) {
        const uint8_t *map = cells.map == NULL ? NULL : cells.map + r * cells.keys;
        txd_span part = txd_cuda_span_of(cells.spans, r, 0, cells.keys);

        for (size_t j = first; j < cells.keys; j += step)
            mask_cell(out, from, r * stride + j,
                      map != NULL ? map[j] != 0 : j >= part.begin && j < part.end,
                      fill);
    }
}

static txd_status mask_tile(const struct txd_mask_args *a, float fill)
{
    txd_cuda_cells cells;

    if (a->rows == 0 || a->keys == 0)
        return TXD_OK;
    TXD_TRY(txd_cuda_cells_stage(&cells, a->visible, a->spans, a->rows, a->keys,
                                 a->stride));
    TXD_LAUNCH(mask_kernel, txd_cuda_cell_blocks(a->rows, a->keys),
               txd_cuda_row_threads(a->keys), 0, (float *)a->out,
               (const float *)a->scores, cells, a->rows, a->stride, fill);
    return txd_cuda_check("mask");
}

template <typename Round> static txd_status mask_as(const struct txd_mask_args *a)
{
    return mask_tile(a, Round()((float)a->fill));
}

TXD_CUDA_ENTRIES(mask, mask)

static txd_status mask_back_any(const struct txd_mask_back_args *a)
{
    struct txd_mask_args forward = {};

    if (a->d_scores == NULL)
        return TXD_OK;
    forward.out = a->d_scores;
    forward.scores = a->d_out;
    forward.visible = a->visible;
    forward.spans = a->spans;
    forward.rows = a->rows;
    forward.keys = a->keys;
    forward.stride = a->stride;
    return mask_tile(&forward, 0);
}

TXD_CUDA_ENTRIES_ANY(mask_back, mask_back)
