/* SPDX-License-Identifier: MIT
 *
 * Making a run and one forward pass of it: the taps' site names, the layers' operation
 * tables with the faults' overrides, targets and padding of a batch.
 */
#include <math.h>
#include <string.h>

#include "model/run_private.h"

/* Tiles in flight per thread: enough that threads seldom wait for the merge. */
#define WAVE_PER_THREAD 2

static txd_status make_sites(txd_run *run)
{
    size_t layers = run->model->config->n_layers + 1;
    size_t entries = (size_t)TXD_POINT_COUNT * layers;

    TXD_TRY(txd_points_order(&run->order, &run->stops, run->arena, run->model->config));
    run->sites = txd_arena_alloc(run->arena, run->stops, sizeof *run->sites);
    run->wishes = txd_arena_alloc(run->arena, run->stops, sizeof *run->wishes);
    run->stop_of = txd_arena_alloc(run->arena, entries, sizeof *run->stop_of);
    if (run->sites == NULL || run->wishes == NULL || run->stop_of == NULL)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < entries; i++)
        run->stop_of[i] = -1;
    for (size_t s = 0; s < run->stops; s++) {
        txd_stop stop = run->order[s];
        txd_site site = {TXD_SITE_VALUE, 0, stop.point, stop.layer, s, NULL};
        char name[96];

        txd_point_name(name, sizeof name, stop.point, stop.layer);
        site.name = txd_arena_string(run->arena, name);
        run->wishes[s].of_tap =
            txd_arena_alloc(run->arena, run->tap_count, sizeof(unsigned));
        if (site.name == NULL || run->wishes[s].of_tap == NULL)
            return TXD_ERR_MEMORY;
        run->sites[s] = site;
        run->stop_of[(size_t)stop.point * layers + (size_t)(stop.layer + 1)] = (int)s;
    }
    return TXD_OK;
}

static txd_status make_ops(txd_run *run)
{
    size_t layers = run->model->config->n_layers;
    struct txd_override *override =
        run->options.plan == NULL ? NULL : run->options.plan->overrides;

    run->layer_ops = txd_arena_alloc(run->arena, layers + 1, sizeof *run->layer_ops);
    if (run->layer_ops == NULL)
        return TXD_ERR_MEMORY;
    for (size_t l = 0; l <= layers; l++) {
        run->layer_ops[l].ops = run->model->backend->ops;
        run->layer_ops[l].backend = run->model->backend;
    }
    for (; override != NULL; override = override->next)
        override->install(&run->layer_ops[override->layer], override->self);
    return TXD_OK;
}

static txd_status make_slots(txd_run *run)
{
    run->slot_offset =
        txd_arena_alloc(run->arena, run->tap_count + 1, sizeof *run->slot_offset);
    run->parameter_asks =
        txd_arena_alloc(run->arena, run->tap_count, sizeof *run->parameter_asks);
    run->tiles = txd_arena_alloc(run->arena, run->wave, sizeof *run->tiles);
    run->formed_tiles = txd_arena_alloc(run->arena, run->wave, sizeof *run->tiles);
    if (run->slot_offset == NULL || run->parameter_asks == NULL || run->tiles == NULL ||
        run->formed_tiles == NULL)
        return TXD_ERR_MEMORY;
    for (size_t t = 0; t < run->tap_count; t++)
        run->slot_offset[t + 1] =
            run->slot_offset[t] + (run->taps[t]->slot_bytes + 63) / 64 * 64;
    return TXD_OK;
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

    run->ctx.threads =
        run->options.threads > 0 ? run->options.threads : txd_threads_available();
    run->wave = (size_t)run->ctx.threads * WAVE_PER_THREAD;
    run->pass.claimed = run->options.claimed;
    txd_pass_set_format(&run->pass, backend->format);
    run->loss = NAN;
    run->pass.loss_scale = 1;
    TXD_TRY(join_taps(run));
    TXD_TRY(make_sites(run));
    TXD_TRY(make_ops(run));
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
    if (run->memory != NULL)
        run->model->backend->free(run->memory);
    if (run->formed != NULL)
        run->model->backend->free(run->formed);
    txd_arena_destroy(run->arena);
}

static void take_memory(txd_run *run, const txd_inputs *inputs)
{
    size_t rows = inputs->batch * inputs->memory_length;

    txd_convert(run->own[TXD_POINT_INPUT_MEMORY], run->model->backend->dtype,
                inputs->memory.data, inputs->memory.dtype,
                txd_tensor_count(&inputs->memory));
    memcpy(run->actual.memory_valid, inputs->memory_valid, rows * sizeof(int32_t));
    for (size_t i = 0; i < rows; i++)
        run->padded_memory[i] = !inputs->memory_valid[i];
}

static void take_inputs(txd_run *run, const txd_inputs *inputs)
{
    size_t count = inputs->batch * inputs->length;

    memcpy(run->actual.tokens, inputs->tokens, count * sizeof(int32_t));
    memcpy(run->actual.positions, inputs->positions, count * sizeof(int32_t));
    memcpy(run->actual.valid, inputs->valid, count * sizeof(int32_t));
    memcpy(run->actual.document, inputs->document, count * sizeof(int32_t));
    for (size_t i = 0; i < count; i++) {
        bool next =
            (i + 1) % inputs->length != 0 && inputs->valid[i] && inputs->valid[i + 1];

        run->padded[i] = !inputs->valid[i];
        run->targets[i] = next ? inputs->tokens[i + 1] : -1;
    }
    if (run->model->config->cross)
        take_memory(run, inputs);
}

txd_status txd_run_pass(txd_run *run, const txd_inputs *inputs, int step)
{
    const txd_extent extent = txd_inputs_extent(inputs);

    TXD_TRY(txd_inputs_check(inputs, run->options.claimed));
    TXD_TRY(txd_run_shape(run, &extent));
    run->pass.inputs = inputs;
    run->pass.step = step;
    take_inputs(run, inputs);
    if (!run->parameters_offered) {
        run->parameters_offered = true;
        TXD_TRY(txd_taps_parameters(run));
    }
    txd_taps_ask(run, step);
    TXD_TRY(txd_decoder_forward(run));
    TXD_TRY(run->model->backend->sync(&run->ctx));
    return txd_taps_step_end(run);
}

txd_status txd_run_bytes(size_t *out, const txd_model *model,
                         const txd_run_options *options, const txd_extent *extent)
{
    txd_run *run;
    size_t bytes;
    txd_status status;

    TXD_TRY(txd_run_create(&run, model, options));
    status = txd_run_measure(&bytes, run, extent);
    if (status == TXD_OK)
        *out = bytes + txd_arena_peak(run->arena);
    txd_run_destroy(run);
    return status;
}

static txd_status no_gradients(void)
{
    return txd_fail(TXD_ERR_MISSING, "this run has no backward half");
}

double txd_run_gradient_norm(const txd_run *run)
{
    (void)run;
    return NAN;
}

txd_status txd_run_gradient(txd_tensor *out, const txd_run *run, size_t i)
{
    (void)out;
    (void)run;
    (void)i;
    return no_gradients();
}

double txd_run_loss(const txd_run *run)
{
    return run->loss;
}
