/* SPDX-License-Identifier: MIT
 *
 * Zeroed memory for arenas and backends. Large pieces come from the system as they are,
 * not written to, with huge pages advised: touching a page for the first time costs
 * many times what using it does, most of all in virtual machines.
 */
#ifndef TXD_BASE_MEMORY_H
#define TXD_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` zeroed bytes, 64-byte aligned; NULL, without a message, if they cannot be
 * had. 0 bytes yield a valid pointer to nothing. */
void *txd_memory_take(size_t bytes);

/* Gives back what txd_memory_take gave. NULL is allowed. */
void txd_memory_give(void *memory);

#ifdef __cplusplus
}
#endif

#endif
