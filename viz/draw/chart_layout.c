/* SPDX-License-Identifier: MIT
 *
 * Lays a line chart out: all sizes in pixels and from the texts there are, so that
 * nothing is cut off; and its axes.
 */
#include <math.h>
#include <stdio.h>

#include "viz/draw/chart_internal.h"

enum {
    EDGE = 16,
    TITLE_LINE = 22,
    WIDTH = 900,
    HEIGHT = 280,
    LABELS = 62, /* left of the axis */
    MOST_TICS = 32
};

/* --- sizes --- */

static size_t legend_count(const txd_graph *graph)
{
    size_t count = graph->level_count + (graph->band_name ? 1 : 0);

    for (size_t i = 0; i < graph->line_count; i++)
        count += graph->lines[i].legend;
    return count;
}

/* Labels that are words stand upright. */
static bool has_words(const txd_graph *graph)
{
    for (size_t i = 0; i < graph->tic_count; i++)
        if (txd_clean_width(graph->tics[i].label) > 3)
            return true;
    return false;
}

/* As it is drawn, which may take more room than it does as text. */
static size_t drawn_width(const char *label, txd_image_kind kind)
{
    txd_text drawn;
    size_t width;

    txd_text_init(&drawn);
    txd_clean_glyphs(&drawn, label, kind);
    width = txd_clean_width(txd_text_get(&drawn));
    txd_text_finish(&drawn);
    return width;
}

static int tic_height(const txd_graph *graph, txd_image_kind kind)
{
    size_t widest = 0;

    for (size_t i = 0; i < graph->tic_count; i++) {
        size_t width = drawn_width(graph->tics[i].label, kind);

        widest = width > widest ? width : widest;
    }
    return has_words(graph) ? (int)widest * TXD_TEXT_SMALL * 64 / 100 : 14;
}

/* Room for the legend: its names are wrapped, to two lines at most. */
static int legend_height(const txd_graph *graph)
{
    return (int)legend_count(graph) * 2 * TXD_CHART_LINE + TXD_CHART_LINE;
}

static txd_status wrap(txd_chart_layout *out, const txd_chart *chart, bool above,
                       int *height)
{
    const txd_note *notes = above ? chart->above : chart->below;
    size_t count = above ? chart->above_count : chart->below_count;
    size_t *counts = above ? out->above_lines : out->below_lines;
    char ***lines = above ? out->above : out->below;

    for (size_t i = 0; i < count; i++) {
        const char *text = txd_clean_fit(chart->arena, notes[i].text, out->sheet.kind);

        TXD_TRY(txd_wrap(&lines[i], &counts[i], chart->arena, text,
                         txd_chart_characters(WIDTH - 2 * EDGE, TXD_TEXT_SMALL)));
        *height += (int)counts[i] * TXD_CHART_LINE;
    }
    return TXD_OK;
}

txd_status txd_chart_arrange(txd_chart_layout *out, const txd_chart *chart)
{
    int y = EDGE, below = 0;

    out->sheet.width = WIDTH;
    TXD_TRY(txd_wrap(&out->title, &out->title_lines, chart->arena,
                     txd_clean_fit(chart->arena, chart->title, out->sheet.kind),
                     txd_chart_characters(WIDTH - 2 * EDGE, TXD_TEXT_TITLE)));
    y += (int)out->title_lines * TITLE_LINE;
    TXD_TRY(wrap(out, chart, true, &y));
    out->legend = WIDTH - EDGE - TXD_CHART_SIDE;
    for (size_t i = 0; i < chart->graph_count; i++) {
        const txd_graph *graph = &chart->graphs[i];
        int height = legend_height(graph);
        int left = EDGE + TXD_CHART_LINE + 8 + LABELS;

        out->tic_height[i] = tic_height(graph, out->sheet.kind);
        y += 14;
        out->panels[i] = (txd_box){left, y, out->legend - 20 - left,
                                   height > HEIGHT ? height : HEIGHT};
        y += out->panels[i].height + 12 + out->tic_height[i] + TXD_CHART_LINE + 6;
    }
    out->below_top = y + 8;
    TXD_TRY(wrap(out, chart, false, &below));
    out->sheet.height = out->below_top + below + EDGE;
    return TXD_OK;
}

void txd_chart_words(txd_text *out, const txd_chart_layout *lay, const txd_chart *chart)
{
    int y = EDGE + 6;

    for (size_t i = 0; i < lay->title_lines; i++, y += TITLE_LINE)
        txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_TITLE,
                         TXD_COLOUR_INK, lay->title[i]);
    for (size_t n = 0; n < chart->above_count; n++)
        for (size_t i = 0; i < lay->above_lines[n]; i++, y += TXD_CHART_LINE)
            txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_SMALL,
                             chart->above[n].colour, lay->above[n][i]);
    y = lay->below_top + 6;
    for (size_t n = 0; n < chart->below_count; n++)
        for (size_t i = 0; i < lay->below_lines[n]; i++, y += TXD_CHART_LINE)
            txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_SMALL,
                             chart->below[n].colour, lay->below[n][i]);
}

/* --- axes --- */

/* A tic's label is a format: '%' must be doubled. */
static void add_tic(txd_text *out, const char **comma, const char *label, double at)
{
    txd_text doubled;

    txd_text_init(&doubled);
    for (; *label; label++)
        txd_text_add_bytes(&doubled, *label == '%' ? "%%" : label,
                           *label == '%' ? 2 : 1);
    txd_text_add(out, *comma);
    txd_script_string(out, txd_text_get(&doubled));
    txd_chart_real(out, " ", at);
    *comma = ", ";
    if (txd_text_status(&doubled) != TXD_OK)
        out->status = txd_text_status(&doubled);
    txd_text_finish(&doubled);
}

/* 1, 2 or 5 times a power of ten, so that at most `most` steps span `span`. */
static double step_of(double span, double most)
{
    static const double next[] = {2, 5, 10};
    double step = 1;

    for (double power = 1; power < 1e300; power *= 10)
        for (size_t i = 0; i < 3; i++) {
            if (span / step <= most)
                return step;
            step = power * next[i];
        }
    return step;
}

/* The i-th multiple of `step` from `low` on; false past the end, and where numbers are
 * so large that the next multiple is the same one. */
static bool tic_at(double *at, size_t i, double low, double high, double step)
{
    double first = ceil(low / step);

    *at = (first + (double)i) * step;
    return i < MOST_TICS && *at <= high &&
           (i == 0 || *at > (first + (double)i - 1) * step);
}

static void add_side_tics(txd_text *out, const txd_graph *graph)
{
    const char *comma = "";
    double step = step_of(graph->x_high - graph->x_low, 12);
    char number[32];
    double x;

    txd_text_addf(out, "set xtics %s (",
                  has_words(graph) ? "rotate by 90 right" : "norotate center");
    for (size_t i = 0; i < graph->tic_count; i++)
        if (*graph->tics[i].label)
            add_tic(out, &comma, graph->tics[i].label, graph->tics[i].x);
    for (size_t i = 0;
         graph->tic_count == 0 && tic_at(&x, i, graph->x_low, graph->x_high, step);
         i++) {
        snprintf(number, sizeof number, "%.12g", x == 0 ? 0.0 : x);
        add_tic(out, &comma, number, x);
    }
    txd_text_add(out, ")\n");
}

static void add_decades(txd_text *out, const txd_graph *graph)
{
    const char *comma = "";
    double low = ceil(log10(graph->low) - 1e-9),
           high = floor(log10(graph->high) + 1e-9);
    double step = step_of(high - low, 9), decade;
    double room = pow(10, 0.06 * (high - low)); /* of a label */
    char number[32];

    txd_text_add(out, "set ytics (");
    for (size_t i = 0; tic_at(&decade, i, low, high, step); i++) {
        double at = pow(10, decade);

        if (at < graph->low || at > graph->high ||
            (!isnan(graph->zero_y) && at < graph->zero_y * room) ||
            (!isnan(graph->nonfinite_y) && at > graph->nonfinite_y / room))
            continue;
        if (fabs(decade) <= 3)
            snprintf(number, sizeof number, "%.12g", at);
        else
            snprintf(number, sizeof number, "1e%.0f", decade);
        add_tic(out, &comma, number, at);
    }
    if (!isnan(graph->zero_y))
        add_tic(out, &comma, "0", graph->zero_y);
    if (!isnan(graph->nonfinite_y))
        add_tic(out, &comma, "NaN, Inf", graph->nonfinite_y);
    txd_text_add(out, ")\n");
}

/* Numbers up to the row of what is not finite; none where there is nothing else. */
static void add_tics_below(txd_text *out, const txd_graph *graph)
{
    double range[2], step = 0, unit, at;
    const char *comma = "";
    char number[32];

    txd_graph_range(range, graph);
    if (!isnan(range[0])) {
        unit = pow(10, floor(log10(graph->high - graph->low)) - 2);
        step = step_of((graph->high - graph->low) / unit, 9) * unit;
    }
    txd_text_add(out, "set ytics (");
    for (size_t i = 0;
         step > 0 && tic_at(&at, i, graph->low, graph->nonfinite_y - step / 2, step);
         i++) {
        snprintf(number, sizeof number, "%.6g", fabs(at) < step / 2 ? 0.0 : at);
        add_tic(out, &comma, number, at);
    }
    add_tic(out, &comma, "NaN, Inf", graph->nonfinite_y);
    txd_text_add(out, ")\n");
}

static void add_up_tics(txd_text *out, const txd_graph *graph)
{
    if (graph->logarithmic) {
        txd_text_add(out, "set logscale y\n");
        add_decades(out, graph);
        return;
    }
    txd_text_add(out, "set format y '%.4g'\n");
    if (isnan(graph->nonfinite_y))
        txd_text_add(out, "set ytics autofreq\n");
    else
        add_tics_below(out, graph);
}

void txd_chart_axes(txd_text *out, const txd_chart_layout *lay, const txd_chart *chart,
                    size_t i)
{
    const txd_graph *graph = &chart->graphs[i];
    const txd_box *panel = &lay->panels[i];

    /* The panel's own range is that of rows from 0 on. */
    txd_text_add(out, "unset logscale y\n");
    txd_script_panel(out, &lay->sheet, panel, 1, 1);
    txd_chart_real(out, "set xrange [", graph->x_low);
    txd_chart_real(out, ":", graph->x_high);
    txd_chart_real(out, "]\nset yrange [", graph->low);
    txd_chart_real(out, ":", graph->high);
    txd_text_add(out, "]\n");
    add_up_tics(out, graph);
    add_side_tics(out, graph);
    txd_script_label(out, &lay->sheet, EDGE + 4, panel->top + panel->height / 2,
                     "center rotate by 90", TXD_TEXT_SMALL, TXD_COLOUR_INK,
                     graph->y_title);
    txd_script_label(out, &lay->sheet, panel->left + panel->width / 2,
                     panel->top + panel->height + 12 + lay->tic_height[i] +
                         TXD_CHART_LINE / 2,
                     "center", TXD_TEXT_SMALL, TXD_COLOUR_INK, graph->x_title);
    txd_chart_legend(out, lay, chart, i);
}
