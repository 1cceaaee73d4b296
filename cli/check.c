/* SPDX-License-Identifier: MIT
 *
 * txdiag check: the laws, on recordings and on configurations.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/reports/report.h"
#include "cli/guard.h"
#include "cli/judge.h"
#include "cli/output.h"
#include "cli/passes.h"
#include "cli/printable.h"
#include "cli/quotes.h"
#include "cli/verdicts.h"

/* All files, one report. */
typedef struct check_job {
    const txd_options *options;
    txd_judge *judge;
    txd_report report;
    const char *output; /* NULL = stdout */
    int format;
    bool refused; /* the output is an input */
} check_job;

static void add_failure(check_job *job, const char *source)
{
    txd_output_complain();
    txd_report_add(&job->report,
                   &(txd_judged){.source = source, .error = txd_message()});
}

/* What another program wrote under a name that is none looks as if it had held. */
static void add_unread(txd_text *out, const txd_checks *checks)
{
    const char *first;
    size_t count = txd_checks_unread(&first, checks);

    if (count == 0)
        return;
    txd_text_addf(out, "%zu dataset%s of no known name %s not read, the first is ",
                  count, count == 1 ? "" : "s", count == 1 ? "was" : "were");
    txd_printable_piece(out, first);
    txd_text_add(out, "; a value is named as in value/layers/0/attn/weights/full "
                      "(docs/recording.md)");
}

/* What people are told beside the verdicts. */
static void report_trace(check_job *job, txd_judged *judged, const txd_checks *checks,
                         const txd_trace *recording)
{
    txd_text lacking, unread;

    txd_text_init(&lacking);
    txd_text_init(&unread);
    txd_verdicts_add_lacking(&lacking, recording, judged->source, judged->results,
                             judged->count);
    add_unread(&unread, checks);
    judged->remark = txd_text_get(&lacking);
    judged->warning = unread.length ? txd_text_get(&unread) : NULL;
    txd_report_add(&job->report, judged);
    txd_text_finish(&lacking);
    txd_text_finish(&unread);
}

/* A recording is judged by the thresholds of the run that made it, unless rules say
 * otherwise. */
static txd_status check_trace(check_job *job, const txd_trace *recording,
                              const char *path)
{
    txd_quotes quotes = {.recording = recording};
    txd_judged judged = {.source = path, .quote = txd_quotes_add, .quotes = &quotes};
    txd_checks *checks = NULL;
    txd_status status;

    status = txd_checks_recording(&checks, recording, job->judge->rules,
                                  &job->judge->select);
    if (status == TXD_OK)
        status = txd_checks_finish(&judged.results, &judged.count, checks);
    if (status == TXD_OK)
        status = txd_judge_waive(job->judge, &judged.results, judged.count);
    if (status == TXD_OK)
        report_trace(job, &judged, checks, recording);
    txd_quotes_finish(&quotes);
    txd_checks_destroy(checks);
    return status;
}

static txd_status check_recording(check_job *job, const char *path)
{
    const char *complete;
    txd_trace *recording = NULL;
    bool partial = false;
    txd_status status;

    if (txd_options_has(job->options, "set"))
        return txd_fail(TXD_ERR_ARGUMENT,
                        "--set overrides a MODEL.cfg, and %s is a recording; --rules "
                        "changes thresholds",
                        path);
    status = txd_guard_open(&recording, path, &partial);
    if (status == TXD_OK) {
        complete = txd_trace_meta(recording, "complete");
        if (partial)
            txd_output_say(job->options, "%s is not there; reading %s.part", path,
                           path);
        else if (complete && strcmp(complete, "0") == 0)
            txd_output_say(job->options, "%s is not complete: its run was cut short",
                           path);
        status = check_trace(job, recording, path);
    }
    txd_trace_destroy(recording);
    txd_guard_end();
    return status;
}

/* A law that names a planted fault points at it, others at the model. */
static txd_source_line place_in_cfg(const void *self, const char *law)
{
    const txd_session *session = self;
    const txd_setting *faults = txd_setting_find(session->root, "faults");
    const txd_setting *place = txd_setting_find(session->root, "model");

    for (const txd_setting *use = faults ? faults->child : NULL; use; use = use->next) {
        const txd_setting *name = txd_setting_find(use, "name");

        if (name && name->line > 0 && name->string &&
            txd_verdicts_name_fault(law, name->string)) {
            place = name;
            break;
        }
    }
    if (!place || place->line == 0)
        return (txd_source_line){session->path, 0};
    return (txd_source_line){place->file, place->line};
}

static txd_status report_cfg(check_job *job, const txd_session *session,
                             const txd_passes *passes)
{
    txd_quotes quotes = {.source = session->source};
    const txd_result *results = passes->results;

    TXD_TRY(txd_judge_waive(job->judge, &results, passes->result_count));
    txd_report_add(&job->report, &(txd_judged){.source = session->path,
                                               .results = results,
                                               .count = passes->result_count,
                                               .quote = txd_quotes_add,
                                               .quotes = &quotes,
                                               .place = place_in_cfg,
                                               .places = session});
    txd_quotes_finish(&quotes);
    txd_verdicts_say_unnoticed(session, passes->results, passes->result_count);
    return TXD_OK;
}

static txd_status check_cfg(check_job *job, const char *path)
{
    txd_session session;
    txd_passes passes = {0};
    txd_status status = txd_session_open(&session, job->options, path);

    if (status == TXD_OK && job->output) {
        status = txd_session_spares(&session, job->output);
        job->refused |= status != TXD_OK;
    }
    if (status == TXD_OK)
        status = txd_judge_apply(job->judge, session.root, session.arena);
    if (status == TXD_OK)
        status = txd_session_bind(&session);
    if (status == TXD_OK)
        status = txd_session_record(&session);
    if (status == TXD_OK)
        status =
            txd_passes_init(&passes, &session, job->options, NULL, &job->judge->select);
    passes.experiments = true;
    if (status == TXD_OK)
        status = txd_passes_run(&passes, job->options);
    if (status == TXD_OK)
        status = report_cfg(job, &session, &passes);
    txd_passes_finish(&passes);
    txd_session_close(&session);
    return status;
}

/* By content where there is content; an absent REC.h5 may be there as REC.h5.part. */
static bool looks_recorded(const char *path)
{
    char part[4096];
    struct stat info;

    if (stat(path, &info) != 0) {
        snprintf(part, sizeof part, "%s.part", path);
        return stat(part, &info) == 0;
    }
    return txd_file_kind_at(path) == TXD_FILE_HDF5;
}

static void check_file(check_job *job, const char *path)
{
    txd_status status =
        looks_recorded(path) ? check_recording(job, path) : check_cfg(job, path);

    if (status != TXD_OK)
        add_failure(job, path);
}

/* The last word, where it does not stand in the report that people read. */
static void say_total(const check_job *job)
{
    txd_text total;

    if (!job->output && job->format == 0)
        return;
    txd_text_init(&total);
    txd_report_total(&total, &job->report);
    txd_output_say(job->options, "%s", txd_text_get(&total));
    txd_text_finish(&total);
}

/* Where the report is for programs, that a waiver does nothing is said here. */
static void say_unused(const check_job *job)
{
    txd_text text;

    for (size_t i = 0; i < job->judge->waivers.count && job->format != 0; i++) {
        txd_text_init(&text);
        if (txd_report_unused(&text, &job->judge->waivers.items[i]))
            txd_output_say(job->options, "%s", txd_text_get(&text));
        txd_text_finish(&text);
    }
}

static txd_status write_file(check_job *job)
{
    const txd_text *text = &job->report.text;

    if (txd_text_status(text) != TXD_OK)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the report");
    return txd_file_replace(job->output, txd_text_get(text), text->length);
}

static int write_result(check_job *job)
{
    int status = txd_report_exit(&job->report);

    if (job->refused) /* the reason was among the messages of the files */
        return TXD_EXIT_NO_ANSWER;
    if (!job->output)
        status = txd_output_result(&job->report.text, status);
    else if (write_file(job) != TXD_OK)
        return txd_output_complain();
    say_unused(job);
    say_total(job);
    return status;
}

static txd_status read_format(check_job *job)
{
    const char *names[16];
    size_t count = 0;

    for (; txd_format_name(count) && count < 16; count++)
        names[count] = txd_format_name(count);
    return txd_options_choice(&job->format, job->options, "format", names, count);
}

static txd_status check_arguments(check_job *job)
{
    const char *rules = txd_options_value(job->options, "rules");
    int i;

    TXD_TRY(read_format(job));
    if (!job->output)
        return TXD_OK;
    for (i = 0; i < job->options->operand_count; i++)
        TXD_TRY(txd_output_differs(job->output, job->options->operands[i]));
    if (rules)
        TXD_TRY(txd_output_differs(job->output, rules));
    return txd_output_check(job->output, TXD_OUTPUT_TEXT, job->options->force);
}

static int judge_files(check_job *job)
{
    int status;

    txd_report_begin(&job->report, (size_t)job->format, job->judge->select.strict,
                     job->options->verbose, job->output != NULL);
    job->report.waivers = &job->judge->waivers;
    job->report.brief = job->options->operand_count > 1;
    for (int i = 0; i < job->options->operand_count; i++)
        check_file(job, job->options->operands[i]);
    txd_report_end(&job->report);
    status = write_result(job);
    txd_report_finish(&job->report);
    return status;
}

static int check_files(const txd_options *options)
{
    check_job job = {.options = options,
                     .output = txd_options_value(options, "output")};
    txd_judge judge;
    txd_status status = txd_judge_init(&judge, options);
    int exit_status;

    job.judge = &judge;
    if (status == TXD_OK)
        status = check_arguments(&job);
    exit_status = status == TXD_OK ? judge_files(&job) : txd_output_complain();
    txd_judge_finish(&judge);
    return exit_status;
}

static const txd_option options[] = {
    {"output", 'o', "OUT", "writes the report to a file instead of stdout"},
    {"rules", 0, "RULES.cfg", "thresholds and waivers over those of FILE (docs/ci.md)"},
    {"only", 0, "GLOB", "evaluates only these laws; may be repeated"},
    {"skip", 0, "GLOB", "leaves these laws out; may be repeated"},
    {"strict", 0, NULL, "a warning counts as a broken law"},
    {"format", 0, "FORMAT", "text (default), json, junit, tap or sarif (docs/ci.md)"},
    {"set", 0, "PATH=VALUE", "overrides one setting of a cfg; may be repeated"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_check = {
    .name = "check",
    .sentence = "judge recordings or configurations by the laws",
    .usage = "FILE... [--rules RULES.cfg] [--only GLOB] [--skip GLOB] [--strict]\n"
             "                    [--format text|json|junit|tap|sarif] [-o OUT]",
    .help =
        "Evaluates every law that a FILE can answer and prints the verdicts. FILE is "
        "a\n"
        "recording, which is judged anew by the configuration stored in it, or a\n"
        "MODEL.cfg, which is run without recording, and again under changed inputs "
        "for\n"
        "laws that make passes of their own. A law that cannot be evaluated is skipped "
        "by\n"
        "name, with the reason: a skip is not a pass.\n"
        "\n"
        "  txdiag check mini.h5\n"
        "  txdiag check mini.h5 --only 'causality,row_sum' --format json\n"
        "  txdiag check mini.cfg --rules rules.cfg --format sarif -o laws.sarif\n"
        "  txdiag check examples/mini.cfg mini.h5 --strict",
    .exits = "  0   every evaluated law held in every file\n"
             "  1   a law is broken\n"
             "  2   a file could not be judged, and no law is broken in the others\n"
             "  77  in some file no law could be evaluated, and the others held\n",
    .options = options,
    .least = 1,
    .most = -1,
    .run = check_files,
};
