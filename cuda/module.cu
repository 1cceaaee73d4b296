/* SPDX-License-Identifier: MIT
 *
 * The module's one symbol, and its backends. Their entries hold the lock under which
 * operations have the device's stream and scratch memory to themselves (device.h).
 */
#include "cuda/launch.h"

#include <stdio.h>

#include "cuda/attend.h"
#include "cuda/products.h"
#include "cuda/module.h"

#define TXD_OP(name, arguments)                                                        \
    static txd_status locked32_##name(txd_ctx *ctx,                                    \
                                      const struct txd_##arguments##_args *a)          \
    {                                                                                  \
        txd_status status;                                                             \
                                                                                       \
        txd_cuda_begin();                                                              \
        status = txd_cuda32_##name(ctx, a);                                            \
        txd_cuda_end();                                                                \
        return status;                                                                 \
    }                                                                                  \
    static txd_status locked16_##name(txd_ctx *ctx,                                    \
                                      const struct txd_##arguments##_args *a)          \
    {                                                                                  \
        txd_status status;                                                             \
                                                                                       \
        txd_cuda_begin();                                                              \
        status = txd_cudabf16_##name(ctx, a);                                          \
        txd_cuda_end();                                                                \
        return status;                                                                 \
    }
TXD_OPS(TXD_OP)
TXD_OP(attend, attend)
TXD_OP(attend_back, attend_back)
#undef TXD_OP

enum { CUDA32, CUDABF16, BACKENDS };

static const char *const names[BACKENDS] = {"cuda32", "cudabf16"};
static txd_backend backends[BACKENDS];

static const char *blas_slow(void)
{
    return NULL;
}

static void fill_memory(txd_backend *backend)
{
    backend->dtype = TXD_F32;
    backend->alloc = txd_cuda_alloc;
    backend->free = txd_cuda_free;
    backend->upload = txd_cuda_upload;
    backend->download = txd_cuda_download;
    backend->copy = txd_cuda_copy;
    backend->zero = txd_cuda_zero;
    backend->sync = txd_cuda_sync;
    backend->accumulate = txd_cuda_accumulate;
    backend->divide = txd_cuda_divide;
    backend->squares = txd_cuda_squares;
    backend->blas = txd_cuda_blas;
    backend->blas_slow = blas_slow;
}

static void fill(void)
{
    static char simd[32];
    const struct txd_cuda_device *device = txd_cuda_device_here();

    snprintf(simd, sizeof simd, "sm_%d%d", device->major, device->minor);
    for (int i = 0; i < BACKENDS; i++) {
        fill_memory(&backends[i]);
        backends[i].name = names[i];
        backends[i].simd = simd;
    }
    backends[CUDA32].sentence =
        "float32 on an NVIDIA GPU, products by cuBLAS without TF32";
    backends[CUDA32].format = TXD_F32;
    backends[CUDABF16].sentence =
        "the same with every stored value rounded to bfloat16 (8 bits)";
    backends[CUDABF16].format = TXD_BF16;
#define TXD_OP(name, arguments)                                                        \
    backends[CUDA32].ops.name = locked32_##name;                                       \
    backends[CUDABF16].ops.name = locked16_##name;
    TXD_OPS(TXD_OP)
#undef TXD_OP
    backends[CUDA32].attend = locked32_attend;
    backends[CUDABF16].attend = locked16_attend;
    backends[CUDA32].attend_back = locked32_attend_back;
    backends[CUDABF16].attend_back = locked16_attend_back;
}

static txd_status open_module(const struct txd_module_host *host)
{
    TXD_TRY(txd_cuda_open(host));
    TXD_TRY(host->backend(&backends[CUDA32].host, "cpu32"));
    TXD_TRY(host->backend(&backends[CUDABF16].host, "bf16"));
    fill();
    return TXD_OK;
}

static const txd_backend *backend_at(size_t i)
{
    return i < BACKENDS ? &backends[i] : NULL;
}

static const struct txd_module this_module = {
    TXD_MODULE_ABI, sizeof(txd_backend), BACKENDS, names, open_module, backend_at,
};

extern "C" __attribute__((visibility("default"))) const struct txd_module *
txd_cuda_module(void)
{
    return &this_module;
}
