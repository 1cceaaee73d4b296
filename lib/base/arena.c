/* SPDX-License-Identifier: MIT
 *
 * The arena is a list of blocks that are filled in order. Large allocations get a
 * block of their own at the end, so that they do not waste the rest of the current
 * one. It is not for several threads at once: give each its own.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALIGNMENT ((size_t)64)
#define BLOCK_BYTES ((size_t)1 << 16)

typedef struct block {
    struct block *next;
    unsigned char *bytes;
    size_t size, used;
    size_t written; /* what lies behind is still zero */
} block;

struct txd_arena {
    block *first, *last;
    block *current; /* all blocks before it are full */
    size_t used, peak;
};

static size_t round_up(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

static block *add_block(txd_arena *arena, size_t bytes)
{
    block *added = calloc(1, sizeof *added);
    void *memory = added ? txd_memory_take(bytes) : NULL;

    if (!memory) {
        free(added);
        txd_fail(TXD_ERR_MEMORY, "out of memory: %zu bytes more were needed", bytes);
        return NULL;
    }
    added->bytes = memory;
    added->size = bytes;
    if (arena->last)
        arena->last->next = added;
    else
        arena->first = added;
    arena->last = added;
    if (!arena->current)
        arena->current = added;
    return added;
}

static void free_blocks(txd_arena *arena)
{
    block *next;

    for (block *b = arena->first; b; b = next) {
        next = b->next;
        txd_memory_give(b->bytes);
        free(b);
    }
    arena->first = arena->last = arena->current = NULL;
}

static void count_use(txd_arena *arena, size_t bytes)
{
    arena->used += bytes;
    if (arena->used > arena->peak)
        arena->peak = arena->used;
}

/* Zeroed bytes, of which only those that were in use before are written to. */
#ifdef TXD_ARENA_DEBUG
static unsigned char *take(txd_arena *arena, size_t bytes, size_t alignment)
{
    block *own = add_block(arena, bytes);

    if (!own)
        return NULL;
    own->used = bytes;
    count_use(arena, round_up(bytes, alignment));
    return own->bytes;
}
#else
static block *find_room(txd_arena *arena, size_t bytes, size_t alignment)
{
    while (arena->current && arena->current->next &&
           arena->current->size - arena->current->used < ALIGNMENT)
        arena->current = arena->current->next;
    for (block *b = arena->current; b; b = b->next) {
        size_t start = round_up(b->used, alignment);

        if (start <= b->size && bytes <= b->size - start)
            return b;
    }
    return add_block(arena, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
}

static unsigned char *take(txd_arena *arena, size_t bytes, size_t alignment)
{
    block *room = find_room(arena, bytes, alignment);
    size_t start, end;

    if (!room)
        return NULL;
    start = round_up(room->used, alignment);
    end = start + bytes;
    count_use(arena, end - room->used);
    room->used = end;
    if (room->written > start)
        memset(room->bytes + start, 0,
               (room->written < end ? room->written : end) - start);
    if (room->written < end)
        room->written = end;
    return room->bytes + start;
}
#endif

txd_status txd_arena_create(txd_arena **out)
{
    txd_arena *arena = calloc(1, sizeof *arena);

    if (!arena)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: an arena could not be made");
    *out = arena;
    return TXD_OK;
}

void txd_arena_destroy(txd_arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena);
    free(arena);
}

void *txd_arena_alloc(txd_arena *arena, size_t count, size_t size)
{
    size_t bytes;

    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        txd_fail(TXD_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", count,
                 size);
        return NULL;
    }
    bytes = count * size;
    return take(arena, bytes ? bytes : 1, ALIGNMENT);
}

char *txd_arena_string(txd_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    unsigned char *copy = take(arena, bytes, 1);

    if (copy)
        memcpy(copy, text, bytes);
    return (char *)copy;
}

void txd_arena_reset(txd_arena *arena)
{
#ifdef TXD_ARENA_DEBUG
    free_blocks(arena);
#else
    for (block *b = arena->first; b; b = b->next)
        b->used = 0;
    arena->current = arena->first;
#endif
    arena->used = 0;
}

size_t txd_arena_used(const txd_arena *arena)
{
    return arena->used;
}

size_t txd_arena_peak(const txd_arena *arena)
{
    return arena->peak;
}
