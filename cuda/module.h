/* SPDX-License-Identifier: MIT
 *
 * What the files of the module itself have in common; kernels need device.h only.
 */
#ifndef TXD_CUDA_MODULE_H
#define TXD_CUDA_MODULE_H

#include <cuda_runtime.h>

#include "ops/module_abi.h"

/* ---- device.cu ---- */

/* What was found of the device; all 0 before txd_cuda_open. */
struct txd_cuda_device {
    char name[256];
    int major, minor; /* its compute capability */
    unsigned processors;
    size_t shared_most;
    int driver, runtime; /* versions of CUDA: 1000 major + 10 minor */
};

/* Finds the device, once; ERR_MISSING with what is missing and what to do. */
txd_status txd_cuda_open(const struct txd_module_host *host);
const struct txd_cuda_device *txd_cuda_device_here(void);
const struct txd_module_host *txd_cuda_host(void);
/* The second stream, for results that travel while kernels run. */
cudaStream_t txd_cuda_transfers(void);
/* The lock around every operation. */
void txd_cuda_begin(void);
void txd_cuda_end(void);

/* ---- scratch.cu ---- */

/* A new operation begins: what the last one had is free. */
void txd_cuda_scratch_begin(void);

/* ---- memory.cu: the entries of the backends' tables ---- */

/* ERR_MEMORY, with what is needed and what is free, if the device has no room. */
txd_status txd_cuda_room(size_t bytes);
void *txd_cuda_alloc(size_t bytes);
void txd_cuda_free(void *memory);
txd_status txd_cuda_upload(void *to, const void *from, size_t bytes);
txd_status txd_cuda_download(void *to, const void *from, size_t bytes);
txd_status txd_cuda_copy(void *to, const void *from, size_t bytes);
txd_status txd_cuda_zero(void *to, size_t bytes);
txd_status txd_cuda_sync(txd_ctx *ctx);

/* ---- gradients.cu: more of them ---- */

txd_status txd_cuda_accumulate(void *to, const void *from, size_t count);
txd_status txd_cuda_divide(void *values, double divisor, size_t count);
txd_status txd_cuda_squares(double *out, const void *values, size_t count);

#endif
