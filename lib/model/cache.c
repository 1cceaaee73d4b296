/* SPDX-License-Identifier: MIT
 *
 * Keys and values of earlier calls, in the backend's memory, with what masks read of
 * them: as claimed, and as faults have changed it. A call that fails leaves the cache
 * as long as it was.
 */
#include "model/cache_private.h"

#include <stdlib.h>
#include <string.h>

static size_t width_of(const txd_config *c, txd_point point)
{
    return point == TXD_POINT_ATTN_V ? c->value_dim : c->head_dim;
}

/* Bytes of one layer's keys and of its values; of all layers. */
static txd_status measure(size_t part[2], size_t *total, const txd_model *model,
                          const size_t shape[2])
{
    static const txd_point points[2] = {TXD_POINT_ATTN_K, TXD_POINT_ATTN_V};
    const txd_config *c = model->config;
    size_t rows, sum;

    TXD_TRY(txd_size_mul(&rows, shape[0], shape[1]));
    TXD_TRY(txd_size_mul(&rows, rows, c->n_kv_heads));
    TXD_TRY(txd_size_mul(&rows, rows, txd_dtype_bytes(model->backend->dtype)));
    for (int i = 0; i < 2; i++)
        TXD_TRY(txd_size_mul(&part[i], rows, width_of(c, points[i])));
    TXD_TRY(txd_size_add(&sum, part[0], part[1]));
    return txd_size_mul(total, sum, c->n_layers);
}

static txd_status make_keys(struct txd_cached_keys *keys, size_t count)
{
    int32_t **arrays[3] = {&keys->positions, &keys->valid, &keys->document};

    for (int i = 0; i < 3; i++) {
        *arrays[i] = calloc(count > 0 ? count : 1, sizeof(int32_t));
        if (!*arrays[i])
            return txd_fail(TXD_ERR_MEMORY, "no memory for a cache of %zu keys", count);
    }
    return TXD_OK;
}

static void free_keys(struct txd_cached_keys *keys)
{
    free(keys->positions);
    free(keys->valid);
    free(keys->document);
}

static txd_status fill(txd_cache *cache)
{
    const size_t shape[2] = {cache->batch, cache->capacity};
    size_t part[2], total, count;

    TXD_TRY(measure(part, &total, cache->model, shape));
    TXD_TRY(txd_size_mul(&count, shape[0], shape[1]));
    cache->layer_bytes = part[0] + part[1];
    cache->value_offset = part[0];
    TXD_TRY(make_keys(&cache->claimed, count));
    TXD_TRY(make_keys(&cache->actual, count));
    cache->memory = cache->model->backend->alloc(total);
    return cache->memory
               ? TXD_OK
               : txd_fail(TXD_ERR_MEMORY, "no memory for a cache of %zu bytes", total);
}

txd_status txd_cache_create(txd_cache **out, const txd_model *model, size_t batch,
                            size_t capacity)
{
    txd_cache *cache = calloc(1, sizeof *cache);
    txd_status status;

    if (!cache)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a cache");
    cache->model = model;
    cache->batch = batch;
    cache->capacity = capacity;
    status = fill(cache);
    if (status != TXD_OK) {
        txd_cache_destroy(cache);
        return status;
    }
    *out = cache;
    return TXD_OK;
}

void txd_cache_destroy(txd_cache *cache)
{
    if (!cache)
        return;
    if (cache->memory)
        cache->model->backend->free(cache->memory);
    free_keys(&cache->claimed);
    free_keys(&cache->actual);
    free(cache);
}

txd_status txd_cache_bytes(size_t *out, const txd_model *model, size_t batch,
                           size_t capacity)
{
    const size_t shape[2] = {batch, capacity};
    size_t part[2], total, keys;

    TXD_TRY(measure(part, &total, model, shape));
    TXD_TRY(txd_size_mul(&keys, batch, capacity));
    TXD_TRY(txd_size_mul(&keys, keys, 6 * sizeof(int32_t)));
    return txd_size_add(out, total, keys);
}

size_t txd_cache_length(const txd_cache *cache)
{
    return cache->length;
}

void txd_cache_cut(txd_cache *cache, size_t length)
{
    if (length < cache->length)
        cache->length = length;
}

/* ---- what a run does ---- */

txd_status txd_cache_check(const txd_cache *cache, const txd_inputs *inputs)
{
    if (inputs->batch != cache->batch)
        return txd_fail(TXD_ERR_CONFIG,
                        "the cache is of %zu batch rows, the call has %zu",
                        cache->batch, inputs->batch);
    if (inputs->length <= cache->capacity - cache->length)
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG,
                    "the cache has %zu of its %zu tokens left, the call brings %zu; "
                    "make a larger one, or cut it",
                    cache->capacity - cache->length, cache->capacity, inputs->length);
}

void txd_cache_join(const txd_cache *cache, const struct txd_cached_keys *keys,
                    txd_inputs *inputs)
{
    size_t bytes = inputs->length * sizeof(int32_t);

    for (size_t b = 0; b < inputs->batch; b++) {
        size_t to = b * cache->capacity + cache->length, from = b * inputs->length;

        memcpy(keys->positions + to, inputs->positions + from, bytes);
        memcpy(keys->valid + to, inputs->valid + from, bytes);
        memcpy(keys->document + to, inputs->document + from, bytes);
    }
    inputs->past = cache->length;
    inputs->keys = (struct txd_input_keys){cache->capacity, keys->positions,
                                           keys->valid, keys->document};
}

char *txd_cache_at(const txd_cache *cache, int layer, txd_point point)
{
    char *here = cache->memory + (size_t)layer * cache->layer_bytes;

    return point == TXD_POINT_ATTN_V ? here + cache->value_offset : here;
}

txd_status txd_cache_keep(const txd_cache *cache, const txd_run *run, int layer,
                          txd_point point)
{
    const txd_config *c = run->model->config;
    size_t row = width_of(c, point) * txd_dtype_bytes(run->model->backend->dtype);
    char *to = txd_cache_at(cache, layer, point) + cache->length * row;
    const char *from = run->value[point];

    for (size_t i = 0; i < run->batch * c->n_kv_heads; i++)
        TXD_TRY(cache->model->backend->copy(to + i * cache->capacity * row,
                                            from + i * run->length * row,
                                            run->length * row));
    return TXD_OK;
}

void txd_cache_grow(txd_cache *cache, size_t length)
{
    cache->length += length;
}
