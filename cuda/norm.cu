/* SPDX-License-Identifier: MIT
 *
 * Normalisation over rows (formulas: ops/args.h; the reference: ops/ref_norm.c). A
 * block does one row at a time; sums over a row are taken in double, deviations from
 * the computed mean. What is summed over rows is summed in groups of rows, then over
 * the groups, both in ascending order.
 */
#include "cuda/quads.h"

namespace
{
/* What a row is taken minus, and what then times. */
struct row_scale {
    float mean, factor;
};

struct norm_row {
    const float *x;
    size_t width;
    double eps;
    bool root_mean_square, fit;
};
} // namespace

static __device__ struct row_scale scale_of(const struct norm_row &row)
{
    double sum = 0, squares = 0, width = (double)row.width;
    float mean = 0;

    if (!row.root_mean_square) {
        for (size_t i = txd_block_begin(); i < row.width; i += txd_block_step()) {
            txd_quad x = txd_load(row.x, i, row.width, row.fit, 0);

            for (unsigned k = 0; k < TXD_QUAD; k++)
                sum += (double)x.at[k];
        }
        mean = (float)(txd_block_sum(sum) / width);
    }
    for (size_t i = txd_block_begin(); i < row.width; i += txd_block_step()) {
        txd_quad x = txd_load(row.x, i, row.width, row.fit, mean);

        for (unsigned k = 0; k < TXD_QUAD; k++) {
            double away = (double)(x.at[k] - mean);

            squares += away * away;
        }
    }
    return {mean, (float)(1 / sqrt(txd_block_sum(squares) / width + row.eps))};
}

/* ---- forward ---- */

template <typename Round>
static __global__ void norm_rows(struct txd_norm_args a, bool fit)
{
    const float *gain = (const float *)a.gain, *bias = (const float *)a.bias;
    float offset = (float)a.offset;

    for (size_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
        const float *x = (const float *)a.x + r * a.width;
        float *out = (float *)a.out + r * a.width;
        struct row_scale by = scale_of({x, a.width, a.eps, a.root_mean_square, fit});

        for (size_t i = txd_block_begin(); i < a.width; i += txd_block_step()) {
            txd_quad y = txd_load(x, i, a.width, fit, 0), shift = {{0, 0, 0, 0}};
            txd_quad times = txd_load(gain, i, a.width, fit, 0);

            if (bias != NULL)
                shift = txd_load(bias, i, a.width, fit, 0);
            for (unsigned k = 0; k < TXD_QUAD; k++) {
                float normal = (y.at[k] - by.mean) * by.factor;

                y.at[k] = Round()((offset + times.at[k]) * normal + shift.at[k]);
            }
            txd_store(out, i, a.width, fit, y);
        }
    }
}

template <typename Round> static txd_status norm_as(const struct txd_norm_args *a)
{
    bool fit = txd_quads_fit_rows(a->x, a->width) && txd_quads_fit(a->out) &&
               txd_quads_fit(a->gain) && txd_quads_fit(a->bias);

    if (a->rows == 0 || a->width == 0)
        return TXD_OK;
    TXD_LAUNCH((norm_rows<Round>), txd_row_blocks(a->rows),
               txd_row_threads(a->width, TXD_THREADS), 0, *a, fit);
    return txd_cuda_check("norm");
}

TXD_CUDA_ENTRIES(norm, norm)

/* ---- backward, by rows ---- */

/* What d_x of a row needs beside its scale: the means of g y and of g. */
struct row_means {
    float along, level;
};

static __device__ struct row_means means_of(const struct txd_norm_back_args &a,
                                            const float *x, const float *d_out,
                                            struct row_scale by, bool fit)
{
    const float *gain = (const float *)a.gain;
    double along = 0, level = 0, width = (double)a.width;
    float offset = (float)a.offset;

    for (size_t i = txd_block_begin(); i < a.width; i += txd_block_step()) {
        txd_quad value = txd_load(x, i, a.width, fit, 0);
        txd_quad d = txd_load(d_out, i, a.width, fit, 0);
        txd_quad times = txd_load(gain, i, a.width, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++) {
            float g = i + k < a.width ? (offset + times.at[k]) * d.at[k] : 0;
            float y = i + k < a.width ? (value.at[k] - by.mean) * by.factor : 0;

            along += (double)g * (double)y;
            level += (double)g;
        }
    }
    along = txd_block_sum(along) / width;
    level = a.root_mean_square ? 0 : txd_block_sum(level) / width;
    return {(float)along, (float)level};
}

template <typename Round>
static __device__ void norm_back_row(const struct txd_norm_back_args &a, size_t r,
                                     struct row_scale by, bool fit)
{
    const float *x = (const float *)a.x + r * a.width;
    const float *d_out = (const float *)a.d_out + r * a.width;
    const float *gain = (const float *)a.gain;
    float *d_x = (float *)a.d_x + r * a.width, offset = (float)a.offset;
    struct row_means of = means_of(a, x, d_out, by, fit);

    for (size_t i = txd_block_begin(); i < a.width; i += txd_block_step()) {
        txd_quad value = txd_load(x, i, a.width, fit, 0);
        txd_quad d = txd_load(d_out, i, a.width, fit, 0), before = {{0, 0, 0, 0}};
        txd_quad times = txd_load(gain, i, a.width, fit, 0);

        if (a.add)
            before = txd_load(d_x, i, a.width, fit, 0);
        for (unsigned k = 0; k < TXD_QUAD; k++) {
            float g = (offset + times.at[k]) * d.at[k];
            float y = (value.at[k] - by.mean) * by.factor;
            float slope = by.factor * (g - of.level - y * of.along);

            d.at[k] = Round()(a.add ? before.at[k] + slope : slope);
        }
        txd_store(d_x, i, a.width, fit, d);
    }
}

template <typename Round>
static __global__ void norm_back_rows(struct row_scale *scales,
                                      struct txd_norm_back_args a, bool fit)
{
    for (size_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
        const float *x = (const float *)a.x + r * a.width;
        struct row_scale by = scale_of({x, a.width, a.eps, a.root_mean_square, fit});

        if (threadIdx.x == 0)
            scales[r] = by;
        if (a.d_x != NULL)
            norm_back_row<Round>(a, r, by, fit);
    }
}

/* ---- backward, over rows ---- */

/* Rows of a group at least, and the most groups. */
#define GROUP_ROWS 32u
#define GROUPS 128u

static size_t group_rows(size_t rows)
{
    size_t each = (rows + GROUPS - 1) / GROUPS;

    return each < GROUP_ROWS ? GROUP_ROWS : each;
}

/* Sums of d_gain and d_bias over each group's rows, (groups, width) each; a thread has
 * a lane, the second side of the grid is the groups. */
static __global__ void norm_back_groups(float *gains, float *biases,
                                        const struct row_scale *scales,
                                        struct txd_norm_back_args a, size_t each)
{
    const float *x = (const float *)a.x, *d_out = (const float *)a.d_out;
    size_t first = blockIdx.y * each, step = (size_t)gridDim.x * blockDim.x;
    size_t end = first + each < a.rows ? first + each : a.rows;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.width;
         i += step) {
        float gain = 0, bias = 0;

        for (size_t r = first; r < end; r++) {
            float d = d_out[r * a.width + i];

            gain += d * ((x[r * a.width + i] - scales[r].mean) * scales[r].factor);
            bias += d;
        }
        gains[blockIdx.y * a.width + i] = gain;
        biases[blockIdx.y * a.width + i] = bias;
    }
}

/* to (width) += the sum of the groups. */
template <typename Round>
static __global__ void norm_back_sums(float *to, const float *parts, size_t groups,
                                      size_t width)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < width;
         i += step) {
        float sum = to[i];

        for (size_t g = 0; g < groups; g++)
            sum += parts[g * width + i];
        to[i] = Round()(sum);
    }
}

template <typename Round>
static txd_status norm_back_params(const struct row_scale *scales,
                                   const struct txd_norm_back_args *a)
{
    size_t each = group_rows(a->rows), groups = (a->rows + each - 1) / each;
    size_t cells = groups * a->width;
    unsigned blocks = txd_cuda_blocks(a->width, TXD_THREADS);
    float *parts = (float *)txd_cuda_workspace(2 * cells * sizeof *parts);

    if (parts == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(norm_back_groups, dim3(blocks, (unsigned)groups), TXD_THREADS, 0, parts,
               parts + cells, scales, *a, each);
    if (a->d_gain != NULL)
        TXD_LAUNCH((norm_back_sums<Round>), blocks, TXD_THREADS, 0, (float *)a->d_gain,
                   parts, groups, a->width);
    if (a->d_bias != NULL)
        TXD_LAUNCH((norm_back_sums<Round>), blocks, TXD_THREADS, 0, (float *)a->d_bias,
                   parts + cells, groups, a->width);
    return TXD_OK;
}

template <typename Round>
static txd_status norm_back_as(const struct txd_norm_back_args *a)
{
    bool fit = txd_quads_fit_rows(a->x, a->width) && txd_quads_fit(a->d_out) &&
               txd_quads_fit(a->gain) && txd_quads_fit(a->d_x);
    struct row_scale *scales;

    if (a->rows == 0 || a->width == 0)
        return TXD_OK;
    scales = (struct row_scale *)txd_cuda_workspace(a->rows * sizeof *scales);
    if (scales == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH((norm_back_rows<Round>), txd_row_blocks(a->rows),
               txd_row_threads(a->width, TXD_THREADS), 0, scales, *a, fit);
    if (a->d_gain != NULL || a->d_bias != NULL)
        TXD_TRY(norm_back_params<Round>(scales, a));
    return txd_cuda_check("norm_back");
}

TXD_CUDA_ENTRIES(norm_back, norm_back)
