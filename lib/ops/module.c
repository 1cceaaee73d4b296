/* SPDX-License-Identifier: MIT
 *
 * A module is never closed: what it brought with it (CUDA) does not like that.
 */
#include "ops/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ops/module_abi.h"

static const char *const names[] = {"cuda32", "cudabf16"};

#define NAMES (sizeof names / sizeof names[0])

static const struct txd_module_host host = {txd_fail, txd_backend_find};

const char *txd_cuda_backend_at(size_t i)
{
    return i < NAMES ? names[i] : NULL;
}

bool txd_cuda_has(const char *name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* ISO C has no conversion from an object's address to a function's; POSIX has one by
 * representation. */
static txd_module_entry entry_of(void *symbol)
{
    txd_module_entry entry;

    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static txd_status open_file(const struct txd_module **out, const char *path)
{
    const char *reason;
    char here[4096];
    void *file, *symbol;

    if (access(path, F_OK) != 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: %s: a build without CUDA has no such module; build where "
                        "nvcc and cuBLAS are (meson setup -Dcuda=enabled)",
                        path, strerror(errno));
    if (strchr(path, '/') == NULL) { /* dlopen would look elsewhere */
        snprintf(here, sizeof here, "./%s", path);
        path = here;
    }
    file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        reason = dlerror();
        return txd_fail(TXD_ERR_MISSING,
                        "%s cannot be loaded: %s; install the CUDA libraries that it "
                        "was built with (runtime and cuBLAS), or name their folder in "
                        "LD_LIBRARY_PATH",
                        path, reason != NULL ? reason : "no reason is known");
    }
    symbol = dlsym(file, TXD_MODULE_SYMBOL);
    if (symbol == NULL)
        return txd_fail(TXD_ERR_MISSING, "%s is no module of txdiag: it has no %s",
                        path, TXD_MODULE_SYMBOL);
    *out = entry_of(symbol)();
    return TXD_OK;
}

static txd_status check(const struct txd_module *module, const char *path)
{
    if (module->abi == TXD_MODULE_ABI && module->backend_bytes == sizeof(txd_backend))
        return TXD_OK;
    return txd_fail(TXD_ERR_MISSING,
                    "%s is of another version of txdiag: expected interface %u with "
                    "backends of %zu bytes, found %u with %zu; build and install both "
                    "from one source",
                    path, TXD_MODULE_ABI, sizeof(txd_backend), module->abi,
                    module->backend_bytes);
}

static txd_status add_all(const struct txd_module *module)
{
    for (size_t i = 0; i < module->backends; i++)
        TXD_TRY(txd_backend_add(module->backend(i)));
    return TXD_OK;
}

static txd_status load(const char *path)
{
    const struct txd_module *module;

    TXD_TRY(open_file(&module, path));
    TXD_TRY(check(module, path));
    TXD_TRY(module->open(&host));
    return add_all(module);
}

txd_status txd_cuda_load(const char *path)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    txd_status status = TXD_OK;

    pthread_mutex_lock(&lock);
    if (!loaded)
        status = load(path);
    loaded = status == TXD_OK;
    pthread_mutex_unlock(&lock);
    return status;
}
