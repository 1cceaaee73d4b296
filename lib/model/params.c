/* SPDX-License-Identifier: MIT
 *
 * The parameters that a configuration has, by params.def: names and shapes, and the
 * master copies in one arena.
 */
#include "model/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct txd_params {
    txd_arena *arena;
    size_t count;
    txd_param *list;
    size_t n_layers;
    /* 1 + place in the list by (layer, id), 0 = none; what is not per layer stands in
     * the first row. */
    size_t *index;
};

static const struct {
    const char *name, *axes;
    bool per_layer;
} table[TXD_PARAM_COUNT] = {
#define TXD_PARAM(id, name, per_layer, axes, exists) {name, axes, per_layer},
#include "model/params.def"
#undef TXD_PARAM
};

static size_t dim_of(const txd_config *c, char axis)
{
    size_t q = c->n_heads * c->head_dim, k = c->n_kv_heads * c->head_dim;
    size_t v = c->n_kv_heads * c->value_dim;

    switch (axis) {
    case 'v':
        return c->vocab;
    case 'n':
        return c->max_seq_len;
    case 'm':
        return c->d_ff;
    case 'Q':
        return q;
    case 'K':
        return k;
    case 'V':
        return v;
    case 'A':
        return q + k + v;
    case 'O':
        return c->n_heads * c->value_dim;
    case 'd':
    default:
        return c->d_model;
    }
}

static txd_status add(txd_params *params, const txd_config *config, txd_param_id id,
                      int layer, txd_dtype dtype)
{
    txd_param *param = &params->list[params->count];
    size_t dims[TXD_MAX_RANK], count;
    char name[64];
    int rank;
    void *data;

    if (!txd_param_exists(config, id))
        return TXD_OK;
    rank = txd_param_dims(dims, config, id);
    TXD_TRY(txd_shape_count(&count, dims, rank));
    data = txd_arena_alloc(params->arena, count, txd_dtype_bytes(dtype));
    txd_param_name(name, sizeof name, id, layer);
    *param = (txd_param){.id = id, .layer = layer};
    param->name = txd_arena_string(params->arena, name);
    if (!data || !param->name)
        return txd_fail_prefix(TXD_ERR_MEMORY, "%s", name);
    param->value = txd_tensor_make(dtype, data, rank, dims);
    params->count++;
    params->index[(size_t)(layer < 0 ? 0 : layer) * TXD_PARAM_COUNT + id] =
        params->count;
    return TXD_OK;
}

/* The ids of params.def in order, those per layer as one run of layers. */
static txd_status add_all(txd_params *params, const txd_config *config, txd_dtype dtype)
{
    int id = 0, first;

    for (; !table[id].per_layer; id++)
        TXD_TRY(add(params, config, (txd_param_id)id, -1, dtype));
    first = id;
    for (size_t layer = 0; layer < config->n_layers; layer++)
        for (id = first; table[id].per_layer; id++)
            TXD_TRY(add(params, config, (txd_param_id)id, (int)layer, dtype));
    for (; id < TXD_PARAM_COUNT; id++)
        TXD_TRY(add(params, config, (txd_param_id)id, -1, dtype));
    return TXD_OK;
}

static txd_status fill(txd_params *params, const txd_config *config, txd_dtype dtype)
{
    size_t most = config->n_layers * TXD_PARAM_COUNT;

    TXD_TRY(txd_arena_create(&params->arena));
    params->n_layers = config->n_layers;
    params->list = txd_arena_alloc(params->arena, most, sizeof *params->list);
    params->index = txd_arena_alloc(params->arena, most, sizeof *params->index);
    if (!params->list || !params->index)
        return TXD_ERR_MEMORY;
    return add_all(params, config, dtype);
}

bool txd_param_exists(const txd_config *config, txd_param_id id)
{
    const txd_config *c = config;

    switch (id) {
#define TXD_PARAM(id, name, per_layer, axes, exists)                                   \
    case TXD_PARAM_##id:                                                               \
        return exists;
#include "model/params.def"
#undef TXD_PARAM
    case TXD_PARAM_COUNT:
    default:
        return false;
    }
}

bool txd_param_per_layer(txd_param_id id)
{
    return table[id].per_layer;
}

int txd_param_dims(size_t dims[TXD_MAX_RANK], const txd_config *config, txd_param_id id)
{
    const char *axes = table[id].axes;
    int rank = 0;

    for (; axes[rank]; rank++)
        dims[rank] = dim_of(config, axes[rank]);
    return rank;
}

double txd_params_bytes(const txd_config *config, txd_dtype dtype)
{
    double total = 0;

    for (int id = 0; id < TXD_PARAM_COUNT; id++) {
        double bytes = (double)txd_dtype_bytes(dtype);
        size_t dims[TXD_MAX_RANK];
        int rank = txd_param_dims(dims, config, (txd_param_id)id);

        if (!txd_param_exists(config, (txd_param_id)id))
            continue;
        for (int axis = 0; axis < rank; axis++)
            bytes *= (double)dims[axis];
        total += table[id].per_layer ? bytes * (double)config->n_layers : bytes;
    }
    return total;
}

char *txd_param_name(char *text, size_t bytes, txd_param_id id, int layer)
{
    if (table[id].per_layer)
        snprintf(text, bytes, "layers.%d.%s", layer, table[id].name);
    else
        snprintf(text, bytes, "%s", table[id].name);
    return text;
}

txd_status txd_params_create(txd_params **out, const txd_config *config,
                             txd_dtype dtype)
{
    txd_params *params = calloc(1, sizeof *params);
    txd_status status;

    if (!params)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the parameters");
    status = fill(params, config, dtype);
    if (status != TXD_OK) {
        txd_params_destroy(params);
        return status;
    }
    *out = params;
    return TXD_OK;
}

void txd_params_destroy(txd_params *params)
{
    if (!params)
        return;
    txd_arena_destroy(params->arena);
    free(params);
}

size_t txd_params_count(const txd_params *params)
{
    return params->count;
}

txd_param *txd_params_at(txd_params *params, size_t i)
{
    return &params->list[i];
}

txd_param *txd_params_get(txd_params *params, txd_param_id id, int layer)
{
    size_t row = layer < 0 ? 0 : (size_t)layer, place;

    if ((int)id < 0 || id >= TXD_PARAM_COUNT || row >= params->n_layers ||
        table[id].per_layer != (layer >= 0))
        return NULL;
    place = params->index[row * TXD_PARAM_COUNT + id];
    return place == 0 ? NULL : &params->list[place - 1];
}

txd_param *txd_params_find(txd_params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->list[i].name, name) == 0)
            return &params->list[i];
    return NULL;
}
