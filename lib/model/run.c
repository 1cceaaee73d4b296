/* SPDX-License-Identifier: MIT
 *
 * Making a run and one pass of it: the taps' site names, the layers' operation tables
 * with the faults' overrides, targets and padding of a batch.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/cache_private.h"
#include "model/images.h"
#include "ops/hosted.h"

/* Memory of `count` sites of a kind. */
static txd_status make_watch(txd_run *run, txd_site_kind kind, size_t count)
{
    struct txd_watch *watch = &run->watch[kind];

    watch->count = count;
    watch->sites = txd_arena_alloc(run->arena, count, sizeof *watch->sites);
    watch->wishes = txd_arena_alloc(run->arena, count, sizeof *watch->wishes);
    if (watch->sites == NULL || watch->wishes == NULL)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        watch->wishes[i].of_tap =
            txd_arena_alloc(run->arena, run->tap_count, sizeof(unsigned));
        if (watch->wishes[i].of_tap == NULL)
            return TXD_ERR_MEMORY;
    }
    return TXD_OK;
}

static txd_status set_site(txd_run *run, const txd_site *site, const char *name)
{
    txd_site *to = &run->watch[site->kind].sites[site->index];

    *to = *site;
    to->name = txd_arena_string(run->arena, name);
    return to->name == NULL ? TXD_ERR_MEMORY : TXD_OK;
}

/* The gradient of stop s is the s-th site from the end, but stands at s. */
static txd_status make_stop(txd_run *run, size_t s)
{
    size_t layers = run->model->config->n_layers + 1;
    txd_stop stop = run->order[s];
    txd_site site = {TXD_SITE_VALUE, 0, stop.point, stop.layer, s, NULL};
    char name[96];

    txd_point_name(name, sizeof name, stop.point, stop.layer);
    TXD_TRY(set_site(run, &site, name));
    run->stop_of[(size_t)stop.point * layers + (size_t)(stop.layer + 1)] = (int)s;
    if (!run->options.backward)
        return TXD_OK;
    site.kind = TXD_SITE_GRADIENT;
    strncat(name, TXD_GRADIENT_SUFFIX, sizeof name - strlen(name) - 1);
    TXD_TRY(set_site(run, &site, name));
    run->watch[TXD_SITE_GRADIENT].sites[s].index = run->stops - 1 - s;
    return TXD_OK;
}

static txd_status make_parameter(txd_run *run, size_t i)
{
    size_t own;
    const struct txd_model *model = txd_run_of_parameter(&own, run, i)->model;
    const struct txd_model_param *param = &model->params[own];
    txd_site site = {TXD_SITE_PARAMETER_GRADIENT,
                     0,
                     TXD_POINT_COUNT,
                     model->config->is_encoder ? -1 : param->layer,
                     i,
                     NULL};
    char name[96];

    txd_param_name_in(name, sizeof name, model->config, param->id, param->layer);
    strncat(name, TXD_GRADIENT_SUFFIX, sizeof name - strlen(name) - 1);
    return set_site(run, &site, name);
}

static txd_status make_sites(txd_run *run)
{
    size_t entries = (size_t)TXD_POINT_COUNT * (run->model->config->n_layers + 1);
    bool backward = run->options.backward;

    TXD_TRY(txd_points_order(&run->order, &run->stops, run->arena, run->model->config));
    TXD_TRY(make_watch(run, TXD_SITE_VALUE, run->stops));
    TXD_TRY(make_watch(run, TXD_SITE_GRADIENT, backward ? run->stops : 0));
    TXD_TRY(make_watch(run, TXD_SITE_PARAMETER_GRADIENT,
                       backward ? txd_run_parameters(run) : 0));
    run->stop_of = txd_arena_alloc(run->arena, entries, sizeof *run->stop_of);
    if (run->stop_of == NULL)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < entries; i++)
        run->stop_of[i] = -1;
    for (size_t s = 0; s < run->stops; s++)
        TXD_TRY(make_stop(run, s));
    for (size_t i = 0; i < run->watch[TXD_SITE_PARAMETER_GRADIENT].count; i++)
        TXD_TRY(make_parameter(run, i));
    return TXD_OK;
}

/* Faults replace operations of the host. On a device what they have replaced works on
 * copies there, and all else is the device's. */
static txd_status take_device(struct txd_layer_ops *layer, txd_run *run)
{
    const txd_backend *device = run->model->backend, *host = device->host;
    struct txd_hosted *hosted = txd_arena_alloc(run->arena, 1, sizeof *hosted);

    if (hosted == NULL)
        return TXD_ERR_MEMORY;
    *hosted = (struct txd_hosted){.backend = device, .ops = layer->ops};
    memcpy(hosted->self, layer->self, sizeof hosted->self);
#define TXD_OP(name, arguments)                                                        \
    if (layer->ops.name == host->ops.name) {                                           \
        layer->ops.name = device->ops.name;                                            \
    } else {                                                                           \
        layer->ops.name = txd_hosted_##name;                                           \
        layer->self[TXD_OP_##name] = hosted;                                           \
    }
    TXD_OPS(TXD_OP)
#undef TXD_OP
    return TXD_OK;
}

static txd_status make_ops(txd_run *run)
{
    const txd_backend *backend = run->model->backend, *host = backend->host;
    size_t layers = run->model->config->n_layers;
    struct txd_override *override =
        run->options.plan == NULL ? NULL : run->options.plan->overrides;

    run->layer_ops = txd_arena_alloc(run->arena, layers + 1, sizeof *run->layer_ops);
    if (run->layer_ops == NULL)
        return TXD_ERR_MEMORY;
    for (size_t l = 0; l <= layers; l++) {
        run->layer_ops[l].backend = host != NULL ? host : backend;
        run->layer_ops[l].ops = run->layer_ops[l].backend->ops;
    }
    for (; override != NULL; override = override->next)
        override->install(&run->layer_ops[override->layer], override->self);
    for (size_t l = 0; host != NULL && l <= layers; l++)
        TXD_TRY(take_device(&run->layer_ops[l], run));
    return TXD_OK;
}

static txd_status make_slots(txd_run *run)
{
    size_t most = txd_run_flight(run, 0);

    run->slot_offset =
        txd_arena_alloc(run->arena, run->tap_count + 1, sizeof *run->slot_offset);
    run->parameter_asks =
        txd_arena_alloc(run->arena, run->tap_count, sizeof *run->parameter_asks);
    run->tiles = txd_arena_alloc(run->arena, most, sizeof *run->tiles);
    run->formed_tiles = txd_arena_alloc(run->arena, most, sizeof *run->tiles);
    run->made = txd_arena_alloc(run->arena, most, sizeof *run->made);
    if (run->made == NULL || run->slot_offset == NULL || run->parameter_asks == NULL ||
        run->tiles == NULL || run->formed_tiles == NULL)
        return TXD_ERR_MEMORY;
    for (size_t t = 0; t < run->tap_count; t++)
        run->slot_offset[t + 1] =
            run->slot_offset[t] + (run->taps[t]->slot_bytes + 63) / 64 * 64;
    return TXD_OK;
}

/* What says where things are in memory. */
static txd_status make_homes(txd_run *run)
{
    size_t layers = run->model->config->n_layers, stays = 10 * run->stops;

    run->planes = txd_arena_alloc(run->arena, 2 * layers, sizeof *run->planes);
    run->homes = txd_arena_alloc(run->arena, run->stops, sizeof *run->homes);
    run->counted = txd_arena_alloc(run->arena, run->stops, sizeof *run->counted);
    run->stays = txd_arena_alloc(run->arena, stays, sizeof *run->stays);
    run->edited = txd_arena_alloc(run->arena, run->stops, 1);
    return run->planes && run->homes && run->counted && run->stays && run->edited
               ? TXD_OK
               : TXD_ERR_MEMORY;
}

/* The plan's taps first: what they edit, the others see. */
static txd_status join_taps(txd_run *run)
{
    struct txd_plan_tap *edit =
        run->options.plan == NULL ? NULL : run->options.plan->taps;
    size_t edits = 0;
    txd_tap **taps;

    for (const struct txd_plan_tap *t = edit; t != NULL; t = t->next)
        edits++;
    run->tap_count = edits + run->options.tap_count;
    taps = txd_arena_alloc(run->arena, run->tap_count, sizeof *taps);
    if (taps == NULL)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; edit != NULL; edit = edit->next)
        taps[i++] = &edit->tap;
    for (size_t i = 0; i < run->options.tap_count; i++)
        taps[edits + i] = run->options.taps[i];
    run->taps = taps;
    return TXD_OK;
}

static txd_status fill_run(txd_run *run)
{
    const txd_backend *backend = run->model->backend;

    if (run->options.cache != NULL && run->options.backward)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "a run with a cache has no backward half: gradients of earlier "
                        "calls are gone");
    run->ctx.threads = txd_threads_of(run->options.threads);
    run->pass.claimed = run->options.claimed;
    txd_pass_set_format(&run->pass, backend->format);
    run->loss = NAN;
    run->pass.loss_scale = run->model->config->loss_scale;
    TXD_TRY(join_taps(run));
    TXD_TRY(make_sites(run));
    TXD_TRY(make_ops(run));
    TXD_TRY(make_homes(run));
    TXD_TRY(txd_images_create(run));
    return make_slots(run);
}

txd_status txd_run_create(txd_run **out, const txd_model *model,
                          const txd_run_options *options)
{
    txd_arena *arena;
    txd_run *run;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    run = txd_arena_alloc(arena, 1, sizeof *run);
    if (run == NULL) {
        txd_arena_destroy(arena);
        return TXD_ERR_MEMORY;
    }
    run->arena = arena;
    run->model = model;
    run->options = *options;
    status = fill_run(run);
    if (status != TXD_OK) {
        txd_run_destroy(run);
        return status;
    }
    *out = run;
    return TXD_OK;
}

void txd_run_destroy(txd_run *run)
{
    if (run == NULL)
        return;
    txd_images_destroy(run);
    txd_memory_give(run->host_memory);
    if (run->memory != NULL)
        run->model->backend->free(run->memory);
    if (run->formed != NULL)
        run->model->backend->free(run->formed);
    txd_arena_destroy(run->arena);
}

txd_status txd_run_store(txd_run *run, void *values, size_t count)
{
    const txd_backend *backend = run->model->backend;
    struct txd_scale_args same = {
        .out = values, .x = values, .factor = 1, .count = count};

    return backend->format == backend->dtype ? TXD_OK
                                             : backend->ops.scale(&run->ctx, &same);
}

static txd_status take_memory(txd_run *run, const txd_inputs *inputs)
{
    size_t rows = inputs->batch * inputs->memory_length;
    size_t count = txd_tensor_count(&inputs->memory);
    void *own = run->own[TXD_POINT_INPUT_MEMORY];

    txd_convert(txd_image_of(run, own), run->model->backend->dtype, inputs->memory.data,
                inputs->memory.dtype, count);
    TXD_TRY(txd_image_write(run, own, count));
    memcpy(run->actual.memory_valid, inputs->memory_valid, rows * sizeof(int32_t));
    for (size_t i = 0; i < rows; i++)
        run->padded_memory[i] = !inputs->memory_valid[i];
    return txd_run_store(run, own, count);
}

static txd_status take_inputs(txd_run *run, const txd_inputs *inputs)
{
    size_t count = inputs->batch * inputs->length;

    memcpy(run->actual.tokens, inputs->tokens, count * sizeof(int32_t));
    memcpy(run->actual.positions, inputs->positions, count * sizeof(int32_t));
    memcpy(run->actual.valid, inputs->valid, count * sizeof(int32_t));
    memcpy(run->actual.document, inputs->document, count * sizeof(int32_t));
    for (size_t i = 0; i < count; i++) {
        run->actual.types[i] = inputs->types ? inputs->types[i] : 0;
        run->padded[i] = !inputs->valid[i];
        run->targets[i] = txd_inputs_is_pair(inputs, i) ? inputs->tokens[i + 1] : -1;
    }
    return run->model->config->cross ? take_memory(run, inputs) : TXD_OK;
}

/* The inputs with the keys of earlier calls. */
static txd_status join_cache(txd_run *run, const txd_inputs **inputs)
{
    const txd_cache *cache = run->options.cache;

    TXD_TRY(txd_cache_check(cache, *inputs));
    run->attended = **inputs;
    txd_cache_join(cache, &cache->claimed, &run->attended);
    *inputs = &run->attended;
    return TXD_OK;
}

txd_status txd_run_pass(txd_run *run, const txd_inputs *inputs, int step)
{
    txd_extent extent;

    TXD_TRY(txd_inputs_check(inputs, run->options.claimed));
    if (run->options.cache != NULL)
        TXD_TRY(join_cache(run, &inputs));
    extent = txd_inputs_extent(inputs);
    TXD_TRY(txd_taps_ask(run, step));
    TXD_TRY(txd_run_shape(run, &extent));
    run->pass.inputs = inputs;
    run->pass.step = step;
    run->passes++;
    TXD_TRY(take_inputs(run, inputs));
    if (!run->parameters_offered) {
        run->parameters_offered = true;
        TXD_TRY(txd_taps_parameters(run));
    }
    TXD_TRY(txd_run_form(run));
    TXD_TRY(txd_decoder_forward(run));
    if (run->options.backward && !run->model->config->is_encoder)
        TXD_TRY(txd_decoder_backward(run));
    TXD_TRY(run->model->backend->sync(&run->ctx));
    if (run->options.cache != NULL)
        txd_cache_grow(run->options.cache, inputs->length);
    return txd_taps_step_end(run);
}

txd_status txd_run_bytes(size_t *out, const txd_model *model,
                         const txd_run_options *options, const txd_extent *extent)
{
    txd_run *run;
    struct txd_run_size bytes = {0, 0};
    size_t formed = 0, images, total = 0;
    txd_status status;

    TXD_TRY(txd_run_create(&run, model, options));
    status = txd_taps_ask(run, 0);
    if (status == TXD_OK)
        status = txd_run_measure(&bytes, run, extent);
    if (status == TXD_OK)
        status = txd_run_form_measure(&formed, run, extent);
    images = txd_images_bytes(run, bytes.values + formed);
    if (status == TXD_OK)
        status = txd_size_add(&total, bytes.values, formed);
    if (status == TXD_OK)
        status = txd_size_add(&total, total, bytes.host);
    if (status == TXD_OK)
        status = txd_size_add(&total, total, images);
    if (status == TXD_OK)
        status = txd_size_add(out, total, txd_arena_peak(run->arena));
    txd_run_destroy(run);
    return status;
}

txd_status txd_run_output(txd_tensor *out, const txd_run *run)
{
    const size_t dims[3] = {run->batch, run->length, run->model->config->d_model};

    *out = txd_tensor_make(run->model->backend->dtype, run->value[run->stream_end], 3,
                           dims);
    return txd_image_read(&out->data, run, out->data, txd_tensor_count(out));
}

double txd_run_loss(const txd_run *run)
{
    return run->loss;
}
