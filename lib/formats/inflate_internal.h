/* SPDX-License-Identifier: MIT
 *
 * Unpacking of zlib streams whose size is known. Internal to formats/.
 */
#ifndef TXD_FORMATS_INFLATE_INTERNAL_H
#define TXD_FORMATS_INFLATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* For one thread at a time; NULL if there is no memory. */
typedef struct txd_inflater txd_inflater;
txd_inflater *txd_inflater_create(void);
void txd_inflater_destroy(txd_inflater *inflater); /* NULL is allowed */

/* True if the stream is whole, sound, and unpacks to exactly `bytes` bytes, which are
 * then in `out`; else what is there is anything. */
bool txd_inflate(txd_inflater *inflater, void *out, size_t bytes, const void *packed,
                 size_t packed_bytes);

#endif
