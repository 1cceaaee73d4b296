/* SPDX-License-Identifier: MIT
 *
 * Writes the gnuplot script of a line chart: each graph a plot with fixed margins, its
 * lines as files of doubles, everything else as objects at places in pixels.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/chart_internal.h"

/* --- files --- */

static void add_file(txd_chart_script *out, txd_arena *arena, const double *values,
                     size_t count, char name[16])
{
    char *copy;

    snprintf(name, 16, "data%zu", out->file_count);
    copy = txd_arena_string(arena, name);
    if (!copy)
        out->text.status = TXD_ERR_MEMORY;
    out->files[out->file_count++] =
        (txd_plot_file){copy ? copy : "data", values, count * sizeof *values};
}

static void add_source(txd_chart_script *out, const char *name, size_t count,
                       int columns)
{
    txd_text_addf(&out->text, "%s'%s' binary record=(%zu) format='", out->comma, name,
                  count);
    for (int i = 0; i < columns; i++)
        txd_text_add(&out->text, "%double");
    txd_text_addf(&out->text, "' using 1:2%s ", columns == 3 ? ":3" : "");
    out->comma = ", \\\n     ";
}

/* --- what is drawn from files --- */

static double clamp(const txd_graph *graph, double y)
{
    return !txd_graph_shows(graph, y) ? (double)NAN
                                      : fmin(fmax(y, graph->low), graph->high);
}

static txd_status draw_line(txd_chart_script *out, const txd_chart *chart,
                            const txd_graph *graph, size_t i)
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
    add_file(out, chart->arena, pairs, 2 * line->count, name);
    add_source(out, name, line->count, 2);
    txd_chart_colour(colour, graph, i);
    txd_text_addf(&out->text,
                  "with %s linewidth 1.5 pointtype %d pointsize %s linecolor rgb '%s'",
                  line->loose ? "points" : "linespoints", txd_chart_point(graph, i),
                  line->count > 60 ? "0.25" : "0.7", colour);
    return TXD_OK;
}

/* From the lowest to the highest of all lines, where some are not drawn. */
static txd_status draw_range(txd_chart_script *out, const txd_chart *chart,
                             const txd_graph *graph)
{
    size_t count = graph->line_count ? graph->lines[0].count : 0, kept = 0;
    double *rows = txd_arena_alloc(chart->arena, count, 3 * sizeof *rows);
    char name[16];

    if (!rows)
        return TXD_ERR_MEMORY;
    for (size_t j = 0; j < count; j++) {
        double *row = rows + 3 * kept;

        row[0] = graph->lines[0].x[j];
        row[1] = row[2] = (double)NAN;
        for (size_t i = 0; i < graph->line_count; i++) {
            const txd_line *line = &graph->lines[i];
            double y = j < line->count ? clamp(graph, line->y[j]) : (double)NAN;

            row[1] = fmin(row[1], y);
            row[2] = fmax(row[2], y);
        }
        kept += !isnan(row[1]);
    }
    if (kept == 0)
        return TXD_OK;
    add_file(out, chart->arena, rows, 3 * kept, name);
    add_source(out, name, kept, 3);
    txd_text_add(&out->text, "with filledcurves fillcolor rgb '#c3c9d2'");
    return TXD_OK;
}

static txd_status draw_marks(txd_chart_script *out, const txd_chart *chart,
                             const txd_graph *graph, bool zeros)
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
    add_file(out, chart->arena, pairs, 2 * found, name);
    add_source(out, name, found, 2);
    txd_text_addf(&out->text,
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

static txd_status draw_graph(txd_chart_script *out, const txd_chart *chart,
                             const txd_graph *graph)
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
    txd_text_add(&out->text, "\n");
    return TXD_OK;
}

static size_t most_files(const txd_chart *chart)
{
    size_t count = 0;

    for (size_t i = 0; i < chart->graph_count; i++)
        count += chart->graphs[i].line_count + 3;
    return count;
}

txd_status txd_chart_write(txd_chart_script *out, const txd_chart *chart,
                           txd_image_kind kind)
{
    txd_chart_layout lay = {.sheet.kind = kind};
    txd_text *text = &out->text;

    txd_text_init(text);
    out->file_count = 0;
    out->files = txd_arena_alloc(chart->arena, most_files(chart), sizeof *out->files);
    if (!out->files)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_chart_arrange(&lay, chart));
    txd_script_begin(text, &lay.sheet);
    txd_chart_words(text, &lay, chart);
    txd_text_add(text, "set multiplot\n");
    for (size_t i = 0; i < chart->graph_count; i++) {
        txd_chart_axes(text, &lay, chart, i);
        TXD_TRY(draw_graph(out, chart, &chart->graphs[i]));
        txd_text_add(text, "unset label\nunset object\nunset arrow\n");
    }
    txd_text_add(text, "unset multiplot\nset output\n");
    return txd_text_status(text);
}

txd_status txd_chart_image(txd_text *out, txd_chart *chart, txd_image_kind kind)
{
    txd_chart_script script;
    txd_status status;

    TXD_TRY(txd_chart_settle(chart));
    status = txd_chart_write(&script, chart, kind);
    if (status == TXD_OK) {
        const txd_plot_job job = {.kind = kind,
                                  .script = txd_text_get(&script.text),
                                  .files = script.files,
                                  .file_count = script.file_count};

        status = txd_gnuplot_image(out, &job);
    }
    txd_text_finish(&script.text);
    return status;
}
