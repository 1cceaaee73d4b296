/* SPDX-License-Identifier: MIT
 *
 * Products of the CPU backend through CBLAS. Every product is a one-thread BLAS call
 * inside our own loop over blocks whose geometry depends on shapes alone, so that the
 * number of threads cannot change a bit. Those of attention are called for tiles, from
 * within such a loop, and have none of their own.
 */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/ref.h"

/* Rows and columns of a block of a linear map. */
#define BLOCK_ROWS 64
#define BLOCK_COLUMNS 512
/* Products per scalar operation's time. */
#define VECTOR 8

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t blocks_of(size_t count, size_t block)
{
    return (count + block - 1) / block;
}

/* The i-th block of a matrix. */
struct block {
    size_t row, column, rows, columns;
};

static struct block block_of(size_t i, size_t rows, size_t columns)
{
    size_t across = blocks_of(columns, BLOCK_COLUMNS);
    struct block b = {.row = i / across * BLOCK_ROWS,
                      .column = i % across * BLOCK_COLUMNS};

    b.rows = least(BLOCK_ROWS, rows - b.row);
    b.columns = least(BLOCK_COLUMNS, columns - b.column);
    return b;
}

/* Runs `body` over the blocks of a matrix whose elements are sums of `depth` products.
 */
static txd_status over_blocks(txd_ctx *ctx, const size_t shape[2], size_t depth,
                              txd_status (*body)(void *self, size_t i, int worker),
                              void *self)
{
    size_t blocks =
        blocks_of(shape[0], BLOCK_ROWS) * blocks_of(shape[1], BLOCK_COLUMNS);
    double products = (double)shape[0] * (double)shape[1] * (double)depth;

    return txd_parallel(ctx, blocks, products / VECTOR / (double)blocks, body, self);
}

static txd_status linear_block(void *self, size_t i, int worker)
{
    const struct txd_linear_args *a = self;
    struct block b = block_of(i, a->rows, a->n);
    const float *bias = a->bias;
    float *out = (float *)a->out + b.row * a->n + b.column;

    (void)worker;
    for (size_t y = 0; y < b.rows; y++) {
        if (bias != NULL)
            memcpy(out + y * a->n, bias + b.column, b.columns * sizeof(float));
        else
            memset(out + y * a->n, 0, b.columns * sizeof(float));
    }
    if (a->k > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b.rows,
                    (int)b.columns, (int)a->k, 1.0f, (const float *)a->x + b.row * a->k,
                    (int)a->k, (const float *)a->weight + b.column * a->k, (int)a->k,
                    1.0f, out, (int)a->n);
    return TXD_OK;
}

txd_status txd_cpu32_linear(txd_ctx *ctx, const struct txd_linear_args *a)
{
    struct txd_linear_args copy = *a;

    return over_blocks(ctx, (const size_t[2]){a->rows, a->n}, a->k, linear_block,
                       &copy);
}

static txd_status linear_back_x(void *self, size_t i, int worker)
{
    const struct txd_linear_back_args *a = self;
    struct block b = block_of(i, a->rows, a->k);
    float *d_x = (float *)a->d_x + b.row * a->k + b.column;

    (void)worker;
    for (size_t y = 0; y < b.rows && !a->add; y++)
        memset(d_x + y * a->k, 0, b.columns * sizeof(float));
    if (a->n > 0)
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)b.rows, (int)b.columns,
            (int)a->n, 1.0f, (const float *)a->d_out + b.row * a->n, (int)a->n,
            (const float *)a->weight + b.column, (int)a->k, 1.0f, d_x, (int)a->k);
    return TXD_OK;
}

/* All rows are in one product: no sum is divided among tasks. */
static txd_status linear_back_weight(void *self, size_t i, int worker)
{
    const struct txd_linear_back_args *a = self;
    struct block b = block_of(i, a->n, a->k);

    (void)worker;
    if (a->rows > 0)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)b.rows,
                    (int)b.columns, (int)a->rows, 1.0f, (const float *)a->d_out + b.row,
                    (int)a->n, (const float *)a->x + b.column, (int)a->k, 1.0f,
                    (float *)a->d_weight + b.row * a->k + b.column, (int)a->k);
    return TXD_OK;
}

static txd_status linear_back_bias(void *self, size_t i, int worker)
{
    const struct txd_linear_back_args *a = self;
    size_t begin = i * BLOCK_COLUMNS, end = least(a->n, begin + BLOCK_COLUMNS);
    const float *d_out = a->d_out;
    float *d_bias = a->d_bias;

    (void)worker;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = begin; j < end; j++)
            d_bias[j] += d_out[r * a->n + j];
    return TXD_OK;
}

txd_status txd_cpu32_linear_back(txd_ctx *ctx, const struct txd_linear_back_args *a)
{
    struct txd_linear_back_args copy = *a;

    if (a->d_x != NULL)
        TXD_TRY(over_blocks(ctx, (const size_t[2]){a->rows, a->k}, a->n, linear_back_x,
                            &copy));
    if (a->d_weight != NULL)
        TXD_TRY(over_blocks(ctx, (const size_t[2]){a->n, a->k}, a->rows,
                            linear_back_weight, &copy));
    if (a->d_bias == NULL)
        return TXD_OK;
    return txd_parallel(ctx, blocks_of(a->n, BLOCK_COLUMNS),
                        (double)a->rows * BLOCK_COLUMNS, linear_back_bias, &copy);
}

/* ---- attention ---- */

static bool all_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* A matrix that is multiplied, and the cells of it that count. */
struct cells {
    const float *value;
    const uint8_t *used;
    size_t rows, keys, stride;
};

static bool zero_unless_used(struct cells c)
{
    for (size_t r = 0; r < c.rows; r++)
        for (size_t j = 0; j < c.keys; j++) {
            size_t at = r * c.stride + j;

            if (!c.used[at] && c.value[at] != 0)
                return false;
        }
    return true;
}

txd_status txd_cpu32_scores(txd_ctx *ctx, const struct txd_scores_args *a)
{
    (void)ctx;
    if (a->rows > 0 && a->keys > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)a->rows, (int)a->keys,
                    (int)a->width, (float)a->scale, a->q, (int)a->width, a->k,
                    (int)a->width, 0.0f, a->out, (int)a->stride);
    return TXD_OK;
}

/* True if multiplying the hidden cells too adds nothing but zeros. */
static bool hidden_add_nothing(const struct txd_scores_back_args *a)
{
    struct cells cells = {a->d_out, a->visible, a->rows, a->keys, a->stride};

    return a->visible == NULL ||
           (all_finite(a->q, a->rows * a->width) &&
            all_finite(a->k, a->keys * a->width) && zero_unless_used(cells));
}

txd_status txd_cpu32_scores_back(txd_ctx *ctx, const struct txd_scores_back_args *a)
{
    if (a->rows == 0 || a->keys == 0 || a->width == 0 || !hidden_add_nothing(a))
        return txd_ref32_scores_back(ctx, a);
    if (a->d_q != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)a->rows,
                    (int)a->width, (int)a->keys, (float)a->scale, a->d_out,
                    (int)a->stride, a->k, (int)a->width, a->add ? 1.0f : 0.0f, a->d_q,
                    (int)a->width);
    if (a->d_k != NULL)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->keys,
                    (int)a->width, (int)a->rows, (float)a->scale, a->d_out,
                    (int)a->stride, a->q, (int)a->width, 1.0f, a->d_k, (int)a->width);
    return TXD_OK;
}

/* True if multiplying the unused cells too adds nothing but zeros. */
static bool unused_add_nothing(const struct txd_mix_args *a)
{
    struct cells cells = {a->weights, a->used, a->rows, a->keys, a->stride};

    return all_finite(a->v, a->keys * a->width) && zero_unless_used(cells);
}

txd_status txd_cpu32_mix(txd_ctx *ctx, const struct txd_mix_args *a)
{
    if (a->rows == 0 || a->keys == 0 || a->width == 0 || !unused_add_nothing(a))
        return txd_ref32_mix(ctx, a);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)a->rows, (int)a->width,
                (int)a->keys, 1.0f, a->weights, (int)a->stride, a->v, (int)a->width,
                0.0f, a->out, (int)a->width);
    return TXD_OK;
}

/* Each cell is a product of its own: unused ones are computed, and then put to 0. */
static void mix_back_weights(const struct txd_mix_back_args *a)
{
    float *d_weights = a->d_weights;

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)a->rows, (int)a->keys,
                (int)a->width, 1.0f, a->d_out, (int)a->width, a->v, (int)a->width, 0.0f,
                d_weights, (int)a->stride);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++)
            if (!a->used[r * a->stride + j])
                d_weights[r * a->stride + j] = 0;
}

txd_status txd_cpu32_mix_back(txd_ctx *ctx, const struct txd_mix_back_args *a)
{
    struct txd_mix_back_args values = *a;
    struct cells cells = {a->weights, a->used, a->rows, a->keys, a->stride};

    if (a->rows == 0 || a->keys == 0 || a->width == 0)
        return txd_ref32_mix_back(ctx, a);
    if (a->d_weights != NULL)
        mix_back_weights(a);
    if (a->d_v == NULL)
        return TXD_OK;
    values.d_weights = NULL;
    if (!all_finite(a->d_out, a->rows * a->width) || !zero_unless_used(cells))
        return txd_ref32_mix_back(ctx, &values);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->keys, (int)a->width,
                (int)a->rows, 1.0f, a->weights, (int)a->stride, a->d_out, (int)a->width,
                1.0f, a->d_v, (int)a->width);
    return TXD_OK;
}
