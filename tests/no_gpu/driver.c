/* SPDX-License-Identifier: MIT
 *
 * A CUDA driver that knows no device, for tests: what a machine has whose container is
 * given no GPU. Found as libcuda.so.1 by LD_LIBRARY_PATH; every function that the
 * runtime asks for answers that there is none.
 */
#include <stdint.h>
#include <string.h>

enum { NO_DEVICE = 100, VERSION = 1000 * 99 };

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

static int no_device(void)
{
    return NO_DEVICE;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 0;
    return NO_DEVICE;
}

typedef void (*any)(void);

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status)
{
    static const struct {
        const char *name;
        any function;
    } known[] = {
        {"cuInit", (any)cuInit},
        {"cuDriverGetVersion", (any)cuDriverGetVersion},
        {"cuDeviceGetCount", (any)cuDeviceGetCount},
        {"cuGetProcAddress", (any)cuGetProcAddress_v2},
    };
    any found = (any)no_device;

    (void)version;
    (void)flags;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            found = known[i].function;
    memcpy(function, &found, sizeof found);
    if (status != NULL)
        *status = 0;
    return 0;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
