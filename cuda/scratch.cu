/* SPDX-License-Identifier: MIT
 *
 * Scratch memory of operations, one piece after another in blocks that grow and are
 * kept: a block on the device to work in, and a pair of blocks, on the device and
 * pinned on the host, for what travels between them.
 */
#include "cuda/launch.h"

#include <string.h>

#include "cuda/module.h"

#define ALIGNMENT 256u
/* Bytes of the first block. */
#define FIRST_PAIR ((size_t)16 << 20)
#define FIRST_WORK ((size_t)64 << 20)
/* Blocks that one operation can outgrow: each is at least twice the one before. */
#define OUTGROWN 40

struct block {
    unsigned char *device, *host; /* host NULL: not a pair */
    size_t bytes;
};

struct scratch {
    struct block now, outgrown[OUTGROWN];
    size_t used, outgrowns, first;
    bool pair;
};

static struct scratch travel = {{}, {}, 0, 0, FIRST_PAIR, true};
static struct scratch work = {{}, {}, 0, 0, FIRST_WORK, false};

static void release(struct block *block)
{
    (void)cudaFree(block->device);
    if (block->host != NULL)
        (void)cudaFreeHost(block->host);
    *block = {};
}

static txd_status get(struct block *block, size_t bytes, bool pair)
{
    txd_status status;

    *block = {};
    TXD_TRY(txd_cuda_room(bytes));
    TXD_TRY(txd_cuda_try("getting scratch memory",
                         cudaMalloc((void **)&block->device, bytes)));
    if (pair) {
        status = txd_cuda_try(
            "getting pinned memory",
            cudaHostAlloc((void **)&block->host, bytes, cudaHostAllocDefault));
        if (status != TXD_OK) {
            (void)cudaFree(block->device);
            return status;
        }
    }
    block->bytes = bytes;
    return TXD_OK;
}

/* Pieces that the operation has stay where they are. */
static txd_status grow(struct scratch *s, size_t bytes)
{
    size_t twice = 2 * s->now.bytes, least = s->first;
    struct block next;

    if (bytes > SIZE_MAX / 4 || s->outgrowns == OUTGROWN)
        return txd_cuda_fail(TXD_ERR_MEMORY,
                             "%zu bytes of scratch memory are more than the GPU has",
                             bytes);
    least = least > twice ? least : twice;
    TXD_TRY(get(&next, least > 2 * bytes ? least : 2 * bytes, s->pair));
    if (s->now.bytes > 0)
        s->outgrown[s->outgrowns++] = s->now;
    s->now = next;
    s->used = 0;
    return TXD_OK;
}

/* A piece on the device, and where it is on the host if that is asked for. */
static void *take(struct scratch *s, size_t bytes, unsigned char **host)
{
    size_t at, whole;

    if (bytes > SIZE_MAX - ALIGNMENT)
        bytes = SIZE_MAX - ALIGNMENT;
    whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if ((s->now.bytes == 0 || whole > s->now.bytes - s->used) &&
        grow(s, whole) != TXD_OK)
        return NULL;
    at = s->used;
    s->used += whole;
    if (host != NULL)
        *host = s->now.host + at;
    return s->now.device + at;
}

void txd_cuda_scratch_begin(void)
{
    bool outgrown = travel.outgrowns + work.outgrowns > 0;

    work.used = 0;
    if (!outgrown && travel.used <= travel.now.bytes / 2)
        return;
    /* What was staged may still be on its way. A failure is told by the next check. */
    (void)cudaStreamSynchronize(txd_cuda_stream());
    travel.used = 0;
    while (travel.outgrowns > 0)
        release(&travel.outgrown[--travel.outgrowns]);
    while (work.outgrowns > 0)
        release(&work.outgrown[--work.outgrowns]);
}

void *txd_cuda_workspace(size_t bytes)
{
    return take(&work, bytes, NULL);
}

void *txd_cuda_result(size_t bytes)
{
    return take(&travel, bytes, NULL);
}

const void *txd_cuda_stage_rows(const void *host, size_t rows, size_t width,
                                size_t stride)
{
    unsigned char *pinned;
    void *device = take(&travel, rows * width, &pinned);

    if (device == NULL || rows == 0 || width == 0)
        return device;
    if (width == stride)
        memcpy(pinned, host, rows * width);
    for (size_t r = 0; r < rows && width != stride; r++)
        memcpy(pinned + r * width, (const unsigned char *)host + r * stride, width);
    if (txd_cuda_try("staging", cudaMemcpyAsync(device, pinned, rows * width,
                                                cudaMemcpyHostToDevice,
                                                txd_cuda_stream())) != TXD_OK)
        return NULL;
    return device;
}

const void *txd_cuda_stage(const void *host, size_t bytes)
{
    return txd_cuda_stage_rows(host, 1, bytes, bytes);
}

static bool lies_in(const struct block *block, const unsigned char *device)
{
    return block->bytes > 0 && device >= block->device &&
           device < block->device + block->bytes;
}

/* Where on the host the counterpart of a piece is; NULL: it is none. */
static unsigned char *counterpart(const unsigned char *device)
{
    if (lies_in(&travel.now, device))
        return travel.now.host + (device - travel.now.device);
    for (size_t i = 0; i < travel.outgrowns; i++)
        if (lies_in(&travel.outgrown[i], device))
            return travel.outgrown[i].host + (device - travel.outgrown[i].device);
    return NULL;
}

txd_status txd_cuda_fetched(const void **host, const void *result, size_t bytes)
{
    unsigned char *pinned = counterpart((const unsigned char *)result);

    if (pinned == NULL)
        return txd_cuda_fail(TXD_ERR_ARGUMENT,
                             "what is fetched from the GPU is not a result of this "
                             "operation: this is a bug of txdiag");
    *host = pinned;
    if (bytes == 0)
        return TXD_OK;
    TXD_TRY(txd_cuda_try("fetching results",
                         cudaMemcpyAsync(pinned, result, bytes, cudaMemcpyDeviceToHost,
                                         txd_cuda_stream())));
    return txd_cuda_try("fetching results", cudaStreamSynchronize(txd_cuda_stream()));
}

txd_status txd_cuda_fetch_rows(void *to, const void *result, size_t rows, size_t width,
                               size_t stride)
{
    const void *from;

    if (rows * width == 0)
        return TXD_OK;
    TXD_TRY(txd_cuda_fetched(&from, result, rows * width));
    for (size_t r = 0; r < rows; r++)
        memcpy((unsigned char *)to + r * stride,
               (const unsigned char *)from + r * width, width);
    return TXD_OK;
}

txd_status txd_cuda_fetch(void *to, const void *result, size_t bytes)
{
    return txd_cuda_fetch_rows(to, result, 1, bytes, bytes);
}
