/* SPDX-License-Identifier: MIT
 *
 * Settles a line chart: how far its axes reach, what lies beyond them as marks, and the
 * words that say what the marks are.
 */
#include "viz/figures/figures.h"

#include <math.h>
#include <string.h>

/* Past these gnuplot's logarithmic axes lose their marks; what is beyond is drawn
 * there. */
#define LEAST 1e-300
#define MOST 1e300

static txd_status add_note(txd_chart *chart, bool above, const char *colour,
                           txd_text *text)
{
    txd_status status = txd_text_status(text);

    if (status == TXD_OK)
        status = txd_chart_note(chart, above, colour, txd_text_get(text));
    txd_text_finish(text);
    return status;
}

/* Two graphs of the same values may have the same to say. */
static bool is_said(const txd_chart *chart, bool above, const char *text)
{
    const txd_note *notes = above ? chart->above : chart->below;
    size_t count = above ? chart->above_count : chart->below_count;

    for (size_t i = 0; i < count; i++)
        if (strcmp(notes[i].text, text) == 0)
            return true;
    return false;
}

txd_status txd_chart_note(txd_chart *chart, bool above, const char *colour,
                          const char *text)
{
    size_t *count = above ? &chart->above_count : &chart->below_count;
    txd_note *note = (above ? chart->above : chart->below) + *count;
    txd_text cleaned;
    txd_status status;

    if (*text == '\0' || *count == TXD_MAP_NOTES)
        return TXD_OK;
    txd_text_init(&cleaned);
    txd_clean(&cleaned, text, 600);
    note->colour = colour;
    note->text = txd_arena_string(chart->arena, txd_text_get(&cleaned));
    status = note->text ? txd_text_status(&cleaned) : TXD_ERR_MEMORY;
    txd_text_finish(&cleaned);
    if (status == TXD_OK && !is_said(chart, above, note->text))
        ++*count;
    return status;
}

txd_status txd_chart_note_recording(txd_chart *chart, const txd_trace *recording)
{
    txd_text text;

    txd_text_init(&text);
    txd_recording_words(&text, recording);
    return add_note(chart, true, TXD_COLOUR_QUIET, &text);
}

const char *txd_graph_zero_colour(const txd_graph *graph)
{
    return graph->zero_is_well ? TXD_COLOUR_QUIET : TXD_COLOUR_LEAK;
}

bool txd_graph_shows(const txd_graph *graph, double y)
{
    return isfinite(y) && (!graph->logarithmic || y > 0);
}

static void widen(double range[2], double y)
{
    range[0] = fmin(range[0], y); /* NaN = nothing yet: the other is taken */
    range[1] = fmax(range[1], y);
}

void txd_graph_range(double out[2], const txd_graph *graph)
{
    out[0] = out[1] = (double)NAN;
    for (size_t i = 0; i < graph->line_count; i++)
        for (size_t j = 0; j < graph->lines[i].count; j++)
            if (txd_graph_shows(graph, graph->lines[i].y[j]))
                widen(out, graph->lines[i].y[j]);
}

/* Lines that are a sequence come one after the other; of others the first is that on
 * the left. */
static void add_outlier(txd_outliers *to, const txd_graph *graph, const txd_line *line,
                        size_t i)
{
    if (to->total++ == 0 || (!graph->ordered && line->x[i] < to->x)) {
        to->line = line;
        to->x = line->x[i];
    }
}

static void find_outliers(txd_graph *graph)
{
    graph->zeros = graph->nonfinite = (txd_outliers){0, NULL, 0};
    for (size_t i = 0; i < graph->line_count; i++) {
        const txd_line *line = &graph->lines[i];

        for (size_t j = 0; j < line->count; j++)
            if (graph->logarithmic && line->y[j] == 0)
                add_outlier(&graph->zeros, graph, line, j);
            else if (!txd_graph_shows(graph, line->y[j]))
                add_outlier(&graph->nonfinite, graph, line, j);
    }
}

/* Whole decades, and beyond them a row for zeros and one for what is not finite. */
static void settle_decades(txd_graph *graph, const double range[2])
{
    double low = floor(log10(fmax(range[0], LEAST)) + 1e-9);
    double high = ceil(log10(fmin(range[1], MOST)) - 1e-9), row;

    if (high - low < 2) {
        low -= 1;
        high = low + 2 > high ? low + 2 : high;
    }
    row = (high - low) * 0.07;
    graph->zero_y = graph->nonfinite_y = (double)NAN;
    if (graph->zeros.total != 0) {
        graph->zero_y = pow(10, low - row);
        low -= 2 * row;
    }
    if (graph->nonfinite.total != 0) {
        graph->nonfinite_y = pow(10, high + row);
        high += 2 * row;
    }
    graph->low = pow(10, fmax(low, -306));
    graph->high = pow(10, fmin(high, 306));
}

static void settle_linear(txd_graph *graph, const double range[2])
{
    double low = range[0], high = range[1];
    double margin = (high / 2 - low / 2) * 0.1;

    if (!(margin > 0))
        margin = fabs(high) > 0 ? fabs(high) * 0.05 : 1;
    graph->low = low >= 0 && low < margin ? 0 : low - margin;
    graph->high = high + margin;
    graph->zero_y = graph->nonfinite_y = (double)NAN;
    if (graph->nonfinite.total != 0) {
        graph->nonfinite_y = high + 2 * margin;
        graph->high = high + 3.5 * margin;
    }
}

static void settle_sides(txd_graph *graph)
{
    double range[2] = {(double)NAN, (double)NAN}, margin;

    for (size_t i = 0; i < graph->line_count; i++)
        for (size_t j = 0; j < graph->lines[i].count; j++)
            widen(range, graph->lines[i].x[j]);
    for (size_t i = 0; i < graph->tic_count; i++)
        widen(range, graph->tics[i].x);
    if (isnan(range[0]))
        range[0] = range[1] = 0;
    margin = fmax(0.5, (range[1] - range[0]) * 0.01);
    /* Beyond 2^53 a half is nothing. */
    margin = fmax(margin, 1e-12 * fmax(fabs(range[0]), fabs(range[1])));
    graph->x_low = range[0] - margin;
    graph->x_high = range[1] + margin;
}

static void settle_graph(txd_graph *graph)
{
    double range[2];

    find_outliers(graph);
    txd_graph_range(range, graph);
    /* Not on the frame, where they could not be told from it. */
    for (size_t i = 0; i < graph->level_count; i++) {
        double room = graph->logarithmic ? 2 : 1.1;

        widen(range, graph->levels[i].y / room);
        widen(range, graph->levels[i].y * room);
    }
    if (graph->band_name) {
        widen(range, graph->band[0] / 2);
        widen(range, graph->band[1]);
    }
    if (isnan(range[0]))
        range[0] = range[1] = 1;
    if (graph->logarithmic)
        settle_decades(graph, range);
    else
        settle_linear(graph, range);
    settle_sides(graph);
}

static void add_place(txd_text *text, const txd_graph *graph,
                      const txd_outliers *outliers)
{
    const char *label = NULL;

    for (size_t i = 0; i < graph->tic_count; i++)
        if (graph->tics[i].x == outliers->x)
            label = graph->tics[i].name ? graph->tics[i].name : graph->tics[i].label;
    txd_text_addf(text, "%s, ", outliers->line->name);
    if (label && *label)
        txd_text_add(text, label);
    else
        txd_text_addf(text, "%s %.12g", graph->place ? graph->place : graph->x_title,
                      outliers->x);
}

static txd_status note_outliers(txd_chart *chart, const txd_graph *graph,
                                const txd_outliers *outliers)
{
    bool is_zero = outliers == &graph->zeros;
    size_t total = outliers->total;
    txd_text text;

    if (total == 0)
        return TXD_OK;
    txd_text_init(&text);
    txd_text_addf(&text, "Marked in this colour, %s: %zu value%s, %s; first: ",
                  is_zero ? "at the bottom" : "at the top", total,
                  total == 1 ? "" : "s", is_zero ? "exactly 0" : "NaN or infinite");
    add_place(&text, graph, outliers);
    return add_note(chart, false,
                    is_zero ? txd_graph_zero_colour(graph) : TXD_COLOUR_NONFINITE,
                    &text);
}

txd_status txd_chart_settle(txd_chart *chart)
{
    for (size_t i = 0; i < chart->graph_count; i++) {
        settle_graph(&chart->graphs[i]);
        TXD_TRY(note_outliers(chart, &chart->graphs[i], &chart->graphs[i].zeros));
        TXD_TRY(note_outliers(chart, &chart->graphs[i], &chart->graphs[i].nonfinite));
    }
    return TXD_OK;
}

txd_status txd_chart_figure(txd_drawing *out, txd_chart_maker make,
                            const txd_trace *recording,
                            const txd_figure_request *request)
{
    txd_chart chart;

    TXD_TRY(make(&chart, out->arena, recording, request));
    return txd_chart_draw(out, &chart);
}
