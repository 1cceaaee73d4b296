/* SPDX-License-Identifier: MIT
 *
 * txdiag run: the model under probes, recorded and judged.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/estimate.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/passes.h"
#include "cli/quotes.h"
#include "cli/record.h"
#include "cli/verdicts.h"
#include "viz/viz.h"

typedef struct run_job {
    const txd_options *options;
    txd_session session;
    const char *output; /* the recording */
    const char *report; /* a folder; NULL = no report */
    txd_recorder *recorder;
    txd_passes passes;
    int exit_status;
} run_job;

static txd_status check_outputs(run_job *job, const char *cfg)
{
    txd_status status;

    job->output = txd_options_value(job->options, "output");
    job->report = txd_options_value(job->options, "report");
    if (!job->output)
        job->output = txd_output_stem(job->session.arena, cfg, ".h5");
    if (!job->output)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_session_spares(&job->session, job->output));
    TXD_TRY(txd_output_check(job->output, TXD_OUTPUT_RECORDING, job->options->force));
    if (!job->report)
        return TXD_OK;
    TXD_TRY(txd_output_page(job->report, cfg, job->options->force));
    status = txd_plot_ready();
    if (status != TXD_OK)
        txd_fail_prefix(status, "--report %s", job->report);
    return status;
}

static txd_status prepare(run_job *job, const char *cfg)
{
    TXD_TRY(txd_session_open(&job->session, job->options, cfg));
    if (!txd_options_has(job->options, "dry-run"))
        TXD_TRY(check_outputs(job, cfg));
    TXD_TRY(txd_session_bind(&job->session));
    return txd_session_record(&job->session);
}

/* A failed run leaves a .part only if it holds steps. The message of the failure is
 * kept over what closing may say. */
static void close_failed(run_job *job, txd_status status)
{
    bool keep = job->passes.steps_done > 0 || status == TXD_ERR_INTERRUPTED;
    char message[2048];

    if (!job->recorder)
        return;
    snprintf(message, sizeof message, "%s", txd_message());
    if (keep)
        txd_recorder_close(job->recorder, false);
    else
        txd_recorder_discard(job->recorder);
    job->recorder = NULL;
    if (keep)
        txd_fail(status, "%s; %s.part holds %zu of %zu steps", message, job->output,
                 job->passes.steps_done, job->session.steps);
    else
        txd_fail(status, "%s", message);
}

static txd_status close_complete(run_job *job)
{
    txd_recorder *recorder = job->recorder;

    TXD_TRY(txd_report_record(txd_recorder_recording(recorder), job->passes.results,
                              job->passes.result_count));
    if (txd_interrupt_count() > 0)
        return txd_fail(TXD_ERR_INTERRUPTED, "interrupted after the last step");
    job->recorder = NULL; /* close frees, whatever it says */
    return txd_recorder_close(recorder, true);
}

static txd_status record(run_job *job)
{
    txd_status status =
        txd_session_recorder(&job->recorder, &job->session, job->options, job->output);

    if (status == TXD_OK)
        status = txd_passes_init(&job->passes, &job->session, job->options,
                                 job->recorder, &(txd_check_select){0});
    job->passes.experiments = txd_options_has(job->options, "experiments");
    if (status == TXD_OK)
        status = txd_passes_run(&job->passes, job->options);
    if (status == TXD_OK)
        status = close_complete(job);
    if (status != TXD_OK)
        close_failed(job, status);
    return status;
}

static txd_status write_report(run_job *job)
{
    txd_trace *recording = NULL;
    txd_status status = txd_recording_open(&recording, job->output, NULL);

    if (status == TXD_OK)
        status = txd_report_html(recording, job->output, job->report);
    txd_trace_destroy(recording);
    return status;
}

static int print_results(run_job *job)
{
    const txd_passes *passes = &job->passes;
    int status = txd_checks_exit(passes->results, passes->result_count, false);
    txd_quotes quotes = {.source = job->session.source};
    const txd_report_style style = {
        .verbose = job->options->verbose, .quote = txd_quotes_add, .self = &quotes};
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, job->session.path, passes->results, passes->result_count,
                    &style);
    txd_quotes_finish(&quotes);
    return txd_output_result(&text, status);
}

/* A NaN has no sign that means anything. */
static double unsigned_nan(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* True if a token is seen where it is to be predicted: then the loss is no measure of
 * anything. */
static bool sees_ahead(const txd_config *config)
{
    for (size_t l = 0; l < config->n_layers; l++)
        if (!config->layers[l].causal)
            return true;
    return false;
}

static void say_loss(const run_job *job)
{
    const char *what = sees_ahead(&job->session.claimed)
                           ? " of predicting the next token, which this model sees"
                           : "";
    const char *when = job->session.steps > 1 ? " in the last step" : "";
    const txd_passes *passes = &job->passes;

    if (!passes->has_loss)
        txd_output_say(job->options, "no token predicts another%s: there is no loss%s",
                       when, job->session.backward ? ", and no gradient" : "");
    else if (job->session.backward)
        txd_output_say(job->options, "loss %.4g%s, gradient norm %.4g%s",
                       unsigned_nan(passes->loss), what,
                       unsigned_nan(passes->grad_norm), when);
    else
        txd_output_say(job->options, "loss %.4g%s%s", unsigned_nan(passes->loss), what,
                       when);
}

/* Says where the outputs are, and draws the report, which reads the finished file. */
static int conclude(run_job *job)
{
    int status = print_results(job);

    txd_output_say(job->options, "recorded %s", job->output);
    say_loss(job);
    txd_verdicts_say_unnoticed(&job->session, job->passes.results,
                               job->passes.result_count);
    if (!job->report)
        return status;
    if (write_report(job) != TXD_OK) {
        txd_output_complain();
        if (txd_interrupt_count() > 0)
            return TXD_EXIT_INTERRUPTED;
        return status == TXD_EXIT_HELD ? TXD_EXIT_NO_ANSWER : status;
    }
    txd_output_say(job->options, "report %s/index.html", job->report);
    return status;
}

static int complain(txd_status status)
{
    int exit_status = txd_output_complain();

    return status == TXD_ERR_INTERRUPTED ? TXD_EXIT_INTERRUPTED : exit_status;
}

/* Where nothing fits the limit, what would be recorded without one says why. */
static int estimate(run_job *job)
{
    txd_status status = txd_session_fit(&job->session, job->options);
    int complained = status == TXD_OK ? TXD_EXIT_HELD : complain(status);
    int printed = txd_estimate_print(&job->session, job->options);

    return status == TXD_OK ? printed : complained;
}

static int run_and_tell(run_job *job)
{
    txd_status status = txd_session_fit(&job->session, job->options);

    if (status == TXD_OK)
        status = record(job);
    return status == TXD_OK ? conclude(job) : complain(status);
}

static int run_model(const txd_options *options)
{
    run_job job = {.options = options};
    bool is_dry = txd_options_has(options, "dry-run");
    txd_status status;
    int exit_status;

    txd_interrupt_watch();
    status = prepare(&job, options->operands[0]);
    if (status != TXD_OK)
        exit_status = complain(status);
    else
        exit_status = is_dry ? estimate(&job) : run_and_tell(&job);
    txd_passes_finish(&job.passes);
    txd_session_close(&job.session);
    return exit_status;
}

static const txd_option options[] = {
    {"output", 'o', "REC.h5", "the recording; default: the cfg's name with .h5, here"},
    {"set", 0, "PATH=VALUE", "overrides one setting of the cfg; may be repeated"},
    {"report", 0, "DIR", "also writes DIR/index.html: verdicts and figures"},
    {"experiments", 0, NULL, "also judges the laws that make passes of their own"},
    {"dry-run", 0, NULL, "says what would be recorded and what it costs; no pass"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_run = {
    .name = "run",
    .sentence = "run a model under probes, record it, judge it",
    .usage = "MODEL.cfg [-o REC.h5] [--set PATH=VALUE]... [--report DIR]\n"
             "                    [--experiments] [--dry-run]",
    .help =
        "Runs the decoder that MODEL.cfg describes, on its input, as many steps as "
        "the\n"
        "input says. The probes of `record` write what they see to REC.h5 (HDF5), all\n"
        "laws (`txdiag list checks`) are judged on the way, and the verdicts are "
        "printed\n"
        "and stored. While it runs, the file is REC.h5.part; every finished step in "
        "it\n"
        "survives a crash. An earlier REC.h5 is replaced once the new one is "
        "complete.\n"
        "\n"
        "  txdiag run examples/mini.cfg -o mini.h5 --report report\n"
        "  txdiag run mini.cfg --set model.n_layers=4 --set "
        "'input={random={length=99;};}'\n"
        "  txdiag run mini.cfg --set 'faults=({name=\"mask_off_by_one\"; "
        "layers=\"1\";})'\n"
        "  txdiag run big.cfg --dry-run",
    .exits = "  0    every law held\n"
             "  1    a law is broken; the recording is complete\n"
             "  2    the run could not be made; an earlier REC.h5 is untouched\n"
             "  77   no law could be evaluated\n"
             "  130  interrupted: the step was finished, REC.h5.part holds what was "
             "recorded\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run_model,
};
