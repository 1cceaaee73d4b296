/* SPDX-License-Identifier: MIT
 *
 * What a run does with its KV cache; for the decoder's own files.
 */
#ifndef TXD_MODEL_CACHE_PRIVATE_H
#define TXD_MODEL_CACHE_PRIVATE_H

#include "model/cache.h"
#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What masks read of every key: (b, capacity) each. */
struct txd_cached_keys {
    int32_t *positions, *valid, *document;
};

struct txd_cache {
    const txd_model *model;
    size_t batch, capacity, length; /* length: tokens of calls that are complete */
    struct txd_cached_keys claimed, actual;
    char *memory;       /* from the backend: all keys, then all values */
    size_t layer_bytes; /* of both, in one layer */
    size_t value_offset;
};

/* ERR_CONFIG if these tokens have no room in it, or are of another batch. */
txd_status txd_cache_check(const txd_cache *cache, const txd_inputs *inputs);
/* Lets queries of `inputs` see the keys of earlier calls and their own, which are noted
 * in `keys`. */
void txd_cache_join(const txd_cache *cache, const struct txd_cached_keys *keys,
                    txd_inputs *inputs);
/* Where the keys (b, g, capacity, e) or values (b, g, capacity, f) of a layer lie;
 * `point` is TXD_POINT_ATTN_K or TXD_POINT_ATTN_V. */
char *txd_cache_at(const txd_cache *cache, int layer, txd_point point);
/* Takes a layer's new keys or values, (b, g, t, e) or (b, g, t, f). */
txd_status txd_cache_keep(const txd_cache *cache, const txd_run *run, int layer,
                          txd_point point);
/* The call is complete. */
void txd_cache_grow(txd_cache *cache, size_t length);

#ifdef __cplusplus
}
#endif

#endif
