/* SPDX-License-Identifier: MIT
 *
 * Figure: the norms of gradients by layer, a line per step. Of the parameters of whole
 * layers the healthy band is drawn; gradients of values depend on how many tokens share
 * the loss, and have none.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/figures/figures.h"

/* The healthy norms of a layer's gradient, and what is too much: where the law
 * grad_range warns and fails unless it is told otherwise. */
#define LOW 0.001
#define HIGH 10
#define TOO_LARGE 1000

#define MOST_LISTED 1200 /* characters of a message */

#define WORD(x) #x
#define NUMBER(x) WORD(x)

static const char whole[] = "series/grad_norm", layers_pattern[] = "layers.*@grad",
                  stream_pattern[] = "layers.*.resid.pre@grad";

/* Columns of the series, (step, site). */
typedef struct columns {
    double *norm, *count, *nonfinite;
} columns;

void txd_graph_gradient_band(txd_graph *graph)
{
    graph->band_name = "healthy: " NUMBER(LOW) " to " NUMBER(HIGH);
    graph->band[0] = LOW;
    graph->band[1] = HIGH;
    graph->levels[graph->level_count++] =
        (txd_level){"exploding above " NUMBER(TOO_LARGE), TXD_COLOUR_LEAK, TOO_LARGE};
}

static bool is_whole(const char *site)
{
    return !site || strcmp(site, whole) == 0 ||
           strcmp(site, txd_figure_gradients.name) == 0;
}

static bool is_parameters(const char *site)
{
    return strcmp(site, layers_pattern) == 0 || txd_ends_in(site, ".weight@grad") ||
           txd_ends_in(site, ".bias@grad");
}

static bool is_recorded(const txd_curves *curves, const char *site)
{
    for (size_t j = 0; j < curves->site_count; j++)
        if (txd_site_layer_in(site, curves->sites[j]) >= 0)
            return true;
    return false;
}

/* What is drawn where no site was chosen: layers and the residual stream, else whatever
 * is recorded by layer. Returns how many, one at least; NULL: memory is out. */
static size_t default_sites(const char *sites[TXD_CHART_GRAPHS],
                            const txd_curves *curves, txd_arena *arena)
{
    static const char *const usual[TXD_CHART_GRAPHS] = {layers_pattern, stream_pattern};
    size_t found = 0;

    for (size_t i = 0; i < TXD_CHART_GRAPHS; i++)
        if (is_recorded(curves, usual[i]))
            sites[found++] = usual[i];
    if (found > 0)
        return found;
    sites[0] = layers_pattern;
    for (size_t j = 0; j < curves->site_count; j++) {
        char general[TXD_SITE_BYTES];

        txd_site_generalise(general, curves->sites[j]);
        if (!strchr(general, '*'))
            continue;
        sites[0] = txd_arena_string(arena, general);
        break;
    }
    return 1;
}

static txd_status unknown(const txd_curves *curves, const char *site)
{
    char general[TXD_SITE_BYTES], last[TXD_SITE_BYTES] = "";
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_clean(&text, site, 100);
    txd_text_add(&text, ": no gradient norms of it were recorded. Recorded by layer:");
    for (size_t i = 0; i < curves->site_count; i++) {
        if (strncmp(curves->sites[i], "layers.0", 8) != 0)
            continue;
        txd_site_generalise(general, curves->sites[i]);
        if (strcmp(general, last) == 0)
            continue;
        if (text.length > MOST_LISTED) {
            txd_text_add(&text, ", ...");
            break;
        }
        txd_text_addf(&text, "%s %s", *last ? "," : "", general);
        memcpy(last, general, sizeof last);
    }
    if (*last == '\0')
        txd_text_add(&text, " nothing");
    status = txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

/* Nonfinite elements do not count in the norm, but must not look like a small one. */
static txd_status fill_line(txd_line *line, txd_arena *arena, const columns *from,
                            size_t step, const txd_curves *curves, const int *layers,
                            const size_t *rows, size_t count)
{
    line->x = txd_arena_alloc(arena, count, sizeof *line->x);
    line->y = txd_arena_alloc(arena, count, sizeof *line->y);
    if (!line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        size_t at = step * curves->site_count + rows[i];

        if (isnan(from->count[at])) /* not recorded in this step */
            continue;
        line->x[line->count] = layers[i];
        line->y[line->count++] = from->nonfinite[at] > 0 ? (double)NAN : from->norm[at];
    }
    return TXD_OK;
}

static txd_status fill_graph(txd_graph *graph, txd_arena *arena,
                             const txd_curves *curves,
                             const txd_figure_request *request, const char *site)
{
    size_t *rows, count, kept = 0, first = 0, end = curves->steps;
    int64_t *numbers;
    columns from;
    int *layers;

    TXD_TRY(txd_curves_layers(&layers, &rows, &count, curves, site));
    if (count == 0)
        return unknown(curves, site);
    if (request->step >= 0) {
        TXD_TRY(txd_choice(&first, "step", request->step, curves->steps));
        end = first + 1;
    }
    TXD_TRY(txd_curves_read(&from.norm, curves, "l2"));
    TXD_TRY(txd_curves_read(&from.count, curves, "count"));
    TXD_TRY(txd_curves_read(&from.nonfinite, curves, "nonfinite"));
    TXD_TRY(txd_step_numbers(&numbers, arena, curves->recording, curves->steps));
    graph->lines = txd_arena_alloc(arena, end - first, sizeof *graph->lines);
    if (!graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t step = first; step < end; step++) {
        txd_line *line = &graph->lines[kept];
        char name[40];

        TXD_TRY(fill_line(line, arena, &from, step, curves, layers, rows, count));
        snprintf(name, sizeof name, "step %lld", (long long)numbers[step]);
        line->name = txd_arena_string(arena, name);
        if (!line->name)
            return TXD_ERR_MEMORY;
        kept += line->count != 0;
    }
    graph->line_count = kept;
    txd_lines_thin(graph->lines, kept);
    return TXD_OK;
}

static void add_words(txd_text *text, const char *site)
{
    if (strcmp(site, layers_pattern) == 0)
        txd_text_add(text, "all parameters of each layer");
    else if (strcmp(site, stream_pattern) == 0)
        txd_text_add(text,
                     "the input of each layer: how much of it arrives from above");
    else
        txd_text_add_bytes(text, site, strlen(site) - strlen(TXD_GRADIENT_SUFFIX));
}

static txd_status describe(txd_chart *chart, const txd_curves *curves,
                           const char *const *sites)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_add(&text, "Gradient norms by layer");
    if (chart->graph_count == 1)
        txd_text_addf(&text, ": %s", sites[0]);
    chart->title = txd_arena_string(chart->arena, txd_text_get(&text));
    txd_text_finish(&text);
    if (!chart->title)
        return TXD_ERR_MEMORY;
    txd_text_add(&text, "L2 norm of the gradient of the loss by ");
    for (size_t i = 0; i < chart->graph_count; i++) {
        txd_text_add(&text, i ? " (above), and by " : "");
        add_words(&text, sites[i]);
    }
    txd_text_add(&text, chart->graph_count > 1 ? " (below); " : "; ");
    txd_lines_words(&text, chart->graphs[0].line_count);
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_chart_note_recording(chart, curves->recording)
                            : status;
}

txd_status txd_chart_gradients(txd_chart *out, txd_arena *arena,
                               const txd_trace *recording,
                               const txd_figure_request *request)
{
    const char *sites[TXD_CHART_GRAPHS] = {request->site, NULL};
    txd_curves curves;

    *out = (txd_chart){.arena = arena, .graph_count = 1};
    TXD_TRY(txd_curves_open(&curves, arena, recording, whole));
    if (is_whole(request->site))
        out->graph_count = default_sites(sites, &curves, arena);
    for (size_t i = 0; i < out->graph_count; i++) {
        txd_graph *graph = &out->graphs[i];

        if (!sites[i])
            return TXD_ERR_MEMORY;
        *graph =
            (txd_graph){.x_title = "layer",
                        .y_title = i ? "gradient norm at the input" : "gradient norm",
                        .logarithmic = true,
                        .ordered = true};
        TXD_TRY(fill_graph(graph, arena, &curves, request, sites[i]));
        if (is_parameters(sites[i]))
            txd_graph_gradient_band(graph);
    }
    return describe(out, &curves, sites);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_gradients, recording, request);
}

static bool draws(const txd_figure_request *request)
{
    return strcmp(request->site, whole) == 0 ||
           (request->layer < 0 && strchr(request->site, '*') &&
            txd_ends_in(request->site, "@grad"));
}

const txd_figure txd_figure_gradients = {
    .name = "gradients",
    .sentence = "norms of gradients by layer, a line per step, with the healthy band",
    .usage = "txdiag plot REC.h5 'layers.*@grad' -o FILE",
    .heading = "Gradients by layer",
    .laws = "grad_range",
    .choices = "step",
    .draws = draws,
    .draw = draw,
};
