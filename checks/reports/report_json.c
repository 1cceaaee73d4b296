/* SPDX-License-Identifier: MIT
 *
 * Verdicts for programs. docs/checks.md describes the schema; a key is never removed
 * or given another meaning without a new schema number.
 */
#include "checks/reports/report_format.h"

#define SCHEMA 1

static void add_int(txd_json *json, const char *key, int64_t value)
{
    txd_json_key(json, key);
    txd_json_int(json, value);
}

static void add_number(txd_json *json, const char *key, double value)
{
    txd_json_key(json, key);
    txd_json_number(json, value);
}

static void add_string(txd_json *json, const char *key, const char *value)
{
    txd_json_key(json, key);
    txd_json_string(json, value);
}

/* A coordinate that does not apply is null. */
static void add_coordinate(txd_json *json, const char *key, int64_t value)
{
    txd_json_key(json, key);
    if (value < 0)
        txd_json_string(json, NULL);
    else
        txd_json_int(json, value);
}

static void add_finding(txd_json *json, const char *check, const txd_finding *finding)
{
    txd_json_open_object(json);
    add_string(json, "check", check);
    add_string(json, "verdict", txd_verdict_name(finding->verdict));
    add_string(json, "site", finding->site);
    add_coordinate(json, "step", finding->step);
    add_coordinate(json, "layer", finding->layer);
    add_coordinate(json, "batch", finding->batch);
    add_coordinate(json, "head", finding->head);
    add_coordinate(json, "query", finding->query);
    add_coordinate(json, "key", finding->key);
    add_number(json, "measured", finding->measured);
    add_number(json, "allowed", finding->allowed);
    add_string(json, "message", finding->message);
    add_string(json, "waived", finding->waived);
    txd_json_close_object(json);
}

static void add_result(txd_json *json, const txd_result *result)
{
    const txd_check *check = txd_check_find(result->check);

    txd_json_open_object(json);
    add_string(json, "check", result->check);
    add_string(json, "law", check ? check->law : NULL);
    add_string(json, "verdict", txd_verdict_name(result->verdict));
    add_int(json, "evaluated", (int64_t)result->evaluated);
    add_string(json, "unit", check ? check->unit : NULL);
    add_int(json, "not_computed", (int64_t)result->not_computed);
    add_number(json, "worst", result->worst);
    add_number(json, "allowed", result->allowed);
    add_string(json, "allowance", result->allowance);
    add_int(json, "findings", (int64_t)result->finding_total);
    add_string(json, "note", result->note[0] ? result->note : NULL);
    add_string(json, "look_next", result->look_next);
    txd_json_close_object(json);
}

static void add_summary(txd_json *json, const txd_result *results, size_t count)
{
    txd_json_key(json, "summary");
    txd_json_open_object(json);
    for (int verdict = 0; verdict <= TXD_VERDICT_OPEN; verdict++) {
        int64_t seen = 0;

        for (size_t i = 0; i < count; i++)
            seen += results[i].verdict == (txd_verdict)verdict;
        add_int(json, txd_verdict_name((txd_verdict)verdict), seen);
    }
    txd_json_close_object(json);
}

/* Where to begin; null where that is no question. */
static void add_begin_with(txd_json *json, const txd_result *results, size_t count)
{
    const char *law;
    const txd_finding *first = txd_report_begin_with(&law, results, count);

    if (!first) {
        add_string(json, "begin_with", NULL);
        return;
    }
    txd_json_key(json, "begin_with");
    txd_json_open_object(json);
    add_string(json, "check", law);
    add_string(json, "site", first->site);
    txd_json_close_object(json);
}

static void add_file(txd_json *json, const txd_judged *judged, bool strict)
{
    const txd_result *results = judged->results;
    size_t count = judged->count;

    txd_json_open_object(json);
    add_int(json, "schema", SCHEMA);
    add_string(json, "source", judged->source);
    add_int(json, "exit", txd_report_status(judged, strict));
    txd_json_key(json, "strict");
    txd_json_bool(json, strict);
    add_string(json, "warning", judged->warning);
    add_summary(json, results, count);
    add_begin_with(json, results, count);
    txd_json_key(json, "results");
    txd_json_open_array(json);
    for (size_t i = 0; i < count; i++)
        add_result(json, &results[i]);
    txd_json_close_array(json);
    txd_json_key(json, "findings");
    txd_json_open_array(json);
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < results[i].finding_count; f++)
            add_finding(json, results[i].check, &results[i].findings[f]);
    txd_json_close_array(json);
    txd_json_close_object(json);
}

void txd_report_json(txd_json *json, const char *source, const txd_result *results,
                     size_t count, bool strict)
{
    const txd_judged judged = {.source = source, .results = results, .count = count};

    add_file(json, &judged, strict);
}

/* ---- of several files ---- */

static void begin(txd_report *report)
{
    txd_json *json = &report->json;

    txd_json_init(json, &report->text, 2);
    txd_json_open_object(json);
    add_string(json, "txdiag", TXD_VERSION);
    add_int(json, "schema", SCHEMA);
    txd_json_key(json, "files");
    txd_json_open_array(json);
}

static void add(txd_report *report, const txd_judged *judged)
{
    txd_json *json = &report->json;

    if (!judged->error) {
        add_file(json, judged, report->strict);
        return;
    }
    txd_json_open_object(json);
    add_string(json, "source", judged->source);
    add_string(json, "error", judged->error);
    txd_json_close_object(json);
}

static void add_waiver(txd_json *json, const txd_waiver *waiver)
{
    txd_json_open_object(json);
    add_string(json, "law", waiver->law);
    add_string(json, "site", waiver->site);
    add_string(json, "reason", waiver->reason);
    add_string(json, "expires", waiver->expires);
    txd_json_key(json, "expired");
    txd_json_bool(json, waiver->is_expired);
    add_int(json, "findings", (int64_t)waiver->covered);
    txd_json_close_object(json);
}

static void end(txd_report *report)
{
    size_t count = report->waivers ? report->waivers->count : 0;

    txd_json_close_array(&report->json);
    txd_json_key(&report->json, "waivers");
    txd_json_open_array(&report->json);
    for (size_t i = 0; i < count; i++)
        add_waiver(&report->json, &report->waivers->items[i]);
    txd_json_close_array(&report->json);
    add_int(&report->json, "exit", txd_report_exit(report));
    txd_json_close_object(&report->json);
    txd_text_add(&report->text, "\n");
}

const txd_format txd_format_json = {
    .name = "json", .begin = begin, .add = add, .end = end};
