/* SPDX-License-Identifier: MIT
 *
 * Figure: the loss and the norm of the gradient over steps. A step without a backward
 * half has no gradient, which is not the same as one that is NaN.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/curves.h"
#include "viz/figures.h"

#define MAX_STEPS ((size_t)1 << 24)

/* A column of /steps, NULL if it was not recorded. */
static txd_status read_column(double **out, size_t *count, txd_arena *arena,
                              const txd_trace *recording, const char *name)
{
    const size_t start = 0;
    txd_trace_info info;
    size_t entry;

    *out = NULL;
    *count = 0;
    if (txd_trace_find(recording, &entry, name) != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_trace_get(recording, &info, entry));
    if (info.rank != 1 || info.dims[0] == 0 || info.dims[0] > MAX_STEPS)
        return TXD_OK;
    *count = info.dims[0];
    *out = txd_arena_alloc(arena, *count, sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    return txd_trace_read(recording, *out, entry, &start, count, TXD_F64);
}

static txd_status make_line(txd_graph *graph, txd_arena *arena, const int64_t *numbers,
                            const double *values, size_t count)
{
    txd_line *line = txd_arena_alloc(arena, 1, sizeof *line);

    if (!line)
        return TXD_ERR_MEMORY;
    line->name = graph->y_title;
    line->x = txd_arena_alloc(arena, count, sizeof *line->x);
    line->y = txd_arena_alloc(arena, count, sizeof *line->y);
    if (!line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        line->x[i] = (double)numbers[i];
        line->y[i] = values[i];
    }
    line->count = count;
    graph->lines = line;
    graph->line_count = 1;
    return TXD_OK;
}

/* The steps that had a backward half. Where nothing says it, a norm that is NaN in all
 * steps was never formed. Moves them to the front; returns how many. */
static size_t keep_backward(int64_t *numbers, double *norms, size_t count,
                            const txd_trace *recording)
{
    const char *const *kinds = NULL;
    size_t kept = 0, named = 0;
    bool any = false;

    if (txd_trace_strings(recording, &kinds, &named, "steps/kind") != TXD_OK ||
        named < count)
        kinds = NULL;
    for (size_t i = 0; i < count; i++)
        any |= !isnan(norms[i]);
    for (size_t i = 0; i < count; i++) {
        if (kinds ? strcmp(kinds[i], "backward") != 0 : !any)
            continue;
        numbers[kept] = numbers[i];
        norms[kept++] = norms[i];
    }
    return kept;
}

/* A linear axis, unless it would hide most of the values. */
static void choose_scale(txd_graph *graph)
{
    double range[2];
    bool positive = true;

    for (size_t j = 0; j < graph->lines[0].count; j++)
        positive &= !(graph->lines[0].y[j] <= 0);
    txd_graph_range(range, graph);
    graph->logarithmic = positive && range[1] / range[0] > 50;
}

static txd_status describe(txd_chart *chart, const txd_trace *recording)
{
    chart->title = chart->graph_count == 2      ? "Loss and gradient norm over steps"
                   : chart->graphs[0].band_name ? "Gradient norm over steps"
                                                : "Loss over steps";
    return txd_chart_note_recording(chart, recording);
}

txd_status txd_chart_steps(txd_chart *out, txd_arena *arena, const txd_trace *recording,
                           const txd_figure_request *request)
{
    txd_graph *graph = out->graphs;
    double *loss, *norms;
    int64_t *numbers;
    size_t count, norm_count;

    (void)request;
    *out = (txd_chart){.arena = arena};
    TXD_TRY(read_column(&loss, &count, arena, recording, "steps/loss"));
    TXD_TRY(read_column(&norms, &norm_count, arena, recording, "steps/grad_norm"));
    if (loss) {
        *graph = (txd_graph){.x_title = "step", .y_title = "loss"};
        TXD_TRY(txd_step_numbers(&numbers, arena, recording, count));
        TXD_TRY(make_line(graph, arena, numbers, loss, count));
        choose_scale(graph);
        graph = &out->graphs[++out->graph_count];
    }
    if (norms) {
        TXD_TRY(txd_step_numbers(&numbers, arena, recording, norm_count));
        norm_count = keep_backward(numbers, norms, norm_count, recording);
    }
    if (norms && norm_count != 0) {
        *graph = (txd_graph){.x_title = "step",
                             .y_title = "norm of the whole gradient",
                             .logarithmic = true};
        TXD_TRY(make_line(graph, arena, numbers, norms, norm_count));
        txd_graph_gradient_band(graph);
        out->graph_count++;
    }
    if (out->graph_count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "steps: neither a loss nor a gradient norm was recorded");
    return describe(out, recording);
}

static txd_status image(txd_text *out, const txd_trace *recording,
                        const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_steps, recording, request);
}

const txd_figure txd_figure_steps = {
    .name = "steps",
    .sentence = "the loss and the norm of the gradient over steps",
    .usage = "txdiag plot REC.h5 steps/loss -o FILE",
    .image = image,
};
