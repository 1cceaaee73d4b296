/* SPDX-License-Identifier: MIT
 *
 * An arena: many allocations, one release. Memory is 64-byte aligned, so that
 * vector kernels may rely on it. With TXD_ARENA_DEBUG defined at build time every
 * allocation is its own malloc, so that valgrind and asan see its true bounds.
 */
#ifndef TXD_BASE_ARENA_H
#define TXD_BASE_ARENA_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_arena txd_arena;

/* Creates an empty arena. The caller owns *out. On failure *out is untouched. */
txd_status txd_arena_create(txd_arena **out);

/* Frees the arena and all that came from it. NULL is allowed. */
void txd_arena_destroy(txd_arena *arena);

/* `count * size` zeroed bytes, 64-byte aligned, valid until the arena is reset or
 * destroyed. A count or size of 0 yields a valid pointer to nothing.
 * NULL, with a message, when memory or the address space runs out. */
void *txd_arena_alloc(txd_arena *arena, size_t count, size_t size);

/* A copy of a string in the arena; NULL (with a message) when memory runs out. */
char *txd_arena_string(txd_arena *arena, const char *text);

/* Forgets all allocations, keeps the memory for reuse. */
void txd_arena_reset(txd_arena *arena);

/* Bytes handed out since the last reset, and the most that were ever out. */
size_t txd_arena_used(const txd_arena *arena);
size_t txd_arena_peak(const txd_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
