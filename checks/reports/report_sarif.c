/* SPDX-License-Identifier: MIT
 *
 * Findings as SARIF 2.1.0, which code hosts show as alerts. It holds what somebody has
 * to look at: what failed, warned, or could not be decided; with -v the rest as well,
 * each by its `kind`, since viewers that do not know kinds take all for alerts.
 */
#include "checks/reports/report_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA                                                                         \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"              \
    "sarif-schema-2.1.0.json"

static void add_string(txd_json *json, const char *key, const char *value)
{
    txd_json_key(json, key);
    txd_json_string(json, value);
}

static void add_int(txd_json *json, const char *key, int64_t value)
{
    txd_json_key(json, key);
    txd_json_int(json, value);
}

static void open_object(txd_json *json, const char *key)
{
    txd_json_key(json, key);
    txd_json_open_object(json);
}

static void open_array(txd_json *json, const char *key)
{
    txd_json_key(json, key);
    txd_json_open_array(json);
}

/* {"text": ...} */
static void add_message(txd_json *json, const char *key, const char *text)
{
    open_object(json, key);
    add_string(json, "text", text);
    txd_json_close_object(json);
}

/* ---- the tool and its rules ---- */

static void add_help(txd_json *json, const txd_check *check)
{
    txd_text text, markdown;

    txd_text_init(&text);
    txd_text_init(&markdown);
    txd_text_addf(&text,
                  "What typically breaks it: %s.\nWhere to look next: %s.\nMore: "
                  "txdiag explain %s",
                  check->causes, check->look_next, check->name);
    txd_text_addf(&markdown,
                  "**What typically breaks it:** %s.\n\n**Where to look next:** "
                  "%s.\n\nMore: `txdiag explain %s`",
                  check->causes, check->look_next, check->name);
    open_object(json, "help");
    add_string(json, "text", txd_text_get(&text));
    add_string(json, "markdown", txd_text_get(&markdown));
    txd_json_close_object(json);
    txd_text_finish(&text);
    txd_text_finish(&markdown);
}

static void add_rule(txd_json *json, const txd_check *check)
{
    txd_json_open_object(json);
    add_string(json, "id", check->name);
    add_message(json, "shortDescription", check->law);
    add_message(json, "fullDescription", check->formula);
    add_help(json, check);
    open_object(json, "defaultConfiguration");
    add_string(json, "level", "error");
    txd_json_close_object(json);
    txd_json_close_object(json);
}

static void add_tool(txd_json *json)
{
    open_object(json, "tool");
    open_object(json, "driver");
    add_string(json, "name", "txdiag");
    add_string(json, "version", TXD_VERSION);
    open_array(json, "rules");
    for (size_t i = 0; txd_check_at(i); i++)
        add_rule(json, txd_check_at(i));
    txd_json_close_array(json);
    txd_json_close_object(json);
    txd_json_close_object(json);
}

static int64_t index_of(const char *law)
{
    size_t i = 0;

    while (txd_check_at(i) && strcmp(txd_check_at(i)->name, law) != 0)
        i++;
    return txd_check_at(i) ? (int64_t)i : -1;
}

/* ---- where ---- */

/* A path as a reference of RFC 3986: relative to the folder of the command, as the path
 * was, or an absolute one of a file. */
static void add_uri(txd_json *json, const char *path)
{
    txd_text uri;

    txd_text_init(&uri);
    if (*path == '/')
        txd_text_add(&uri, "file://");
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    for (; *path; path++) {
        bool is_plain = (*path >= '0' && *path <= '9') ||
                        (*path >= 'A' && *path <= 'Z') ||
                        (*path >= 'a' && *path <= 'z') || strchr("/-._~", *path);

        if (is_plain)
            txd_text_add_bytes(&uri, path, 1);
        else
            txd_text_addf(&uri, "%%%02X", (unsigned char)*path);
    }
    add_string(json, "uri", txd_text_get(&uri));
    txd_text_finish(&uri);
}

/* Code hosts want a line; of a recording, which has none, it is the first. */
static void add_physical(txd_json *json, const txd_judged *judged, const char *law)
{
    txd_source_line place = {judged->source, 0};

    if (judged->place && law)
        place = judged->place(judged->places, law);
    open_object(json, "physicalLocation");
    open_object(json, "artifactLocation");
    add_uri(json, place.file ? place.file : judged->source);
    txd_json_close_object(json);
    open_object(json, "region");
    add_int(json, "startLine", place.line > 0 ? place.line : 1);
    txd_json_close_object(json);
    txd_json_close_object(json);
}

static void add_location(txd_json *json, const txd_judged *judged, const char *law,
                         const txd_finding *finding)
{
    open_array(json, "locations");
    txd_json_open_object(json);
    add_physical(json, judged, law);
    if (finding && finding->site[0]) {
        open_array(json, "logicalLocations");
        txd_json_open_object(json);
        add_string(json, "fullyQualifiedName", finding->site);
        add_string(json, "kind", "element");
        txd_json_close_object(json);
        txd_json_close_array(json);
    }
    txd_json_close_object(json);
    txd_json_close_array(json);
}

static uint64_t hash(uint64_t so_far, const char *text)
{
    do /* FNV-1a; the zero at the end separates */
        so_far = (so_far ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return so_far;
}

/* What stays the same from one run to the next: not the line, nor the numbers. */
static void add_fingerprint(txd_json *json, const char *source, const char *law,
                            const char *site)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    char text[32];

    value = hash(hash(hash(value, source), law), site);
    snprintf(text, sizeof text, "%016" PRIx64 ":1", value);
    open_object(json, "partialFingerprints");
    add_string(json, "primaryLocationLineHash", text);
    txd_json_close_object(json);
}

/* ---- results ---- */

/* Where `kind` is not "fail", `level` is "none": so the standard has it. */
static const char *kind_of(txd_verdict verdict)
{
    static const char *const kinds[] = {"pass", "informational", "fail",
                                        "fail", "notApplicable", "open"};

    return kinds[verdict];
}

static const char *level_of(const txd_report *report, txd_verdict verdict)
{
    if (verdict == TXD_VERDICT_FAIL)
        return "error";
    if (verdict == TXD_VERDICT_WARN)
        return report->strict ? "error" : "warning";
    return "none";
}

/* As if there were no waiver, which is a suppression. */
static txd_verdict verdict_of(const txd_finding *finding)
{
    return finding->waived && finding->verdict == TXD_VERDICT_INFO ? finding->bare
                                                                   : finding->verdict;
}

static void add_suppression(txd_json *json, const txd_finding *finding)
{
    if (verdict_of(finding) == finding->verdict)
        return;
    open_array(json, "suppressions");
    txd_json_open_object(json);
    add_string(json, "kind", "external");
    add_string(json, "justification", finding->waived);
    txd_json_close_object(json);
    txd_json_close_array(json);
}

static bool is_shown(const txd_report *report, txd_verdict verdict)
{
    return report->verbose || verdict == TXD_VERDICT_WARN ||
           verdict == TXD_VERDICT_FAIL || verdict == TXD_VERDICT_OPEN;
}

static void add_coordinate(txd_json *json, const char *key, int64_t value)
{
    if (value >= 0)
        add_int(json, key, value);
}

static void add_numbers(txd_json *json, const txd_finding *finding)
{
    open_object(json, "properties");
    add_coordinate(json, "step", finding->step);
    add_coordinate(json, "layer", finding->layer);
    add_coordinate(json, "batch", finding->batch);
    add_coordinate(json, "head", finding->head);
    add_coordinate(json, "query", finding->query);
    add_coordinate(json, "key", finding->key);
    txd_json_key(json, "measured");
    txd_json_number(json, finding->measured);
    txd_json_key(json, "allowed");
    txd_json_number(json, finding->allowed);
    txd_json_close_object(json);
}

/* An object that is left open. */
static void open_result(txd_report *report, const char *law, txd_verdict verdict,
                        const char *message)
{
    txd_json *json = &report->json;

    txd_json_open_object(json);
    add_string(json, "ruleId", law);
    if (index_of(law) >= 0)
        add_int(json, "ruleIndex", index_of(law));
    add_string(json, "kind", kind_of(verdict));
    add_string(json, "level", level_of(report, verdict));
    add_message(json, "message", message);
}

static void add_finding(txd_report *report, const txd_judged *judged,
                        const txd_result *result, const txd_finding *finding)
{
    txd_text message;

    txd_text_init(&message);
    txd_report_finding(&message, finding, report->verbose);
    txd_report_quote(&message, judged, finding, " ");
    if (finding->waived)
        txd_text_addf(&message, "; %s", finding->waived);
    if (result->look_next)
        txd_text_addf(&message, "; look next: %s", result->look_next);
    open_result(report, result->check, verdict_of(finding), txd_text_get(&message));
    add_location(&report->json, judged, result->check, finding);
    add_fingerprint(&report->json, judged->source, result->check, finding->site);
    add_suppression(&report->json, finding);
    add_numbers(&report->json, finding);
    txd_json_close_object(&report->json);
    txd_text_finish(&message);
}

/* A law that found no place: it held, was skipped, or could not be decided. */
static void add_whole(txd_report *report, const txd_judged *judged,
                      const txd_result *result)
{
    txd_text message;

    txd_text_init(&message);
    if (result->verdict != TXD_VERDICT_SKIP) {
        txd_report_measure(&message, result);
        txd_report_allowance(&message, result);
    }
    txd_text_addf(&message, "%s%s", message.length && result->note[0] ? "; " : "",
                  result->note);
    open_result(report, result->check, result->verdict, txd_text_get(&message));
    add_location(&report->json, judged, result->check, NULL);
    add_fingerprint(&report->json, judged->source, result->check, "");
    txd_json_close_object(&report->json);
    txd_text_finish(&message);
}

static void add_result(txd_report *report, const txd_judged *judged,
                       const txd_result *result)
{
    for (size_t i = 0; i < result->finding_count; i++)
        if (is_shown(report, verdict_of(&result->findings[i])))
            add_finding(report, judged, result, &result->findings[i]);
    if ((result->finding_count == 0 || result->verdict == TXD_VERDICT_OPEN) &&
        is_shown(report, result->verdict))
        add_whole(report, judged, result);
}

/* ---- the file ---- */

static void begin(txd_report *report)
{
    txd_json *json = &report->json;

    txd_json_init(json, &report->text, 1);
    txd_json_open_object(json);
    add_string(json, "$schema", SCHEMA);
    add_string(json, "version", "2.1.0");
    open_array(json, "runs");
    txd_json_open_object(json);
    add_tool(json);
    open_array(json, "results");
}

static void add_notice(txd_report *report, const txd_judged *judged, const char *level,
                       const char *message)
{
    txd_json notice;

    if (report->body.length)
        txd_text_add(&report->body, ", ");
    txd_json_init(&notice, &report->body, 0);
    txd_json_open_object(&notice);
    add_string(&notice, "level", level);
    add_message(&notice, "message", message);
    add_location(&notice, judged, NULL, NULL);
    txd_json_close_object(&notice);
}

/* What is told of a file as a whole stands at the end: it is no result. */
static void add(txd_report *report, const txd_judged *judged)
{
    for (size_t i = 0; i < judged->count; i++)
        add_result(report, judged, &judged->results[i]);
    if (judged->warning)
        add_notice(report, judged, report->strict ? "error" : "warning",
                   judged->warning);
    if (!judged->error)
        return;
    report->errors++;
    add_notice(report, judged, "error", judged->error);
}

static void end(txd_report *report)
{
    txd_json *json = &report->json;

    txd_json_close_array(json);
    open_array(json, "invocations");
    txd_json_open_object(json);
    txd_json_key(json, "executionSuccessful");
    txd_json_bool(json, report->errors == 0);
    add_int(json, "exitCode", txd_report_exit(report));
    open_array(json, "toolExecutionNotifications");
    txd_text_add(&report->text, txd_text_get(&report->body));
    txd_json_close_array(json);
    txd_json_close_object(json);
    txd_json_close_array(json);
    txd_json_close_object(json);
    txd_json_close_array(json);
    txd_json_close_object(json);
    txd_text_add(&report->text, "\n");
}

const txd_format txd_format_sarif = {
    .name = "sarif", .begin = begin, .add = add, .end = end};
