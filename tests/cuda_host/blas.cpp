/* SPDX-License-Identifier: MIT
 *
 * cuBLAS's products by CBLAS. Operands of bfloat16 are widened first, which is exact.
 */
#include "emulation.h"

#include <cblas.h>
#include <limits.h>
#include <new>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "include/cublas_v2.h"
#include "include/cuda_bf16.h"

struct cublasContext {
    int unused;
};

namespace emulated
{

struct matrix {
    const void *memory;
    cudaDataType type;
    int rows, columns, ld;
    long long stride;
};

static size_t size_of(cudaDataType type)
{
    return type == CUDA_R_16BF ? sizeof(__nv_bfloat16) : sizeof(float);
}

/* Elements from the first to the last one. */
static size_t extent(const matrix &m)
{
    return size_t(m.ld) * size_t(m.columns - 1) + size_t(m.rows);
}

/* Makes `memory` the host's; false if `count` of the matrix are not memory of the
 * device. */
static bool locate(matrix *m, int count)
{
    size_t last = size_t(m->stride) * size_t(count - 1);

    m->memory = device_memory(m->memory, (last + extent(*m)) * size_of(m->type));
    return m->memory != nullptr;
}

static const float *floats(const matrix &m, int i, std::vector<float> *own)
{
    size_t begin = size_t(m.stride) * size_t(i);

    if (m.type == CUDA_R_32F)
        return static_cast<const float *>(m.memory) + begin;
    own->resize(extent(m));
    for (int c = 0; c < m.columns; c++)
        for (int r = 0; r < m.rows; r++) {
            size_t at = size_t(m.ld) * size_t(c) + size_t(r);

            (*own)[at] = static_cast<const __nv_bfloat16 *>(m.memory)[begin + at];
        }
    return own->data();
}

struct product {
    cublasOperation_t transa, transb;
    int k;
    float alpha, beta;
    matrix a, b, c;
};

static CBLAS_TRANSPOSE transpose(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

static void multiply(const product &p, int i)
{
    std::vector<float> a, b, c;
    const float *from = floats(p.a, i, &a), *by = floats(p.b, i, &b);
    float *to = const_cast<float *>(floats(p.c, i, &c));

    cblas_sgemm(CblasColMajor, transpose(p.transa), transpose(p.transb), p.c.rows,
                p.c.columns, p.k, p.alpha, from, p.a.ld, by, p.b.ld, p.beta, to,
                p.c.ld);
    if (p.c.type == CUDA_R_32F)
        return;
    for (int column = 0; column < p.c.columns; column++)
        for (int row = 0; row < p.c.rows; row++) {
            size_t at = size_t(p.c.ld) * size_t(column) + size_t(row);

            static_cast<__nv_bfloat16 *>(
                const_cast<void *>(p.c.memory))[size_t(p.c.stride) * size_t(i) + at] =
                __float2bfloat16_rn(to[at]);
        }
}

static bool is_valid(const matrix &m, const matrix &like, int count)
{
    return m.rows >= 0 && m.columns >= 0 && m.ld >= (m.rows > 1 ? m.rows : 1) &&
           m.stride >= 0 && count >= 0 &&
           (m.type == CUDA_R_32F || m.type == CUDA_R_16BF) && m.type == like.type;
}

static cublasStatus_t run(cublasHandle_t handle, product p, int count)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(p.a, p.b, count) || !is_valid(p.b, p.a, count) ||
        !is_valid(p.c, p.c, count) || p.k < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p.a.type == CUDA_R_32F && p.c.type != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.c.rows == 0 || p.c.columns == 0 || count == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!locate(&p.c, count) || (p.k && (!locate(&p.a, count) || !locate(&p.b, count))))
        return CUBLAS_STATUS_INVALID_VALUE;
#ifdef _OPENMP
    /* OpenBLAS takes as many threads as OpenMP would. */
    int threads = omp_get_max_threads();

    omp_set_num_threads(1);
#endif
    for (int i = 0; i < count; i++)
        multiply(p, i);
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
    return CUBLAS_STATUS_SUCCESS;
}

static product product_of(cublasOperation_t transa, cublasOperation_t transb, int m,
                          int n, int k)
{
    product p = {transa, transb, k, 0, 0, {}, {}, {}};

    p.a.rows = transa == CUBLAS_OP_N ? m : k;
    p.a.columns = transa == CUBLAS_OP_N ? k : m;
    p.b.rows = transb == CUBLAS_OP_N ? k : n;
    p.b.columns = transb == CUBLAS_OP_N ? n : k;
    p.c.rows = m;
    p.c.columns = n;
    return p;
}

static void set(matrix *m, const void *memory, cudaDataType type, int ld,
                long long stride)
{
    m->memory = memory;
    m->type = type;
    m->ld = ld;
    m->stride = stride;
}

} // namespace emulated

using namespace emulated;

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (device_state() != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
#ifdef OPENBLAS_VERSION
    enum { PTHREAD = 1 };

    if (openblas_get_parallel() == PTHREAD)
        openblas_set_num_threads(1);
#endif
    *handle = new (std::nothrow) cublasContext();
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

static cublasStatus_t with(cublasHandle_t handle)
{
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    *version = 10000 * CUBLAS_VER_MAJOR + 100 * CUBLAS_VER_MINOR + CUBLAS_VER_PATCH;
    return with(handle);
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t)
{
    return with(handle);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *memory, size_t bytes)
{
    if (bytes && !device_memory(memory, bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    return with(handle);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t)
{
    return with(handle);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t)
{
    return with(handle);
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    return mode == CUBLAS_POINTER_MODE_HOST ? with(handle)
                                            : CUBLAS_STATUS_NOT_SUPPORTED;
}

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} statuses[] = {
#define STATUS(name, text)                                                             \
    {                                                                                  \
        name, #name, text                                                              \
    }
    STATUS(CUBLAS_STATUS_SUCCESS, "success"),
    STATUS(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    STATUS(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    STATUS(CUBLAS_STATUS_INVALID_VALUE,
           "an unsupported value or parameter was passed to the function"),
    STATUS(CUBLAS_STATUS_ARCH_MISMATCH, "the feature is absent from the device"),
    STATUS(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"),
    STATUS(CUBLAS_STATUS_EXECUTION_FAILED, "the GPU program failed to execute"),
    STATUS(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    STATUS(CUBLAS_STATUS_NOT_SUPPORTED, "the functionality requested is not supported"),
#undef STATUS
};

const char *cublasGetStatusName(cublasStatus_t status)
{
    for (const auto &one : statuses)
        if (one.status == status)
            return one.name;
    return "unknown status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    for (const auto &one : statuses)
        if (one.status == status)
            return one.text;
    return "unknown status";
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *a, cudaDataType atype, int lda,
    long long stridea, const void *b, cudaDataType btype, int ldb, long long strideb,
    const void *beta, void *c, cudaDataType ctype, int ldc, long long stridec,
    int count, cublasComputeType_t, cublasGemmAlgo_t)
{
    product p = product_of(transa, transb, m, n, k);

    if (!alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    p.alpha = *static_cast<const float *>(alpha);
    p.beta = *static_cast<const float *>(beta);
    set(&p.a, a, atype, lda, stridea);
    set(&p.b, b, btype, ldb, strideb);
    set(&p.c, c, ctype, ldc, stridec);
    return run(handle, p, count);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType atype,
                            int lda, const void *b, cudaDataType btype, int ldb,
                            const void *beta, void *c, cudaDataType ctype, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, atype,
                                      lda, 0, b, btype, ldb, 0, beta, c, ctype, ldc, 0,
                                      1, compute, algo);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle,
                                         cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long stridea, const float *b, int ldb,
                                         long long strideb, const float *beta, float *c,
                                         int ldc, long long stridec, int count)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a,
                                      CUDA_R_32F, lda, stridea, b, CUDA_R_32F, ldb,
                                      strideb, beta, c, CUDA_R_32F, ldc, stridec, count,
                                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k,
                           const float *alpha, const float *a, int lda, const float *b,
                           int ldb, const float *beta, float *c, int ldc)
{
    return cublasSgemmStridedBatched(handle, transa, transb, m, n, k, alpha, a, lda, 0,
                                     b, ldb, 0, beta, c, ldc, 0, 1);
}
