/* SPDX-License-Identifier: MIT
 *
 * NumPy .npy files: one array as a trace with the single entry "array".
 */
#ifndef TXD_FORMATS_NPY_H
#define TXD_FORMATS_NPY_H

#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Format versions 1.0 to 3.0, little endian, C order, f8 f4 f2 i8 i4 u1; anything
 * else is ERR_UNSUPPORTED saying what was found; a malformed file is ERR_FORMAT. */
txd_status txd_npy_open(txd_trace **out, const char *path);

/* The header alone, from the first `available` of the `count` bytes of a file: what it
 * holds into *out, whose name is "array", and where its data begins. Fails as opening
 * does; a header that goes on beyond `available` is ERR_UNSUPPORTED. */
txd_status txd_npy_head(txd_trace_info *out, size_t *data, const char *name,
                        const void *bytes, size_t available, size_t count);

/* The same over bytes in memory, which must outlive the trace (fuzzing, tests). */
txd_status txd_npy_parse(txd_trace **out, const char *name, const void *bytes,
                         size_t count);

#ifdef __cplusplus
}
#endif

#endif
