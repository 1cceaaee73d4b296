/* SPDX-License-Identifier: MIT
 *
 * The head of the report: what was run and what came out, and at the end the whole
 * configuration.
 */
#include <string.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

static void add_fact(txd_report *report, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    txd_text_addf(&report->page, "<dt>%s</dt><dd>", name);
    txd_html_add(&report->page, value, 1000);
    txd_text_add(&report->page, "</dd>\n");
}

/* What is recorded under some keys, in one line. */
static void add_metas(txd_report *report, const char *name, const char *const *keys)
{
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; keys[i]; i++) {
        const char *value = txd_trace_meta(report->recording, keys[i]);

        if (value && *value)
            txd_text_addf(&text, "%s%s%s", text.length ? "; " : "",
                          strcmp(keys[i], "seed") == 0 ? "seed " : "", value);
    }
    add_fact(report, name, txd_text_get(&text));
    txd_text_finish(&text);
}

static void add_summary(txd_report *report)
{
    const txd_verdicts *verdicts = &report->verdicts;
    size_t failed = txd_verdicts_count(verdicts, "fail");
    size_t open = txd_verdicts_count(verdicts, "open");
    size_t skipped = txd_verdicts_count(verdicts, "skip");
    size_t judged = verdicts->law_count - skipped - open;
    const char *class = failed || open ? "fail" : judged == 0 ? "skip" : "pass";

    txd_text_addf(&report->page, "<p class=\"summary %s\">", class);
    if (verdicts->law_count == 0)
        txd_text_add(&report->page, "This recording carries no verdicts: it was made "
                                    "without checks. txdiag check judges it");
    else if (failed)
        txd_text_addf(&report->page, "%zu of %zu laws broken", failed,
                      verdicts->law_count);
    else if (open)
        txd_text_addf(&report->page, "%zu of %zu laws could not be decided", open,
                      verdicts->law_count);
    else if (judged == 0)
        txd_text_add(&report->page, "Nothing was evaluated");
    else
        txd_text_addf(&report->page, "No law broken: %zu evaluated, %zu skipped",
                      judged, skipped);
    if (failed && open)
        txd_text_addf(&report->page, ", %zu could not be decided", open);
    txd_text_add(&report->page, "</p>\n");
}

static void add_model(txd_report *report)
{
    const txd_config *config = &report->claim.config;
    txd_text text;

    if (!report->claim.configured)
        return;
    txd_text_init(&text);
    txd_text_addf(&text,
                  "%zu layers, %zu heads (%zu of keys and values), width %zu, head "
                  "width %zu, MLP width %zu, vocabulary %zu; %s, %s, positions %s",
                  config->n_layers, config->n_heads, config->n_kv_heads,
                  config->d_model, config->head_dim, config->d_ff, config->vocab,
                  txd_config_word("norm", (int)config->norm),
                  txd_config_word("activation", (int)config->activation),
                  txd_config_word("positions", (int)config->positions));
    if (config->cross)
        txd_text_add(&text, ", cross-attention");
    if (config->encoder)
        txd_text_addf(&text, " to an encoder of %zu layers", config->encoder_layers);
    add_fact(report, "Model", txd_text_get(&text));
    txd_text_finish(&text);
}

static void add_input(txd_report *report)
{
    const txd_inputs *inputs = &report->claim.inputs;
    txd_trace_info info;
    txd_text text;
    size_t entry;

    if (!report->claim.has_tokens ||
        txd_trace_find(report->recording, &entry, "input/tokens") != TXD_OK ||
        txd_trace_get(report->recording, &info, entry) != TXD_OK)
        return;
    txd_text_init(&text);
    txd_text_addf(&text, "%zu step%s, batch of %zu, up to %zu tokens", info.dims[0],
                  info.dims[0] == 1 ? "" : "s", inputs->batch, inputs->length);
    if (inputs->memory_length)
        txd_text_addf(&text, ", memory of up to %zu rows", inputs->memory_length);
    add_fact(report, "Input", txd_text_get(&text));
    txd_text_finish(&text);
    txd_text_init(&text);
    for (size_t i = 0; i < inputs->length && i < 40; i++)
        if (inputs->valid[i] && report->claim.pieces && report->claim.pieces[i])
            txd_text_add(&text, report->claim.pieces[i]);
        else if (inputs->valid[i])
            txd_text_addf(&text, "%s%d", i ? " " : "", (int)inputs->tokens[i]);
    if (inputs->length > 40)
        txd_text_add(&text, " ...");
    add_fact(report, "First row", txd_text_get(&text));
    txd_text_finish(&text);
}

/* The script shows the way to the explorer, if it can show that itself. */
static void add_ways(txd_report *report)
{
    txd_text *page = &report->page;

    txd_text_add(page, "<nav>\n");
    if (report->verdicts.finding_count)
        txd_text_add(page, "<a href=\"#findings\">Findings</a>\n");
    if (report->verdicts.law_count)
        txd_text_add(page, "<a href=\"#laws\">Laws</a>\n");
    txd_text_add(page, "<button type=\"button\" id=\"to-explorer\" hidden>Attention, "
                       "cell by cell</button>\n<a href=\"#figures\">Figures</a>\n"
                       "</nav>\n");
}

void txd_report_header(txd_report *report)
{
    const char *complete = txd_trace_meta(report->recording, "complete");
    const char *faults = txd_trace_meta(report->recording, "faults");

    txd_text_add(&report->page, "<header>\n<h1>txdiag report</h1>\n");
    add_summary(report);
    txd_text_add(&report->page, "<dl>\n");
    add_fact(report, "Recording", report->path);
    add_fact(report, "Compared with", report->other_path);
    add_model(report);
    add_input(report);
    add_fact(report, "Planted faults", faults && !*faults ? "none" : faults);
    add_metas(report, "Computed by",
              (const char *const[]){"backend", "dtype", "simd", "blas", "seed", NULL});
    add_metas(report, "Command", (const char *const[]){"command", NULL});
    add_metas(report, "Made", (const char *const[]){"created", "producer", NULL});
    if (report->judged)
        add_fact(report, "Judged", "for this page: the recording carries no verdicts");
    if (complete && strcmp(complete, "1") != 0)
        add_fact(report, "Complete", "no: the run did not end by itself");
    txd_text_add(&report->page, "</dl>\n");
    add_ways(report);
    txd_text_add(&report->page, "</header>\n");
}

void txd_report_config(txd_report *report)
{
    const char *config = txd_trace_meta(report->recording, "config");

    if (!config)
        return;
    txd_text_add(&report->page, "<section>\n<h2>Configuration</h2>\n<details>\n"
                                "<summary>The claimed configuration</summary>\n<pre>");
    txd_html_lines(&report->page, config);
    txd_text_add(&report->page, "</pre>\n</details>\n</section>\n");
}
