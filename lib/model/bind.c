/* SPDX-License-Identifier: MIT
 *
 * Binding a model: every parameter converted once into one memory of the backend, and
 * rounded to its format: once, from whatever the master copy is. Where that would give
 * the same bits, the master copies are read in place: a second copy of a large model
 * costs more memory and time than a pass. A fused QKV matrix is three row ranges of one
 * parameter, so the decoder sees q, k and v alike however they are stored.
 */
#include "base/memory.h"
#include "model/bias.h"
#include "model/rope.h"
#include "model/run_private.h"

/* Elements that one task converts, and about how many operations one takes. */
#define CHUNK 4096
#define OPERATIONS 4.0

struct binder {
    txd_ctx ctx;
    struct txd_model *model;
    txd_params *params;
};

static size_t place_index(txd_param_id id, int layer)
{
    return (size_t)(layer < 0 ? 0 : layer) * TXD_PARAM_COUNT + id;
}

/* A parameter that is converted to the format of the backend. */
struct conversion {
    const txd_backend *backend;
    char *to;
    const txd_tensor *from;
    size_t count;
};

static txd_status convert_chunk(void *self, size_t chunk, int worker)
{
    const struct conversion *c = self;
    const txd_backend *backend = c->backend;
    size_t begin = chunk * CHUNK, left = c->count - begin;
    size_t n = left < CHUNK ? left : CHUNK;
    char *to = c->to + begin * txd_dtype_bytes(backend->dtype);
    const char *from =
        (const char *)c->from->data + begin * txd_dtype_bytes(c->from->dtype);
    uint16_t narrow[CHUNK];

    (void)worker;
    if (backend->format == backend->dtype) {
        txd_convert(to, backend->dtype, from, c->from->dtype, n);
        return TXD_OK;
    }
    txd_convert(narrow, backend->format, from, c->from->dtype, n);
    txd_convert(to, backend->dtype, narrow, backend->format, n);
    return TXD_OK;
}

const void *txd_model_parameter(const struct txd_model *model, txd_param_id id,
                                int layer)
{
    return model->places[place_index(id, layer)];
}

static const char *place(const struct binder *binder, txd_param_id id, int layer)
{
    return txd_model_parameter(binder->model, id, layer);
}

/* All master copies have one dtype. */
static bool stored_as_they_are(const struct binder *binder)
{
    const txd_backend *backend = binder->model->backend;

    return backend->host == NULL && backend->format == backend->dtype &&
           txd_params_at(binder->params, 0)->value.dtype == backend->dtype;
}

/* Gives every parameter, and its gradient, a place, in order. */
static txd_status lay_out(struct binder *binder)
{
    struct txd_model *model = binder->model;

    model->param_count = txd_params_bound(binder->params);
    model->params =
        txd_arena_alloc(model->arena, model->param_count, sizeof *model->params);
    if (model->params == NULL)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < model->param_count; i++) {
        const txd_param *param = txd_params_at(binder->params, i);
        size_t bytes =
            txd_tensor_count(&param->value) * txd_dtype_bytes(model->backend->dtype);

        model->params[i] = (struct txd_model_param){
            param->id, param->layer, param->value.data, bytes, model->bytes};
        model->bytes += (bytes + 63) / 64 * 64;
    }
    return TXD_OK;
}

/* Where parameters are converted; from there they go to the backend. */
static txd_status make_desk(void **out, const struct txd_model *model)
{
    size_t most = 0;

    *out = NULL;
    if (model->backend->host == NULL)
        return TXD_OK;
    for (size_t i = 0; i < model->param_count; i++)
        most = model->params[i].bytes > most ? model->params[i].bytes : most;
    *out = txd_host_take(most);
    return *out == NULL ? TXD_ERR_MEMORY : TXD_OK;
}

static txd_status convert_onto(struct binder *binder, void *desk)
{
    struct txd_model *model = binder->model;

    for (size_t i = 0; i < model->param_count; i++) {
        const txd_tensor *value = &txd_params_at(binder->params, i)->value;
        char *here = (char *)model->memory + model->params[i].offset;
        struct conversion c = {model->backend, desk ? desk : here, value,
                               txd_tensor_count(value)};

        TXD_TRY(txd_parallel(&binder->ctx, (c.count + CHUNK - 1) / CHUNK,
                             OPERATIONS * CHUNK, convert_chunk, &c));
        if (desk != NULL)
            TXD_TRY(model->backend->upload(here, desk, model->params[i].bytes));
        model->params[i].data = here;
    }
    return TXD_OK;
}

static txd_status convert_all(struct binder *binder)
{
    struct txd_model *model = binder->model;
    txd_status status;
    void *desk;

    model->memory = model->backend->alloc(model->bytes);
    if (model->memory == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(make_desk(&desk, model));
    status = convert_onto(binder, desk);
    txd_memory_give(desk);
    return status;
}

/* The row ranges of a fused parameter; `width` is 1 for a bias. */
static void place_fused(const struct binder *binder, txd_param_id id, int layer,
                        size_t width, const void *parts[3])
{
    const txd_config *c = binder->model->config;
    const char *whole = place(binder, id, layer);
    size_t row = width * txd_dtype_bytes(binder->model->backend->dtype);

    if (whole == NULL)
        return;
    parts[0] = whole;
    parts[1] = whole + c->n_heads * c->head_dim * row;
    parts[2] = whole + (c->n_heads + c->n_kv_heads) * c->head_dim * row;
}

static void place_self(const struct binder *binder, struct txd_attention_weights *w,
                       int layer)
{
    const txd_config *c = binder->model->config;
    const void *weights[3] = {NULL, NULL, NULL}, *biases[3] = {NULL, NULL, NULL};

    if (c->qkv == TXD_QKV_FUSED) {
        place_fused(binder, TXD_PARAM_QKV_WEIGHT, layer, c->d_model, weights);
        place_fused(binder, TXD_PARAM_QKV_BIAS, layer, 1, biases);
    } else {
        weights[0] = place(binder, TXD_PARAM_Q_WEIGHT, layer);
        weights[1] = place(binder, TXD_PARAM_K_WEIGHT, layer);
        weights[2] = place(binder, TXD_PARAM_V_WEIGHT, layer);
        biases[0] = place(binder, TXD_PARAM_Q_BIAS, layer);
        biases[1] = place(binder, TXD_PARAM_K_BIAS, layer);
        biases[2] = place(binder, TXD_PARAM_V_BIAS, layer);
    }
    w->q = weights[0];
    w->k = weights[1];
    w->v = weights[2];
    w->q_bias = biases[0];
    w->k_bias = biases[1];
    w->v_bias = biases[2];
    w->o = place(binder, TXD_PARAM_O_WEIGHT, layer);
    w->o_bias = place(binder, TXD_PARAM_O_BIAS, layer);
}

static void place_cross(const struct binder *binder, struct txd_attention_weights *w,
                        int layer)
{
    w->q = place(binder, TXD_PARAM_CROSS_Q_WEIGHT, layer);
    w->q_bias = place(binder, TXD_PARAM_CROSS_Q_BIAS, layer);
    w->k = place(binder, TXD_PARAM_CROSS_K_WEIGHT, layer);
    w->k_bias = place(binder, TXD_PARAM_CROSS_K_BIAS, layer);
    w->v = place(binder, TXD_PARAM_CROSS_V_WEIGHT, layer);
    w->v_bias = place(binder, TXD_PARAM_CROSS_V_BIAS, layer);
    w->o = place(binder, TXD_PARAM_CROSS_O_WEIGHT, layer);
    w->o_bias = place(binder, TXD_PARAM_CROSS_O_BIAS, layer);
}

static void place_layer(const struct binder *binder, int layer)
{
    struct txd_layer_weights *w = &binder->model->layers[layer];

    place_self(binder, &w->attention[TXD_ATTENTION_SELF], layer);
    place_cross(binder, &w->attention[TXD_ATTENTION_CROSS], layer);
    w->gate = place(binder, TXD_PARAM_GATE_WEIGHT, layer);
    w->gate_bias = place(binder, TXD_PARAM_GATE_BIAS, layer);
    w->up = place(binder, TXD_PARAM_UP_WEIGHT, layer);
    w->up_bias = place(binder, TXD_PARAM_UP_BIAS, layer);
    w->down = place(binder, TXD_PARAM_DOWN_WEIGHT, layer);
    w->down_bias = place(binder, TXD_PARAM_DOWN_BIAS, layer);
}

static void place_all(const struct binder *binder)
{
    struct txd_model *model = binder->model;

    for (size_t i = 0; i < model->param_count; i++) {
        const struct txd_model_param *param = &model->params[i];

        model->places[place_index(param->id, param->layer)] = param->data;
    }
    model->embed_tok = place(binder, TXD_PARAM_EMBED_TOK, -1);
    model->embed_pos = place(binder, TXD_PARAM_EMBED_POS, -1);
    for (size_t l = 0; l < model->config->n_layers; l++)
        place_layer(binder, (int)l);
    model->head = place(binder, TXD_PARAM_HEAD_WEIGHT, -1);
    if (model->config->tie_embeddings)
        model->head = model->embed_tok;
}

/* Buckets of all distances, so that tiles need no logarithm. */
static txd_status add_relative(struct txd_model *model)
{
    const txd_config *c = model->config;
    int32_t far = (int32_t)c->relative_distance, *bucket_of;
    struct txd_relative *relative;

    if (c->positions != TXD_POSITIONS_RELATIVE)
        return TXD_OK;
    relative = txd_arena_alloc(model->arena, 1, sizeof *relative);
    bucket_of = txd_arena_alloc(model->arena, 2 * (size_t)far + 1, sizeof *bucket_of);
    if (relative == NULL || bucket_of == NULL)
        return TXD_ERR_MEMORY;
    for (int32_t d = -far; d <= far; d++)
        bucket_of[d + far] = txd_relative_bucket(c, d);
    *relative =
        (struct txd_relative){txd_model_parameter(model, TXD_PARAM_RELATIVE_WEIGHT, -1),
                              bucket_of,
                              far,
                              c->relative_buckets,
                              c->n_heads,
                              0};
    model->relative = relative;
    return TXD_OK;
}

static txd_status add_turns(struct txd_model *model, size_t l)
{
    const txd_layer_config *layer = &model->config->layers[l];
    struct txd_turns *turns;
    double *speed;

    if (!layer->rotary || !txd_rope_is_scaled(layer))
        return TXD_OK;
    turns = txd_arena_alloc(model->arena, 1, sizeof *turns);
    speed = txd_arena_alloc(model->arena, layer->rope_width / 2, sizeof *speed);
    if (turns == NULL || speed == NULL)
        return TXD_ERR_MEMORY;
    txd_rope_speeds(speed, layer);
    *turns = (struct txd_turns){speed, layer->rope_attention_factor};
    model->turns[l] = turns;
    return TXD_OK;
}

static txd_status fill_model(struct txd_model *model, txd_params *params, int threads)
{
    size_t layers = model->config->n_layers;
    struct binder binder = {{txd_threads_of(threads)}, model, params};

    model->layers = txd_arena_alloc(model->arena, layers, sizeof *model->layers);
    model->places =
        txd_arena_alloc(model->arena, layers * TXD_PARAM_COUNT, sizeof *model->places);
    model->turns = txd_arena_alloc(model->arena, layers, sizeof *model->turns);
    if (model->layers == NULL || model->places == NULL || model->turns == NULL)
        return TXD_ERR_MEMORY;
    for (size_t l = 0; l < layers; l++)
        TXD_TRY(add_turns(model, l));
    TXD_TRY(lay_out(&binder));
    if (!stored_as_they_are(&binder))
        TXD_TRY(convert_all(&binder));
    place_all(&binder);
    return add_relative(model);
}

txd_status txd_model_create(txd_model **out, const txd_backend *backend,
                            const txd_config *config, txd_params *params, int threads)
{
    txd_arena *arena;
    struct txd_model *model;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    model = txd_arena_alloc(arena, 1, sizeof *model);
    if (model == NULL) {
        txd_arena_destroy(arena);
        return TXD_ERR_MEMORY;
    }
    model->arena = arena;
    model->backend = backend;
    model->config = config;
    if (backend->prepare != NULL)
        backend->prepare();
    status = fill_model(model, params, threads);
    if (status != TXD_OK) {
        txd_model_destroy(model);
        return status;
    }
    *out = model;
    return TXD_OK;
}

void txd_model_destroy(txd_model *model)
{
    if (model == NULL)
        return;
    if (model->memory != NULL)
        model->backend->free(model->memory);
    txd_arena_destroy(model->arena);
}
