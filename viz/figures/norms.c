/* SPDX-License-Identifier: MIT
 *
 * Figure: how long the vectors of tokens are, from the embeddings along the residual
 * stream. Of one step also the shortest and the longest token.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/figures/figures.h"

/* How many times longer or shorter than tokens' positions may be before the law
 * position_norm fails, unless it is told otherwise. */
#define FACTOR 10

enum { MOST_TICS = 26 };

/* Columns of the series, (step, site). */
typedef struct columns {
    double *vectors, *mean, *min, *max, *nonfinite;
} columns;

/* The rows that are drawn: embeddings and the residual stream, in order. */
typedef struct places {
    size_t *rows, count;
    int *layers; /* -1 for embeddings */
    double *x;   /* the layer, its values evenly after it; embeddings before 0 */
    size_t layer_count;
} places;

static bool is_drawn(const char *site)
{
    return !txd_ends_in(site, "@grad") &&
           (strncmp(site, "embed.", 6) == 0 || strstr(site, ".resid."));
}

/* Embeddings stand as far apart as their names need. */
static void place(places *out)
{
    size_t first = 0, values = 1;
    double gap;

    while (first < out->count && out->layers[first] < 0)
        first++;
    for (size_t i = first; i < out->count; i++)
        out->layer_count += i == first || out->layers[i] != out->layers[i - 1];
    gap = fmax(1, (double)out->layer_count / 30);
    for (size_t i = 0; i < first; i++)
        out->x[i] = -gap * (double)(first - i);
    for (size_t i = first; i < out->count; i += values) {
        for (values = 1; i + values < out->count; values++)
            if (out->layers[i + values] != out->layers[i])
                break;
        for (size_t j = 0; j < values; j++)
            out->x[i + j] = out->layers[i] + (double)j / (double)values;
    }
}

static txd_status find_places(places *out, const txd_curves *curves)
{
    txd_arena *arena = curves->arena;

    *out = (places){
        .rows = txd_arena_alloc(arena, curves->site_count, sizeof *out->rows),
        .layers = txd_arena_alloc(arena, curves->site_count, sizeof *out->layers),
        .x = txd_arena_alloc(arena, curves->site_count, sizeof *out->x)};
    if (!out->rows || !out->layers || !out->x)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < curves->site_count; i++) {
        if (!is_drawn(curves->sites[i]))
            continue;
        out->layers[out->count] = txd_site_layer(curves->sites[i]);
        out->rows[out->count++] = i;
    }
    place(out);
    if (out->count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "series/norms: no embedding and no residual stream recorded; "
                        "to record them, in model.cfg: record = ( { probe = \"norms\"; "
                        "} );");
    return TXD_OK;
}

/* A line from one column; vectors of which some are not finite are marked. */
static txd_status make_line(txd_line *line, const txd_curves *curves,
                            const places *from, const columns *all,
                            const double *column, size_t step)
{
    line->x = txd_arena_alloc(curves->arena, from->count, sizeof *line->x);
    line->y = txd_arena_alloc(curves->arena, from->count, sizeof *line->y);
    if (!line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        size_t at = step * curves->site_count + from->rows[i];
        bool is_bad = all->nonfinite[at] > 0;

        if (isnan(all->vectors[at]) || (all->vectors[at] == 0 && !is_bad))
            continue; /* not recorded in this step, or nothing but padding */
        line->x[line->count] = from->x[i];
        line->y[line->count++] = is_bad ? (double)NAN : column[at];
    }
    return TXD_OK;
}

static txd_status name_line(txd_line *line, txd_arena *arena, int64_t step,
                            const char *what)
{
    char name[64];

    snprintf(name, sizeof name, "step %lld%s", (long long)step, what);
    line->name = txd_arena_string(arena, name);
    return line->name ? TXD_OK : TXD_ERR_MEMORY;
}

/* The shortest and the longest token of the only step: grey behind its mean. */
static txd_status add_extremes(txd_graph *graph, const txd_curves *curves,
                               const places *from, const columns *all, size_t step)
{
    const double *const ends[2] = {all->min, all->max};
    static const char *const names[2] = {", shortest token", ", longest token"};
    int64_t *numbers;

    TXD_TRY(txd_step_numbers(&numbers, curves->arena, curves->recording, step + 1));
    for (size_t i = 0; i < 2; i++) {
        txd_line *line = &graph->lines[graph->line_count++];

        TXD_TRY(make_line(line, curves, from, all, ends[i], step));
        TXD_TRY(name_line(line, curves->arena, numbers[step], names[i]));
        line->quiet = true;
        for (size_t j = 0; j < line->count; j++) /* marked once, by the mean */
            if (isnan(line->y[j]))
                line->y[j] = graph->lines[0].y[j];
    }
    return TXD_OK;
}

static txd_status fill_lines(txd_graph *graph, const txd_curves *curves,
                             const places *from, const columns *all,
                             const size_t steps[2])
{
    size_t last = steps[0];
    int64_t *numbers;

    TXD_TRY(txd_step_numbers(&numbers, curves->arena, curves->recording, steps[1]));
    graph->lines =
        txd_arena_alloc(curves->arena, steps[1] - steps[0] + 2, sizeof *graph->lines);
    if (!graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t step = steps[0]; step < steps[1]; step++) {
        txd_line *line = &graph->lines[graph->line_count];

        TXD_TRY(make_line(line, curves, from, all, all->mean, step));
        TXD_TRY(name_line(line, curves->arena, numbers[step], ""));
        if (line->count == 0)
            continue;
        graph->line_count++;
        last = step;
    }
    txd_lines_thin(graph->lines, graph->line_count);
    return graph->line_count == 1 ? add_extremes(graph, curves, from, all, last)
                                  : TXD_OK;
}

/* Embeddings by name; of the stream the first value of each layer, or of some. */
static txd_status add_tics(txd_graph *graph, const txd_curves *curves,
                           const places *from)
{
    txd_tic *tics = txd_arena_alloc(curves->arena, from->count, sizeof *tics);
    int every = 1 + (int)(from->layer_count / MOST_TICS), last = -1;

    if (!tics)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        const char *site = curves->sites[from->rows[i]];
        int layer = from->layers[i];
        char name[40];

        snprintf(name, sizeof name, "layer %d", layer);
        tics[i] = (txd_tic){from->x[i], layer < 0 ? site : "", site};
        if (layer >= 0 && layer != last && layer % every == 0)
            tics[i].label = txd_arena_string(curves->arena, name);
        if (!tics[i].label)
            return TXD_ERR_MEMORY;
        last = layer;
    }
    graph->tics = tics;
    graph->tic_count = from->count;
    return TXD_OK;
}

static txd_status describe(txd_chart *chart, const txd_curves *curves)
{
    const txd_graph *graph = &chart->graphs[0];
    bool is_single = graph->line_count == 3 && graph->lines[1].quiet;
    size_t steps = is_single ? 1 : graph->line_count;
    txd_text text;
    txd_status status;

    chart->title = "Norms of embeddings and of the residual stream";
    txd_text_init(&text);
    txd_text_add(&text, "Mean L2 norm of a token's vector; ");
    txd_lines_words(&text, steps);
    if (is_single)
        txd_text_add(&text, "; grey: from the shortest to the longest token");
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_chart_note_recording(chart, curves->recording)
                            : status;
}

/* The ratio of a step, if it is farther from 1 than *worst. */
static bool is_worse(double *worst, const double *mean, const size_t rows[2])
{
    double ratio = mean[rows[1]] / mean[rows[0]];

    if (!isfinite(ratio) || (*worst >= 0 && !(fabs(log(ratio)) > fabs(log(*worst)))))
        return false;
    *worst = ratio;
    return true;
}

/* Positions beside what they are added to, in words: a ratio is hard to read from a
 * chart. */
static txd_status note_positions(txd_chart *chart, const txd_curves *curves,
                                 const columns *all, const size_t steps[2])
{
    static const char *const tokens[] = {"embed.scaled", "embed.in", "embed.tok"};
    size_t rows[2], token = 0, at = steps[0];
    double worst = -1;
    int64_t *numbers;
    char line[200];

    while (token < 3 && !txd_curves_find(&rows[0], curves, tokens[token]))
        token++;
    if (token == 3 || !txd_curves_find(&rows[1], curves, "embed.pos"))
        return TXD_OK;
    for (size_t step = steps[0]; step < steps[1]; step++)
        if (is_worse(&worst, all->mean + step * curves->site_count, rows))
            at = step;
    if (worst < 0)
        return TXD_OK;
    TXD_TRY(txd_step_numbers(&numbers, curves->arena, curves->recording, steps[1]));
    snprintf(line, sizeof line,
             "Positions beside tokens: embed.pos is %.3g times as long as %s (step "
             "%lld); usual is %g to %d",
             worst, tokens[token], (long long)numbers[at], 1.0 / FACTOR, FACTOR);
    return txd_chart_note(
        chart, false,
        worst * FACTOR < 1 || worst > FACTOR ? TXD_COLOUR_LEAK : TXD_COLOUR_INK, line);
}

static txd_status read_columns(columns *out, const txd_curves *curves)
{
    TXD_TRY(txd_curves_read(&out->vectors, curves, "vectors"));
    TXD_TRY(txd_curves_read(&out->mean, curves, "mean"));
    TXD_TRY(txd_curves_read(&out->min, curves, "min"));
    TXD_TRY(txd_curves_read(&out->max, curves, "max"));
    return txd_curves_read(&out->nonfinite, curves, "nonfinite");
}

txd_status txd_chart_norms(txd_chart *out, txd_arena *arena, const txd_trace *recording,
                           const txd_figure_request *request)
{
    txd_graph *graph = &out->graphs[0];
    size_t steps[2] = {0, 0};
    double range[2];
    txd_curves curves;
    columns all;
    places from;

    *out = (txd_chart){.arena = arena, .graph_count = 1};
    TXD_TRY(txd_curves_open(&curves, arena, recording, "series/norms"));
    TXD_TRY(find_places(&from, &curves));
    TXD_TRY(read_columns(&all, &curves));
    steps[1] = curves.steps;
    if (request->step >= 0) {
        TXD_TRY(txd_choice(&steps[0], "step", request->step, curves.steps));
        steps[1] = steps[0] + 1;
    }
    *graph = (txd_graph){
        .x_title = "in order of execution", .y_title = "mean norm", .ordered = true};
    TXD_TRY(fill_lines(graph, &curves, &from, &all, steps));
    TXD_TRY(add_tics(graph, &curves, &from));
    txd_graph_range(range, graph);
    graph->logarithmic = range[0] > 0 && range[1] / range[0] > 30;
    TXD_TRY(describe(out, &curves));
    return note_positions(out, &curves, &all, steps);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_norms, recording, request);
}

static bool draws(const txd_figure_request *request)
{
    return strcmp(request->site, "series/norms") == 0;
}

const txd_figure txd_figure_norms = {
    .name = "norms",
    .sentence = "lengths of tokens' vectors: embeddings, positions, residual stream",
    .usage = "txdiag plot REC.h5 series/norms -o FILE",
    .heading = "Norms of embeddings and of the stream",
    .laws = "position_norm",
    .choices = "step",
    .draws = draws,
    .draw = draw,
};
