/* SPDX-License-Identifier: MIT
 *
 * What a safetensors file holds, as far as its header says and the file bears out.
 * Internal to formats/.
 */
#ifndef TXD_FORMATS_SAFETENSORS_INTERNAL_H
#define TXD_FORMATS_SAFETENSORS_INTERNAL_H

#include "base/settings.h"
#include "base/trace.h"

typedef struct txd_safetensors_entry {
    txd_trace_info info;
    size_t begin, end; /* in the data */
} txd_safetensors_entry;

typedef struct txd_safetensors_index {
    const char *name; /* of the file, for messages */
    const unsigned char *data;
    size_t header, bytes;           /* of the header; of the data */
    txd_safetensors_entry *entries; /* in the order of their data */
    size_t count;
    const txd_setting *metadata; /* NULL if there is none */
} txd_safetensors_index;

/* Reads and checks the header of the `count` bytes of a file. Everything lives in
 * `arena`; `name` and `file` must outlive it. ERR_FORMAT with the byte offset; then
 * *x holds nothing of use. */
txd_status txd_safetensors_read_index(txd_safetensors_index *x, txd_arena *arena,
                                      const char *name, const void *file, size_t count);

#endif
