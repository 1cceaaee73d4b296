/* SPDX-License-Identifier: MIT
 *
 * What all formats of reports have in common: the files that were judged, counted.
 */
#include "checks/reports/report_format.h"

#include <string.h>

static const txd_format *const formats[] = {
    &txd_format_text, &txd_format_json,  &txd_format_junit,
    &txd_format_tap,  &txd_format_sarif,
};

const char *txd_format_name(size_t i)
{
    return i < sizeof formats / sizeof *formats ? formats[i]->name : NULL;
}

void txd_report_begin(txd_report *out, size_t format, bool strict, bool verbose,
                      bool to_file)
{
    *out = (txd_report){.format = formats[format],
                        .strict = strict,
                        .verbose = verbose,
                        .to_file = to_file};
    txd_text_init(&out->text);
    txd_text_init(&out->body);
    if (out->format->begin)
        out->format->begin(out);
}

int txd_report_status(const txd_judged *judged, bool strict)
{
    if (judged->error)
        return 2;
    if (strict && judged->warning)
        return 1;
    return txd_checks_exit(judged->results, judged->count, strict);
}

void txd_report_add(txd_report *report, const txd_judged *judged)
{
    int status = txd_report_status(judged, report->strict);

    report->files[status <= 2 ? status : 3]++;
    for (size_t i = 0; i < judged->count; i++)
        report->laws[judged->results[i].verdict]++;
    report->warned += judged->warning != NULL;
    report->waived += txd_report_waived(judged->results, judged->count);
    report->format->add(report, judged);
}

void txd_report_end(txd_report *report)
{
    if (report->format->end)
        report->format->end(report);
    if (txd_text_status(&report->body) != TXD_OK)
        report->text.status = txd_text_status(&report->body);
}

void txd_report_finish(txd_report *report)
{
    txd_text_finish(&report->text);
    txd_text_finish(&report->body);
}

/* A broken law outranks a file that could not be judged, and that one in which nothing
 * was evaluated: what holds in one file says nothing of another. */
int txd_report_exit(const txd_report *report)
{
    if (report->files[1])
        return 1;
    if (report->files[2])
        return 2;
    return report->files[3] ? 77 : 0;
}

void txd_report_total(txd_text *out, const txd_report *report)
{
    static const char *const words[] = {"held", "broken", "not decided",
                                        "not evaluated"};
    size_t files = 0, laws = 0;
    const char *separator = ": ";

    for (size_t i = 0; i < 4; i++)
        files += report->files[i];
    for (size_t i = 0; i <= TXD_VERDICT_OPEN; i++)
        laws += report->laws[i];
    txd_text_addf(out, "%zu file%s", files, files == 1 ? "" : "s");
    for (size_t i = 0; i < 4; i++) {
        if (report->files[i] == 0)
            continue;
        txd_text_addf(out, "%s%zu %s", separator, report->files[i], words[i]);
        separator = ", ";
    }
    if (laws > 0) {
        txd_text_addf(out, "; %zu law%s: ", laws, laws == 1 ? "" : "s");
        txd_report_counts(out, report->laws);
    }
    if (report->warned > 0)
        txd_text_addf(out, "; %zu file%s warned of", report->warned,
                      report->warned == 1 ? "" : "s");
    if (report->waived > 0)
        txd_text_addf(out, "; %zu finding%s waived", report->waived,
                      report->waived == 1 ? "" : "s");
}
