/* SPDX-License-Identifier: MIT
 *
 * One block of a launch, on the calling thread of the host.
 */
#ifndef TXD_CUDA_HOST_BLOCK_H
#define TXD_CUDA_HOST_BLOCK_H

#include "emulation.h"

#ifdef __cplusplus
namespace emulated
{

enum : unsigned { MOST_THREADS = 1024 };

/* Once per launch; false when there is no memory. */
bool block_prepare(const emulated_work &work);

/* Runs all threads of the block that blockIdx names. */
void block_run();

/* Which thread runs, for messages. */
unsigned block_thread();

} // namespace emulated
#endif

#endif
