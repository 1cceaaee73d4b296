/* SPDX-License-Identifier: MIT
 *
 * The fast float32 backend for CPUs: the reference table with products through CBLAS.
 * Every product is a one-thread BLAS call inside our own loop over blocks whose
 * geometry depends on shapes alone, so that the number of threads cannot change a bit.
 */
#include "ops/cpu.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/ref.h"

/* Rows and columns of a block of a linear map; elements of an elementwise task. */
#define BLOCK_ROWS 64
#define BLOCK_COLUMNS 512
#define CHUNK 16384
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

static txd_status linear_block(void *self, size_t i, int worker)
{
    const struct txd_linear_args *a = self;
    size_t across = blocks_of(a->n, BLOCK_COLUMNS);
    size_t r = i / across * BLOCK_ROWS, c = i % across * BLOCK_COLUMNS;
    size_t rows = least(BLOCK_ROWS, a->rows - r);
    size_t columns = least(BLOCK_COLUMNS, a->n - c);
    const float *bias = a->bias;
    float *out = (float *)a->out + r * a->n + c;

    (void)worker;
    for (size_t y = 0; y < rows; y++) {
        if (bias != NULL)
            memcpy(out + y * a->n, bias + c, columns * sizeof(float));
        else
            memset(out + y * a->n, 0, columns * sizeof(float));
    }
    if (a->k > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns,
                    (int)a->k, 1.0f, (const float *)a->x + r * a->k, (int)a->k,
                    (const float *)a->weight + c * a->k, (int)a->k, 1.0f, out,
                    (int)a->n);
    return TXD_OK;
}

txd_status txd_cpu32_linear(txd_ctx *ctx, const struct txd_linear_args *a)
{
    struct txd_linear_args copy = *a;
    size_t blocks = blocks_of(a->rows, BLOCK_ROWS) * blocks_of(a->n, BLOCK_COLUMNS);
    double products = (double)a->rows * (double)a->n * (double)a->k;

    return txd_parallel(ctx, blocks, products / VECTOR / (double)blocks, linear_block,
                        &copy);
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

/* True if multiplying the unused cells too adds nothing but zeros. */
static bool unused_add_nothing(const struct txd_mix_args *a)
{
    const float *weights = a->weights, *v = a->v;

    for (size_t i = 0; i < a->keys * a->width; i++)
        if (!isfinite(v[i]))
            return false;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            size_t at = r * a->stride + j;

            if (!a->used[at] && weights[at] != 0)
                return false;
        }
    return true;
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

static txd_status activate_chunk(void *self, size_t i, int worker)
{
    struct txd_activate_args part = *(const struct txd_activate_args *)self;
    size_t begin = i * CHUNK;

    (void)worker;
    part.out = (float *)part.out + begin;
    part.x = (const float *)part.x + begin;
    part.count = least(CHUNK, part.count - begin);
    return txd_ref32_activate(NULL, &part);
}

txd_status txd_cpu32_activate(txd_ctx *ctx, const struct txd_activate_args *a)
{
    struct txd_activate_args copy = *a;

    return txd_parallel(ctx, blocks_of(a->count, CHUNK), 64.0 * CHUNK, activate_chunk,
                        &copy);
}

/* A BLAS with threads of its own must not use them; one that takes OpenMP's is held to
 * one by txd_parallel. (Asking OpenBLAS's OpenMP build for one thread would change
 * OpenMP's own count: measured.) */
void txd_cpu_prepare(void)
{
#ifdef OPENBLAS_VERSION
    enum { PTHREAD = 1 };

    if (openblas_get_parallel() == PTHREAD)
        openblas_set_num_threads(1);
#endif
}

const char *txd_cpu_blas(void)
{
#ifdef OPENBLAS_VERSION
    static _Thread_local char text[160];
    char name[24] = "OpenBLAS", version[24] = "";
    static const char *const kinds[] = {"sequential", "pthread", "OpenMP"};
    int kind = openblas_get_parallel();

    (void)sscanf(openblas_get_config(), "%23s %23s", name, version);
    snprintf(text, sizeof text, "%s %s, core %s, %s build, 1 thread per call", name,
             version, openblas_get_corename(),
             kind >= 0 && kind <= 2 ? kinds[kind] : "unknown");
    return text;
#else
    return "CBLAS";
#endif
}
