/* SPDX-License-Identifier: MIT
 *
 * txdiag report: one HTML page of a recording.
 */
#include <stdio.h>

#include "cli/guard.h"
#include "cli/output.h"
#include "viz/viz.h"

static txd_status report_recording(const txd_options *options)
{
    const char *path = options->operands[0];
    const char *folder = txd_options_value(options, "output");
    txd_trace *recording = NULL;
    bool partial = false;
    txd_status status;

    if (!folder)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "report needs -o DIR: the page will be DIR/index.html");
    status = txd_guard_open(&recording, path, &partial);
    if (partial)
        txd_output_say(options, "%s is not there; reading %s.part", path, path);
    if (status == TXD_OK)
        status = txd_output_page(folder, path, options->force);
    if (status == TXD_OK)
        status = txd_report_html(recording, path, folder);
    txd_trace_destroy(recording);
    txd_guard_end();
    return status;
}

static int report(const txd_options *options)
{
    txd_text text;

    if (report_recording(options) != TXD_OK)
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
    .usage = "REC.h5 -o DIR",
    .help =
        "Writes DIR/index.html: the verdicts and findings that the run stored, then\n"
        "figures. The page holds everything it shows and needs no network.\n"
        "\n"
        "  txdiag report mini.h5 -o report",
    .exits =
        "  0  written\n"
        "  2  not written, or, if gnuplot or its fonts are missing, written without\n"
        "     figures\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = report,
};
