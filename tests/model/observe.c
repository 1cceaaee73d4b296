/* SPDX-License-Identifier: MIT
 *
 * Keeps every value of a pass, block by block, at its place in the whole.
 */
#include "observe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "on.h"

struct observed_site *observe_site(observed *o, const char *name)
{
    for (size_t i = 0; i < o->sites; i++)
        if (strcmp(o->site[i].name, name) == 0)
            return &o->site[i];
    return NULL;
}

static unsigned ask(void *self, const txd_site *site)
{
    const observed *o = self;
    bool weights = txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS;

    if ((site->kind != TXD_SITE_VALUE && !txd_site_is_gradient(site->kind)) ||
        (o->only != NULL && !txd_glob_list(o->only, site->name)))
        return 0;
    return TXD_ASK_VALUE | TXD_ASK_STATS | (weights ? TXD_ASK_ROWS | o->extra : 0u);
}

static struct observed_site *new_site(observed *o, const txd_block *block)
{
    struct observed_site *site = &o->site[o->sites++];

    snprintf(site->name, sizeof site->name, "%s", block->site->name);
    site->count = 1;
    for (int i = 0; i < block->value.rank; i++)
        site->count *= block->dims[i];
    site->values = txd_arena_alloc(o->arena, site->count, sizeof(double));
    for (size_t i = 0; i < site->count; i++)
        site->values[i] = NAN;
    if (block->rows != NULL)
        site->rows = txd_arena_alloc(
            o->arena, block->dims[0] * block->dims[1] * block->dims[2] * TXD_ROW_COUNT,
            sizeof(double));
    return site;
}

/* Flat place in the whole of element e of a block. */
static size_t place_of(const txd_block *block, size_t e)
{
    size_t flat = 0, step = 1;

    for (int i = block->value.rank - 1; i >= 0; i--) {
        flat += (e % block->value.dims[i] + block->start[i]) * step;
        e /= block->value.dims[i];
        step *= block->dims[i];
    }
    return flat;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    observed *o = self;
    struct observed_site *site = observe_site(o, block->site->name);

    (void)slot;
    if (site == NULL)
        site = new_site(o, block);
    for (size_t e = 0; e < txd_tensor_count(&block->value); e++, site->cells++)
        site->values[place_of(block, e)] = txd_tensor_get(&block->value, e);
    if (block->rows != NULL)
        memcpy(site->rows + ((block->start[0] * block->dims[1] + block->start[1]) *
                                 block->dims[2] +
                             block->start[2]) *
                                TXD_ROW_COUNT,
               block->rows, block->value.dims[2] * TXD_ROW_COUNT * sizeof(double));
    if (block->stats != NULL)
        memcpy(site->stats, block->stats, sizeof site->stats);
    return TXD_OK;
}

static txd_status bind(observed *o, const char *backend)
{
    TXD_TRY(test_backend_find(&o->backend, backend));
    return observe_rebind(o);
}

static txd_status begin(observed *o)
{
    if (o->arena != NULL)
        return TXD_OK;
    TXD_TRY(txd_arena_create(&o->arena));
    o->site = txd_arena_alloc(o->arena, OBSERVE_SITES, sizeof *o->site);
    o->tap.name = "observe";
    o->tap.self = o;
    o->tap.gradients = true;
    o->tap.ask = ask;
    o->tap.merge = merge;
    return TXD_OK;
}

txd_status observe_model(observed *o, const char *folder, const char *backend)
{
    TXD_TRY(begin(o));
    TXD_TRY(txd_checkpoint_open(&o->checkpoint, folder));
    TXD_TRY(
        txd_config_copy(&o->config, o->arena, txd_checkpoint_config(o->checkpoint)));
    TXD_TRY(txd_checkpoint_params(&o->params, o->checkpoint, &o->config, 0));
    return bind(o, backend);
}

txd_status observe_cfg(observed *o, const char *cfg, const char *backend)
{
    txd_setting *root;

    TXD_TRY(begin(o));
    TXD_TRY(txd_cfg_parse(&root, o->arena, "test.cfg", cfg));
    TXD_TRY(txd_config_read(&o->config, o->arena, root, NULL));
    TXD_TRY(txd_params_create(&o->params, &o->config, o->exact ? TXD_F64 : TXD_F32));
    TXD_TRY(txd_params_init(o->params, &o->config, root, 1, 1));
    return bind(o, backend);
}

txd_status observe_npy(observed *o, const char *path)
{
    txd_trace *trace;
    txd_trace_info info;
    size_t batch, length;

    TXD_TRY(txd_npy_open(&trace, path));
    TXD_TRY(txd_trace_get(trace, &info, 0));
    batch = info.rank == 2 ? info.dims[0] : 1;
    length = info.dims[info.rank - 1];
    TXD_TRY(txd_inputs_make(&o->inputs, o->arena, batch, length));
    TXD_TRY(txd_trace_read_all(trace, o->inputs.tokens, batch * length, 0, TXD_I32));
    txd_inputs_count_positions(&o->inputs);
    txd_trace_destroy(trace);
    return TXD_OK;
}

txd_status observe_random(observed *o, size_t batch, size_t length)
{
    uint64_t key = txd_rng_key(1, "tokens");

    TXD_TRY(txd_inputs_make(&o->inputs, o->arena, batch, length));
    for (size_t i = 0; i < batch * length; i++)
        o->inputs.tokens[i] = (int32_t)(txd_rng_bits(key, i) % o->config.vocab);
    txd_inputs_count_positions(&o->inputs);
    return TXD_OK;
}

txd_status observe_memory(observed *o, size_t length, const size_t *real)
{
    size_t width = o->config.d_model, count = o->inputs.batch * length * width;
    uint64_t key = txd_rng_key(1, "memory");

    TXD_TRY(txd_inputs_make_memory(&o->inputs, o->arena, length, width, TXD_F64));
    for (size_t i = 0; i < count; i++)
        ((double *)o->inputs.memory.data)[i] = txd_rng_normal(key, i);
    for (size_t i = 0; i < o->inputs.batch * length; i++)
        o->inputs.memory_valid[i] = real == NULL || i % length < real[i / length];
    return TXD_OK;
}

txd_status observe_source(observed *o, size_t length, const size_t *real)
{
    uint64_t key = txd_rng_key(1, "source");
    size_t count = o->inputs.batch * length;

    TXD_TRY(observe_memory(o, length, real));
    TXD_TRY(txd_inputs_make(&o->source, o->arena, o->inputs.batch, length));
    for (size_t i = 0; i < count; i++)
        o->source.tokens[i] = (int32_t)(txd_rng_bits(key, i) % o->config.vocab);
    memcpy(o->source.valid, o->inputs.memory_valid, count * sizeof(int32_t));
    txd_inputs_count_positions(&o->source);
    return TXD_OK;
}

txd_status observe_faults(observed *o, const char *cfg)
{
    txd_setting *root;
    txd_fault_use *uses;
    txd_fault_scene scene = {
        .claimed = &o->config, .inputs = &o->inputs, .trained = o->checkpoint != NULL};
    size_t count;
    const char *backend = "ref64";

    TXD_TRY(txd_cfg_parse(&root, o->arena, "test.cfg", cfg));
    TXD_TRY(txd_setting_string(&backend, root, "backend"));
    TXD_TRY(test_backend_find(&scene.backend, backend));
    TXD_TRY(txd_faults_read(&uses, &count, o->arena, root));
    TXD_TRY(txd_plan_create(&o->plan, &scene, uses, count));
    TXD_TRY(txd_plan_edit_params(o->plan, o->params));
    return bind(o, backend);
}

static void forget_run(observed *o)
{
    txd_run_destroy(o->run);
    txd_encoder_destroy(o->encoder);
    o->run = NULL;
    o->encoder = NULL;
}

txd_status observe_rebind(observed *o)
{
    forget_run(o);
    txd_model_destroy(o->model);
    o->model = NULL;
    return txd_model_create(&o->model, o->backend,
                            o->plan == NULL ? &o->config : txd_plan_config(o->plan),
                            o->params, 1);
}

/* The memory of the pass. */
static txd_status encode(observed *o, txd_run_options *options)
{
    TXD_TRY(
        txd_encoder_create(&o->encoder, o->backend, &o->config, o->params, options));
    if (o->backward)
        options->encoder = txd_encoder_run(o->encoder);
    return txd_encoder_pass(o->encoder, &o->inputs, &o->source, 0);
}

txd_status observe_pass(observed *o)
{
    txd_tap *taps[2] = {o->before, &o->tap};
    txd_run_options options = {.claimed = &o->config,
                               .plan = o->plan,
                               .params = o->params,
                               .taps = o->before == NULL ? taps + 1 : taps,
                               .tap_count = o->before == NULL ? 1 : 2,
                               .backward = o->backward,
                               .threads = o->threads,
                               .streamed = o->streamed};

    o->sites = 0;
    memset(o->site, 0, OBSERVE_SITES * sizeof *o->site);
    forget_run(o);
    if (o->source.batch > 0)
        TXD_TRY(encode(o, &options));
    TXD_TRY(txd_run_create(&o->run, o->model, &options));
    return txd_run_pass(o->run, &o->inputs, 0);
}

void observe_finish(observed *o)
{
    forget_run(o);
    txd_model_destroy(o->model);
    txd_plan_destroy(o->plan);
    txd_params_destroy(o->params);
    txd_checkpoint_destroy(o->checkpoint);
    txd_arena_destroy(o->arena);
    memset(o, 0, sizeof *o);
}

txd_status observe_golden(double **out, size_t *count, observed *o, const char *path)
{
    txd_trace *trace;
    txd_trace_info info;

    TXD_TRY(txd_npy_open(&trace, path));
    TXD_TRY(txd_trace_get(trace, &info, 0));
    TXD_TRY(txd_shape_count(count, info.dims, info.rank));
    *out = txd_arena_alloc(o->arena, *count, sizeof **out);
    TXD_TRY(txd_trace_read_all(trace, *out, *count, 0, TXD_F64));
    txd_trace_destroy(trace);
    return TXD_OK;
}

unsigned observe_ulp_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_EMBED_OUT
               ? TXD_ASK_EDIT
               : 0;
}

txd_status observe_ulp_edit(void *self, txd_block *block)
{
    uint64_t key = txd_rng_key(*(uint64_t *)self, "ulp");
    float *values = block->value.data;

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        values[i] =
            nextafterf(values[i], txd_rng_bits(key, i) & 1 ? INFINITY : -INFINITY);
    return TXD_OK;
}
