/* SPDX-License-Identifier: MIT
 *
 * What the program does to a model.cfg, without the program.
 */
#include "live.h"

#include <stdio.h>
#include <string.h>

static void must(txd_status status)
{
    ck_assert_msg(status == TXD_OK, "%s", txd_message());
}

static void open_model(live *l)
{
    const char *from = NULL;
    const txd_config *stated = NULL;

    must(txd_setting_string(&from, l->root, "model.from"));
    if (from) {
        must(txd_checkpoint_open(&l->checkpoint, from));
        stated = txd_checkpoint_config(l->checkpoint);
    }
    must(txd_config_read(&l->claimed, l->arena, l->root, stated));
    must(txd_input_source_create(&l->source, l->root, &l->claimed, 1));
}

static bool plant(live *l, const txd_inputs *inputs)
{
    txd_status status;

    must(txd_faults_read(&l->faults, &l->fault_count, l->arena, l->root));
    if (l->fault_count == 0)
        return true;
    status = txd_plan_create(&l->plan, &l->claimed, inputs, l->faults, l->fault_count);
    if (status == TXD_ERR_INAPPLICABLE) {
        l->inapplicable = txd_arena_string(l->arena, txd_message());
        return false;
    }
    must(status);
    return true;
}

static void bind(live *l, const txd_backend *backend)
{
    const txd_config *actual = l->plan ? txd_plan_config(l->plan) : &l->claimed;

    if (l->checkpoint) {
        must(txd_checkpoint_params(&l->params, l->checkpoint, &l->claimed));
    } else {
        must(txd_params_create(&l->params, &l->claimed, TXD_F32));
        must(txd_params_init(l->params, &l->claimed, l->root, 1));
    }
    if (l->plan)
        must(txd_plan_edit_params(l->plan, l->params));
    must(txd_model_create(&l->model, backend, actual, l->params));
}

static void judge(live *l, const txd_backend *backend, const char *only)
{
    txd_check_select select = {.only = only};
    txd_check_context context = {.claimed = &l->claimed,
                                 .dtype = txd_backend_dtype(backend)};
    txd_run_options options = {
        .claimed = &l->claimed, .plan = l->plan, .params = l->params, .threads = 1};
    txd_inputs inputs;
    txd_run *run;

    must(txd_checks_create(&l->checks, &context, l->root, &select, NULL, NULL));
    options.taps = txd_checks_taps(l->checks, &options.tap_count);
    must(txd_run_create(&run, l->model, &options));
    for (size_t step = 0; step < txd_input_source_steps(l->source); step++) {
        must(txd_input_source_step(&inputs, l->source, l->arena, step));
        must(txd_run_forward(run, &inputs, (int)step));
    }
    txd_run_destroy(run);
    must(txd_checks_finish(&l->results, &l->count, l->checks));
}

void live_run(live *l, const char *cfg, const char *only)
{
    const txd_backend *backend;
    const char *name = "cpu32";
    txd_inputs inputs;

    *l = (live){0};
    must(txd_arena_create(&l->arena));
    must(txd_cfg_parse(&l->root, l->arena, "test.cfg", cfg));
    must(txd_setting_string(&name, l->root, "precision.backend"));
    must(txd_backend_find(&backend, name));
    open_model(l);
    must(txd_input_source_step(&inputs, l->source, l->arena, 0));
    if (!plant(l, &inputs))
        return;
    bind(l, backend);
    judge(l, backend, only);
}

void live_finish(live *l)
{
    txd_checks_destroy(l->checks);
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
