/* SPDX-License-Identifier: MIT
 *
 * The parameters that a configuration has, by params.def: names and shapes, and the
 * master copies in one arena.
 */
#include "model/params.h"

#include <limits.h>
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
    size_t bound; /* those of one model, at the front; the rest is the encoder's */
    struct txd_params *encoder; /* the embeddings and the rest, or NULL */
    bool is_bare;               /* without values */
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
        return c->max_seq_len + c->position_offset;
    case 't':
        return c->token_types;
    case 'w':
        return txd_embed_width(c);
    case 'm':
        return c->d_ff;
    case 'Q':
        return q;
    case 'K':
        return k;
    case 'V':
        return v;
    case 'r':
        return c->relative_buckets;
    case 'h':
        return c->n_heads;
    case 'y':
        return c->qk_norm == TXD_QK_NORM_WIDTH ? q : c->head_dim;
    case 'z':
        return c->qk_norm == TXD_QK_NORM_WIDTH ? k : c->head_dim;
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
    char name[80];
    int rank;

    if (!txd_param_exists(config, id))
        return TXD_OK;
    rank = txd_param_dims(dims, config, id);
    TXD_TRY(txd_shape_count(&count, dims, rank));
    TXD_TRY(txd_size_mul(&count, count, txd_dtype_bytes(dtype)));
    txd_param_name_in(name, sizeof name, config, id, layer);
    *param = (txd_param){.id = id, .layer = layer, .encoder_layer = -1};
    param->name = txd_arena_string(params->arena, name);
    if (!param->name)
        return txd_fail_prefix(TXD_ERR_MEMORY, "%s", name);
    param->value = txd_tensor_make(dtype, NULL, rank, dims);
    params->count++;
    params->index[(size_t)(layer < 0 ? 0 : layer) * TXD_PARAM_COUNT + id] =
        params->count;
    return TXD_OK;
}

static int first_of_layers(void)
{
    int id = 0;

    while (!table[id].per_layer)
        id++;
    return id;
}

/* The ids of params.def from the layers on, those per layer as one run of layers. */
static txd_status add_stack(txd_params *params, const txd_config *config,
                            txd_dtype dtype)
{
    int first = first_of_layers(), id = first;

    for (size_t layer = 0; layer < config->n_layers; layer++)
        for (id = first; table[id].per_layer; id++)
            TXD_TRY(add(params, config, (txd_param_id)id, (int)layer, dtype));
    for (; id < TXD_PARAM_COUNT; id++)
        TXD_TRY(add(params, config, (txd_param_id)id, -1, dtype));
    return TXD_OK;
}

static txd_status make_lists(txd_params *params, const txd_config *config)
{
    size_t layers = config->n_layers + config->encoder_layers;

    params->n_layers = config->n_layers;
    params->list =
        txd_arena_alloc(params->arena, layers * TXD_PARAM_COUNT, sizeof *params->list);
    params->index = txd_arena_alloc(params->arena, config->n_layers * TXD_PARAM_COUNT,
                                    sizeof *params->index);
    return params->list && params->index ? TXD_OK : TXD_ERR_MEMORY;
}

/* The encoder's list begins with the decoder's embeddings; the rest of it also ends
 * the list of the whole model, where no entry is of a layer of the decoder. */
static txd_status add_encoder(txd_params *params, const txd_config *config,
                              txd_dtype dtype)
{
    txd_params *encoder = txd_arena_alloc(params->arena, 1, sizeof *encoder);
    size_t shared;

    if (!encoder)
        return TXD_ERR_MEMORY;
    params->encoder = encoder;
    encoder->arena = params->arena;
    encoder->is_bare = params->is_bare;
    TXD_TRY(make_lists(encoder, config));
    for (int id = 0; id < first_of_layers(); id++)
        if (params->index[id] > 0) {
            encoder->list[encoder->count++] = params->list[params->index[id] - 1];
            encoder->index[id] = encoder->count;
        }
    shared = encoder->count;
    TXD_TRY(add_stack(encoder, config, dtype));
    encoder->bound = encoder->count;
    for (size_t i = shared; i < encoder->count; i++) {
        txd_param *param = &params->list[params->count++];

        *param = encoder->list[i];
        param->encoder_layer = param->layer;
        param->layer = -1;
    }
    return TXD_OK;
}

static size_t padded_bytes(const txd_param *param)
{
    size_t bytes =
        txd_tensor_count(&param->value) * txd_dtype_bytes(param->value.dtype);

    return (bytes + 63) / 64 * 64;
}

/* The encoder's list: the embeddings, which are at the front of both, and what is its
 * alone, which is at the end of the whole. */
static void share_values(txd_params *params)
{
    txd_params *encoder = params->encoder;
    size_t alone = params->count - params->bound;
    size_t shared = encoder->count - alone;

    for (size_t i = 0; i < encoder->count; i++) {
        size_t same = i < shared ? i : params->bound + i - shared;

        encoder->list[i].value.data = params->list[same].value.data;
    }
}

/* One memory for all: many would waste the ends of their pages. */
static txd_status add_values(txd_params *params)
{
    const txd_param *largest = params->list;
    size_t bytes = 0;
    char *memory;

    for (size_t i = 0; i < params->count; i++) {
        if (padded_bytes(&params->list[i]) > padded_bytes(largest))
            largest = &params->list[i];
        TXD_TRY(txd_size_add(&bytes, bytes, padded_bytes(&params->list[i])));
    }
    memory = txd_arena_alloc(params->arena, bytes, 1);
    if (!memory)
        return txd_fail_prefix(TXD_ERR_MEMORY, "%s and the other parameters",
                               largest->name);
    for (size_t i = 0; i < params->count; i++) {
        params->list[i].value.data = memory;
        memory += padded_bytes(&params->list[i]);
    }
    if (params->encoder)
        share_values(params);
    return TXD_OK;
}

static txd_status fill(txd_params *params, const txd_config *config, txd_dtype dtype)
{
    TXD_TRY(txd_arena_create(&params->arena));
    TXD_TRY(make_lists(params, config));
    for (int id = 0; id < first_of_layers(); id++)
        TXD_TRY(add(params, config, (txd_param_id)id, -1, dtype));
    TXD_TRY(add_stack(params, config, dtype));
    params->bound = params->count;
    if (config->encoder)
        TXD_TRY(add_encoder(params, config->encoder, dtype));
    return params->is_bare ? TXD_OK : add_values(params);
}

#define HAS_NORM (c->norm_placement != TXD_PLACEMENT_BRANCH)
#define HAS_OTHER_WIDTH (txd_embed_width(c) != c->d_model)
#define HAS_NORM_OVER                                                                  \
    (c->norm_placement == TXD_PLACEMENT_SANDWICH ||                                    \
     c->norm_placement == TXD_PLACEMENT_BRANCH)

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
    return config->encoder ? total + txd_params_bytes(config->encoder, dtype) : total;
}

char *txd_param_name(char *text, size_t bytes, txd_param_id id, int layer)
{
    if (table[id].per_layer)
        snprintf(text, bytes, "layers.%d.%s", layer, table[id].name);
    else
        snprintf(text, bytes, "%s", table[id].name);
    return text;
}

char *txd_param_name_in(char *text, size_t bytes, const txd_config *config,
                        txd_param_id id, int layer)
{
    char name[64];

    snprintf(text, bytes, "%s%s", config->is_encoder ? "encoder." : "",
             txd_param_name(name, sizeof name, id, layer));
    return text;
}

static txd_status create(txd_params **out, const txd_config *config, txd_dtype dtype,
                         bool is_bare)
{
    txd_params *params = calloc(1, sizeof *params);
    txd_status status;

    if (!params)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the parameters");
    params->is_bare = is_bare;
    status = fill(params, config, dtype);
    if (status != TXD_OK) {
        txd_params_destroy(params);
        return status;
    }
    *out = params;
    return TXD_OK;
}

txd_status txd_params_create(txd_params **out, const txd_config *config,
                             txd_dtype dtype)
{
    return create(out, config, dtype, false);
}

txd_status txd_params_describe(txd_params **out, const txd_config *config)
{
    return create(out, config, TXD_F32, true);
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

size_t txd_params_bound(const txd_params *params)
{
    return params->bound;
}

txd_params *txd_params_of_encoder(txd_params *params)
{
    return params->encoder;
}

txd_param *txd_params_find(txd_params *params, const char *name)
{
    long number = strncmp(name, "layers.", 7) == 0 ? strtol(name + 7, NULL, 10) : -1;
    int layer = number < INT_MAX ? (int)number : INT_MAX;

    for (int id = 0; id < TXD_PARAM_COUNT; id++) {
        txd_param *param = txd_params_get(params, (txd_param_id)id, layer);

        if (param && strcmp(param->name, name) == 0)
            return param;
    }
    for (size_t i = params->bound; i < params->count; i++)
        if (strcmp(params->list[i].name, name) == 0)
            return &params->list[i];
    return NULL;
}

size_t txd_params_gradient(txd_params *params, const char *name)
{
    size_t length = strlen(name), end = strlen(TXD_GRADIENT_SUFFIX);
    const txd_param *param = NULL;
    char of[96];

    if (length > end && length - end < sizeof of &&
        strcmp(name + length - end, TXD_GRADIENT_SUFFIX) == 0) {
        snprintf(of, sizeof of, "%.*s", (int)(length - end), name);
        param = txd_params_find(params, of);
    }
    return param ? (size_t)(param - params->list) : SIZE_MAX;
}
