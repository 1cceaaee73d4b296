/* SPDX-License-Identifier: MIT
 *
 * What the parts of the emulation share.
 */
#ifndef TXD_CUDA_HOST_EMULATION_H
#define TXD_CUDA_HOST_EMULATION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include "include/emulated.h"

namespace emulated
{

enum : size_t { PAGE = 4096, SHARED_DEFAULT = 48 << 10, SHARED_MOST = 227 << 10 };

/* Where the calling thread is in a launch; outside of one, `work` is NULL. */
struct place {
    const emulated_work *work;
};
extern __thread place here;

/* Says what a kernel did wrong, with its name, block and `thread` (its index in the
 * block), and ends the program. */
[[noreturn]] void blame(unsigned thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes accesses that a kernel must not make end with a message, too. */
void watch_signals();

/* The error that the calling thread's next cudaGetLastError returns. */
cudaError_t failed(cudaError_t error);

/* cudaErrorNoDevice or cudaErrorInsufficientDriver where TXD_EMULATED_DEVICES says so.
 */
cudaError_t device_state();

/* Dynamic shared memory a kernel may have. */
size_t shared_limit(const void *kernel);

/* The host's address of `bytes` at a device address; NULL if they are not within one
 * allocation. */
void *device_memory(const void *address, size_t bytes);

/* Whether an address is one of the device. */
bool is_device(const void *address);

/* What a kernel accessed, for a message. */
const char *describe(const void *address);

/* Bytes in use, and what the device has. */
void memory_state(size_t *used, size_t *total);

/* Blocks and threads in the order asked for: out[i] is which comes i-th. */
void thread_order(uint16_t *out, unsigned count);
size_t block_of(size_t i, size_t count);

} // namespace emulated
#endif

#endif
