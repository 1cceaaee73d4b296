/* SPDX-License-Identifier: MIT
 *
 * Verdicts as JUnit XML, which the test tables of most CI systems read: a suite per
 * file, a test per law. What broke a law is a failure, what could not be decided an
 * error; a warning passes, with what it says as output.
 */
#include "checks/reports/report_format.h"

/* A character that XML 1.0 has, written so that a parser gives it back. */
static void add_character(txd_text *out, const unsigned char *at, size_t length,
                          bool attribute)
{
    if (*at == '&')
        txd_text_add(out, "&amp;");
    else if (*at == '<')
        txd_text_add(out, "&lt;");
    else if (*at == '>') /* "]]>" must not stand in a text either */
        txd_text_add(out, "&gt;");
    else if (*at == '"')
        txd_text_add(out, "&quot;");
    else if (attribute && *at < 0x20) /* else a parser makes it a blank */
        txd_text_addf(out, "&#%d;", *at);
    else
        txd_text_add_bytes(out, at, length);
}

/* XML 1.0 has no control characters but tab, line feed and carriage return, in no
 * spelling; those of the second set move a terminal's cursor. */
static bool is_allowed(const unsigned char *at, size_t length)
{
    if (length == 1)
        return (*at >= 0x20 && *at != 0x7f) || *at == '\t' || *at == '\n';
    if (length == 2)
        return at[0] != 0xc2 || at[1] >= 0xa0;
    return !(length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe);
}

static void add_escaped(txd_text *out, const char *text, bool attribute)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t length = txd_text_character((const char *)at);

        if (length > 0 && is_allowed(at, length))
            add_character(out, at, length, attribute);
        else if (length == 1) /* so that it can be told which it was */
            txd_text_addf(out, "\\x%02x", *at);
        else
            txd_text_add(out, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
}

static void add_attribute(txd_text *out, const char *name, const char *value)
{
    txd_text_addf(out, " %s=\"", name);
    add_escaped(out, value, true);
    txd_text_add(out, "\"");
}

/* <tag type="..." message="...">details</tag> */
static void add_outcome(txd_text *out, const char *tag, const char *type,
                        const char *message, const char *details)
{
    txd_text_addf(out, "\n      <%s", tag);
    add_attribute(out, "type", type);
    add_attribute(out, "message", message);
    txd_text_add(out, ">");
    add_escaped(out, details, false);
    txd_text_addf(out, "</%s>\n    ", tag);
}

/* The one line that tables show: the first finding, or what the law says of itself. */
static void add_headline(txd_text *out, const txd_report *report,
                         const txd_result *result)
{
    const txd_finding *first = result->findings;

    for (size_t i = 1; i < result->finding_count; i++)
        if (result->findings[i].verdict > first->verdict)
            first = &result->findings[i];
    if (result->finding_count > 0)
        txd_report_finding(out, first, report->verbose);
    else
        txd_text_add(out, result->note);
}

static void add_output(txd_text *out, const char *details)
{
    txd_text_add(out, "\n      <system-out>");
    add_escaped(out, details, false);
    txd_text_add(out, "</system-out>\n    ");
}

static void add_inside(txd_report *report, const txd_result *result,
                       const char *headline, const char *details)
{
    txd_text *out = &report->body;
    const char *verdict = txd_verdict_name(result->verdict);

    if (txd_report_is_broken(report, result)) {
        report->failures++;
        add_outcome(out, "failure", verdict, headline, details);
    } else if (result->verdict == TXD_VERDICT_OPEN) {
        report->errors++;
        add_outcome(out, "error", verdict, headline, details);
    } else if (result->verdict == TXD_VERDICT_SKIP) {
        report->skipped++;
        txd_text_add(out, "\n      <skipped");
        add_attribute(out, "message", headline);
        txd_text_add(out, "/>\n    ");
    } else if (result->finding_count > 0 || report->verbose) {
        add_output(out, details);
    }
}

static void open_case(txd_text *out, const char *source, const char *name)
{
    txd_text_add(out, "    <testcase");
    add_attribute(out, "classname", source);
    add_attribute(out, "name", name);
    add_attribute(out, "file", source);
    txd_text_add(out, ">");
}

static void add_case(txd_report *report, const txd_judged *judged,
                     const txd_result *result)
{
    txd_text headline, details;

    txd_text_init(&headline);
    txd_text_init(&details);
    add_headline(&headline, report, result);
    txd_report_details(&details, judged, result, report->verbose);
    open_case(&report->body, judged->source, result->check);
    add_inside(report, result, txd_text_get(&headline), txd_text_get(&details));
    txd_text_add(&report->body, "</testcase>\n");
    txd_text_finish(&headline);
    txd_text_finish(&details);
}

static void add_error(txd_report *report, const txd_judged *judged)
{
    report->errors++;
    open_case(&report->body, judged->source, "could be judged");
    add_outcome(&report->body, "error", "unreadable", judged->error, judged->error);
    txd_text_add(&report->body, "</testcase>\n");
}

/* Of the file as a whole. */
static void add_warning(txd_report *report, const txd_judged *judged)
{
    open_case(&report->body, judged->source, "everything was read");
    if (report->strict) {
        report->failures++;
        add_outcome(&report->body, "failure", "warn", judged->warning, judged->warning);
    } else {
        add_output(&report->body, judged->warning);
    }
    txd_text_add(&report->body, "</testcase>\n");
}

static void add_counts(txd_text *out, const size_t *counts)
{
    txd_text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
                  counts[0], counts[1], counts[2], counts[3]);
}

/* The numbers of a suite stand before its tests. */
static void add(txd_report *report, const txd_judged *judged)
{
    const size_t before[] = {report->failures, report->errors, report->skipped};
    size_t tests = judged->count + (judged->error != NULL) + (judged->warning != NULL);
    txd_text earlier = report->body;

    txd_text_init(&report->body);
    if (judged->error)
        add_error(report, judged);
    for (size_t i = 0; i < judged->count; i++)
        add_case(report, judged, &judged->results[i]);
    if (judged->warning)
        add_warning(report, judged);
    txd_text_add(&earlier, "  <testsuite");
    add_attribute(&earlier, "name", judged->source);
    add_counts(&earlier, (const size_t[]){tests, report->failures - before[0],
                                          report->errors - before[1],
                                          report->skipped - before[2]});
    txd_text_addf(&earlier, ">\n%s  </testsuite>\n", txd_text_get(&report->body));
    if (txd_text_status(&report->body) != TXD_OK)
        earlier.status = txd_text_status(&report->body);
    txd_text_finish(&report->body);
    report->body = earlier;
    report->tests += tests;
}

static void end(txd_report *report)
{
    txd_text *out = &report->text;

    txd_text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<testsuites name=\"txdiag\"");
    add_counts(out, (const size_t[]){report->tests, report->failures, report->errors,
                                     report->skipped});
    txd_text_addf(out, ">\n%s</testsuites>\n", txd_text_get(&report->body));
}

const txd_format txd_format_junit = {.name = "junit", .add = add, .end = end};
