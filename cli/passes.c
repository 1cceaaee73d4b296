/* SPDX-License-Identifier: MIT
 *
 * Inputs of a step live in an arena that is reset for the next one, so that a run of a
 * million steps needs the memory of one.
 */
#include "cli/passes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/encode.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/progress.h"

static txd_status create_checks(txd_passes *passes, const txd_check_select *select)
{
    const txd_session *session = passes->session;
    txd_check_context context = {.claimed = &session->claimed,
                                 .format = txd_backend_format(session->backend),
                                 .is_drawn = !session->checkpoint,
                                 .run = &passes->run};

    return txd_checks_create(&passes->checks, &context, session->root, select, NULL,
                             NULL);
}

static txd_status choose_attention(txd_passes *passes)
{
    const char *const words[] = {txd_config_word("attention", 0),
                                 txd_config_word("attention", 1)};
    int how = 0;

    TXD_TRY(txd_setting_choice(&how, passes->session->root, "precision.attention",
                               words, 2));
    passes->run.streamed = how == 1;
    return TXD_OK;
}

static txd_status join_taps(txd_passes *passes)
{
    txd_tap *const *recorded = NULL, *const * judging;
    size_t record_count = 0, check_count;

    if (passes->recorder)
        recorded = txd_recorder_taps(passes->recorder, &record_count);
    judging = txd_checks_taps(passes->checks, &check_count);
    passes->taps = calloc(record_count + check_count + 1, sizeof *passes->taps);
    if (!passes->taps)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the taps");
    if (record_count)
        memcpy(passes->taps, recorded, record_count * sizeof *passes->taps);
    if (check_count)
        memcpy(passes->taps + record_count, judging,
               check_count * sizeof *passes->taps);
    passes->run.taps = passes->taps;
    passes->run.tap_count = record_count + check_count;
    return TXD_OK;
}

txd_status txd_passes_init(txd_passes *out, txd_session *session,
                           const txd_options *options, txd_recorder *recorder,
                           const txd_check_select *select)
{
    *out = (txd_passes){.session = session, .recorder = recorder};
    out->run = (txd_run_options){.claimed = &session->claimed,
                                 .plan = session->plan,
                                 .params = session->params,
                                 .backward = session->backward,
                                 .threads = options->threads};
    TXD_TRY(choose_attention(out));
    TXD_TRY(create_checks(out, select));
    return join_taps(out);
}

void txd_passes_finish(txd_passes *passes)
{
    txd_passes_close(passes);
    txd_checks_destroy(passes->checks);
    free(passes->taps);
    *passes = (txd_passes){0};
}

txd_status txd_passes_step(txd_passes *passes, size_t step)
{
    txd_run *run = passes->pass;
    txd_inputs inputs;

    txd_arena_reset(passes->arena);
    TXD_TRY(txd_session_inputs(&inputs, passes->session, passes->encoder, passes->arena,
                               step));
    if (passes->recorder)
        TXD_TRY(txd_recorder_step_begin(passes->recorder, &inputs, (int)step));
    TXD_TRY(txd_run_pass(run, &inputs, (int)step));
    if (passes->recorder)
        TXD_TRY(txd_recorder_step_end(passes->recorder, txd_run_loss(run),
                                      txd_run_gradient_norm(run)));
    passes->loss = txd_run_loss(run);
    passes->has_loss = txd_inputs_pairs(&inputs) > 0;
    passes->grad_norm = txd_run_gradient_norm(run);
    passes->steps_done++;
    return TXD_OK;
}

static txd_status create_encoder(txd_passes *passes, const txd_options *options)
{
    TXD_TRY(txd_session_encoder(&passes->encoder, passes->session, options));
    if (passes->encoder && passes->run.backward)
        passes->run.encoder = txd_encoder_run(passes->encoder);
    return TXD_OK;
}

static txd_status run_steps(txd_passes *passes)
{
    size_t step;

    for (step = 0; step < passes->session->steps; step++) {
        TXD_TRY(txd_passes_step(passes, step));
        if (txd_interrupt_count() > 0)
            return txd_fail(TXD_ERR_INTERRUPTED, "interrupted after step %zu of %zu",
                            step + 1, passes->session->steps);
    }
    return TXD_OK;
}

/* One signal is enough here: there is nothing that could be lost. */
static int show_experiment(void *self, int number, size_t done, size_t total)
{
    return txd_interrupt_count() > 0 || txd_progress_show(self, number, done, total);
}

/* Of the inputs of the first step. */
static txd_status run_experiments(txd_passes *passes, const txd_options *options)
{
    const txd_session *session = passes->session;
    size_t count = txd_checks_experiments(passes->checks);
    txd_progress progress;
    txd_inputs inputs;
    txd_experiment_setup setup = {.backend = session->backend,
                                  .claimed = &session->claimed,
                                  .actual = session->actual,
                                  .model = session->model,
                                  .params = session->params,
                                  .plan = session->plan,
                                  .inputs = &inputs,
                                  .threads = options->threads,
                                  .memory = txd_memory_beside(),
                                  .progress = show_experiment,
                                  .progress_self = &progress};
    txd_status status;

    if (!passes->experiments || count == 0)
        return TXD_OK;
    txd_arena_reset(passes->arena);
    TXD_TRY(txd_session_inputs(&inputs, session, passes->encoder, passes->arena, 0));
    txd_progress_begin(&progress, count, !options->quiet);
    progress.of = "experiment";
    status = txd_checks_experiment(passes->checks, &setup);
    txd_progress_end(&progress);
    return status;
}

static txd_status check_memory(const txd_passes *passes, const txd_options *options)
{
    const txd_session *session = passes->session;
    const txd_extent extent = {session->batch, session->length, session->memory, 0};
    size_t bytes = 0, encoder = 0;

    TXD_TRY(txd_run_bytes(&bytes, session->model, &passes->run, &extent));
    TXD_TRY(txd_session_encoder_bytes(&encoder, session, options));
    return txd_memory_allows((double)bytes + (double)encoder, "a pass",
                             "shorten the input, or record less in full");
}

txd_status txd_passes_open(txd_passes *passes, const txd_options *options)
{
    TXD_TRY(txd_arena_create(&passes->arena));
    TXD_TRY(check_memory(passes, options));
    TXD_TRY(create_encoder(passes, options));
    return txd_run_create(&passes->pass, passes->session->model, &passes->run);
}

void txd_passes_close(txd_passes *passes)
{
    txd_run_destroy(passes->pass);
    txd_encoder_destroy(passes->encoder);
    txd_arena_destroy(passes->arena);
    passes->pass = NULL;
    passes->encoder = NULL;
    passes->arena = NULL;
    passes->run.encoder = NULL;
}

txd_status txd_passes_run(txd_passes *passes, const txd_options *options)
{
    txd_progress progress;
    txd_status status;

    txd_progress_begin(&progress, passes->session->steps, !options->quiet);
    passes->run.progress = txd_progress_show;
    passes->run.progress_self = &progress;
    status = txd_passes_open(passes, options);
    if (status == TXD_OK)
        status = run_steps(passes);
    txd_progress_end(&progress);
    passes->run.progress = NULL;
    passes->run.progress_self = NULL;
    if (status == TXD_OK)
        status = run_experiments(passes, options);
    txd_passes_close(passes);
    if (status != TXD_OK)
        return status;
    return txd_checks_finish(&passes->results, &passes->result_count, passes->checks);
}
