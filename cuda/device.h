/* SPDX-License-Identifier: MIT
 *
 * What an operation has of the device: the stream it is queued on, scratch memory, and
 * the way of numbers between the host's memory and the device's.
 *
 * The table's entries (module.cu) hold one lock around every operation of cuda/. So all
 * of this is called by one thread at a time, which need not know of it, and
 * what txd_cuda_stage, txd_cuda_result and txd_cuda_workspace give is the operation's
 * own until it returns: kernels that it queued are done with the memory before those of
 * the next operation begin, since all are on one stream. Nothing is to be freed, and
 * nothing may be kept for a later call.
 *
 * Scratch memory grows to the largest need so far, so that as a rule no operation
 * allocates. Where there is no room for it, NULL or ERR_MEMORY comes with a message.
 *
 * Of the CUDA runtime only these are called here and in the kernels' files:
 * cudaMalloc, cudaFree, cudaHostAlloc, cudaFreeHost, cudaMemcpyAsync, cudaMemsetAsync,
 * cudaMemGetInfo, cudaStreamCreateWithFlags, cudaStreamSynchronize, cudaStreamDestroy,
 * cudaStreamWaitEvent, cudaEventCreateWithFlags, cudaEventRecord, cudaEventSynchronize,
 * cudaEventDestroy, cudaGetDeviceCount, cudaSetDevice, cudaDeviceGetAttribute,
 * cudaGetDeviceProperties, cudaDriverGetVersion, cudaRuntimeGetVersion,
 * cudaFuncSetAttribute, cudaGetLastError, cudaGetErrorName,
 * cudaGetErrorString. The emulation needs no others.
 */
#ifndef TXD_CUDA_DEVICE_H
#define TXD_CUDA_DEVICE_H

#include <cuda_runtime.h>

#include "base/status.h"

/* The stream of all operations. */
cudaStream_t txd_cuda_stream(void);

/* Sets the calling thread's message, as txd_fail does; returns `status`. */
txd_status txd_cuda_fail(txd_status status, const char *format, ...) TXD_PRINTF(2, 3);

/* After launches: TXD_OK if they could be queued (and nothing failed before); else a
 * failure that names `operation` and CUDA's error. */
txd_status txd_cuda_check(const char *operation);
/* The same of what a call of the runtime returned. */
txd_status txd_cuda_try(const char *operation, cudaError_t result);

/* A copy, in the device's memory, of `bytes` of the host's, which may be changed as
 * soon as this returns. 256-byte aligned; NULL on failure, and if bytes is 0 a
 * pointer that must not be read. */
const void *txd_cuda_stage(const void *host, size_t bytes);
/* The same of `rows` rows of `width` bytes, `stride` bytes apart: dense in the device's
 * memory. */
const void *txd_cuda_stage_rows(const void *host, size_t rows, size_t width,
                                size_t stride);

/* Device memory for what is to come back to the host; its bytes are not set. NULL on
 * failure. */
void *txd_cuda_result(size_t bytes);
/* Copies `bytes` from what txd_cuda_result gave (or from within it) to the host's `to`,
 * after all that was queued; waits for it. Failures of kernels show here. */
txd_status txd_cuda_fetch(void *to, const void *result, size_t bytes);
/* The same, left where it comes to the host, to be read until the operation returns: so
 * results for several places are waited for once. */
txd_status txd_cuda_fetched(const void **host, const void *result, size_t bytes);
/* The same of rows of `width` bytes that are dense on the device, `stride` bytes apart
 * in `to`. */
txd_status txd_cuda_fetch_rows(void *to, const void *result, size_t rows, size_t width,
                               size_t stride);

/* Device memory to work in, 256-byte aligned, its bytes not set; each call gives other
 * memory, until the operation returns. NULL on failure. */
void *txd_cuda_workspace(size_t bytes);

/* Multiprocessors of the device. No sum's order may depend on it. */
unsigned txd_cuda_processors(void);
/* The most dynamic shared memory that a block can have, in bytes. */
size_t txd_cuda_shared_most(void);
/* Lets launches of a kernel have so much dynamic shared memory (needed above 48 KiB).
 */
txd_status txd_cuda_shared_room(const void *kernel, size_t bytes);

/* Blocks for a grid-stride loop over `count` elements: at least 1, and at most a fixed
 * number, so it does not depend on the device. */
static inline unsigned txd_cuda_blocks(size_t count, unsigned threads)
{
    size_t blocks = (count + threads - 1) / threads;

    return blocks < 1 ? 1 : blocks < 4096 ? (unsigned)blocks : 4096;
}

#endif
