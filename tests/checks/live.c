/* SPDX-License-Identifier: MIT
 *
 * What the program does to a model.cfg, without the program.
 */
#include "live.h"

#include <stdio.h>
#include <string.h>

#include "faults/fault.h"
#include "on.h"

static void open_model(live *l)
{
    const char *from = NULL;
    const txd_config *stated = NULL;

    OK(txd_setting_string(&from, l->root, "model.from"));
    if (from) {
        OK(txd_checkpoint_open(&l->checkpoint, from));
        stated = txd_checkpoint_config(l->checkpoint);
    }
    OK(txd_config_read(&l->claimed, l->arena, l->root, stated));
    OK(txd_input_source_create(&l->source, l->root, &l->claimed, 1));
}

static bool is_filled(const live *l)
{
    return l->planted && l->planted->fill;
}

static bool plant(live *l, const txd_inputs *inputs, const txd_backend *backend)
{
    txd_fault_scene scene = {.claimed = &l->claimed,
                             .inputs = inputs,
                             .backend = backend,
                             .trained = l->checkpoint || is_filled(l),
                             .forward_only = !txd_record_asks_gradients(l->root)};
    txd_status status;

    OK(txd_faults_read(&l->faults, &l->fault_count, l->arena, l->root));
    if (l->fault_count == 0 && !l->planted)
        return true;
    status = txd_plan_create(&l->plan, &scene, l->faults, l->fault_count);
    if (status == TXD_ERR_INAPPLICABLE) {
        l->inapplicable = txd_arena_string(l->arena, txd_message());
        return false;
    }
    OK(status);
    if (l->planted && l->planted->override)
        OK(txd_plan_override(l->plan, l->planted->override));
    if (l->planted && l->planted->tap)
        OK(txd_plan_tap(l->plan, l->planted->tap));
    if (l->planted && l->planted->plan)
        OK(l->planted->plan(l->plan, l->planted->self));
    return true;
}

static void bind(live *l, const txd_backend *backend)
{
    const txd_config *actual = l->plan ? txd_plan_config(l->plan) : &l->claimed;

    if (l->checkpoint) {
        OK(txd_checkpoint_params(&l->params, l->checkpoint, &l->claimed, 0));
    } else {
        OK(txd_params_create(&l->params, &l->claimed, TXD_F32));
        OK(txd_params_init(l->params, &l->claimed, l->root, 1, 1));
    }
    if (is_filled(l))
        l->planted->fill(l->params, l->planted->self);
    if (l->plan)
        OK(txd_plan_edit_params(l->plan, l->params));
    OK(txd_model_create(&l->model, backend, actual, l->params, 1));
}

/* The recorder and its taps, or nothing. */
typedef struct tape {
    txd_recorder *recorder;
    txd_tap *const *taps;
    size_t count;
} tape;

/* A group of the cfg, as the program records it. */
static void add_group(txd_text *config, const live *l, const char *name)
{
    const txd_setting *found = txd_setting_find(l->root, name);
    txd_setting root = *l->root, group;

    if (!found)
        return;
    group = *found;
    group.next = NULL;
    root.child = root.last = &group;
    root.count = 1;
    txd_settings_print(config, &root);
}

static void start_tape(tape *out, live *l, const txd_backend *backend)
{
    txd_probe_context context = {.claimed = &l->claimed,
                                 .params = l->params,
                                 .dtype = txd_backend_format(backend),
                                 .steps = txd_input_source_steps(l->source)};
    txd_recorder_info info = {.command = "test",
                              .faults = "",
                              .backend = txd_backend_name(backend),
                              .simd = "portable",
                              .blas = "none"};
    txd_stop *order;
    txd_probe_use *uses;
    txd_text config;
    size_t count;

    *out = (tape){0};
    if (!l->record)
        return;
    OK(txd_points_order(&order, &context.stops, l->arena, &l->claimed));
    context.order = order;
    txd_input_source_shape(&context.batch, &context.length, l->source);
    context.memory = txd_input_source_memory(l->source);
    OK(txd_record_read(&uses, &count, l->arena, l->root, &context));
    txd_text_init(&config);
    txd_config_print(&config, &l->claimed);
    add_group(&config, l, "checks");
    add_group(&config, l, "weights");
    info.config = txd_text_get(&config);
    OK(txd_recorder_create(&out->recorder, l->record, true, &context, &info, uses,
                           count));
    txd_text_finish(&config);
    OK(txd_recording_meta(txd_recorder_recording(out->recorder), "weights",
                          l->checkpoint ? "loaded" : "drawn"));
    out->taps = txd_recorder_taps(out->recorder, &out->count);
}

static txd_tap **join_taps(live *l, const tape *t, size_t *count)
{
    size_t laws;
    txd_tap *const *judging = txd_checks_taps(l->checks, &laws);
    txd_tap **taps = txd_arena_alloc(l->arena, t->count + laws + 1, sizeof *taps);

    for (size_t i = 0; i < t->count; i++)
        taps[i] = t->taps[i];
    for (size_t i = 0; i < laws; i++)
        taps[t->count + i] = judging[i];
    *count = t->count + laws;
    if (l->planted && l->planted->watch)
        taps[(*count)++] = l->planted->watch;
    return taps;
}

static void fill_memory(live *l, txd_encoder *encoder, txd_inputs *inputs, size_t step)
{
    txd_inputs tokens;

    if (!encoder)
        return;
    OK(txd_input_source_encoder(&tokens, l->source, l->arena, step));
    OK(txd_encoder_pass(encoder, inputs, &tokens, (int)step));
}

/* Columns [first, first + count) of an array (b, t). */
static int32_t *cut(live *l, const txd_inputs *from, const int32_t *array, size_t first,
                    size_t count)
{
    int32_t *out = txd_arena_alloc(l->arena, from->batch * count, sizeof *out);

    for (size_t b = 0; b < from->batch; b++)
        memcpy(out + b * count, array + b * from->length + first, count * sizeof *out);
    return out;
}

/* One sequence, in chunks. */
static void run_chunks(live *l, txd_run *run)
{
    size_t count, step = 0;
    txd_inputs all;

    OK(txd_input_source_step(&all, l->source, l->arena, 0));
    for (size_t first = 0; first < all.length; first += count) {
        txd_inputs part = all;

        count = all.length - first < l->planted->chunk ? all.length - first
                                                       : l->planted->chunk;
        part.length = count;
        part.tokens = cut(l, &all, all.tokens, first, count);
        part.positions = cut(l, &all, all.positions, first, count);
        part.valid = cut(l, &all, all.valid, first, count);
        part.document = cut(l, &all, all.document, first, count);
        OK(txd_run_pass(run, &part, (int)step++));
    }
}

static void run_steps(live *l, txd_encoder *encoder, txd_run *run, tape *t)
{
    txd_inputs inputs;

    if (l->cache) {
        run_chunks(l, run);
        return;
    }
    for (size_t step = 0; step < txd_input_source_steps(l->source); step++) {
        OK(txd_input_source_step(&inputs, l->source, l->arena, step));
        fill_memory(l, encoder, &inputs, step);
        if (t->recorder)
            OK(txd_recorder_step_begin(t->recorder, &inputs, (int)step));
        OK(txd_run_pass(run, &inputs, (int)step));
        if (t->recorder)
            OK(txd_recorder_step_end(t->recorder, txd_run_loss(run),
                                     txd_run_gradient_norm(run)));
    }
}

static void start_cache(live *l)
{
    size_t batch, length;

    txd_input_source_shape(&batch, &length, l->source);
    OK(txd_cache_create(&l->cache, l->model, batch, length));
}

/* Not where something is recorded: that is `run`. */
static void experiment(live *l, txd_encoder *encoder, const txd_run_options *options,
                       const txd_backend *backend)
{
    txd_experiment_setup setup = {.backend = backend,
                                  .claimed = &l->claimed,
                                  .actual =
                                      l->plan ? txd_plan_config(l->plan) : &l->claimed,
                                  .model = l->model,
                                  .params = l->params,
                                  .plan = l->plan,
                                  .threads = options->threads};
    txd_inputs inputs;

    if (l->record || txd_checks_experiments(l->checks) == 0)
        return;
    OK(txd_input_source_step(&inputs, l->source, l->arena, 0));
    fill_memory(l, encoder, &inputs, 0);
    setup.inputs = &inputs;
    OK(txd_checks_experiment(l->checks, &setup));
}

static int threads_of(const live *l)
{
    return l->planted && l->planted->threads ? l->planted->threads : 1;
}

static void judge(live *l, const txd_backend *backend, const char *only)
{
    txd_check_select select = {.only = only};
    txd_run_options options = {.claimed = &l->claimed,
                               .plan = l->plan,
                               .params = l->params,
                               .backward = txd_record_asks_gradients(l->root),
                               .threads = threads_of(l)};
    txd_check_context context = {.claimed = &l->claimed,
                                 .format = txd_backend_format(backend),
                                 .is_drawn = !l->checkpoint && !is_filled(l),
                                 .run = &options};
    txd_encoder *encoder = NULL;
    txd_run *run;
    tape t;

    if (l->claimed.encoder)
        OK(txd_encoder_create(&encoder, backend, &l->claimed, l->params, &options));
    if (encoder && options.backward)
        options.encoder = txd_encoder_run(encoder);
    OK(txd_checks_create(&l->checks, &context, l->root, &select, NULL, NULL));
    start_tape(&t, l, backend);
    options.taps = join_taps(l, &t, &options.tap_count);
    if (l->planted && l->planted->chunk)
        start_cache(l);
    options.cache = l->cache;
    OK(txd_run_create(&run, l->model, &options));
    run_steps(l, encoder, run, &t);
    txd_run_destroy(run);
    experiment(l, encoder, &options, backend);
    txd_encoder_destroy(encoder);
    if (t.recorder)
        OK(txd_recorder_close(t.recorder, true));
    OK(txd_checks_finish(&l->results, &l->count, l->checks));
}

static void run_all(live *l, const char *cfg, const char *only)
{
    const txd_backend *backend;
    const char *name = "cpu32";
    txd_inputs inputs;

    if (l->record) /* file systems wait for the disk where a file takes another's place
                    */
        remove(l->record);
    OK(txd_arena_create(&l->arena));
    OK(txd_cfg_parse(&l->root, l->arena, "test.cfg", cfg));
    OK(txd_setting_string(&name, l->root, "precision.backend"));
    OK(test_backend_find(&backend, name));
    open_model(l);
    OK(txd_input_source_step(&inputs, l->source, l->arena, 0));
    if (!plant(l, &inputs, backend))
        return;
    bind(l, backend);
    judge(l, backend, only);
}

void live_run(live *l, const char *cfg, const char *only)
{
    *l = (live){0};
    run_all(l, cfg, only);
}

void live_record(live *l, const char *cfg, const char *path)
{
    *l = (live){.record = path};
    run_all(l, cfg, NULL);
}

void live_run_planted(live *l, const char *cfg, const char *only,
                      const live_plant *planted)
{
    *l = (live){.record = planted->record, .planted = planted};
    run_all(l, cfg, only);
}

void live_edit(live *l, const char *cfg, const char *only, txd_tap *edit)
{
    const live_plant planted = {.tap = edit};

    live_run_planted(l, cfg, only, &planted);
}

void live_finish(live *l)
{
    txd_checks_destroy(l->checks);
    txd_cache_destroy(l->cache);
    txd_model_destroy(l->model);
    txd_params_destroy(l->params);
    txd_plan_destroy(l->plan);
    txd_input_source_destroy(l->source);
    txd_checkpoint_destroy(l->checkpoint);
    txd_arena_destroy(l->arena);
}

const txd_result *live_result(const live *l, const char *law)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->results[i].check, law) == 0)
            return &l->results[i];
    ck_abort_msg("the law %s was not selected", law);
    return NULL;
}

/* Names with commas of the laws that make passes of their own, or of the others. */
static void list_laws(char *out, size_t bytes, bool examining)
{
    size_t used = 0;

    for (size_t c = 0; txd_check_at(c); c++) {
        const txd_check *law = txd_check_at(c);

        if ((law->examine || law->watch) == examining)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "," : "",
                                     law->name);
    }
    ck_assert_uint_lt(used, bytes);
}

const char *live_watching(void)
{
    static char names[4096];

    list_laws(names, sizeof names, false);
    return names;
}

const char *live_examining(void)
{
    static char names[4096];

    list_laws(names, sizeof names, true);
    return names;
}

bool live_is_inapplicable(const live *l, const char *law)
{
    const txd_run_options run = {.claimed = &l->claimed, .params = l->params};
    const txd_check_context context = {
        .claimed = &l->claimed, .is_drawn = !l->checkpoint, .run = &run};
    const txd_check *check = txd_check_find(law);

    return check->inapplicable && check->inapplicable(&context);
}
