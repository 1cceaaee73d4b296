/* SPDX-License-Identifier: MIT
 *
 * Backends by the names that users give, and the module that some of them are in.
 */
#ifndef TXD_CLI_BACKENDS_H
#define TXD_CLI_BACKENDS_H

#include "txd.h"

/* Loads the module of the GPU's backends: that of the environment's TXDIAG_CUDA_MODULE,
 * or the one that was built or installed with this program. ERR_MISSING with the
 * reason. */
txd_status txd_backends_load(void);

/* txd_backend_find; loads the module if the name is one of its backends. */
txd_status txd_backends_find(const txd_backend **out, const char *name);

#endif
