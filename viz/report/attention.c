/* SPDX-License-Identifier: MIT
 *
 * Attention in the report: all heads at once, then one map for each place that a
 * finding names, or the first head. And which figure shows a finding.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

/* Draws a site; what was said about it stands in `caption`. */
static void add_figure(txd_report *report, const char *id,
                       const txd_figure_request *request, const char *caption)
{
    txd_figure_request actual = *request;
    const txd_figure *figure = NULL;

    if (txd_figure_choose(&figure, &actual, report->recording) != TXD_OK)
        figure = NULL;
    txd_report_figure(report, id, figure, &actual, caption);
}

static bool has_entry(const txd_report *report, const char *name)
{
    size_t entry;

    return txd_trace_find(report->recording, &entry, name) == TXD_OK;
}

static const char *const weights_sites[] = {"layers.*.attn.weights",
                                            "layers.*.cross.weights"};

static bool has_weights(const txd_report *report, txd_attention_kind kind, int layer)
{
    char name[TXD_SITE_BYTES];

    txd_site_of_layer(name, weights_sites[kind], layer);
    return has_entry(report, name) || has_entry(report, txd_pooled_site(kind));
}

static int small(int64_t value)
{
    return value < 0 || value > INT_MAX ? -1 : (int)value;
}

/* A value on the way to the weights or from them, not a gradient, a norm, the stream.
 */
static bool is_of_attention(const char *site)
{
    const char *name;
    txd_point point;
    int layer;

    if (txd_point_parse(&point, &layer, site) != TXD_OK)
        return false;
    name = txd_point_get(point)->name;
    return strncmp(name, "attn.", 5) == 0 || strncmp(name, "cross.", 6) == 0;
}

/* The picture that shows a finding: its own site, if that was recorded and has two
 * axes; else, of attention, the weights of its layer. False if neither is there. */
static bool aim(txd_figure_request *out, char site[TXD_SITE_BYTES],
                const txd_report *report, const txd_finding_row *finding)
{
    txd_attention_kind kind = txd_site_attention(finding->site);
    int layer = small(finding->layer);
    txd_slice slice;

    *out = (txd_figure_request){.site = site,
                                .layer = layer,
                                .head = small(finding->head),
                                .step = small(finding->step),
                                .batch = small(finding->batch),
                                .path = "figure.png"};
    snprintf(site, TXD_SITE_BYTES, "%s", finding->site);
    if (strchr(site, '*') == NULL && has_entry(report, site)) {
        if (txd_slice_find(&slice, report->recording, out) == TXD_OK)
            return true;
        out->head = -1;
        if (txd_slice_find(&slice, report->recording, out) == TXD_OK)
            return true;
        out->head = 0;
        if (txd_slice_find(&slice, report->recording, out) == TXD_OK)
            return true;
    }
    if (layer < 0 || !is_of_attention(finding->site) ||
        !has_weights(report, kind, layer))
        return false;
    txd_site_of_layer(site, weights_sites[kind], layer);
    out->head = finding->head < 0 ? 0 : small(finding->head);
    return true;
}

static bool same_picture(const txd_figure_request *a, const txd_figure_request *b)
{
    return strcmp(a->site, b->site) == 0 && a->head == b->head && a->step == b->step &&
           a->batch == b->batch;
}

/* The number of a map that was drawn; -1 = it was not. */
static int find_aimed(const txd_report *report, const txd_figure_request *request)
{
    for (size_t i = 0; i < report->aimed_count; i++)
        if (same_picture(&report->aimed[i].request, request))
            return (int)i;
    return -1;
}

/* The map of a finding, the first time that it is meant. */
static bool add_aimed(txd_report *report, const txd_finding_row *finding)
{
    txd_aimed *aimed = &report->aimed[report->aimed_count];

    if (report->aimed_count == TXD_REPORT_AIMED ||
        !aim(&aimed->request, aimed->site, report, finding) ||
        find_aimed(report, &aimed->request) >= 0)
        return false;
    report->aimed_count++;
    return true;
}

static void add_findings(txd_report *report)
{
    char caption[700], id[40];

    for (size_t i = 0; i < report->verdicts.finding_count && report->drawn == TXD_OK;
         i++) {
        const txd_finding_row *finding = &report->verdicts.findings[i];

        if (!add_aimed(report, finding))
            continue;
        snprintf(caption, sizeof caption, "%s: %s", finding->law, finding->message);
        snprintf(id, sizeof id, "finding-%zu", report->aimed_count);
        report->aimed[report->aimed_count - 1].number = report->figure_count + 1;
        add_figure(report, id, &report->aimed[report->aimed_count - 1].request,
                   caption);
    }
}

/* All heads of an attention; or the first, larger. */
static void add_weights(txd_report *report, txd_attention_kind kind, bool first)
{
    static const char *const names[] = {"Attention weights",
                                        "Weights of the cross-attention"};
    static const char *const ids[] = {"overview", "overview-cross"};
    txd_figure_request request = {.site = weights_sites[kind],
                                  .layer = first ? 0 : -1,
                                  .head = first ? 0 : -1,
                                  .step = -1,
                                  .batch = -1,
                                  .scale = first ? TXD_SCALE_AUTO : TXD_SCALE_LOG,
                                  .path = "figure.png"};
    char caption[120];

    if (!has_weights(report, kind, 0) || report->drawn != TXD_OK)
        return;
    snprintf(caption, sizeof caption, "%s of %s", names[kind],
             first ? "layer 0, head 0" : "all layers and heads at the first step");
    add_figure(report, first ? NULL : ids[kind], &request, caption);
    if (!first)
        report->overviews[kind] = report->figure_count;
}

/* What the other recording has otherwise, where both have a site in full. */
static void add_change(txd_report *report, txd_figure_request request,
                       const char *caption)
{
    char name[TXD_SITE_BYTES];
    size_t entry;

    txd_site_of_layer(name, request.site, request.layer < 0 ? 0 : request.layer);
    if (!report->other || report->drawn != TXD_OK || !has_entry(report, name) ||
        txd_trace_find(report->other, &entry, name) != TXD_OK)
        return;
    request.other = report->other;
    txd_report_figure(report, NULL, &txd_figure_change, &request, caption);
}

/* Both attentions at a glance, and the first map that a finding means. */
static void add_changes(txd_report *report)
{
    static const txd_figure_request glance = {
        .layer = -1, .head = -1, .step = -1, .batch = -1, .path = "figure.png"};

    for (int i = 0; i < 2; i++) {
        txd_figure_request request = glance;

        request.site = weights_sites[i];
        add_change(report, request,
                   "The largest difference of two weights, by layer and head");
    }
    if (report->aimed_count != 0 && report->aimed[0].request.head >= 0)
        add_change(report, report->aimed[0].request,
                   "The first map that a finding means, in both recordings");
}

void txd_report_attention(txd_report *report)
{
    static const txd_attention_kind kinds[] = {TXD_ATTENTION_SELF, TXD_ATTENTION_CROSS};

    txd_text_add(&report->figures, "<section>\n<h2>Figures</h2>\n");
    if (!has_weights(report, TXD_ATTENTION_SELF, 0) &&
        !has_weights(report, TXD_ATTENTION_CROSS, 0))
        txd_text_add(&report->figures, "<p class=\"quiet\">No attention weights were "
                                       "recorded</p>\n");
    for (int i = 0; i < 2; i++)
        add_weights(report, kinds[i], false);
    if (report->drawn == TXD_OK)
        add_findings(report);
    if (report->drawn == TXD_OK && report->aimed_count == 0)
        for (int i = 0; i < 2; i++)
            add_weights(report, kinds[i], true);
    add_changes(report);
    txd_text_add(&report->figures, "</section>\n");
}

/* Whether `word` is one of the words of `list`. */
static bool names(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; length && at && (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

size_t txd_report_ways(txd_way ways[TXD_REPORT_WAYS], const txd_report *report,
                       const txd_finding_row *finding)
{
    txd_attention_kind kind = txd_site_attention(finding->site);
    txd_figure_request request;
    char site[TXD_SITE_BYTES];
    int aimed =
        aim(&request, site, report, finding) ? find_aimed(report, &request) : -1;
    size_t count = 0;

    if (aimed >= 0) {
        ways[count].number = report->aimed[aimed].number;
        snprintf(ways[count++].id, sizeof ways->id, "finding-%d", aimed + 1);
    }
    for (size_t i = 0; i < report->shown_count && count < TXD_REPORT_WAYS; i++)
        if (names(report->shown[i].figure->laws, finding->law)) {
            ways[count].number = report->shown[i].number;
            snprintf(ways[count++].id, sizeof ways->id, "%s",
                     report->shown[i].figure->name);
        }
    if (count == 0 && report->overviews[kind] && is_of_attention(finding->site)) {
        ways[count].number = report->overviews[kind];
        snprintf(ways[count++].id, sizeof ways->id, "overview%s",
                 kind == TXD_ATTENTION_CROSS ? "-cross" : "");
    }
    return count;
}
