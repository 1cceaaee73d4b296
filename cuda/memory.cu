/* SPDX-License-Identifier: MIT
 *
 * Memory of the device, and the ways between it and the host's. Uploads, copies and
 * zeros are queued with the operations. Downloads travel on a stream of their own,
 * after what was queued before them and while later kernels run. Both go through two
 * pinned buffers each, of which one travels while the other is filled or emptied.
 */
#include "cuda/launch.h"

#include <pthread.h>
#include <string.h>

#include "cuda/module.h"

#define BUFFER ((size_t)4 << 20)

/* Two buffers, and when each has travelled. */
struct way {
    pthread_mutex_t lock;
    unsigned char *buffer[2];
    cudaEvent_t travelled[2], before;
    bool made;
};

static struct way up = {PTHREAD_MUTEX_INITIALIZER, {}, {}, NULL, false};
static struct way down = {PTHREAD_MUTEX_INITIALIZER, {}, {}, NULL, false};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static txd_status make_event(cudaEvent_t *event)
{
    return txd_cuda_try("making an event",
                        cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

/* Under its lock. What was made before a failure is used by the next try. */
static txd_status make(struct way *way)
{
    if (way->made)
        return TXD_OK;
    for (int i = 0; i < 2; i++) {
        if (way->buffer[i] == NULL)
            TXD_TRY(txd_cuda_try(
                "getting pinned memory",
                cudaHostAlloc((void **)&way->buffer[i], BUFFER, cudaHostAllocDefault)));
        if (way->travelled[i] == NULL)
            TXD_TRY(make_event(&way->travelled[i]));
    }
    if (way->before == NULL)
        TXD_TRY(make_event(&way->before));
    way->made = true;
    return TXD_OK;
}

static double gib(size_t bytes)
{
    return (double)bytes / 0x1p30;
}

txd_status txd_cuda_room(size_t bytes)
{
    size_t free = 0, total = 0;

    TXD_TRY(txd_cuda_try("asking for free memory", cudaMemGetInfo(&free, &total)));
    if (bytes <= free)
        return TXD_OK;
    return txd_cuda_fail(TXD_ERR_MEMORY,
                         "the GPU \"%s\" has no room: %.2f GiB more are needed, %.2f "
                         "of its %.2f GiB are free: use a shorter sequence, a smaller "
                         "batch, or fewer recorded points, end other programs that use "
                         "it, or use a backend of the CPU",
                         txd_cuda_device_here()->name, gib(bytes), gib(free),
                         gib(total));
}

void *txd_cuda_alloc(size_t bytes)
{
    size_t some = bytes > 0 ? bytes : 1;
    void *memory = NULL;

    if (txd_cuda_room(some) != TXD_OK ||
        txd_cuda_try("getting memory", cudaMalloc(&memory, some)) != TXD_OK)
        return NULL;
    if (txd_cuda_zero(memory, some) == TXD_OK)
        return memory;
    (void)cudaFree(memory);
    return NULL;
}

/* Kernels and downloads that use it may be queued. */
void txd_cuda_free(void *memory)
{
    if (memory == NULL)
        return;
    (void)cudaStreamSynchronize(txd_cuda_stream());
    (void)cudaStreamSynchronize(txd_cuda_transfers());
    (void)cudaFree(memory);
}

txd_status txd_cuda_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return TXD_OK;
    return txd_cuda_try(
        "copying",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, txd_cuda_stream()));
}

txd_status txd_cuda_zero(void *to, size_t bytes)
{
    if (bytes == 0)
        return TXD_OK;
    return txd_cuda_try("clearing", cudaMemsetAsync(to, 0, bytes, txd_cuda_stream()));
}

/* One part: `turn` says which buffer. An event that was never recorded is past. */
static txd_status upload_part(void *to, const void *from, size_t bytes, unsigned turn)
{
    unsigned char *buffer = up.buffer[turn % 2];
    cudaEvent_t travelled = up.travelled[turn % 2];

    TXD_TRY(txd_cuda_try("uploading", cudaEventSynchronize(travelled)));
    memcpy(buffer, from, bytes);
    TXD_TRY(txd_cuda_try(
        "uploading",
        cudaMemcpyAsync(to, buffer, bytes, cudaMemcpyHostToDevice, txd_cuda_stream())));
    return txd_cuda_try("uploading", cudaEventRecord(travelled, txd_cuda_stream()));
}

txd_status txd_cuda_upload(void *to, const void *from, size_t bytes)
{
    txd_status status;
    unsigned turn = 0;

    pthread_mutex_lock(&up.lock);
    status = make(&up);
    for (size_t at = 0; status == TXD_OK && at < bytes; at += BUFFER, turn++)
        status = upload_part((unsigned char *)to + at, (const unsigned char *)from + at,
                             least(BUFFER, bytes - at), turn);
    pthread_mutex_unlock(&up.lock);
    return status;
}

static txd_status start_part(const unsigned char *from, size_t bytes, unsigned turn)
{
    TXD_TRY(txd_cuda_try("downloading", cudaMemcpyAsync(down.buffer[turn % 2], from,
                                                        bytes, cudaMemcpyDeviceToHost,
                                                        txd_cuda_transfers())));
    return txd_cuda_try(
        "downloading", cudaEventRecord(down.travelled[turn % 2], txd_cuda_transfers()));
}

/* While one part travels, the one before it is taken out. */
static txd_status download_parts(unsigned char *to, const unsigned char *from,
                                 size_t bytes)
{
    unsigned turn = 0;

    TXD_TRY(make(&down));
    TXD_TRY(
        txd_cuda_try("downloading", cudaEventRecord(down.before, txd_cuda_stream())));
    TXD_TRY(txd_cuda_try("downloading",
                         cudaStreamWaitEvent(txd_cuda_transfers(), down.before, 0)));
    TXD_TRY(start_part(from, least(BUFFER, bytes), 0));
    for (size_t at = 0; at < bytes; at += BUFFER, turn++) {
        size_t next = at + BUFFER;

        if (next < bytes)
            TXD_TRY(start_part(from + next, least(BUFFER, bytes - next), turn + 1));
        TXD_TRY(txd_cuda_try("downloading",
                             cudaEventSynchronize(down.travelled[turn % 2])));
        memcpy(to + at, down.buffer[turn % 2], least(BUFFER, bytes - at));
    }
    return TXD_OK;
}

txd_status txd_cuda_download(void *to, const void *from, size_t bytes)
{
    txd_status status;

    if (bytes == 0)
        return TXD_OK;
    pthread_mutex_lock(&down.lock);
    status = download_parts((unsigned char *)to, (const unsigned char *)from, bytes);
    pthread_mutex_unlock(&down.lock);
    return status;
}

txd_status txd_cuda_sync(txd_ctx *ctx)
{
    (void)ctx;
    TXD_TRY(txd_cuda_try("an operation", cudaStreamSynchronize(txd_cuda_stream())));
    return txd_cuda_try("an operation", cudaStreamSynchronize(txd_cuda_transfers()));
}
