/* SPDX-License-Identifier: MIT
 *
 * The backends that tests name. Programs that are tests of the suite `cuda` are run a
 * second time with TXD_ON="cpu32=cuda32 bf16=cudabf16": what they do on the first of
 * each pair is done on the second.
 */
#ifndef TXD_TESTS_ON_H
#define TXD_TESTS_ON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/module.h"
#include "ops/registry.h"

/* The name that stands for `name`, in memory that the next call overwrites. */
static inline const char *test_on(const char *name)
{
    static char other[32];
    const char *pairs = getenv("TXD_ON"), *at;
    char wanted[32];

    snprintf(wanted, sizeof wanted, "%s=", name);
    for (at = pairs; at != NULL && *at != '\0'; at = strchr(at, ' '), at += at != NULL)
        if (strncmp(at, wanted, strlen(wanted)) == 0 &&
            sscanf(at + strlen(wanted), "%31s", other) == 1)
            return other;
    return name;
}

/* txd_backend_find of that. */
static inline txd_status test_backend_find(const txd_backend **out, const char *name)
{
    const char *on = test_on(name), *module = getenv("TXDIAG_CUDA_MODULE");
    txd_status status = TXD_OK;

    if (txd_cuda_has(on))
        status = txd_cuda_load(module != NULL ? module : "txdiag_cuda.so");
    return status == TXD_OK ? txd_backend_find(out, on) : status;
}

#endif
