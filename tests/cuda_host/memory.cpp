/* SPDX-License-Identifier: MIT
 *
 * Memory of the device. Two ranges of addresses of the same size are reserved: the
 * device's, which nobody may ever touch, and the one where the bytes are, at a fixed
 * distance. Kernels, copies and cuBLAS work with the second. An allocation ends where a
 * page ends (rounded up to 256 bytes), an unusable page follows; the bytes around it on
 * its pages are checked when it is freed, and guarded by the address sanitizer. Freed
 * addresses come back last.
 */
#include "emulation.h"

#include <atomic>
#include <map>
#include <mutex>
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

enum : unsigned char { FRESH = 0xff, GUARD = 0xa5 };
static const size_t ALIGNMENT = 256, DEFAULT_LIMIT = size_t(8) << 30;
/* The distance of the two ranges is a multiple of this: an int whose padding happens to
 * make it look like a pointer keeps its value when it is translated. */
static const size_t STEP = size_t(1) << 32;

struct allocation {
    size_t bytes, first, end; /* of its pages, as offsets into the range */
};

static std::mutex lock;
static char *addresses, *bytes_of; /* the two ranges, there once `range` is not 0 */
static std::atomic<size_t> range;
static size_t cursor, used, limit;
static std::map<size_t, allocation> allocations; /* by offset of the first byte */
static std::map<const void *, size_t> pinned;

static size_t limit_of_environment()
{
    const char *text = getenv("TXD_EMULATED_MEMORY");
    size_t bytes = text ? strtoull(text, nullptr, 10) : 0;

    return bytes ? bytes : DEFAULT_LIMIT;
}

static char *reserve(size_t bytes)
{
    void *memory = mmap(nullptr, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
}

static bool is_ready()
{
    if (!limit)
        limit = limit_of_environment();
    if (!range) {
        size_t bytes = (2 * limit + (size_t(1) << 30) + STEP - 1) / STEP * STEP;

        addresses = reserve(2 * bytes);
        bytes_of = addresses ? addresses + bytes : nullptr;
        range = addresses ? bytes : 0;
    }
    return range != 0;
}

bool is_device(const void *address)
{
    size_t offset = static_cast<size_t>(static_cast<const char *>(address) - addresses);

    return range && offset < range;
}

static size_t offset_of(const void *address)
{
    return static_cast<size_t>(static_cast<const char *>(address) - addresses);
}

/* The allocation that an offset lies in or ends, or the end. */
static std::map<size_t, allocation>::iterator find(size_t offset)
{
    auto after = allocations.upper_bound(offset);

    if (after == allocations.begin())
        return allocations.end();
    --after;
    return offset - after->first <= after->second.bytes ? after : allocations.end();
}

void *device_memory(const void *address, size_t bytes)
{
    std::lock_guard<std::mutex> held(lock);

    if (!is_device(address))
        return nullptr;
    size_t offset = offset_of(address);
    auto found = find(offset);

    if (found == allocations.end() ||
        bytes > found->second.bytes - (offset - found->first))
        return nullptr;
    return bytes_of + offset;
}

const char *describe(const void *address)
{
    const char *at = static_cast<const char *>(address);

    if (!address) /* also what the processor says of addresses that cannot be */
        return "memory of the host, or NULL";
    if (is_device(address))
        return "an address of the device that the kernel read from memory: give "
               "pointers "
               "as arguments";
    if (range && static_cast<size_t>(at - bytes_of) < range)
        return "memory of the device that was freed, or lies beyond an allocation";
    return nullptr;
}

void memory_state(size_t *used_, size_t *total)
{
    std::lock_guard<std::mutex> held(lock);

    (void)is_ready();
    *used_ = used;
    *total = limit;
}

/* The first pages from `start` on that are free, as an offset; `range` if there are
 * none. */
static size_t gap(size_t start, size_t bytes)
{
    auto next = allocations.lower_bound(start);

    if (next != allocations.begin()) {
        auto before = next;

        --before;
        if (before->second.end > start)
            start = before->second.end;
    }
    for (; next != allocations.end(); ++next) {
        if (next->second.first >= start && next->second.first - start >= bytes)
            return start;
        start = next->second.end;
    }
    return range - start >= bytes ? start : range.load();
}

static bool take(size_t *offset, size_t bytes)
{
    size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t pages = (room + PAGE - 1) / PAGE * PAGE;
    size_t first = gap(cursor, pages + PAGE);

    if (first == range)
        first = gap(0, pages + PAGE);
    if (first == range ||
        mprotect(bytes_of + first, pages, PROT_READ | PROT_WRITE) != 0)
        return false;
    *offset = first + pages - room;
    ASAN_UNPOISON_MEMORY_REGION(bytes_of + first, pages);
    memset(bytes_of + first, GUARD, *offset - first);
    memset(bytes_of + *offset, FRESH, bytes);
    memset(bytes_of + *offset + bytes, GUARD, room - bytes);
    ASAN_POISON_MEMORY_REGION(bytes_of + first, *offset - first);
    ASAN_POISON_MEMORY_REGION(bytes_of + *offset + bytes, room - bytes);
    allocations[*offset] = {bytes, first, first + pages + PAGE};
    cursor = first + pages + PAGE;
    return true;
}

static void check_guard(const char *from, const char *to, const char *where)
{
    for (; from < to; from++)
        if (static_cast<unsigned char>(*from) != GUARD) {
            fprintf(stderr,
                    "emulated CUDA: a kernel wrote %s an allocation of the "
                    "device (found when it was freed)\n",
                    where);
            abort();
        }
}

static void give_back(size_t offset, const allocation &old)
{
    char *first = bytes_of + old.first, *last = bytes_of + old.end - PAGE;

    ASAN_UNPOISON_MEMORY_REGION(first, static_cast<size_t>(last - first));
    check_guard(first, bytes_of + offset, "before");
    check_guard(bytes_of + offset + old.bytes, last, "beyond");
    (void)mmap(first, static_cast<size_t>(last - first), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    std::lock_guard<std::mutex> held(lock);
    size_t offset;

    if (device_state() != cudaSuccess)
        return failed(device_state());
    if (!memory)
        return failed(cudaErrorInvalidValue);
    *memory = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    if (!is_ready() || bytes > limit || used > limit - bytes || !take(&offset, bytes))
        return failed(cudaErrorMemoryAllocation);
    used += bytes;
    *memory = addresses + offset;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    std::lock_guard<std::mutex> held(lock);

    if (!memory)
        return cudaSuccess;
    auto found =
        is_device(memory) ? allocations.find(offset_of(memory)) : allocations.end();

    if (found == allocations.end())
        return failed(cudaErrorInvalidValue);
    give_back(found->first, found->second);
    used -= found->second.bytes;
    allocations.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    std::lock_guard<std::mutex> held(lock);

    if (device_state() != cudaSuccess)
        return failed(device_state());
    if (!memory)
        return failed(cudaErrorInvalidValue);
    *memory = bytes ? malloc(bytes) : nullptr;
    if (bytes && !*memory)
        return failed(cudaErrorMemoryAllocation);
    if (bytes)
        pinned[*memory] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    return flags == cudaHostAllocDefault ? cudaMallocHost(memory, bytes)
                                         : failed(cudaErrorInvalidValue);
}

cudaError_t cudaFreeHost(void *memory)
{
    std::lock_guard<std::mutex> held(lock);

    if (memory && pinned.erase(memory) == 0)
        return failed(cudaErrorInvalidValue);
    free(memory);
    return cudaSuccess;
}

size_t emulated_allocations()
{
    std::lock_guard<std::mutex> held(lock);

    return allocations.size();
}

void emulated_memory_limit(size_t bytes)
{
    std::lock_guard<std::mutex> held(lock);

    limit = bytes ? bytes : limit_of_environment();
}

/* Whether the process has memory there, as the kernel of the system says; it must be
 * one that says no, too. */
static bool is_mapped(const char *address)
{
    unsigned char resident;
    uintptr_t page = reinterpret_cast<uintptr_t>(address) / PAGE * PAGE;

    return mincore(reinterpret_cast<void *>(page), 1, &resident) == 0;
}

static bool says_no()
{
    static const bool known = [] {
        void *page = mmap(nullptr, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return page != MAP_FAILED && munmap(page, PAGE) == 0 &&
               !is_mapped(static_cast<char *>(page));
    }();

    return known;
}

static bool is_pinned(const char *address)
{
    std::lock_guard<std::mutex> held(lock);
    auto after = pinned.upper_bound(address);

    if (after == pinned.begin())
        return false;
    --after;
    return address <= static_cast<const char *>(after->first) + after->second;
}

/* An address of the host's that the device cannot reach. Programs have nothing below
 * `least` but, under the address sanitizer, its shadow: there, two ints side by side
 * are taken for no pointer. */
static bool is_of_host(const char *word)
{
    const uintptr_t least = uintptr_t(0x10008) << 28, end = uintptr_t(1) << 47;
    uintptr_t value = reinterpret_cast<uintptr_t>(word);

    return value >= least && value < end && says_no() && is_mapped(word) &&
           !is_pinned(word);
}

void emulated_to_device(void *argument, size_t bytes)
{
    const uintptr_t nowhere = uintptr_t(0xd7) << 48; /* no processor has it */

    for (size_t at = 0; at + sizeof(char *) <= bytes; at += sizeof(char *)) {
        char *word, *place = static_cast<char *>(argument) + at;

        memcpy(&word, place, sizeof word);
        if (is_device(word)) {
            word += bytes_of - addresses;
            memcpy(place, &word, sizeof word);
        } else if (is_of_host(word)) {
            word += nowhere;
            memcpy(place, &word, sizeof word);
        }
    }
}
