/* SPDX-License-Identifier: MIT
 *
 * The device that all is run on: the first that CUDA_VISIBLE_DEVICES leaves. What keeps
 * a machine from having one is told with what to do about it.
 */
#include "cuda/launch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "cuda/module.h"

static struct {
    const struct txd_module_host *host;
    struct txd_cuda_device device;
    cudaStream_t stream, transfers;
    bool open;
} here;

static pthread_mutex_t operations = PTHREAD_MUTEX_INITIALIZER;

void txd_cuda_begin(void)
{
    pthread_mutex_lock(&operations);
    txd_cuda_scratch_begin();
}

void txd_cuda_end(void)
{
    pthread_mutex_unlock(&operations);
}

cudaStream_t txd_cuda_stream(void)
{
    return here.stream;
}

cudaStream_t txd_cuda_transfers(void)
{
    return here.transfers;
}

const struct txd_cuda_device *txd_cuda_device_here(void)
{
    return &here.device;
}

const struct txd_module_host *txd_cuda_host(void)
{
    return here.host;
}

unsigned txd_cuda_processors(void)
{
    return here.device.processors;
}

size_t txd_cuda_shared_most(void)
{
    return here.device.shared_most;
}

txd_status txd_cuda_fail(txd_status status, const char *format, ...)
{
    char text[TXD_MESSAGE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return here.host->fail(status, "%s", text);
}

txd_status txd_cuda_try(const char *operation, cudaError_t result)
{
    if (result == cudaSuccess)
        return TXD_OK;
    (void)cudaGetLastError(); /* the next call must not be told of it again */
    return txd_cuda_fail(result == cudaErrorMemoryAllocation ? TXD_ERR_MEMORY
                                                             : TXD_ERR_UNSUPPORTED,
                         "%s on the GPU failed: %s (%s)", operation,
                         cudaGetErrorString(result), cudaGetErrorName(result));
}

txd_status txd_cuda_check(const char *operation)
{
    return txd_cuda_try(operation, cudaGetLastError());
}

txd_status txd_cuda_shared_room(const void *kernel, size_t bytes)
{
    return txd_cuda_try(
        "asking for shared memory",
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)bytes));
}

/* ---- finding the device ---- */

/* "12.4" of 12040; in memory that each call overwrites per thread. */
static const char *version(int number)
{
    static thread_local char text[2][24];
    static thread_local unsigned turn;
    char *out = text[turn++ % 2];

    snprintf(out, sizeof text[0], "%d.%d", number / 1000, number % 1000 / 10);
    return out;
}

static txd_status no_device(const struct txd_module_host *host, cudaError_t result)
{
    int driver = 0, runtime = 0;

    (void)cudaGetLastError();
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (result == cudaErrorInsufficientDriver && driver == 0)
        return host->fail(TXD_ERR_MISSING,
                          "no CUDA driver on this machine: install NVIDIA's driver for "
                          "its GPU (CUDA %s or later), or use a backend of the CPU",
                          version(runtime));
    if (result == cudaErrorInsufficientDriver)
        return host->fail(TXD_ERR_MISSING,
                          "the CUDA driver is too old: it knows CUDA %s, but this "
                          "build needs %s: update the driver, or build with an older "
                          "CUDA",
                          version(driver), version(runtime));
    if (result == cudaErrorNoDevice || result == cudaSuccess)
        return host->fail(TXD_ERR_MISSING,
                          "there is a CUDA driver, but no GPU that it can use: see "
                          "`nvidia-smi`, CUDA_VISIBLE_DEVICES, and whether this "
                          "container is given one");
    return host->fail(TXD_ERR_MISSING, "no GPU can be used: %s (%s)",
                      cudaGetErrorString(result), cudaGetErrorName(result));
}

static __global__ void nothing()
{
}

/* Whether kernels of this build run on the device: one is tried. */
static txd_status knows_device(const struct txd_module_host *host)
{
    cudaError_t result;

    TXD_LAUNCH(nothing, 1, 1, 0);
    result = cudaGetLastError();
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(here.stream);
    if (result == cudaSuccess)
        return TXD_OK;
    (void)cudaGetLastError();
    if (result == cudaErrorNoKernelImageForDevice ||
        result == cudaErrorInvalidDeviceFunction)
        return host->fail(TXD_ERR_MISSING,
                          "the GPU \"%s\" has compute capability %d.%d, and this build "
                          "has no kernels for it: build with -Dgpu_archs=%d%d",
                          here.device.name, here.device.major, here.device.minor,
                          here.device.major, here.device.minor);
    return host->fail(TXD_ERR_MISSING, "the GPU \"%s\" cannot be used: %s (%s)",
                      here.device.name, cudaGetErrorString(result),
                      cudaGetErrorName(result));
}

static int attribute(enum cudaDeviceAttr which)
{
    int value = 0;

    (void)cudaDeviceGetAttribute(&value, which, 0);
    return value;
}

static cudaError_t describe(struct txd_cuda_device *device)
{
    struct cudaDeviceProp properties;
    cudaError_t result = cudaGetDeviceProperties(&properties, 0);

    if (result != cudaSuccess)
        return result;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    device->major = properties.major;
    device->minor = properties.minor;
    device->processors = (unsigned)properties.multiProcessorCount;
    device->shared_most = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    (void)cudaDriverGetVersion(&device->driver);
    (void)cudaRuntimeGetVersion(&device->runtime);
    return cudaSuccess;
}

static txd_status open_locked(const struct txd_module_host *host)
{
    int devices = 0;
    cudaError_t result = cudaGetDeviceCount(&devices);

    if (result != cudaSuccess || devices == 0)
        return no_device(host, result);
    result = describe(&here.device);
    if (result != cudaSuccess)
        return no_device(host, result);
    if (here.stream == NULL)
        result = cudaStreamCreateWithFlags(&here.stream, cudaStreamNonBlocking);
    if (result == cudaSuccess && here.transfers == NULL)
        result = cudaStreamCreateWithFlags(&here.transfers, cudaStreamNonBlocking);
    if (result != cudaSuccess)
        return no_device(host, result);
    TXD_TRY(knows_device(host));
    here.host = host;
    here.open = true;
    return TXD_OK;
}

txd_status txd_cuda_open(const struct txd_module_host *host)
{
    txd_status status = TXD_OK;

    pthread_mutex_lock(&operations);
    if (!here.open)
        status = open_locked(host);
    pthread_mutex_unlock(&operations);
    return status;
}
