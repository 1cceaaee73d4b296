/* SPDX-License-Identifier: MIT
 *
 * Memory to unpack chunks in: as many pieces as threads ever did so at once, kept until
 * the recording is closed, since touching new memory costs more than unpacking.
 */
#include <stdlib.h>

#include "formats/h5_direct_internal.h"
#include "formats/inflate_internal.h"

txd_h5_scratch *txd_h5_scratch_take(txd_h5_pool *pool)
{
    txd_h5_scratch *scratch;

    pthread_mutex_lock(&pool->lock);
    scratch = pool->idle;
    if (scratch)
        pool->idle = scratch->next;
    pthread_mutex_unlock(&pool->lock);
    if (!scratch) {
        scratch = calloc(1, sizeof *scratch);
        if (scratch)
            scratch->inflater = txd_inflater_create();
        if (scratch && !scratch->inflater) {
            free(scratch);
            scratch = NULL;
        }
    }
    if (!scratch)
        (void)txd_fail(TXD_ERR_MEMORY, "out of memory: unpacking a chunk");
    return scratch;
}

void txd_h5_scratch_give(txd_h5_pool *pool, txd_h5_scratch *scratch)
{
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->idle;
    pool->idle = scratch;
    pthread_mutex_unlock(&pool->lock);
}

void txd_h5_pool_free(txd_h5_pool *pool)
{
    while (pool->idle) {
        txd_h5_scratch *scratch = pool->idle;

        pool->idle = scratch->next;
        txd_inflater_destroy(scratch->inflater);
        free(scratch->packed);
        free(scratch->plain);
        free(scratch);
    }
}

txd_status txd_h5_scratch_reserve(unsigned char **memory, size_t *have, size_t bytes)
{
    unsigned char *fresh;

    if (bytes <= *have)
        return TXD_OK;
    fresh = malloc(bytes);
    if (!fresh)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a chunk of %zu bytes", bytes);
    free(*memory);
    *memory = fresh;
    *have = bytes;
    return TXD_OK;
}
