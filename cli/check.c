/* SPDX-License-Identifier: MIT
 *
 * txdiag check: the laws, on recordings and on configurations.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/guard.h"
#include "cli/judge.h"
#include "cli/output.h"
#include "cli/passes.h"
#include "cli/quotes.h"
#include "cli/verdicts.h"

/* The reports of all files, in one format. */
typedef struct check_report {
    const txd_options *options;
    const txd_judge *judge;
    bool json;
    txd_text text;
    txd_json writer;
    int counts[4];      /* files by exit status: 0, 1, 2, 77 */
    const char *output; /* NULL = stdout */
    bool refused;       /* the output is an input */
} check_report;

static void note_status(check_report *report, int status)
{
    report->counts[status <= 2 ? status : 3]++;
}

/* A broken law outranks a file that could not be judged, and that one in which nothing
 * was evaluated: what holds in one file says nothing of another. */
static int total_status(const check_report *report)
{
    if (report->counts[1])
        return TXD_EXIT_BROKEN_LAW;
    if (report->counts[2])
        return TXD_EXIT_NO_ANSWER;
    return report->counts[3] ? TXD_EXIT_NOTHING_EVALUATED : TXD_EXIT_HELD;
}

static void add_results(check_report *report, const char *source, txd_quotes *quotes,
                        const txd_result *results, size_t count)
{
    const txd_report_style style = {report->options->verbose, txd_quotes_add, quotes};
    bool strict = report->judge->select.strict;

    note_status(report, txd_checks_exit(results, count, strict));
    if (report->json)
        txd_report_json(&report->writer, source, results, count, strict);
    else
        txd_report_text(&report->text, source, results, count, &style);
    txd_quotes_finish(quotes);
}

static void add_failure(check_report *report, const char *source)
{
    note_status(report, txd_output_complain());
    if (!report->json)
        return;
    txd_json_open_object(&report->writer);
    txd_json_key(&report->writer, "source");
    txd_json_string(&report->writer, source);
    txd_json_key(&report->writer, "error");
    txd_json_string(&report->writer, txd_message());
    txd_json_close_object(&report->writer);
}

/* What another program wrote under a name that is none looks as if it had held. */
static void say_unread(const check_report *report, const txd_checks *checks,
                       const char *path)
{
    const char *first;
    size_t count = txd_checks_unread(&first, checks);

    if (count == 0)
        return;
    txd_output_say(report->options,
                   "%s: %zu dataset%s of no known name %s not read, the first is %s; a "
                   "value is named as in value/layers/0/attn/weights/full "
                   "(docs/recording.md)",
                   path, count, count == 1 ? "" : "s", count == 1 ? "was" : "were",
                   first);
}

/* A recording is judged by the thresholds of the run that made it, unless rules say
 * otherwise. */
static txd_status check_trace(check_report *report, const txd_trace *recording,
                              const char *path)
{
    const txd_result *results;
    txd_checks *checks = NULL;
    txd_status status;
    size_t count;

    status = txd_checks_recording(&checks, recording, report->judge->rules,
                                  &report->judge->select);
    if (status == TXD_OK)
        status = txd_checks_finish(&results, &count, checks);
    if (status == TXD_OK) {
        add_results(report, path, &(txd_quotes){.recording = recording}, results,
                    count);
        if (!report->json)
            txd_verdicts_add_lacking(&report->text, recording, path, results, count);
        say_unread(report, checks, path);
    }
    txd_checks_destroy(checks);
    return status;
}

static txd_status check_recording(check_report *report, const char *path)
{
    const char *complete;
    txd_trace *recording = NULL;
    bool partial = false;
    txd_status status;

    if (txd_options_has(report->options, "set"))
        return txd_fail(TXD_ERR_ARGUMENT,
                        "--set overrides a MODEL.cfg, and %s is a recording; --rules "
                        "changes thresholds",
                        path);
    status = txd_guard_open(&recording, path, &partial);
    if (status == TXD_OK) {
        complete = txd_trace_meta(recording, "complete");
        if (partial)
            txd_output_say(report->options, "%s is not there; reading %s.part", path,
                           path);
        else if (complete && strcmp(complete, "0") == 0)
            txd_output_say(report->options, "%s is not complete: its run was cut short",
                           path);
        status = check_trace(report, recording, path);
    }
    txd_trace_destroy(recording);
    txd_guard_end();
    return status;
}

static txd_status check_cfg(check_report *report, const char *path)
{
    txd_session session;
    txd_passes passes = {0};
    txd_status status = txd_session_open(&session, report->options, path);

    if (status == TXD_OK && report->output) {
        status = txd_session_spares(&session, report->output);
        report->refused |= status != TXD_OK;
    }
    if (status == TXD_OK)
        status = txd_judge_apply(report->judge, session.root, session.arena);
    if (status == TXD_OK)
        status = txd_session_bind(&session);
    if (status == TXD_OK)
        status = txd_session_record(&session);
    if (status == TXD_OK)
        status = txd_passes_init(&passes, &session, report->options, NULL,
                                 &report->judge->select);
    if (status == TXD_OK)
        status = txd_passes_run(&passes, report->options);
    if (status == TXD_OK) {
        add_results(report, path, &(txd_quotes){.source = session.source},
                    passes.results, passes.result_count);
        txd_verdicts_say_unnoticed(&session, passes.results, passes.result_count);
    }
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

static void check_file(check_report *report, const char *path)
{
    txd_status status =
        looks_recorded(path) ? check_recording(report, path) : check_cfg(report, path);

    if (status != TXD_OK)
        add_failure(report, path);
}

/* A file begins with our name, so that the next report may replace it. */
static void open_report(check_report *report, bool to_file)
{
    if (!report->json) {
        txd_text_add(&report->text, to_file ? "txdiag check\n" : "");
        return;
    }
    txd_json_init(&report->writer, &report->text, 2);
    txd_json_open_object(&report->writer);
    txd_json_key(&report->writer, "txdiag");
    txd_json_string(&report->writer, TXD_VERSION);
    txd_json_key(&report->writer, "schema");
    txd_json_int(&report->writer, 1);
    txd_json_key(&report->writer, "files");
    txd_json_open_array(&report->writer);
}

static void close_report(check_report *report)
{
    if (!report->json)
        return;
    txd_json_close_array(&report->writer);
    txd_json_key(&report->writer, "exit");
    txd_json_int(&report->writer, total_status(report));
    txd_json_close_object(&report->writer);
    txd_text_add(&report->text, "\n");
}

static int write_result(check_report *report)
{
    const char *path = report->output;
    txd_status status = txd_text_status(&report->text);

    if (report->refused) { /* the reason was among the messages of the files */
        txd_text_finish(&report->text);
        return TXD_EXIT_NO_ANSWER;
    }
    if (!path)
        return txd_output_result(&report->text, total_status(report));
    if (status == TXD_OK)
        status =
            txd_file_replace(path, txd_text_get(&report->text), report->text.length);
    else
        txd_fail(status, "no memory for the report");
    txd_text_finish(&report->text);
    return status == TXD_OK ? total_status(report) : txd_output_complain();
}

static txd_status check_arguments(check_report *report, const char *output)
{
    static const char *const formats[] = {"text", "json"};
    const char *rules = txd_options_value(report->options, "rules");
    int format = 0, i;

    TXD_TRY(txd_options_choice(&format, report->options, "format", formats, 2));
    report->json = format == 1;
    if (!output)
        return TXD_OK;
    for (i = 0; i < report->options->operand_count; i++)
        TXD_TRY(txd_output_differs(output, report->options->operands[i]));
    if (rules)
        TXD_TRY(txd_output_differs(output, rules));
    return txd_output_check(output, TXD_OUTPUT_TEXT, report->options->force);
}

static int check_files(const txd_options *options)
{
    const char *output = txd_options_value(options, "output");
    check_report report = {.options = options, .output = output};
    txd_judge judge;
    txd_status status;
    int i, exit_status;

    status = txd_judge_init(&judge, options);
    report.judge = &judge;
    txd_text_init(&report.text);
    if (status == TXD_OK)
        status = check_arguments(&report, output);
    if (status == TXD_OK) {
        open_report(&report, output != NULL);
        for (i = 0; i < options->operand_count; i++)
            check_file(&report, options->operands[i]);
        close_report(&report);
        exit_status = write_result(&report);
    } else {
        exit_status = txd_output_complain();
    }
    txd_judge_finish(&judge);
    return exit_status;
}

static const txd_option options[] = {
    {"output", 'o', "OUT", "writes the report to a file instead of stdout"},
    {"rules", 0, "RULES.cfg", "thresholds (its group `checks`) over those of FILE"},
    {"only", 0, "GLOB", "evaluates only these laws; may be repeated"},
    {"skip", 0, "GLOB", "leaves these laws out; may be repeated"},
    {"strict", 0, NULL, "a warning counts as a broken law"},
    {"format", 0, "FORMAT", "text (default) or json (docs/checks.md has the schema)"},
    {"set", 0, "PATH=VALUE", "overrides one setting of a cfg; may be repeated"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_check = {
    .name = "check",
    .sentence = "judge recordings or configurations by the laws",
    .usage = "FILE... [--rules RULES.cfg] [--only GLOB] [--skip GLOB] [--strict]\n"
             "                    [--format text|json] [-o OUT]",
    .help =
        "Evaluates every law that a FILE can answer and prints the verdicts. FILE is "
        "a\n"
        "recording, which is judged anew by the configuration stored in it, or a\n"
        "MODEL.cfg, which is run without recording. A law that cannot be evaluated is\n"
        "skipped by name, with the reason: a skip is not a pass.\n"
        "\n"
        "  txdiag check mini.h5\n"
        "  txdiag check mini.h5 --only 'causality,row_sum' --format json\n"
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
