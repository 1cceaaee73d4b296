/* SPDX-License-Identifier: MIT
 *
 * The module is loaded only where one of its backends is named: it takes a while.
 */
#include "cli/backends.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "txdiag_cuda.so"

/* From the program's folder: where it is installed, and where it is built. */
static const char *const places[] = {
    "/../" TXD_LIBDIR "/txdiag/" MODULE,
    "/../cuda/" MODULE,
};

/* The folder of this program, or "". */
static void find_program(char *out, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", out, bytes - 1);
    char *slash;

    out[length < 0 ? 0 : length] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

txd_status txd_backends_load(void)
{
    const char *named = getenv("TXDIAG_CUDA_MODULE");
    char folder[PATH_MAX], path[PATH_MAX + 256];
    txd_status status;

    if (named && *named) {
        status = txd_cuda_load(named);
        return status == TXD_OK ? status
                                : txd_fail_prefix(status, "TXDIAG_CUDA_MODULE");
    }
    find_program(folder, sizeof folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s", folder, places[i]);
        if (access(path, F_OK) == 0)
            return txd_cuda_load(path);
    }
    snprintf(path, sizeof path, "%s%s", folder, places[0]);
    return txd_cuda_load(path);
}

txd_status txd_backends_find(const txd_backend **out, const char *name)
{
    txd_status status;

    if (txd_cuda_has(name)) {
        status = txd_backends_load();
        if (status != TXD_OK)
            return txd_fail_prefix(status, "backend \"%s\" is absent", name);
    }
    return txd_backend_find(out, name);
}
