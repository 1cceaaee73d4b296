/* SPDX-License-Identifier: MIT
 *
 * Two recordings in the report: how far values are apart, by layer, as a figure and as
 * a table that holds every number.
 */
#include <math.h>
#include <string.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

enum { MOST_LAYERS = 200 };

static void add_path(txd_text *page, const txd_report *report, bool reference)
{
    bool second = report->compared->swapped != reference;

    txd_text_add(page, "<code>");
    txd_html_add(page, second ? report->other_path : report->path, 200);
    txd_text_add(page, "</code>");
}

/* What a configuration says, or that it says nothing. */
static void add_setting(txd_text *page, const txd_setting *root, const char *path)
{
    const txd_setting *setting = root ? txd_setting_find(root, path) : NULL;

    txd_text_add(page, "<code>");
    if (!setting)
        txd_text_add(page, "nothing");
    else if (setting->kind == TXD_SETTING_STRING)
        txd_html_add(page, setting->string, 40);
    else
        txd_text_add_real(page, setting->real);
    txd_text_add(page, "</code>");
}

static bool is_other(const txd_setting *const roots[2], const char *path)
{
    const txd_setting *a = roots[0] ? txd_setting_find(roots[0], path) : NULL;
    const txd_setting *b = roots[1] ? txd_setting_find(roots[1], path) : NULL;

    if (!a || !b)
        return a != b;
    return a->kind != b->kind || a->real != b->real ||
           strcmp(a->string, b->string) != 0;
}

/* What else the runs were told of their arithmetic: two of one format may differ in it
 * alone. */
static txd_status add_precision(txd_report *report)
{
    static const char *const paths[] = {"precision.softmax", "precision.loss_scale"};
    const txd_trace *traces[2] = {report->compared->measured,
                                  report->compared->reference};
    const txd_setting *roots[2] = {NULL, NULL};
    txd_text *page = &report->figures;
    txd_arena *arena;

    TXD_TRY(txd_arena_create(&arena));
    for (int i = 0; i < 2; i++) {
        const char *config = txd_trace_meta(traces[i], "config");
        txd_setting *root;

        if (config && txd_cfg_parse(&root, arena, "recorded config", config) == TXD_OK)
            roots[i] = root;
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!is_other(roots, paths[i]))
            continue;
        txd_text_addf(page, "<p><code>%s</code> is ", paths[i]);
        add_setting(page, roots[0], paths[i]);
        txd_text_add(page, " in ");
        add_path(page, report, false);
        txd_text_add(page, " and ");
        add_setting(page, roots[1], paths[i]);
        txd_text_add(page, " in the reference.</p>\n");
    }
    txd_arena_destroy(arena);
    return TXD_OK;
}

static void add_words(txd_report *report)
{
    const txd_compared *compared = report->compared;
    txd_text *page = &report->figures;
    const char *faults[2] = {txd_trace_meta(compared->reference, "faults"),
                             txd_trace_meta(compared->measured, "faults")};

    txd_text_add(page, "<p>");
    add_path(page, report, false);
    txd_text_addf(page, " (%s) against ", compared->formats[1]);
    add_path(page, report, true);
    txd_text_addf(
        page,
        " (%s), the reference. Relative error: L2 norm of the difference / L2 "
        "norm of the reference, over valid tokens and cells that are seen, "
        "%zu step%s",
        compared->formats[0], compared->common,
        compared->common == 1 ? "" : "s together");
    if (compared->steps[0] != compared->common ||
        compared->steps[1] != compared->common)
        txd_text_addf(page, " (recorded: %zu and %zu)", compared->steps[1],
                      compared->steps[0]);
    txd_text_addf(page,
                  ". A value rounded once to %s is off by %.2g of itself at "
                  "most. (rms alone): of values not recorded in full in both, the "
                  "difference of their rms, which is no bound.</p>\n",
                  compared->formats[1], compared->roundoff);
    if (faults[0] && faults[1] && strcmp(faults[0], faults[1]) != 0)
        txd_text_add(page, "<p class=\"warn\">The two runs had different faults "
                           "planted: not all of this is rounding.</p>\n");
}

static void add_number(txd_text *page, double value)
{
    txd_text_add(page, "<td class=\"number\">");
    if (isnan(value))
        txd_text_add(page, "<span class=\"fail\">not finite</span>");
    else
        txd_text_addf(page, "%.2e", value);
    txd_text_add(page, "</td>");
}

static const char *kind_word(txd_error_kind kind)
{
    return kind == TXD_ERROR_FULL   ? ""
           : kind == TXD_ERROR_ROWS ? " (rows)"
                                    : " (rms alone)";
}

/* Name, worst, that in roundoffs, then a column per layer. */
static void add_row(txd_text *page, const txd_compared *compared, size_t begin,
                    size_t end, size_t layers)
{
    const txd_error *errors = compared->errors;
    double worst = 0;

    txd_text_add(page, "<tr><th scope=\"row\">");
    txd_html_add(page, errors[begin].name, 120);
    txd_text_addf(page, "%s</th>", kind_word(errors[begin].kind));
    for (size_t i = begin; i < end; i++)
        worst = isnan(errors[i].relative) || isnan(worst)
                    ? (double)NAN
                    : fmax(worst, errors[i].relative);
    add_number(page, worst);
    txd_text_add(page, "<td class=\"number\">");
    if (!isnan(worst))
        txd_text_addf(page, "%.3g", worst / compared->roundoff);
    txd_text_add(page, "</td>");
    for (size_t layer = 0, i = begin; layer < layers; layer++) {
        while (i < end && errors[i].layer >= 0 && (size_t)errors[i].layer < layer)
            i++;
        if (i < end && errors[i].layer == (int)layer)
            add_number(page, errors[i].relative);
        else
            txd_text_add(page, "<td></td>");
    }
    txd_text_add(page, "</tr>\n");
}

static void add_table(txd_report *report)
{
    const txd_compared *compared = report->compared;
    size_t layers = compared->layers < MOST_LAYERS ? compared->layers : MOST_LAYERS;
    txd_text *page = &report->figures;

    txd_text_add(page, "<div class=\"scroll\">\n<table>\n<thead><tr><th>value</th>"
                       "<th class=\"number\">worst</th>"
                       "<th class=\"number\">in roundoffs</th>");
    for (size_t layer = 0; layer < layers; layer++)
        txd_text_addf(page, "<th class=\"number\">layer %zu</th>", layer);
    txd_text_add(page, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0, end; i < compared->count; i = end) {
        end = txd_compared_end(compared, i);
        add_row(page, compared, i, end, layers);
    }
    txd_text_add(page, "</tbody>\n</table>\n</div>\n");
}

static txd_status draw(txd_report *report)
{
    txd_drawing drawing;
    txd_chart chart;
    txd_status status = txd_drawing_init(&drawing, TXD_IMAGE_PNG);

    if (status == TXD_OK)
        status = txd_chart_errors(&chart, drawing.arena, report->compared);
    if (status == TXD_OK)
        status = txd_chart_draw(&drawing, &chart);
    txd_report_drawing(
        report,
        &(txd_caption){
            "errors",
            "Relative errors by layer; dashed: one rounding, dotted: the floor",
            txd_figure_errors.sentence, false},
        &drawing, status);
    return TXD_OK;
}

txd_status txd_report_errors(txd_report *report)
{
    txd_text *page = &report->figures;

    if (!report->compared)
        return TXD_OK;
    txd_text_addf(page, "<section>\n<h2>Errors of %s against %s</h2>\n",
                  report->compared->formats[1], report->compared->formats[0]);
    add_words(report);
    TXD_TRY(add_precision(report));
    TXD_TRY(draw(report));
    add_table(report);
    txd_text_add(page, "</section>\n");
    return txd_text_status(page);
}
