/* SPDX-License-Identifier: MIT
 *
 * Backends that are in a module of their own, since they need CUDA, which most machines
 * have not: they are there once the module was loaded.
 */
#ifndef TXD_OPS_MODULE_H
#define TXD_OPS_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th name of the backends that the module has, NULL past the end. */
const char *txd_cuda_backend_at(size_t i);
/* Whether a name is one of them. */
bool txd_cuda_has(const char *name);

/* Loads the module (txdiag_cuda.so) of that path and adds its backends to those of
 * ops/registry.h. They hold as long as the program runs: once this has returned TXD_OK
 * it does nothing but that. ERR_MISSING with the reason and the remedy if the file is
 * not there or is of another version, if a library that it needs is missing, or if this
 * machine has no driver or device that it can use. Any thread may call it. */
txd_status txd_cuda_load(const char *path);

#ifdef __cplusplus
}
#endif

#endif
