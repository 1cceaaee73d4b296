/* SPDX-License-Identifier: MIT
 *
 * Before the memory that is handed out stands how much was mapped for it, or 0 for
 * malloc's.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT ((size_t)64)
/* From here on a piece is a mapping of its own. */
#define LARGE ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
/* What is mapped before a large piece: a whole page, whatever its size. */
#define HEAD ((size_t)1 << 16)

struct header {
    size_t mapped; /* bytes, from HEAD before the memory on */
};

static struct header *header_of(void *memory)
{
    return (struct header *)(void *)((char *)memory - ALIGNMENT);
}

static void *take_small(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, ALIGNMENT, ALIGNMENT + bytes) != 0)
        return NULL;
    memset(memory, 0, ALIGNMENT + bytes);
    return (char *)memory + ALIGNMENT;
}

/* Maps too much and gives back what lies before and behind, so that the piece begins
 * with a huge page. */
static void *take_large(size_t bytes)
{
    size_t wanted = HEAD + (bytes + HEAD - 1) / HEAD * HEAD, all = wanted + HUGE_PAGE;
    char *raw =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (raw == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - ((uintptr_t)raw + HEAD) % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(raw, before);
    if (before < HUGE_PAGE)
        munmap(raw + before + wanted, HUGE_PAGE - before);
    raw += before + HEAD;
    (void)madvise(raw, wanted - HEAD, MADV_HUGEPAGE); /* it works without, too */
    header_of(raw)->mapped = wanted;
    return raw;
}

void *txd_memory_take(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    return bytes < LARGE ? take_small(bytes) : take_large(bytes);
}

void txd_memory_give(void *memory)
{
    if (memory == NULL)
        return;
    if (header_of(memory)->mapped > 0)
        munmap((char *)memory - HEAD, header_of(memory)->mapped);
    else
        free((char *)memory - ALIGNMENT);
}
