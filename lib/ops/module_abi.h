/* SPDX-License-Identifier: MIT
 *
 * What the program and a module with backends for a GPU (cuda/) know of each other. The
 * module is opened at run time and needs no symbol of the program.
 */
#ifndef TXD_OPS_MODULE_ABI_H
#define TXD_OPS_MODULE_ABI_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of this file, of ops/ops.h or of arguments. */
#define TXD_MODULE_ABI 1

/* What a module has of its host. They hold as long as the program runs. */
struct txd_module_host {
    txd_status (*fail)(txd_status status, const char *format, ...) TXD_PRINTF(2, 3);
    txd_status (*backend)(const txd_backend **out, const char *name);
};

struct txd_module {
    unsigned abi;
    size_t backend_bytes; /* sizeof(txd_backend) */
    size_t backends;
    const char *const *names; /* of the backends */
    /* Finds the device and makes what the backends need. ERR_MISSING with the reason if
     * there is none that they can use; may be called again then. */
    txd_status (*open)(const struct txd_module_host *host);
    const txd_backend *(*backend)(size_t i); /* after open */
};

/* The one symbol of a module: `const struct txd_module *txd_cuda_module(void)`. */
#define TXD_MODULE_SYMBOL "txd_cuda_module"
typedef const struct txd_module *(*txd_module_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
