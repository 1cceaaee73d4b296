/* SPDX-License-Identifier: MIT
 *
 * NumPy .npz archives: ZIP files of .npy members, as numpy.savez and savez_compressed
 * write them. The arrays as a trace, named as their members without ".npy".
 */
#ifndef TXD_FORMATS_NPZ_H
#define TXD_FORMATS_NPZ_H

#include "base/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opening reads the headers alone; an array is unpacked when it is first read. Arrays
 * that cannot be read (strings, objects, Fortran order) are entries whose `foreign`
 * says why. A file that is no archive, a damaged one, and members that claim what their
 * packed bytes cannot hold are ERR_FORMAT; encrypted ones ERR_UNSUPPORTED. */
txd_status txd_npz_open(txd_trace **out, const char *path);

/* The same over bytes in memory, which must outlive the trace (fuzzing, tests). */
txd_status txd_npz_parse(txd_trace **out, const char *name, const void *bytes,
                         size_t count);

#ifdef __cplusplus
}
#endif

#endif
