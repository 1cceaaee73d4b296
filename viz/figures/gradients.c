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

static const char whole[] = "series/grad_norm", layers_pattern[] = "layers.*@grad";

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

static bool is_parameters(const char *site)
{
    return strcmp(site, layers_pattern) == 0 || txd_ends_in(site, ".weight@grad") ||
           txd_ends_in(site, ".bias@grad");
}

/* What is drawn where no site was chosen: layers, else the residual stream, else
 * whatever is recorded by layer. */
static const char *default_site(const txd_curves *curves, txd_arena *arena)
{
    static const char *const usual[] = {layers_pattern, "layers.*.resid.pre@grad"};

    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < curves->site_count; j++)
            if (txd_site_layer_in(usual[i], curves->sites[j]) >= 0)
                return usual[i];
    for (size_t j = 0; j < curves->site_count; j++) {
        char general[TXD_SITE_BYTES];

        txd_site_generalise(general, curves->sites[j]);
        if (strchr(general, '*'))
            return txd_arena_string(arena, general);
    }
    return layers_pattern;
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

static txd_status describe(txd_chart *chart, const txd_curves *curves, const char *site)
{
    size_t steps = chart->graphs[0].line_count;
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_addf(&text, "Gradient norms by layer: %s", site);
    chart->title = txd_arena_string(chart->arena, txd_text_get(&text));
    txd_text_finish(&text);
    if (!chart->title)
        return TXD_ERR_MEMORY;
    txd_text_add(&text, "L2 norm of the gradient of the loss by ");
    if (strcmp(site, layers_pattern) == 0)
        txd_text_add(&text, "all parameters of each layer");
    else
        txd_text_add_bytes(&text, site, strlen(site) - strlen(TXD_GRADIENT_SUFFIX));
    txd_text_add(&text, "; ");
    txd_lines_words(&text, steps);
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_chart_note_recording(chart, curves->recording)
                            : status;
}

txd_status txd_chart_gradients(txd_chart *out, txd_arena *arena,
                               const txd_trace *recording,
                               const txd_figure_request *request)
{
    const char *site = request->site;
    txd_graph *graph = &out->graphs[0];
    txd_curves curves;

    *out = (txd_chart){.arena = arena, .graph_count = 1};
    TXD_TRY(txd_curves_open(&curves, arena, recording, whole));
    if (strcmp(site, whole) == 0)
        site = default_site(&curves, arena);
    if (!site)
        return TXD_ERR_MEMORY;
    *graph = (txd_graph){.x_title = "layer",
                         .y_title = "gradient norm",
                         .logarithmic = true,
                         .ordered = true};
    TXD_TRY(fill_graph(graph, arena, &curves, request, site));
    if (is_parameters(site))
        txd_graph_gradient_band(graph);
    return describe(out, &curves, site);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_gradients, recording, request);
}

static bool draws(const txd_figure_request *request)
{
    return strcmp(request->site, "series/grad_norm") == 0 ||
           (request->layer < 0 && strchr(request->site, '*') &&
            txd_ends_in(request->site, "@grad"));
}

const txd_figure txd_figure_gradients = {
    .name = "gradients",
    .sentence = "norms of gradients by layer, a line per step, with the healthy band",
    .usage = "txdiag plot REC.h5 'layers.*@grad' -o FILE",
    .draws = draws,
    .draw = draw,
};
