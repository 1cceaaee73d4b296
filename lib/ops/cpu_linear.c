/* SPDX-License-Identifier: MIT
 *
 * Linear maps of the CPU backend through CBLAS. Every product is a one-thread BLAS call
 * inside our own loop over blocks whose geometry depends on shapes alone, so that the
 * number of threads cannot change a bit.
 */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* Rows and columns of a block of a linear map, at most. A BLAS packs anew what a block
 * reads, which costs as much as some ten products of every element that is packed, and
 * more where lines are a power of two long: hence large blocks, ... */
#define BLOCK_MOST 512
/* ... which are cut while there are fewer than so many, unless they are small: */
#define BLOCKS 8
#define BLOCK_PRODUCTS 8e6
#define BLOCK_LEAST 32
/* The lanes of a BLAS kernel's tile, at most: cuts fall between tiles. */
#define TILE 16
/* Columns of a stripe of d_bias. */
#define STRIPE 512
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

/* How a matrix whose elements are sums of `depth` products is cut: by its shape alone.
 */
struct blocks {
    size_t rows, columns; /* of the matrix */
    size_t height, width; /* of a block */
    size_t down, across;  /* blocks */
    double products;      /* of a block */
};

/* The size of the parts, about equal, into which `count` is cut. */
static size_t part_of(size_t count, size_t most)
{
    size_t parts = blocks_of(count, most);

    return parts < 2 ? count : blocks_of(blocks_of(count, parts), TILE) * TILE;
}

static void cut(struct blocks *b, size_t height, size_t width, size_t depth)
{
    b->height = part_of(b->rows, height);
    b->width = part_of(b->columns, width);
    b->down = blocks_of(b->rows, b->height);
    b->across = blocks_of(b->columns, b->width);
    b->products = (double)b->height * (double)b->width * (double)depth;
}

/* Blocks are twice as high as wide, if not as wide as high. */
static struct blocks blocks_over(size_t rows, size_t columns, size_t depth)
{
    struct blocks b = {.rows = rows, .columns = columns};
    size_t height = BLOCK_MOST, width = BLOCK_MOST;

    if (rows == 0 || columns == 0)
        return b;
    for (cut(&b, height, width, depth);
         b.down * b.across < BLOCKS && b.products > BLOCK_PRODUCTS &&
         height > BLOCK_LEAST;
         cut(&b, height, width, depth)) {
        if (width == height)
            width /= 2;
        else
            height /= 2;
    }
    return b;
}

/* The i-th block of a matrix. */
struct block {
    size_t row, column, rows, columns;
};

static struct block block_of(const struct blocks *blocks, size_t i)
{
    struct block b = {.row = i / blocks->across * blocks->height,
                      .column = i % blocks->across * blocks->width};

    b.rows = least(blocks->height, blocks->rows - b.row);
    b.columns = least(blocks->width, blocks->columns - b.column);
    return b;
}

static txd_status over_blocks(txd_ctx *ctx, const struct blocks *blocks,
                              txd_status (*body)(void *self, size_t i, int worker),
                              void *self)
{
    return txd_parallel(ctx, blocks->down * blocks->across, blocks->products / VECTOR,
                        body, self);
}

/* A linear map, forward or back, and how its result is cut. */
struct linear_job {
    const struct txd_linear_args *a;
    struct blocks blocks;
};

static txd_status linear_block(void *self, size_t i, int worker)
{
    const struct linear_job *job = self;
    const struct txd_linear_args *a = job->a;
    struct block b = block_of(&job->blocks, i);
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
    struct linear_job job = {a, blocks_over(a->rows, a->n, a->k)};

    return over_blocks(ctx, &job.blocks, linear_block, &job);
}

struct linear_back_job {
    const struct txd_linear_back_args *a;
    struct blocks blocks;
};

static txd_status linear_back_x(void *self, size_t i, int worker)
{
    const struct linear_back_job *job = self;
    const struct txd_linear_back_args *a = job->a;
    struct block b = block_of(&job->blocks, i);
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
    const struct linear_back_job *job = self;
    const struct txd_linear_back_args *a = job->a;
    struct block b = block_of(&job->blocks, i);

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
    size_t begin = i * STRIPE, count = least(STRIPE, a->n - begin);
    float *d_bias = (float *)a->d_bias + begin;

    (void)worker;
    for (size_t r = 0; r < a->rows; r++)
        txd_kernels_here()->add(d_bias, d_bias,
                                (const float *)a->d_out + r * a->n + begin, count);
    return TXD_OK;
}

txd_status txd_cpu32_linear_back(txd_ctx *ctx, const struct txd_linear_back_args *a)
{
    struct txd_linear_back_args copy = *a;
    struct linear_back_job job = {.a = a};

    if (a->d_x != NULL) {
        job.blocks = blocks_over(a->rows, a->k, a->n);
        TXD_TRY(over_blocks(ctx, &job.blocks, linear_back_x, &job));
    }
    if (a->d_weight != NULL) {
        job.blocks = blocks_over(a->n, a->k, a->rows);
        TXD_TRY(over_blocks(ctx, &job.blocks, linear_back_weight, &job));
    }
    if (a->d_bias == NULL)
        return TXD_OK;
    return txd_parallel(ctx, blocks_of(a->n, STRIPE), (double)a->rows * STRIPE,
                        linear_back_bias, &copy);
}
