/* SPDX-License-Identifier: MIT
 *
 * What a GGUF file holds, as far as its head says and the file bears out. Internal to
 * formats/.
 */
#ifndef TXD_FORMATS_GGUF_INTERNAL_H
#define TXD_FORMATS_GGUF_INTERNAL_H

#include "formats/gguf.h"
#include "formats/quants.h"

typedef struct txd_gguf_tensor {
    txd_trace_info info;
    const txd_quant *quant;
    size_t begin, bytes; /* in the data */
} txd_gguf_tensor;

struct txd_gguf {
    const char *name; /* of the file, for messages */
    const unsigned char *bytes;
    size_t length;
    unsigned version;
    size_t alignment, data; /* where the data begins in the file */
    txd_gguf_value *values;
    size_t value_count;
    const txd_gguf_value **by_key; /* sorted */
    const char **texts;            /* of the values, for the trace's meta; or NULL */
    txd_gguf_tensor *tensors;      /* in the order of their data */
    size_t count;
};

/* Where the head is read. */
struct txd_gguf_cursor {
    const txd_gguf *file;
    txd_arena *arena;
    size_t at;
};

txd_status txd_gguf_take_u32(uint32_t *out, struct txd_gguf_cursor *c,
                             const char *what);
txd_status txd_gguf_take_u64(uint64_t *out, struct txd_gguf_cursor *c,
                             const char *what);
/* A name: copied, terminated, not empty, without control characters. */
txd_status txd_gguf_take_name(const char **out, struct txd_gguf_cursor *c,
                              const char *what);

/* Reads `count` values at the cursor into the file's list. */
txd_status txd_gguf_read_values(txd_gguf *x, struct txd_gguf_cursor *c, size_t count);

/* Reads and checks the head of the `count` bytes of a file. Everything lives in
 * `arena`; `name` and `file` must outlive it. ERR_FORMAT or ERR_UNSUPPORTED with the
 * byte offset; then *x holds nothing of use. */
txd_status txd_gguf_read_index(txd_gguf *x, txd_arena *arena, const char *name,
                               const void *file, size_t count);

/* Makes `texts` of the scalar values ("4096", "llama"); NULL for arrays. */
txd_status txd_gguf_texts(txd_gguf *x, txd_arena *arena);

#endif
