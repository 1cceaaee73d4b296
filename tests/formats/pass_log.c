/* SPDX-License-Identifier: MIT
 *
 * Logging blocks, and a live pass with a recorder beside the log.
 */
#include "pass_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/recorder.h"
#include "suite.h"

static unsigned ask(void *self, const txd_site *site)
{
    const pass_log *log = self;
    unsigned asks = log->asks;

    if (txd_point_in_self(site->point) != TXD_POINT_ATTN_WEIGHTS)
        asks &= ~(unsigned)TXD_ASK_ROWS;
    if (site->kind == TXD_SITE_PARAMETER)
        return log->points ? 0 : asks & TXD_ASK_STATS;
    return !log->points || txd_glob_list(log->points, site->name) ? asks : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static txd_point list[2];
    const pass_log *log = self;

    list[0] = point == TXD_POINT_ATTN_WEIGHTS ? log->earlier : log->later;
    list[1] = TXD_POINT_COUNT;
    return list;
}

static double *copy_doubles(const double *from, size_t count)
{
    double *copy = malloc((count + 1) * sizeof *copy);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, from, count * sizeof *copy);
    return copy;
}

static double *copy_tensor(const txd_tensor *value)
{
    size_t count = txd_tensor_count(value);
    double *copy = malloc((count + 1) * sizeof *copy);

    ck_assert_ptr_nonnull(copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = txd_tensor_get(value, i);
    return copy;
}

static logged_block *add_block(pass_log *log)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->blocks = realloc(log->blocks, log->capacity * sizeof *log->blocks);
        ck_assert_ptr_nonnull(log->blocks);
    }
    return memset(&log->blocks[log->count++], 0, sizeof *log->blocks);
}

/* The slot only proves that it came zeroed and arrives at merge. */
static void reduce(void *slot, const void *self, const txd_block *block)
{
    size_t *sum = slot;

    (void)self;
    sum[0] += txd_tensor_count(&block->value);
}

static void keep(logged_block *out, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;

    snprintf(out->name, sizeof out->name, "%s", block->site->name);
    out->site = *block->site;
    out->rank = block->value.rank;
    out->dtype = block->value.dtype;
    out->last = block->last;
    memcpy(out->dims, block->dims, sizeof out->dims);
    memcpy(out->part, block->value.dims, sizeof out->part);
    memcpy(out->start, block->start, sizeof out->start);
    out->u_store = block->pass->u_store;
    out->loss_scale = block->pass->loss_scale;
    if (block->value.data)
        out->values = copy_tensor(&block->value);
    if (block->rows)
        out->rows = copy_doubles(block->rows, block->value.dims[2] * TXD_ROW_COUNT);
    if (block->stats)
        out->stats = copy_doubles(block->stats, TXD_STAT_COUNT_OF);
    out->batch = inputs->batch;
    out->length = inputs->length;
    if (inputs->batch * inputs->length > 0) {
        out->first_token = inputs->tokens[0];
        out->last_valid = inputs->valid[inputs->batch * inputs->length - 1];
    }
    ck_assert_int_eq(block->pass->step, block->site->step);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    pass_log *log = self;
    const size_t *sum = slot;

    ck_assert_ptr_nonnull(slot);
    ck_assert_uint_eq(sum[0], txd_tensor_count(&block->value));
    keep(add_block(log), block);
    if (log->earlier != TXD_POINT_COUNT && block->site->kind == TXD_SITE_VALUE &&
        block->site->point == TXD_POINT_ATTN_WEIGHTS) {
        txd_block other = *block;

        OK(txd_block_earlier(&other.value, block, log->earlier));
        other.rows = other.stats = NULL;
        keep(add_block(log), &other);
    }
    return TXD_OK;
}

static txd_status merge_all(void *self, const txd_block *block, const void *slot)
{
    const txd_site *site = block->site;
    pass_log *log = self;
    txd_block other = *block;

    TXD_TRY(merge(self, block, slot));
    if (log->later == TXD_POINT_COUNT || site->kind != TXD_SITE_GRADIENT)
        return TXD_OK;
    other.stats = NULL;
    OK(txd_block_earlier(&other.value, block, log->later));
    keep(add_block(log), &other);
    OK(txd_block_gradient(&other.value, block, log->later));
    keep(add_block(log), &other);
    return TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    pass_log *log = self;

    ck_assert_int_eq(pass->step, (int)log->steps);
    log->steps++;
    return TXD_OK;
}

void pass_log_init(pass_log *log, unsigned asks, const char *points)
{
    *log = (pass_log){.asks = asks,
                      .points = points,
                      .earlier = TXD_POINT_COUNT,
                      .later = TXD_POINT_COUNT};
    log->tap = (txd_tap){.name = "log",
                         .self = log,
                         .ask = ask,
                         .needs = needs,
                         .independent = true,
                         .slot_bytes = 16,
                         .reduce = reduce,
                         .gradients = true,
                         .merge = merge_all,
                         .step_end = step_end};
}

void pass_log_finish(pass_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        free(log->blocks[i].values);
        free(log->blocks[i].rows);
        free(log->blocks[i].stats);
    }
    free(log->blocks);
}

/* ---- a live pass ---- */

typedef struct live {
    txd_arena *arena;
    txd_checkpoint *checkpoint;
    txd_config config;
    txd_params *params;
    txd_model *model;
    const txd_backend *backend;
} live;

static void load(live *out, const recorded_pass *pass)
{
    txd_setting *root;

    OK(txd_arena_create(&out->arena));
    if (pass->folder) {
        OK(txd_checkpoint_open(&out->checkpoint, pass->folder));
        OK(txd_config_copy(&out->config, out->arena,
                           txd_checkpoint_config(out->checkpoint)));
        OK(txd_checkpoint_params(&out->params, out->checkpoint, &out->config, 0));
    } else {
        OK(txd_cfg_parse(&root, out->arena, "test.cfg", pass->cfg));
        OK(txd_config_read(&out->config, out->arena, root, NULL));
        OK(txd_params_create(&out->params, &out->config, TXD_F32));
        OK(txd_params_init(out->params, &out->config, root, 1, 1));
    }
    OK(txd_backend_find(&out->backend, pass->backend));
    OK(txd_model_create(&out->model, out->backend, &out->config, out->params, 1));
}

static void unload(live *out)
{
    txd_model_destroy(out->model);
    txd_params_destroy(out->params);
    txd_checkpoint_destroy(out->checkpoint);
    txd_arena_destroy(out->arena);
}

/* Padding at the end of the last row, as of the tokens. */
static void make_memory(txd_inputs *inputs, const live *from, const recorded_pass *pass,
                        size_t step)
{
    size_t length = pass->memory[step], width = from->config.d_model;
    uint64_t key = txd_rng_key(step, "memory");

    OK(txd_inputs_make_memory(inputs, from->arena, length, width, TXD_F64));
    for (size_t i = 0; i < pass->batch * length * width; i++)
        ((double *)inputs->memory.data)[i] = txd_rng_normal(key, i);
    for (size_t i = 0; i < pass->padding && i + 1 < length; i++)
        inputs->memory_valid[pass->batch * length - 1 - i] = 0;
}

static txd_inputs make_inputs(const live *from, const recorded_pass *pass, size_t step)
{
    txd_inputs inputs;
    size_t length = pass->lengths[step], cells = pass->batch * length;

    OK(txd_inputs_make(&inputs, from->arena, pass->batch, length));
    for (size_t i = 0; i < cells; i++)
        inputs.tokens[i] = (int32_t)((i * 7 + step * 3 + 1) % from->config.vocab);
    for (size_t i = 0; i < pass->padding && i + 1 < length; i++)
        inputs.valid[cells - 1 - i] = 0;
    txd_inputs_count_positions(&inputs);
    for (size_t i = length / 2; i < length; i++)
        inputs.document[i] = 1;
    for (size_t i = 0; i < cells && from->config.token_types > 0; i++)
        inputs.types[i] = (int32_t)(i * i % from->config.token_types);
    if (pass->memory)
        make_memory(&inputs, from, pass, step);
    return inputs;
}

static txd_recorder *make_recorder(const char *path, const live *from,
                                   const recorded_pass *pass, bool *backward)
{
    txd_probe_context context = {.claimed = &from->config,
                                 .params = from->params,
                                 .dtype = txd_backend_format(from->backend),
                                 .batch = pass->batch,
                                 .steps = pass->steps};
    txd_recorder_info info = {.backend = pass->backend};
    txd_stop *order;
    txd_setting *root;
    txd_probe_use *uses;
    txd_recorder *recorder;
    txd_text config;
    size_t count;

    for (size_t i = 0; i < pass->steps; i++)
        if (pass->lengths[i] > context.length)
            context.length = pass->lengths[i];
    for (size_t i = 0; pass->memory && i < pass->steps; i++)
        if (pass->memory[i] > context.memory)
            context.memory = pass->memory[i];
    OK(txd_points_order(&order, &context.stops, from->arena, &from->config));
    context.order = order;
    OK(txd_cfg_parse(&root, from->arena, "record.cfg",
                     pass->record ? pass->record : "seed = 1;"));
    *backward = txd_record_asks_gradients(root);
    OK(txd_record_read(&uses, &count, from->arena, root, &context));
    txd_text_init(&config);
    txd_config_print(&config, &from->config);
    info.config = txd_text_get(&config);
    OK(txd_recorder_create(&recorder, path, false, &context, &info, uses, count));
    txd_text_finish(&config);
    return recorder;
}

void pass_record(const char *path, const recorded_pass *pass, pass_log *log)
{
    live from = {.arena = NULL};
    txd_recorder *recorder;
    txd_tap *taps[32];
    txd_tap *const *probes;
    txd_run_options options = {.taps = taps};
    txd_run *run;

    load(&from, pass);
    recorder = make_recorder(path, &from, pass, &options.backward);
    probes = txd_recorder_taps(recorder, &options.tap_count);
    ck_assert_uint_lt(options.tap_count, 31);
    memcpy(taps, probes, options.tap_count * sizeof *taps);
    taps[options.tap_count++] = &log->tap;
    options.claimed = &from.config;
    options.params = from.params;
    OK(txd_run_create(&run, from.model, &options));
    for (size_t step = 0; step < pass->steps; step++) {
        txd_inputs inputs = make_inputs(&from, pass, step);

        OK(txd_recorder_step_begin(recorder, &inputs, (int)step));
        OK(txd_run_pass(run, &inputs, (int)step));
        OK(txd_recorder_step_end(recorder, txd_run_loss(run),
                                 txd_run_gradient_norm(run)));
    }
    OK(txd_recorder_close(recorder, true));
    txd_run_destroy(run);
    unload(&from);
}

void pass_replay(const char *path, pass_log *log)
{
    txd_tap *const taps[] = {&log->tap};
    txd_replay *replay;
    txd_trace *trace;

    OK(txd_recording_open(&trace, path, NULL));
    OK(txd_replay_create(&replay, trace));
    OK(txd_replay_feed(replay, taps, 1));
    txd_replay_destroy(replay);
    txd_trace_destroy(trace);
}
