/* SPDX-License-Identifier: MIT
 *
 * Products through cuBLAS. One handle, one stream and a workspace of its own: then it
 * gives the same bits for the same shapes, whatever else the device does.
 *
 * cuBLAS counts columns first. A row-major matrix is, so read, its transpose: so out^T
 * = b^T a^T is asked for, with the operands as they lie.
 */
#include "cuda/launch.h"

#include <cublas_v2.h>
#include <limits.h>
#include <stdio.h>

#include "cuda/products.h"
#include "cuda/module.h"

/* What NVIDIA recommends for its larger devices. */
#define WORKSPACE ((size_t)32 << 20)
/* Elements of an operand that are in the workspace as bf16 at once, and the depth of a
 * part of a sum: by shapes alone. */
#define PART_ELEMENTS ((size_t)32 << 20)
#define PART_DEPTH ((size_t)16384)
#define THREADS 256u

static cublasHandle_t handle;

static txd_status fail_blas(const char *name, cublasStatus_t status)
{
    return txd_cuda_fail(status == CUBLAS_STATUS_ALLOC_FAILED ? TXD_ERR_MEMORY
                                                              : TXD_ERR_UNSUPPORTED,
                         "%s on the GPU failed: %s", name, cublasGetStatusName(status));
}

/* Under the module's lock. */
static txd_status make_handle(void)
{
    static void *workspace;
    cublasHandle_t made;
    cublasStatus_t status;

    if (handle != NULL)
        return TXD_OK;
    if (workspace == NULL) {
        TXD_TRY(txd_cuda_room(WORKSPACE));
        TXD_TRY(txd_cuda_try("getting memory", cudaMalloc(&workspace, WORKSPACE)));
    }
    status = cublasCreate(&made);
    if (status != CUBLAS_STATUS_SUCCESS)
        return fail_blas("starting cuBLAS", status);
    status = cublasSetStream(made, txd_cuda_stream());
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetWorkspace(made, workspace, WORKSPACE);
    if (status != CUBLAS_STATUS_SUCCESS) {
        (void)cublasDestroy(made);
        return fail_blas("starting cuBLAS", status);
    }
    handle = made;
    return TXD_OK;
}

const char *txd_cuda_blas(void)
{
    static thread_local char text[400];
    const struct txd_cuda_device *device = txd_cuda_device_here();

    snprintf(text, sizeof text, "cuBLAS of CUDA %d.%d, %s (sm_%d%d)",
             device->runtime / 1000, device->runtime % 1000 / 10, device->name,
             device->major, device->minor);
    return text;
}

static __global__ void clear_rows(float *out, size_t rows, size_t width, size_t stride)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows * width;
         i += step)
        out[i / width * stride + i % width] = 0;
}

/* True where there is nothing to multiply: then the result is as it must be. */
static bool is_empty(const struct txd_cuda_product *p)
{
    size_t cells = p->m * p->n;

    if (cells == 0)
        return true;
    if (p->k > 0)
        return false;
    if (!p->add)
        TXD_LAUNCH(clear_rows, txd_cuda_blocks(cells, THREADS), THREADS, 0, p->out,
                   p->m, p->n, p->out_stride);
    return true;
}

/* An operand as cuBLAS has it. */
struct operand {
    const void *values;
    size_t stride;
    cublasOperation_t how;
};

static cublasOperation_t how(bool turned)
{
    return turned ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static bool fits(size_t count)
{
    return count <= INT_MAX;
}

/* Both operands are of `type`. */
static txd_status gemm(const char *name, const struct txd_cuda_product *p,
                       const struct operand *a, const struct operand *b,
                       cudaDataType type)
{
    float add = p->add ? 1.0f : 0.0f;
    cublasStatus_t status;

    if (!fits(p->m) || !fits(p->n) || !fits(p->k) || !fits(a->stride) ||
        !fits(b->stride) || !fits(p->out_stride))
        return txd_cuda_fail(TXD_ERR_LIMIT,
                             "%s on the GPU: a matrix has more than %d rows or "
                             "columns: use a shorter sequence or a smaller batch",
                             name, INT_MAX);
    status = cublasGemmEx(handle, b->how, a->how, (int)p->n, (int)p->m, (int)p->k,
                          &p->scale, b->values, type, (int)b->stride, a->values, type,
                          (int)a->stride, &add, p->out, CUDA_R_32F, (int)p->out_stride,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? TXD_OK : fail_blas(name, status);
}

txd_status txd_cuda_multiply32(const char *name, const struct txd_cuda_product *p)
{
    struct operand a = {p->a.values, p->a.stride, how(p->a.turned)};
    struct operand b = {p->b.values, p->b.stride, how(p->b.turned)};

    if (is_empty(p))
        return txd_cuda_check(name);
    TXD_TRY(make_handle());
    return gemm(name, p, &a, &b, CUDA_R_32F);
}

/* ---- bf16 ---- */

/* rows x columns as they lie there. */
static __global__ void convert(__nv_bfloat16 *to, const float *from, size_t rows,
                               size_t columns, size_t stride)
{
    size_t step = (size_t)gridDim.x * blockDim.x, count = rows * columns;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += step) {
        size_t at = columns == stride ? i : i / columns * stride + i % columns;

        to[i] = __float2bfloat16_rn(from[at]);
    }
}

/* The part of a matrix that begins at (row, column), as bf16 in `to`. */
static struct operand converted(const struct txd_cuda_matrix *m, __nv_bfloat16 *to,
                                size_t row, size_t column, size_t rows, size_t columns)
{
    size_t lines = m->turned ? columns : rows, width = m->turned ? rows : columns;
    const float *from = m->turned ? m->values + column * m->stride + row
                                  : m->values + row * m->stride + column;

    TXD_LAUNCH(convert, txd_cuda_blocks(lines * width, THREADS), THREADS, 0, to, from,
               lines, width, m->stride);
    return {to, width, how(m->turned)};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How a product is cut, and where its operands' parts lie. */
struct parts {
    size_t m, n, k; /* of a part, at most */
    __nv_bfloat16 *a, *b;
};

/* The parts of one line of out (rows from `row` on) for one part of the sum. */
static txd_status across(const char *name, const struct txd_cuda_product *p,
                         const struct parts *parts, size_t row, size_t at)
{
    struct txd_cuda_product part = *p;
    struct operand a, b;

    part.m = least(parts->m, p->m - row);
    part.k = least(parts->k, p->k - at);
    part.add = p->add || at > 0;
    a = converted(&p->a, parts->a, row, at, part.m, part.k);
    for (size_t column = 0; column < p->n; column += parts->n) {
        part.n = least(parts->n, p->n - column);
        part.out = p->out + row * p->out_stride + column;
        b = converted(&p->b, parts->b, at, column, part.k, part.n);
        TXD_TRY(gemm(name, &part, &a, &b, CUDA_R_16BF));
    }
    return TXD_OK;
}

txd_status txd_cuda_multiply16(const char *name, const struct txd_cuda_product *p)
{
    struct parts parts;

    if (is_empty(p))
        return txd_cuda_check(name);
    TXD_TRY(make_handle());
    parts.k = least(p->k, PART_DEPTH);
    parts.m = least(p->m, PART_ELEMENTS / parts.k);
    parts.n = least(p->n, PART_ELEMENTS / parts.k);
    parts.a =
        (__nv_bfloat16 *)txd_cuda_workspace(parts.m * parts.k * sizeof(__nv_bfloat16));
    parts.b =
        (__nv_bfloat16 *)txd_cuda_workspace(parts.n * parts.k * sizeof(__nv_bfloat16));
    if (parts.a == NULL || parts.b == NULL)
        return TXD_ERR_MEMORY;
    for (size_t row = 0; row < p->m; row += parts.m)
        for (size_t at = 0; at < p->k; at += parts.k)
            TXD_TRY(across(name, p, &parts, row, at));
    return txd_cuda_check(name);
}
