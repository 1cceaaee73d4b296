/* SPDX-License-Identifier: MIT
 *
 * Verdicts as TAP 13: a test per law and file, what there is to say as YAML below it.
 */
#include "checks/reports/report_format.h"

#include <string.h>

/* Text within a line of TAP: '#' begins a directive, and nothing may end the line. */
static void add_words(txd_text *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t length = txd_text_character((const char *)at);

        if (length == 0)
            txd_text_add(out, "\xef\xbf\xbd");
        else if (*at == '\n')
            txd_text_add(out, " ");
        else if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
            txd_text_addf(out, "\\x%02x", at[length - 1]);
        else if (*at == '#' || *at == '\\')
            txd_text_addf(out, "\\%c", *at);
        else
            txd_text_add_bytes(out, at, length);
        at += length ? length : 1;
    }
}

/* A string in double quotes, as YAML and JSON both have it. */
static void add_quoted(txd_text *out, const char *text)
{
    txd_json json;

    txd_json_init(&json, out, 0);
    txd_json_string(&json, text);
}

static void add_line(txd_text *out, const char *key, const char *value)
{
    txd_text_addf(out, "  %s: ", key);
    add_quoted(out, value);
    txd_text_add(out, "\n");
}

static void add_findings(txd_report *report, const txd_judged *judged,
                         const txd_result *result)
{
    txd_text finding;

    txd_text_add(&report->text, "  findings:\n");
    txd_text_init(&finding);
    for (size_t i = 0; i < result->finding_count; i++) {
        finding.length = 0;
        txd_text_addf(&finding, "%s: ", txd_verdict_name(result->findings[i].verdict));
        txd_report_finding(&finding, &result->findings[i], report->verbose);
        txd_report_quote(&finding, judged, &result->findings[i], "; ");
        if (result->findings[i].waived)
            txd_text_addf(&finding, "; %s", result->findings[i].waived);
        txd_text_add(&report->text, "    - ");
        add_quoted(&report->text, txd_text_get(&finding));
        txd_text_add(&report->text, "\n");
    }
    txd_text_finish(&finding);
}

/* A block is left out where the line says it all. */
static void add_block(txd_report *report, const txd_judged *judged,
                      const txd_result *result)
{
    const txd_check *check = txd_check_find(result->check);
    txd_text *out = &report->text;
    txd_text measure;

    txd_text_init(&measure);
    txd_report_measure(&measure, result);
    txd_report_allowance(&measure, result);
    txd_text_add(out, "  ---\n");
    if (check)
        add_line(out, "law", check->law);
    add_line(out, "severity", txd_verdict_name(result->verdict));
    add_line(out, "judged", txd_text_get(&measure));
    if (result->note[0])
        add_line(out, "note", result->note);
    if (result->finding_count > 0) {
        add_findings(report, judged, result);
        if (result->look_next)
            add_line(out, "look_next", result->look_next);
    }
    txd_text_add(out, "  ...\n");
    txd_text_finish(&measure);
}

static void open_test(txd_report *report, bool is_ok, const char *source,
                      const char *name)
{
    txd_text_addf(&report->text, "%sok %zu - ", is_ok ? "" : "not ", ++report->tests);
    add_words(&report->text, source);
    txd_text_add(&report->text, ": ");
    add_words(&report->text, name);
}

static void add_result(txd_report *report, const txd_judged *judged,
                       const txd_result *result)
{
    const char *waiver = txd_report_waiver(report, result);
    bool is_ok = !txd_report_is_broken(report, result) && !waiver &&
                 result->verdict != TXD_VERDICT_OPEN;

    open_test(report, is_ok, judged->source, result->check);
    if (result->verdict == TXD_VERDICT_SKIP) {
        txd_text_add(&report->text, " # SKIP ");
        add_words(&report->text, result->note);
    } else if (waiver) { /* known to be broken, as TAP has it */
        txd_text_addf(&report->text, " # %s%s ", "TO", "DO");
        add_words(&report->text, waiver);
    }
    txd_text_add(&report->text, "\n");
    if (!is_ok || result->finding_count > 0 || report->verbose)
        add_block(report, judged, result);
}

static void begin(txd_report *report)
{
    txd_text_add(&report->text, "TAP version 13\n# txdiag " TXD_VERSION "\n");
}

static void add_begin(txd_report *report, const txd_judged *judged)
{
    const char *law;
    const txd_finding *first =
        txd_report_begin_with(&law, judged->results, judged->count);

    if (!first)
        return;
    txd_text_add(&report->text, "# ");
    add_words(&report->text, judged->source);
    txd_text_addf(&report->text, ": begin with %s: ", law);
    add_words(&report->text, first->site);
    txd_text_add(&report->text, "\n");
}

/* A test of the file as a whole. */
static void add_whole(txd_report *report, const txd_judged *judged, bool is_ok,
                      const char *name)
{
    open_test(report, is_ok, judged->source, name);
    txd_text_add(&report->text, "\n  ---\n");
    add_line(&report->text, "message", judged->error ? judged->error : judged->warning);
    txd_text_add(&report->text, "  ...\n");
}

static void add(txd_report *report, const txd_judged *judged)
{
    for (size_t i = 0; i < judged->count; i++)
        add_result(report, judged, &judged->results[i]);
    add_begin(report, judged);
    if (judged->warning)
        add_whole(report, judged, !report->strict, "everything was read");
    if (judged->error)
        add_whole(report, judged, false, "could be judged");
}

static void end(txd_report *report)
{
    txd_text_addf(&report->text, "1..%zu\n", report->tests);
}

const txd_format txd_format_tap = {
    .name = "tap", .begin = begin, .add = add, .end = end};
