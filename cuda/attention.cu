/* SPDX-License-Identifier: MIT
 *
 * Products of attention tiles. Cells that do not count must not be multiplied with what
 * may be NaN: they are zeros in a copy, and where the other operand has a number that
 * is not finite (which only the device knows), sums are taken cell by cell, and those
 * cells are left out.
 */
#include "cuda/launch.h"

#include "cuda/products.h"

#define THREADS 256u

/* A matrix (rows, keys) of cells, and which of them count. */
struct tile {
    const float *values;
    size_t rows, keys, stride;
    struct txd_cuda_cells cells;
};

template <typename Round> static __global__ void store_rows(float *x, struct tile tile)
{
    size_t step = (size_t)gridDim.x * blockDim.x, count = tile.rows * tile.keys;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += step) {
        size_t r = i / tile.keys, j = i % tile.keys, at = r * tile.stride + j;

        x[at] = txd_cuda_cell(tile.cells, r, j) ? Round()(x[at]) : 0;
    }
}

/* x (rows, keys) as it is stored; 0 where the cells do not count. */
template <typename Round>
static txd_status stored_rows(const char *name, void *x, const struct tile *tile)
{
    size_t count = tile->rows * tile->keys;

    if (count == 0)
        return TXD_OK;
    TXD_LAUNCH((store_rows<Round>), txd_cuda_blocks(count, THREADS), THREADS, 0,
               (float *)x, *tile);
    return txd_cuda_check(name);
}

template <typename Round> static txd_status scores_as(const struct txd_scores_args *a)
{
    struct txd_cuda_product product = {};
    struct tile all = {NULL, a->rows, a->keys, a->stride, {}};

    product.a = {(const float *)a->q, a->width, false};
    product.b = {(const float *)a->k, a->width, true};
    product.out = (float *)a->out;
    product.m = a->rows;
    product.n = a->keys;
    product.k = a->width;
    product.out_stride = a->stride;
    product.scale = (float)a->scale;
    TXD_TRY(txd_cuda_multiply<Round>("scores", &product));
    return Round::rounds ? stored_rows<Round>("scores", a->out, &all) : TXD_OK;
}

/* ---- sums over cells that count ---- */

static __global__ void copy_cells(float *to, struct tile tile)
{
    size_t step = (size_t)gridDim.x * blockDim.x, count = tile.rows * tile.keys;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += step) {
        size_t r = i / tile.keys, j = i % tile.keys;

        to[i] = txd_cuda_cell(tile.cells, r, j) ? tile.values[r * tile.stride + j] : 0;
    }
}

static bool has_cells(const struct tile *tile)
{
    return tile->cells.map != NULL || tile->cells.spans.begin != NULL;
}

/* Puts a copy, in which what does not count is 0, in the place of the values. */
static txd_status hide(const char *name, struct tile *tile)
{
    size_t count = tile->rows * tile->keys;
    float *copy;

    if (count == 0 || !has_cells(tile))
        return TXD_OK;
    copy = (float *)txd_cuda_workspace(count * sizeof(float));
    if (copy == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(copy_cells, txd_cuda_blocks(count, THREADS), THREADS, 0, copy, *tile);
    tile->values = copy;
    tile->stride = tile->keys;
    return txd_cuda_check(name);
}

static __global__ void find_unfinite(int *found, const float *x, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    bool here = false;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        here = here || !isfinite(x[i]);
    if (here)
        atomicMax(found, 1);
}

/* out (rows, width) = or += scale * values (rows, keys) other (keys, width), or by key:
 * out (keys, width) = or += scale * values^T other (rows, width). */
struct sums {
    const struct tile *tile; /* after hide() */
    const float *other;
    float *out;
    size_t width;
    bool by_key, add;
    float scale;
};

/* What a kernel has of it, to add cell by cell where *careful says so. */
struct cellwise {
    struct tile tile;
    const float *other;
    const int *careful; /* NULL: no need */
    size_t width;
    bool by_key;
    float scale;
};

static __device__ float sum_of_cells(const struct cellwise &s, size_t line, size_t lane)
{
    size_t terms = s.by_key ? s.tile.rows : s.tile.keys;
    float sum = 0;

    for (size_t i = 0; i < terms; i++) {
        size_t r = s.by_key ? i : line, j = s.by_key ? line : i;

        if (txd_cuda_cell(s.tile.cells, r, j))
            sum += s.scale * s.tile.values[r * s.tile.stride + j] *
                   s.other[i * s.width + lane];
    }
    return sum;
}

template <typename Round>
static __global__ void store_sums(float *out, const float *product, size_t count,
                                  bool add, struct cellwise s)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    bool careful = s.careful != NULL && *s.careful != 0;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += step) {
        float sum = careful ? sum_of_cells(s, i / s.width, i % s.width) : product[i];

        out[i] = Round()(add ? out[i] + sum : sum);
    }
}

/* Whether `other`, of `count` numbers, has one that is not finite. */
static const int *look(const float *other, size_t count)
{
    int *found = (int *)txd_cuda_workspace(sizeof(int));

    if (found == NULL ||
        txd_cuda_try("clearing", cudaMemsetAsync(found, 0, sizeof(int),
                                                 txd_cuda_stream())) != TXD_OK)
        return NULL;
    if (count > 0)
        TXD_LAUNCH(find_unfinite, txd_cuda_blocks(count, THREADS), THREADS, 0, found,
                   other, count);
    return found;
}

template <typename Round>
static txd_status add_up(const char *name, const struct sums *s)
{
    const struct tile *tile = s->tile;
    size_t lines = s->by_key ? tile->keys : tile->rows;
    size_t terms = s->by_key ? tile->rows : tile->keys, count = lines * s->width;
    struct txd_cuda_product product = {};
    struct cellwise cells = {*tile, s->other, NULL, s->width, s->by_key, s->scale};

    if (count == 0)
        return TXD_OK;
    product.a = {tile->values, tile->stride, s->by_key};
    product.b = {s->other, s->width, false};
    product.out = (float *)txd_cuda_workspace(count * sizeof(float));
    product.m = lines;
    product.n = product.out_stride = s->width;
    product.k = terms;
    product.scale = s->scale;
    if (has_cells(tile) && terms > 0)
        cells.careful = look(s->other, terms * s->width);
    if (product.out == NULL || (has_cells(tile) && terms > 0 && cells.careful == NULL))
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_cuda_multiply<Round>(name, &product));
    TXD_LAUNCH((store_sums<Round>), txd_cuda_blocks(count, THREADS), THREADS, 0, s->out,
               product.out, count, s->add, cells);
    return txd_cuda_check(name);
}

/* ---- the entries ---- */

template <typename Round>
static txd_status scores_back_as(const struct txd_scores_back_args *a)
{
    struct tile tile = {(const float *)a->d_out, a->rows, a->keys, a->stride, {}};
    struct sums sums = {&tile, NULL, NULL, a->width, false, false, (float)a->scale};

    TXD_TRY(txd_cuda_cells_stage(&tile.cells, a->visible, a->spans, a->rows, a->keys,
                                 a->stride));
    TXD_TRY(hide("scores_back", &tile));
    if (a->d_q != NULL) {
        sums.other = (const float *)a->k;
        sums.out = (float *)a->d_q;
        sums.add = a->add;
        TXD_TRY(add_up<Round>("scores_back", &sums));
    }
    if (a->d_k == NULL)
        return TXD_OK;
    sums.other = (const float *)a->q;
    sums.out = (float *)a->d_k;
    sums.by_key = sums.add = true;
    return add_up<Round>("scores_back", &sums);
}

template <typename Round> static txd_status mix_as(const struct txd_mix_args *a)
{
    struct tile tile = {(const float *)a->weights, a->rows, a->keys, a->stride, {}};
    struct sums sums = {
        &tile, (const float *)a->v, (float *)a->out, a->width, false, false, 1};

    TXD_TRY(txd_cuda_cells_stage(&tile.cells, a->used, a->spans, a->rows, a->keys,
                                 a->stride));
    TXD_TRY(hide("mix", &tile));
    return add_up<Round>("mix", &sums);
}

/* Each cell is a product of its own: unused ones are computed, and then put to 0. */
template <typename Round>
static txd_status back_weights(const struct txd_mix_back_args *a,
                               const struct tile *tile)
{
    struct txd_cuda_product product = {};

    product.a = {(const float *)a->d_out, a->width, false};
    product.b = {(const float *)a->v, a->width, true};
    product.out = (float *)a->d_weights;
    product.m = a->rows;
    product.n = a->keys;
    product.k = a->width;
    product.out_stride = a->stride;
    product.scale = 1;
    TXD_TRY(txd_cuda_multiply<Round>("mix_back", &product));
    return stored_rows<Round>("mix_back", a->d_weights, tile);
}

template <typename Round>
static txd_status mix_back_as(const struct txd_mix_back_args *a)
{
    struct tile tile = {(const float *)a->weights, a->rows, a->keys, a->stride, {}};
    struct sums sums = {
        &tile, (const float *)a->d_out, (float *)a->d_v, a->width, true, true, 1};

    TXD_TRY(txd_cuda_cells_stage(&tile.cells, a->used, a->spans, a->rows, a->keys,
                                 a->stride));
    if (a->d_weights != NULL)
        TXD_TRY(back_weights<Round>(a, &tile));
    if (a->d_v == NULL)
        return TXD_OK;
    TXD_TRY(hide("mix_back", &tile));
    return add_up<Round>("mix_back", &sums);
}

TXD_CUDA_ENTRIES(scores, scores)
TXD_CUDA_ENTRIES(scores_back, scores_back)
TXD_CUDA_ENTRIES(mix, mix)
TXD_CUDA_ENTRIES(mix_back, mix_back)
