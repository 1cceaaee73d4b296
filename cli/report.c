/* SPDX-License-Identifier: MIT
 *
 * txdiag report: one HTML page of a recording.
 */

#include "cli/guard.h"
#include "cli/judged.h"
#include "cli/output.h"
#include "viz/viz.h"

static txd_status open_source(txd_report_source *out, const txd_options *options,
                              size_t i)
{
    const char *path = options->operands[i];
    txd_trace *recording = NULL;
    bool partial = false;

    TXD_TRY(txd_guard_open(&recording, path, &partial));
    if (partial)
        txd_output_say(options, "%s is not there; reading %s.part", path, path);
    *out = (txd_report_source){recording, path, NULL};
    return TXD_OK;
}

/* What was asked for, of recordings that are open. */
static txd_status write_report(txd_text *out, const txd_options *options,
                               const txd_report_source sources[2])
{
    const char *path = txd_options_value(options, "output");
    size_t count = (size_t)options->operand_count;

    if (txd_options_has(options, "markdown")) {
        TXD_TRY(txd_report_markdown(out, sources, count));
        if (!path)
            return TXD_OK;
        TXD_TRY(txd_file_replace(path, out->data, out->length));
    } else {
        TXD_TRY(txd_report_page(sources, count, path));
    }
    txd_text_finish(out);
    txd_text_addf(
        out, txd_options_has(options, "markdown") ? "%s\n" : "%s/index.html\n", path);
    return TXD_OK;
}

/* A recording that carries no verdicts is judged here. What cannot be judged is shown
 * all the same. */
static txd_status judge_and_write(txd_text *out, const txd_options *options,
                                  txd_report_source sources[2])
{
    txd_fresh fresh = {.arena = NULL};
    txd_status status = TXD_OK;

    if (!txd_fresh_is_idle(sources[0].recording)) {
        status = txd_fresh_init(&fresh, sources[0].recording, options->threads);
        if (status == TXD_OK)
            sources[0].judged = &fresh.verdicts;
        else if (status != TXD_ERR_MEMORY && status != TXD_ERR_INTERRUPTED) {
            txd_output_say(options, "not judged: %s", txd_message());
            status = TXD_OK;
        }
    }
    if (status == TXD_OK)
        status = write_report(out, options, sources);
    txd_fresh_finish(&fresh);
    return status;
}

static txd_status check_output(const txd_options *options, const char *input)
{
    const char *path = txd_options_value(options, "output");

    if (!txd_options_has(options, "markdown"))
        return txd_output_page(path, input, options->force);
    if (!path)
        return TXD_OK;
    TXD_TRY(txd_output_differs(path, input));
    return txd_output_check(path, TXD_OUTPUT_TEXT, options->force);
}

static txd_status report_recordings(txd_text *out, const txd_options *options)
{
    size_t count = (size_t)options->operand_count;
    txd_report_source sources[2] = {{.path = NULL}, {.path = NULL}};
    txd_status status = TXD_OK;

    if (!txd_options_has(options, "markdown") && !txd_options_value(options, "output"))
        return txd_fail(TXD_ERR_ARGUMENT,
                        "report needs -o DIR: the page will be DIR/index.html");
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = open_source(&sources[i], options, i);
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = check_output(options, sources[i].path);
    if (status == TXD_OK)
        status = judge_and_write(out, options, sources);
    for (size_t i = 0; i < count; i++)
        txd_trace_destroy((txd_trace *)sources[i].recording);
    txd_guard_end();
    return status;
}

static int report(const txd_options *options)
{
    txd_text text;

    txd_text_init(&text);
    if (report_recordings(&text, options) == TXD_OK)
        return txd_output_result(&text, TXD_EXIT_HELD);
    txd_text_finish(&text);
    return txd_output_complain();
}

static const txd_option options[] = {
    {"output", 'o', "DIR", "the folder of the page; made if it is missing"},
    {"markdown", 0, NULL, "a summary for a pull request, to stdout or to -o FILE.md"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_report = {
    .name = "report",
    .sentence = "write one HTML page of a recording: verdicts, then figures",
    .usage = "REC.h5 [OTHER.h5] -o DIR\n"
             "       txdiag report REC.h5 [OTHER.h5] --markdown [-o FILE.md]",
    .help =
        "Writes DIR/index.html: the verdicts and findings that the run stored (a\n"
        "recording without, as other software writes it, is judged now), each with\n"
        "the way to its figure; every cell of the attention by step, layer and head,\n"
        "under the pointer or the arrow keys; then figures. The page holds all that\n"
        "it shows, needs no network, and is below 10 MB: of long sequences cells are\n"
        "pooled, of many steps some are chosen, and it says so. Without JavaScript\n"
        "verdicts and figures are there.\n"
        "\n"
        "With OTHER.h5, a recording of the same model and tokens by another backend\n"
        "(ref64, say), the page also shows how far apart the two are, layer by layer:\n"
        "relative errors of all that both recorded, and cell by cell how the weights\n"
        "differ.\n"
        "\n"
        "With --markdown: verdict, findings and laws as Markdown that GitHub reads,\n"
        "without pictures, for a comment on a pull request.\n"
        "\n"
        "  txdiag report mini.h5 -o report\n"
        "  txdiag report mini-bf16.h5 mini-ref64.h5 -o report\n"
        "  txdiag report mini.h5 --markdown >>$GITHUB_STEP_SUMMARY",
    .exits =
        "  0  written\n"
        "  2  not written (two recordings of different models or tokens, say), or, if\n"
        "     gnuplot or its fonts are missing, written without figures\n",
    .options = options,
    .least = 1,
    .most = 2,
    .run = report,
};
