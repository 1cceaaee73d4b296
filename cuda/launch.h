/* SPDX-License-Identifier: MIT
 *
 * What every file of kernels includes, and nothing else of CUDA: so the same source is
 * compiled by nvcc, and as host C++ (TXD_CUDA_HOST), where headers of the same names
 * and "emulated.h" in tests/cuda_host/include stand in for CUDA's.
 *
 *   TXD_LAUNCH(kernel, blocks, threads, shared_bytes, arguments...)
 *       queues a kernel on the module's stream; blocks and threads are `unsigned` or
 *       dim3, neither 0; a template-id stands in parentheses. It is followed by
 *       txd_cuda_check("name"), which tells whether it could be queued.
 *   TXD_SHARED(type, name)
 *       in a kernel: `type *name` is the launch's dynamic shared memory, 16-byte
 *       aligned. Once per kernel; more than 48 KiB: txd_cuda_shared_room first.
 */
#ifndef TXD_CUDA_LAUNCH_H
#define TXD_CUDA_LAUNCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#ifdef TXD_CUDA_HOST
#include "emulated.h"
#else
#define TXD_LAUNCH(kernel, blocks, threads, shared_bytes, ...)                         \
    kernel<<<(blocks), (threads), (shared_bytes), txd_cuda_stream()>>>(__VA_ARGS__)
#define TXD_SHARED(type, name)                                                         \
    extern __shared__ __align__(16) unsigned char txd_shared_bytes[];                  \
    type *name = reinterpret_cast<type *>(txd_shared_bytes)
#endif

#include "cuda/device.h"
#include "cuda/entries.h"
#include "cuda/reduce.h"
#include "cuda/round.h"
#include "cuda/spans.h"

#endif
