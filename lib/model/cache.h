/* SPDX-License-Identifier: MIT
 *
 * The KV cache: keys and values of tokens that earlier calls of one sequence pass have
 * run, so that a long prompt can come in chunks and each new token alone. A run that
 * has one (txd_run_options.cache) lets queries attend to what is in it and to its own
 * tokens, at absolute positions, by the same mask, tiles and operations as ever.
 */
#ifndef TXD_MODEL_CACHE_H
#define TXD_MODEL_CACHE_H

#include "model/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for `capacity` tokens of each of `batch` rows, empty. The model must outlive it.
 * The caller owns *out. ERR_MEMORY; ERR_LIMIT if the sizes overflow. */
txd_status txd_cache_create(txd_cache **out, const txd_model *model, size_t batch,
                            size_t capacity);
void txd_cache_destroy(txd_cache *cache); /* NULL is allowed */

/* Bytes that such a cache takes. */
txd_status txd_cache_bytes(size_t *out, const txd_model *model, size_t batch,
                           size_t capacity);

/* Tokens per row that are in it. */
size_t txd_cache_length(const txd_cache *cache);

/* Forgets all tokens but the first `length`; more than there are changes nothing. */
void txd_cache_cut(txd_cache *cache, size_t length);

#ifdef __cplusplus
}
#endif

#endif
