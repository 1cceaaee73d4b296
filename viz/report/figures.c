/* SPDX-License-Identifier: MIT
 *
 * The pictures of the report: all heads at once, then one map for each place that a
 * finding names. A picture that cannot be drawn leaves its reason in its place.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

enum { MOST_FIGURES = 12 };

static void add_failure(txd_report *report)
{
    txd_text_add(&report->page, "<p class=\"quiet\">No picture: ");
    txd_html_add(&report->page, txd_message(), 600);
    txd_text_add(&report->page, "</p>\n");
}

/* Whether it is the drawing that fails, and not what is to be drawn. */
static bool cannot_draw(txd_status status)
{
    return status == TXD_ERR_MISSING || status == TXD_ERR_IO ||
           status == TXD_ERR_LIMIT || status == TXD_ERR_INTERRUPTED;
}

void txd_report_drawing(txd_report *report, const txd_drawing *drawing,
                        txd_status status, const char *sentence, const char *caption)
{
    txd_text *page = &report->page;
    txd_text picture;

    txd_text_init(&picture);
    if (status == TXD_OK)
        status = txd_drawing_image(&picture, drawing);
    txd_text_add(page, "<figure>\n<figcaption>");
    txd_html_add(page, caption, 600);
    txd_text_add(page, "</figcaption>\n");
    if (status == TXD_OK) {
        txd_text_add(page, "<div class=\"picture\"><img alt=\"");
        txd_html_add(page, sentence, 200);
        txd_text_add(page, ": ");
        txd_html_add(page, caption, 600);
        txd_text_add(page, "\" src=\"data:image/png;base64,");
        txd_html_base64(page, picture.data, picture.length);
        txd_text_add(page, "\"></div>\n");
    } else {
        if (cannot_draw(status)) {
            report->drawn = status;
            snprintf(report->reason, sizeof report->reason, "%s", txd_message());
        }
        add_failure(report);
    }
    txd_text_add(page, "</figure>\n");
    txd_text_finish(&picture);
}

void txd_report_figure(txd_report *report, const txd_figure *figure,
                       const txd_figure_request *request, const char *caption)
{
    txd_drawing drawing;
    txd_status status = txd_drawing_init(&drawing, TXD_IMAGE_PNG);

    if (status == TXD_OK)
        status = figure ? figure->draw(&drawing, report->recording, request)
                        : TXD_ERR_CONFIG;
    txd_report_drawing(report, &drawing, status, figure ? figure->sentence : "",
                       caption);
    txd_drawing_finish(&drawing);
}

/* Draws a site; what was said about it stands in `caption`. */
static void add_figure(txd_report *report, const txd_figure_request *request,
                       const char *caption)
{
    txd_figure_request actual = *request;
    const txd_figure *figure = NULL;

    if (txd_figure_choose(&figure, &actual, report->recording) != TXD_OK)
        figure = NULL;
    txd_report_figure(report, figure, &actual, caption);
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

static size_t add_findings(txd_report *report)
{
    static const char format[] = "%s: %s";
    txd_figure_request drawn[MOST_FIGURES];
    char sites[MOST_FIGURES][TXD_SITE_BYTES], caption[700];
    size_t count = 0;

    for (size_t i = 0; i < report->verdicts.finding_count && count < MOST_FIGURES &&
                       report->drawn == TXD_OK;
         i++) {
        const txd_finding_row *finding = &report->verdicts.findings[i];
        bool seen = false;

        if (!aim(&drawn[count], sites[count], report, finding))
            continue;
        for (size_t j = 0; j < count; j++)
            seen |= same_picture(&drawn[j], &drawn[count]);
        if (seen)
            continue;
        snprintf(caption, sizeof caption, format, finding->law, finding->message);
        add_figure(report, &drawn[count], caption);
        count++;
    }
    return count;
}

/* All heads of an attention; or the first, larger. */
static void add_weights(txd_report *report, txd_attention_kind kind, bool first)
{
    static const char *const names[] = {"Attention weights",
                                        "Weights of the cross-attention"};
    txd_figure_request request = {.site = weights_sites[kind],
                                  .layer = first ? 0 : -1,
                                  .head = first ? 0 : -1,
                                  .step = -1,
                                  .batch = -1,
                                  .scale = first ? TXD_SCALE_LINEAR : TXD_SCALE_LOG,
                                  .path = "figure.png"};
    char caption[120];

    if (!has_weights(report, kind, 0) || report->drawn != TXD_OK)
        return;
    snprintf(caption, sizeof caption, "%s of %s", names[kind],
             first ? "layer 0, head 0" : "all layers and heads at the first step");
    add_figure(report, &request, caption);
}

txd_status txd_report_figures(txd_report *report)
{
    static const txd_attention_kind kinds[] = {TXD_ATTENTION_SELF, TXD_ATTENTION_CROSS};
    txd_text *page = &report->page;

    txd_text_add(page, "<section>\n<h2>Figures</h2>\n");
    if (!has_weights(report, TXD_ATTENTION_SELF, 0) &&
        !has_weights(report, TXD_ATTENTION_CROSS, 0))
        txd_text_add(page, "<p class=\"quiet\">No attention weights were recorded"
                           "</p>\n");
    for (int i = 0; i < 2; i++)
        add_weights(report, kinds[i], false);
    if (report->drawn == TXD_OK && add_findings(report) == 0)
        for (int i = 0; i < 2; i++)
            add_weights(report, kinds[i], true);
    txd_text_add(page, "</section>\n");
    return txd_text_status(page);
}
