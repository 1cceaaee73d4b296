/* SPDX-License-Identifier: MIT
 *
 * Writes the gnuplot script of a line chart: each graph a plot with fixed margins, its
 * lines as files of doubles, everything else as objects at places in pixels.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/draw/chart_internal.h"

/* --- files --- */

/* The drawing, and what stands before the next thing of a plot. */
typedef struct pen {
    txd_drawing *drawing;
    const char *comma;
} pen;

static void add_file(pen *out, const double *values, size_t count, char name[16])
{
    txd_arena *arena = out->drawing->arena;
    char *copy;

    snprintf(name, 16, "data%zu", out->drawing->file_count);
    copy = txd_arena_string(arena, name);
    if (!copy)
        out->drawing->script.status = TXD_ERR_MEMORY;
    (void)txd_drawing_add(out->drawing, copy ? copy : "data", values,
                          count * sizeof *values);
}

static void add_source(pen *out, const char *name, size_t count, int columns)
{
    txd_text_addf(&out->drawing->script, "%s'%s' binary record=(%zu) format='",
                  out->comma, name, count);
    for (int i = 0; i < columns; i++)
        txd_text_add(&out->drawing->script, "%double");
    txd_text_addf(&out->drawing->script, "' using 1:2%s ", columns == 3 ? ":3" : "");
    out->comma = ", \\\n     ";
}

/* --- what is drawn from files --- */

static double clamp(const txd_graph *graph, double y)
{
    return !txd_graph_shows(graph, y) ? (double)NAN
                                      : fmin(fmax(y, graph->low), graph->high);
}

static txd_status draw_line(pen *out, const txd_chart *chart, const txd_graph *graph,
                            size_t i)
{
    const txd_line *line = &graph->lines[i];
    double *pairs = txd_arena_alloc(chart->arena, line->count, 2 * sizeof *pairs);
    char colour[8], name[16];
    size_t shown = 0;

    if (!pairs)
        return TXD_ERR_MEMORY;
    for (size_t j = 0; j < line->count; j++) {
        pairs[2 * j] = line->x[j];
        pairs[2 * j + 1] = clamp(graph, line->y[j]);
        shown += !isnan(pairs[2 * j + 1]);
    }
    if (shown == 0) /* gnuplot complains about a file without a point */
        return TXD_OK;
    add_file(out, pairs, 2 * line->count, name);
    add_source(out, name, line->count, 2);
    if (line->dashed) {
        txd_text_add(&out->drawing->script,
                     "with lines dashtype 3 linewidth 2 linecolor rgb "
                     "'" TXD_COLOUR_INK "'");
        return TXD_OK;
    }
    txd_chart_colour(colour, graph, i);
    txd_text_addf(&out->drawing->script,
                  "with %s linewidth 1.5 pointtype %d pointsize %s linecolor rgb '%s'",
                  line->loose ? "points" : "linespoints", txd_chart_point(graph, i),
                  line->count > 60 ? "0.25" : "0.7", colour);
    return TXD_OK;
}

static const txd_line *longest_line(const txd_graph *graph)
{
    const txd_line *out = graph->lines;

    for (size_t i = 1; i < graph->line_count; i++)
        if (graph->lines[i].count > out->count)
            out = &graph->lines[i];
    return out;
}

/* The line's value at a place, from `from` on where it was last found. */
static double value_at(const txd_graph *graph, const txd_line *line, size_t *from,
                       double x)
{
    while (*from < line->count && line->x[*from] < x)
        ++*from;
    return *from < line->count && line->x[*from] == x ? clamp(graph, line->y[*from])
                                                      : (double)NAN;
}

/* From the lowest to the highest of all lines, where some are not drawn. Dashed
 * lines are for reference. */
static txd_status draw_range(pen *out, const txd_chart *chart, const txd_graph *graph)
{
    const txd_line *longest = longest_line(graph);
    size_t count = longest->count, kept = 0;
    double *rows = txd_arena_alloc(chart->arena, count, 3 * sizeof *rows);
    size_t *from = txd_arena_alloc(chart->arena, graph->line_count, sizeof *from);
    char name[16];

    if (!rows || !from)
        return TXD_ERR_MEMORY;
    for (size_t j = 0; j < count; j++) {
        double *row = rows + 3 * kept;

        row[0] = longest->x[j];
        row[1] = row[2] = (double)NAN;
        for (size_t i = 0; i < graph->line_count; i++) {
            double y = value_at(graph, &graph->lines[i], &from[i], row[0]);

            row[1] = graph->lines[i].dashed ? row[1] : fmin(row[1], y);
            row[2] = graph->lines[i].dashed ? row[2] : fmax(row[2], y);
        }
        kept += !isnan(row[1]);
    }
    if (kept == 0)
        return TXD_OK;
    add_file(out, rows, 3 * kept, name);
    add_source(out, name, kept, 3);
    txd_text_add(&out->drawing->script, "with filledcurves fillcolor rgb '#c3c9d2'");
    return TXD_OK;
}

static txd_status draw_marks(pen *out, const txd_chart *chart, const txd_graph *graph,
                             bool zeros)
{
    size_t total = zeros ? graph->zeros.total : graph->nonfinite.total, found = 0;
    double *pairs = txd_arena_alloc(chart->arena, total, 2 * sizeof *pairs);
    char name[16];

    if (!pairs)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < graph->line_count; i++) {
        const txd_line *line = &graph->lines[i];

        for (size_t j = 0; j < line->count && found < total; j++) {
            bool is_zero = graph->logarithmic && line->y[j] == 0;

            if (txd_graph_shows(graph, line->y[j]) || is_zero != zeros)
                continue;
            pairs[2 * found] = line->x[j];
            pairs[2 * found++ + 1] = zeros ? graph->zero_y : graph->nonfinite_y;
        }
    }
    if (found == 0)
        return TXD_OK;
    add_file(out, pairs, 2 * found, name);
    add_source(out, name, found, 2);
    txd_text_addf(&out->drawing->script,
                  "with points pointtype %d pointsize 1.1 linewidth 2 linecolor rgb "
                  "'%s'",
                  zeros ? 11 : 2,
                  zeros ? txd_graph_zero_colour(graph) : TXD_COLOUR_NONFINITE);
    return TXD_OK;
}

static bool has_quiet(const txd_graph *graph)
{
    for (size_t i = 0; i < graph->line_count; i++)
        if (graph->lines[i].quiet)
            return true;
    return false;
}

static txd_status draw_graph(pen *out, const txd_chart *chart, const txd_graph *graph)
{
    out->comma = "plot ";
    if (has_quiet(graph))
        TXD_TRY(draw_range(out, chart, graph));
    for (size_t i = 0; i < graph->line_count; i++)
        if (!graph->lines[i].quiet)
            TXD_TRY(draw_line(out, chart, graph, i));
    TXD_TRY(draw_marks(out, chart, graph, true));
    TXD_TRY(draw_marks(out, chart, graph, false));
    if (strcmp(out->comma, "plot ") == 0)
        return txd_fail(TXD_ERR_CONFIG, "%s: nothing of it was recorded", chart->title);
    txd_text_add(&out->drawing->script, "\n");
    return TXD_OK;
}

txd_status txd_chart_draw(txd_drawing *out, txd_chart *chart)
{
    txd_chart_layout lay = {.sheet.kind = out->kind};
    txd_text *text = &out->script;
    pen to = {.drawing = out};

    TXD_TRY(txd_chart_settle(chart));
    TXD_TRY(txd_chart_arrange(&lay, chart));
    txd_script_begin(text, &lay.sheet);
    txd_chart_words(text, &lay, chart);
    txd_text_add(text, "set multiplot\n");
    for (size_t i = 0; i < chart->graph_count; i++) {
        txd_chart_axes(text, &lay, chart, i);
        TXD_TRY(draw_graph(&to, chart, &chart->graphs[i]));
        txd_text_add(text, "unset label\nunset object\nunset arrow\n");
    }
    txd_text_add(text, "unset multiplot\nset output\n");
    return txd_text_status(text);
}
