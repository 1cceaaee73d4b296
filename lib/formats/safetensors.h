/* SPDX-License-Identifier: MIT
 *
 * safetensors files as traces: mapped, never trusted. Every length, offset, name,
 * dtype and shape is checked when the file is opened; messages give byte offsets.
 */
#ifndef TXD_FORMATS_SAFETENSORS_H
#define TXD_FORMATS_SAFETENSORS_H

#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a file with F64, F32, F16, BF16, I64, I32, U8 tensors (others are a clear
 * ERR_UNSUPPORTED only when read, so that a file's index can still be listed).
 * Entries come in the order of their data. Metadata keys are those of __metadata__. */
txd_status txd_safetensors_open(txd_trace **out, const char *path);

/* The same over bytes in memory, which must outlive the trace (fuzzing, tests). */
txd_status txd_safetensors_parse(txd_trace **out, const char *name, const void *bytes,
                                 size_t count);

#ifdef __cplusplus
}
#endif

#endif
