/* SPDX-License-Identifier: MIT
 *
 * txdiag report: one HTML page of a recording.
 */

#include "cli/guard.h"
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
    *out = (txd_report_source){recording, path};
    return TXD_OK;
}

static txd_status report_recordings(const txd_options *options)
{
    const char *folder = txd_options_value(options, "output");
    size_t count = options->operand_count;
    txd_report_source sources[2] = {{NULL, NULL}, {NULL, NULL}};
    txd_status status = TXD_OK;

    if (!folder)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "report needs -o DIR: the page will be DIR/index.html");
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = open_source(&sources[i], options, i);
    for (size_t i = 0; i < count && status == TXD_OK; i++)
        status = txd_output_page(folder, sources[i].path, options->force);
    if (status == TXD_OK)
        status = count == 2
                     ? txd_report_compared(sources, folder)
                     : txd_report_html(sources[0].recording, sources[0].path, folder);
    for (size_t i = 0; i < count; i++)
        txd_trace_destroy((txd_trace *)sources[i].recording);
    txd_guard_end();
    return status;
}

static int report(const txd_options *options)
{
    txd_text text;

    if (report_recordings(options) != TXD_OK)
        return txd_output_complain();
    txd_text_init(&text);
    txd_text_addf(&text, "%s/index.html\n", txd_options_value(options, "output"));
    return txd_output_result(&text, TXD_EXIT_HELD);
}

static const txd_option options[] = {
    {"output", 'o', "DIR", "the folder of the page; made if it is missing"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_report = {
    .name = "report",
    .sentence = "write one HTML page of a recording: verdicts, then figures",
    .usage = "REC.h5 [OTHER.h5] -o DIR",
    .help =
        "Writes DIR/index.html: the verdicts and findings that the run stored, then\n"
        "figures. The page holds everything it shows and needs no network.\n"
        "\n"
        "With OTHER.h5, a recording of the same model and tokens by another backend\n"
        "(ref64, say), the page also shows how far apart the two are, layer by layer:\n"
        "relative errors of all that both recorded.\n"
        "\n"
        "  txdiag report mini.h5 -o report\n"
        "  txdiag report mini-bf16.h5 mini-ref64.h5 -o report",
    .exits =
        "  0  written\n"
        "  2  not written (two recordings of different models or tokens, say), or, if\n"
        "     gnuplot or its fonts are missing, written without figures\n",
    .options = options,
    .least = 1,
    .most = 2,
    .run = report,
};
