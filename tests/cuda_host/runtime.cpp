/* SPDX-License-Identifier: MIT
 *
 * CUDA's runtime beside memory: the device, errors, copies, streams and events.
 */
#include "emulation.h"

#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What handles point to. */
struct CUstream_st {
    int unused;
};

struct CUevent_st {
    struct timespec time;
};

namespace emulated
{

static thread_local cudaError_t last;

cudaError_t failed(cudaError_t error)
{
    last = error;
    return error;
}

cudaError_t device_state()
{
    const char *devices = getenv("TXD_EMULATED_DEVICES");

    if (devices && strcmp(devices, "none") == 0)
        return cudaErrorNoDevice;
    if (devices && strcmp(devices, "no-driver") == 0)
        return cudaErrorInsufficientDriver;
    return cudaSuccess;
}

/* device_state, or `error` if there is a device. */
static cudaError_t with_device(cudaError_t error)
{
    cudaError_t state = device_state();

    if (state != cudaSuccess)
        error = state;
    return error == cudaSuccess ? error : failed(error);
}

/* The host's address of one side of a copy; NULL if it is not what the kind says. */
static char *side(const void *address, size_t bytes, bool may_be_host,
                  bool may_be_device)
{
    if (is_device(address))
        return may_be_device ? static_cast<char *>(device_memory(address, bytes))
                             : nullptr;
    return may_be_host ? static_cast<char *>(const_cast<void *>(address)) : nullptr;
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_state() == cudaSuccess;
    return with_device(cudaSuccess);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return with_device(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    return with_device(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    size_t used, total;
    cudaError_t error = cudaSetDevice(device);

    if (error != cudaSuccess)
        return error;
    memory_state(&used, &total);
    *out = {};
    snprintf(out->name, sizeof out->name, "emulated on the CPU");
    out->totalGlobalMem = total;
    out->sharedMemPerBlock = SHARED_DEFAULT;
    out->sharedMemPerBlockOptin = SHARED_MOST;
    out->sharedMemPerMultiprocessor = SHARED_MOST + 1024;
    out->regsPerBlock = 65536;
    out->warpSize = 32;
    out->maxThreadsPerBlock = out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
    out->maxThreadsDim[2] = 64;
    out->maxGridSize[0] = 0x7fffffff;
    out->maxGridSize[1] = out->maxGridSize[2] = 65535;
    out->major = 9;
    out->multiProcessorCount = 4;
    out->maxThreadsPerMultiProcessor = 2048;
    out->l2CacheSize = 1 << 20;
    out->memoryBusWidth = 64;
    out->unifiedAddressing = 1;
    out->asyncEngineCount = 1;
    out->concurrentKernels = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);

    if (error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = properties.maxThreadsPerBlock;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = static_cast<int>(properties.sharedMemPerBlock);
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = properties.warpSize;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = properties.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = properties.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = properties.minor;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = static_cast<int>(properties.sharedMemPerMultiprocessor);
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(properties.sharedMemPerBlockOptin);
        return cudaSuccess;
    }
    return failed(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize()
{
    return with_device(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = device_state() == cudaErrorInsufficientDriver ? 0 : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    size_t used;

    memory_state(&used, total);
    *available = *total > used ? *total - used : 0;
    return with_device(cudaSuccess);
}

cudaError_t cudaGetLastError()
{
    cudaError_t error = last;

    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return last;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(name, text)                                                              \
    {                                                                                  \
        name, #name, text                                                              \
    }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorNoKernelImageForDevice,
          "no kernel image is available for execution on the device"),
    ERROR(cudaErrorUnsupportedPtxVersion,
          "the provided PTX was compiled with an unsupported toolchain."),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
#undef ERROR
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (const auto &one : errors)
        if (one.error == error)
            return one.name;
    return "cudaErrorUnknown";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (const auto &one : errors)
        if (one.error == error)
            return one.text;
    return "unknown error";
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    bool any = kind == cudaMemcpyDefault;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    char *target, *source;

    if (device_state() != cudaSuccess)
        return failed(device_state());
    if (bytes == 0)
        return cudaSuccess;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return failed(cudaErrorInvalidMemcpyDirection);
    target = side(to, bytes, any || !to_device, any || to_device);
    source = side(from, bytes, any || !from_device, any || from_device);
    if (!target || !source || (target < source + bytes && source < target + bytes))
        return failed(cudaErrorInvalidValue);
    memcpy(target, source, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t)
{
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    void *bytes_there = device_memory(memory, bytes);

    if (device_state() != cudaSuccess)
        return failed(device_state());
    if (bytes == 0)
        return cudaSuccess;
    if (!bytes_there)
        return failed(cudaErrorInvalidValue);
    memset(bytes_there, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
    return cudaMemset(memory, value, bytes);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    if (device_state() != cudaSuccess)
        return failed(device_state());
    *stream = new (std::nothrow) CUstream_st();
    return *stream ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream)
        return failed(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return with_device(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t)
{
    return with_device(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned)
{
    return with_device(event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (device_state() != cudaSuccess)
        return failed(device_state());
    *event = new (std::nothrow) CUevent_st();
    return *event ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return failed(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    if (!event)
        return failed(cudaErrorInvalidResourceHandle);
    (void)clock_gettime(CLOCK_MONOTONIC, &event->time);
    return with_device(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return with_device(event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (!from || !to)
        return failed(cudaErrorInvalidResourceHandle);
    *milliseconds = static_cast<float>(
        1e3 * static_cast<double>(to->time.tv_sec - from->time.tv_sec) +
        1e-6 * static_cast<double>(to->time.tv_nsec - from->time.tv_nsec));
    return cudaSuccess;
}
