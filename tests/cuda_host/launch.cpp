/* SPDX-License-Identifier: MIT
 *
 * A launch: its limits, its shared memory, the order of blocks and threads, and what is
 * said when a kernel does wrong.
 */
#include "block.h"

#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#endif

namespace emulated
{

__thread place here;

static std::atomic<uint64_t> order;
static std::atomic<size_t> launches;
static std::mutex lock;
static std::map<const void *, size_t> limits; /* of shared memory, where raised */

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void thread_order(uint16_t *out, unsigned count)
{
    uint64_t seed = order;

    for (unsigned i = 0; i < count; i++)
        out[i] = static_cast<uint16_t>(seed == 1 ? count - 1 - i : i);
    for (unsigned i = count; seed > 1 && i > 1; i--) {
        unsigned other = static_cast<unsigned>(mixed(seed * MOST_THREADS + i) % i);
        uint16_t kept = out[i - 1];

        out[i - 1] = out[other];
        out[other] = kept;
    }
}

/* Shuffled: steps of a length that has no factor in common with the count. */
size_t block_of(size_t i, size_t count)
{
    uint64_t seed = order;
    size_t step;

    if (seed < 2)
        return seed ? count - 1 - i : i;
    for (step = 1 + mixed(seed) % count; std::gcd(step, count) != 1;)
        step++;
    return (mixed(seed + 1) % count + i % count * (step % count)) % count;
}

void blame(unsigned thread, const char *format, ...)
{
    const emulated_work *work = here.work;
    unsigned x = work->block.x, y = work->block.y;
    char text[400];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(
        stderr,
        "emulated CUDA: kernel %s, block (%u,%u,%u) of (%u,%u,%u): thread (%u,%u,%u) "
        "of (%u,%u,%u) %s\n",
        work->name, blockIdx.x, blockIdx.y, blockIdx.z, work->grid.x, work->grid.y,
        work->grid.z, thread % x, thread / x % y, thread / x / y, x, y, work->block.z,
        text);
    abort();
}

size_t shared_limit(const void *kernel)
{
    std::lock_guard<std::mutex> held(lock);
    auto found = limits.find(kernel);

    return found == limits.end() ? size_t(SHARED_DEFAULT) : found->second;
}

static cudaError_t check(const emulated_work &work)
{
    dim3 grid = work.grid, block = work.block;
    uint64_t threads = uint64_t(block.x) * block.y * block.z;

    if (device_state() != cudaSuccess)
        return device_state();
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 ||
        grid.z > 65535 || !threads || block.x > 1024 || block.y > 1024 ||
        block.z > 64 || threads > MOST_THREADS)
        return cudaErrorInvalidConfiguration;
    return work.shared > shared_limit(work.kernel) ? cudaErrorInvalidValue
                                                   : cudaSuccess;
}

enum : size_t { SHARED_ROOM = (SHARED_MOST + PAGE - 1) / PAGE * PAGE };

/* Dynamic shared memory: ends where its pages end, up to 16 bytes of alignment. */
struct shared_memory {
    char *pages, *begin;
    size_t bytes, slack;

    ~shared_memory()
    {
        if (pages) {
            ASAN_UNPOISON_MEMORY_REGION(pages, SHARED_ROOM);
            (void)munmap(pages - PAGE, SHARED_ROOM + 2 * PAGE);
        }
    }
};

enum : unsigned char { NOT_A_NUMBER = 0xff, GUARD = 0xa5 };

static thread_local shared_memory shared;

static bool shared_prepare(size_t bytes)
{
    size_t rounded = (bytes + 15) / 16 * 16;

    if (!shared.pages) {
        void *pages = mmap(nullptr, SHARED_ROOM + 2 * PAGE, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (pages == MAP_FAILED || mprotect(static_cast<char *>(pages) + PAGE,
                                            SHARED_ROOM, PROT_READ | PROT_WRITE))
            return false;
        shared.pages = static_cast<char *>(pages) + PAGE;
    }
    shared.begin = shared.pages + SHARED_ROOM - rounded;
    shared.bytes = bytes;
    shared.slack = rounded - bytes;
    emulated_shared_memory = shared.begin;
    ASAN_POISON_MEMORY_REGION(shared.pages, SHARED_ROOM);
    ASAN_UNPOISON_MEMORY_REGION(shared.begin, bytes);
    return true;
}

static void shared_fill()
{
    memset(shared.begin, NOT_A_NUMBER, shared.bytes);
#ifndef __SANITIZE_ADDRESS__
    memset(shared.begin + shared.bytes, GUARD, shared.slack);
#endif
}

static void shared_check()
{
#ifndef __SANITIZE_ADDRESS__
    for (size_t i = 0; i < shared.slack; i++)
        if (static_cast<unsigned char>(shared.begin[shared.bytes + i]) != GUARD)
            blame(0, "or another one wrote beyond the %zu bytes of shared memory",
                  shared.bytes);
#endif
}

static uint3 index_of(size_t i, dim3 size)
{
    return {static_cast<unsigned>(i % size.x),
            static_cast<unsigned>(i / size.x % size.y),
            static_cast<unsigned>(i / size.x / size.y)};
}

} // namespace emulated

using namespace emulated;

void emulated_run(const emulated_work &work)
{
    size_t blocks = size_t(work.grid.x) * work.grid.y * work.grid.z;
    cudaError_t error = here.work ? cudaErrorNotSupported : check(work);

    if (error == cudaSuccess && (!block_prepare(work) || !shared_prepare(work.shared)))
        error = cudaErrorLaunchOutOfResources;
    if (error != cudaSuccess) {
        (void)failed(error);
        return;
    }
    launches++;
    watch_signals();
    here.work = &work;
    gridDim = work.grid;
    blockDim = work.block;
    for (size_t i = 0; i < blocks; i++) {
        blockIdx = index_of(block_of(i, blocks), work.grid);
        shared_fill();
        block_run();
        shared_check();
    }
    here.work = nullptr;
}

void emulated_order(uint64_t order_)
{
    order = order_;
}

size_t emulated_launches()
{
    return launches;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute,
                                 int value)
{
    std::lock_guard<std::mutex> held(lock);

    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return attribute == cudaFuncAttributePreferredSharedMemoryCarveout
                   ? cudaSuccess
                   : failed(cudaErrorInvalidValue);
    if (value < 0 || value > static_cast<int>(SHARED_MOST))
        return failed(cudaErrorInvalidValue);
    limits[kernel] = value > static_cast<int>(SHARED_DEFAULT) ? size_t(value)
                                                              : size_t(SHARED_DEFAULT);
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel)
{
    if (device_state() != cudaSuccess)
        return failed(device_state());
    *attributes = {};
    attributes->maxThreadsPerBlock = MOST_THREADS;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(kernel));
    return cudaSuccess;
}
