/* SPDX-License-Identifier: MIT
 *
 * A trace: named tensors in order of execution. A recording, a checkpoint and a dump
 * of somebody else's model are all traces. It is an interface and not a map in
 * memory, so that a terabyte recording is never loaded to be checked.
 */
#ifndef TXD_BASE_TRACE_H
#define TXD_BASE_TRACE_H

#include <stddef.h>

#include "base/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_trace_info {
    const char *name; /* "layers.3.attn.weights"; "attn.entropy:rows"; a parameter */
    const char *axes; /* a letter per axis ("sbhqk"), or "" when unknown */
    /* NULL; or the file's name ("F8_E4M3") of a dtype that is none of ours: `dtype`
     * then means nothing, and reading the entry is ERR_UNSUPPORTED. */
    const char *foreign;
    txd_dtype dtype;
    int rank;
    size_t dims[TXD_MAX_RANK];
    const char *stored; /* NULL; or what becomes `dtype` when it is read ("Q4_K") */
    size_t bytes;       /* in the file, where `stored` or `foreign` is given */
    bool packed; /* in chunks that are unpacked whole, however little is read of them */
} txd_trace_info;

typedef struct txd_trace txd_trace;

/* What a format implements. `self` is the format's own state. */
typedef struct txd_trace_methods {
    void (*destroy)(void *self);
    size_t (*count)(void *self);
    /* Entry i; strings live as long as the trace. */
    txd_status (*info)(void *self, txd_trace_info *out, size_t i);
    /* Reads the block [start, start + count) of entry i (one value per axis) as
     * `dtype` into the caller's memory, converting. */
    txd_status (*read)(void *self, void *out, size_t i, const size_t *start,
                       const size_t *count, txd_dtype dtype);
    /* The mapped dense data of entry i, or NULL; may itself be NULL. */
    const void *(*view)(void *self, size_t i);
    /* Rows [first, first + count) of entry i are not needed soon. May be NULL. */
    void (*release)(void *self, size_t i, size_t first, size_t count);
    /* A metadata string by key, or NULL; lives as long as the trace. */
    const char *(*meta)(void *self, const char *key);
    /* The strings of a list by name, owned by the trace; NULL = it has none. */
    txd_status (*strings)(void *self, const char *const **out, size_t *count,
                          const char *name);
} txd_trace_methods;

/* Wraps `self`. On success the trace owns it; on failure the caller still does. */
txd_status txd_trace_create(txd_trace **out, const txd_trace_methods *methods,
                            void *self);
void txd_trace_destroy(txd_trace *trace); /* NULL is allowed */

size_t txd_trace_count(const txd_trace *trace);
txd_status txd_trace_get(const txd_trace *trace, txd_trace_info *out, size_t i);
/* *out = index of the entry `name`; ERR_MISSING when there is none. */
txd_status txd_trace_find(const txd_trace *trace, size_t *out, const char *name);
txd_status txd_trace_read(const txd_trace *trace, void *out, size_t i,
                          const size_t *start, const size_t *count, txd_dtype dtype);
/* The whole entry as `dtype`; `capacity` in elements is checked. */
txd_status txd_trace_read_all(const txd_trace *trace, void *out, size_t capacity,
                              size_t i, txd_dtype dtype);
const void *txd_trace_view(const txd_trace *trace, size_t i);
/* Lets go of memory behind rows [first, first + count) of entry i, by its first axis:
 * mapped pages; what was unpacked, once all its rows were let go. It can all be read
 * again, and others may be reading it. */
void txd_trace_release(const txd_trace *trace, size_t i, size_t first, size_t count);
const char *txd_trace_meta(const txd_trace *trace, const char *key);
/* A list of strings beside the entries ("series/stats_sites"): *count of them, owned by
 * the trace. ERR_MISSING when there is none. */
txd_status txd_trace_strings(const txd_trace *trace, const char *const **out,
                             size_t *count, const char *name);

/* A trace in memory: entries are added and copied. The caller owns *out. */
txd_status txd_trace_memory(txd_trace **out);
txd_status txd_trace_memory_add(txd_trace *trace, const char *name, const char *axes,
                                const txd_tensor *value);

#ifdef __cplusplus
}
#endif

#endif
