/* SPDX-License-Identifier: MIT
 *
 * GGUF files, versions 2 and 3, as traces: mapped, never trusted. Every count, length,
 * offset, alignment, type and shape is checked against the file when it is opened;
 * messages give byte offsets. Beside its tensors a file has metadata under keys, which
 * stay where they are in the file.
 */
#ifndef TXD_FORMATS_GGUF_H
#define TXD_FORMATS_GGUF_H

#include "base/settings.h"
#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_gguf_type { /* numbered as in files */
                             TXD_GGUF_U8,
                             TXD_GGUF_I8,
                             TXD_GGUF_U16,
                             TXD_GGUF_I16,
                             TXD_GGUF_U32,
                             TXD_GGUF_I32,
                             TXD_GGUF_F32,
                             TXD_GGUF_BOOL,
                             TXD_GGUF_STRING,
                             TXD_GGUF_ARRAY,
                             TXD_GGUF_U64,
                             TXD_GGUF_I64,
                             TXD_GGUF_F64,
} txd_gguf_type;

/* A value of the metadata. */
typedef struct txd_gguf_value {
    const char *key;
    txd_gguf_type type; /* of the value, or of the elements of an array */
    bool is_array;
    size_t count;               /* elements; 1 if it is no array */
    size_t offset;              /* in the file, of the first element */
    const unsigned char *bytes; /* of the elements, checked, not aligned */
    size_t length;              /* of them in bytes */
} txd_gguf_value;

/* The metadata of a file; it belongs to the file's trace. */
typedef struct txd_gguf txd_gguf;

/* Opens a file. Tensors come in the order of their data, with the slowest axis first:
 * matrices are (out, in). Blocks are read as float32 (formats/quants.h); those of types
 * that are known and not read are entries with `foreign`. *metadata (NULL = not wanted)
 * lives as long as the trace. Version 1, big endian, types that nobody knows:
 * ERR_UNSUPPORTED. */
txd_status txd_gguf_open(txd_trace **out, const txd_gguf **metadata, const char *path);

/* The same over bytes in memory, which must outlive the trace (fuzzing, tests). */
txd_status txd_gguf_parse(txd_trace **out, const txd_gguf **metadata, const char *name,
                          const void *bytes, size_t count);

/* 2 or 3. */
unsigned txd_gguf_version(const txd_gguf *gguf);

/* The values in the order of the file, or by key; NULL if there is none. */
size_t txd_gguf_count(const txd_gguf *gguf);
const txd_gguf_value *txd_gguf_at(const txd_gguf *gguf, size_t i);
const txd_gguf_value *txd_gguf_find(const txd_gguf *gguf, const char *key);

/* Element i of numbers or truth values; 0 of strings. Integers beyond int64 saturate,
 * reals are cut. */
double txd_gguf_real(const txd_gguf_value *value, size_t i);
int64_t txd_gguf_integer(const txd_gguf_value *value, size_t i);

/* The strings of a value, one after the other, in the file: not terminated, of any
 * bytes. next is false after the last, and for what is no string. */
typedef struct txd_gguf_strings {
    const unsigned char *at;
    size_t left;
} txd_gguf_strings;
txd_gguf_strings txd_gguf_strings_of(const txd_gguf_value *value);
bool txd_gguf_strings_next(txd_gguf_strings *strings, const char **out, size_t *length);

/* The metadata as a tree by the dots of their keys, "llama.rope.freq_base" at that
 * path, so that what reads a config.json can read it. A float32 is the shortest decimal
 * number that rounds to it. Arrays of strings, and of more than 4096 numbers, are
 * null; what stands below a key that has a value is left out. Lives in `arena`. */
txd_status txd_gguf_settings(txd_setting **out, txd_arena *arena, const txd_gguf *gguf);

#ifdef __cplusplus
}
#endif

#endif
