/* SPDX-License-Identifier: MIT
 *
 * Small recordings for tests, made and opened in one call.
 */
#ifndef TXD_TESTS_MADE_RECORDING_H
#define TXD_TESTS_MADE_RECORDING_H

#include "formats/recording.h"
#include "suite.h"

extern const size_t made_origin[TXD_MAX_RANK];

txd_recording *made_new_recording(const char *path);
txd_trace *made_open_complete(const char *path);
/* Index and description of the entry `name`. */
size_t made_entry_of(const txd_trace *trace, const char *name, txd_trace_info *info);

/* One step, no extents yet. */
txd_dataset_spec made_spec_of(const char *path, const char *axes, txd_dtype dtype,
                              int rank);
/* A complete recording of one dataset. */
void made_record_one(const char *path, const txd_dataset_spec *spec, const void *data,
                     txd_dtype dtype);
/* Weights of two heads in two steps of lengths 3 and 5. */
void made_record_growing(const char *path, bool fill_zero);

#endif
