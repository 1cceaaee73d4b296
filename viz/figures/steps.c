/* SPDX-License-Identifier: MIT
 *
 * Figure: the loss and the norm of the gradient over steps. A step without a backward
 * half has no gradient, which is not the same as one that is NaN.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/figures/figures.h"

#define MAX_STEPS ((size_t)1 << 24)

/* A column of /steps, with the numbers and kinds of its steps. */
typedef struct column {
    double *values; /* NULL if it was not recorded */
    int64_t *numbers;
    const char **kinds; /* NULL elements: not known */
    size_t count;
} column;

static txd_status read_kinds(column *c, txd_arena *arena, const txd_trace *recording)
{
    const char *const *kinds = NULL;
    size_t named = 0;

    c->kinds = txd_arena_alloc(arena, c->count, sizeof *c->kinds);
    if (!c->kinds)
        return TXD_ERR_MEMORY;
    if (txd_trace_strings(recording, &kinds, &named, "steps/kind") == TXD_OK &&
        named >= c->count)
        memcpy(c->kinds, kinds, c->count * sizeof *c->kinds);
    return TXD_OK;
}

static txd_status read_column(column *c, txd_arena *arena, const txd_trace *recording,
                              const char *name)
{
    const size_t start = 0;
    txd_trace_info info;
    size_t entry;

    *c = (column){.values = NULL};
    if (txd_trace_find(recording, &entry, name) != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_trace_get(recording, &info, entry));
    if (info.rank != 1 || info.dims[0] == 0 || info.dims[0] > MAX_STEPS)
        return TXD_OK;
    c->count = info.dims[0];
    c->values = txd_arena_alloc(arena, c->count, sizeof *c->values);
    if (!c->values)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_trace_read(recording, c->values, entry, &start, &c->count, TXD_F64));
    TXD_TRY(txd_step_numbers(&c->numbers, arena, recording, c->count));
    TXD_TRY(read_kinds(c, arena, recording));
    return TXD_OK;
}

static txd_status make_line(txd_graph *graph, txd_arena *arena, const column *c)
{
    size_t count = c->count;
    txd_line *line = txd_arena_alloc(arena, 1, sizeof *line);

    if (!line)
        return TXD_ERR_MEMORY;
    line->name = graph->y_title;
    line->x = txd_arena_alloc(arena, count, sizeof *line->x);
    line->y = txd_arena_alloc(arena, count, sizeof *line->y);
    if (!line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        line->x[i] = (double)c->numbers[i];
        line->y[i] = c->values[i];
    }
    line->count = count;
    graph->lines = line;
    graph->line_count = 1;
    return TXD_OK;
}

/* False if no token of the step predicts another; `labels` has room for a step. */
static bool predicts(const txd_trace *recording, size_t entry,
                     const txd_trace_info *info, int32_t *labels, size_t step)
{
    const size_t start[3] = {step, 0, 0}, count[3] = {1, info->dims[1], info->dims[2]};

    if (step >= info->dims[0] ||
        txd_trace_read(recording, labels, entry, start, count, TXD_I32) != TXD_OK)
        return true;
    for (size_t i = 0; i < count[1] * count[2]; i++)
        if (labels[i] >= 0)
            return true;
    return false;
}

/* Leaves out the steps without a loss, which is not the same as one that is NaN: moves
 * the others to the front, with their kinds; returns how many. */
static txd_status keep_losses(column *c, txd_arena *arena, const txd_trace *recording)
{
    int32_t *labels;
    txd_trace_info info;
    size_t entry, kept = 0;

    if (txd_trace_find(recording, &entry, "input/labels") != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_trace_get(recording, &info, entry));
    if (info.rank != 3)
        return TXD_OK;
    labels = txd_arena_alloc(arena, info.dims[1] * info.dims[2], sizeof *labels);
    if (!labels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < c->count; i++) {
        bool may_lack = isnan(c->values[i]) || c->values[i] == 0;

        if (may_lack && !predicts(recording, entry, &info, labels, i))
            continue;
        c->numbers[kept] = c->numbers[i];
        c->kinds[kept] = c->kinds[i];
        c->values[kept++] = c->values[i];
    }
    c->count = kept;
    return TXD_OK;
}

/* Leaves the steps that had a backward half. Where nothing says it, a norm that is NaN
 * in all steps was never formed. */
static void keep_backward(column *c)
{
    size_t kept = 0;
    bool any = false;

    for (size_t i = 0; i < c->count; i++)
        any |= !isnan(c->values[i]);
    for (size_t i = 0; i < c->count; i++) {
        if (c->kinds[i] ? strcmp(c->kinds[i], "backward") != 0 : !any)
            continue;
        c->numbers[kept] = c->numbers[i];
        c->values[kept++] = c->values[i];
    }
    c->count = kept;
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

/* What guessing evenly loses: where a model that was drawn begins. */
static txd_status add_even_guess(txd_graph *graph, txd_arena *arena,
                                 const txd_trace *recording)
{
    const char *weights = txd_trace_meta(recording, "weights");
    char name[64];
    txd_claim claim;
    txd_status status = txd_claim_init(&claim, recording, 0);
    double vocab = claim.configured ? (double)claim.config.vocab : 0;

    txd_claim_finish(&claim);
    if (status != TXD_OK || vocab < 2 || !weights || strcmp(weights, "drawn") != 0)
        return status;
    snprintf(name, sizeof name, "guessing evenly: ln %.0f = %.4g", vocab, log(vocab));
    graph->levels[graph->level_count++] =
        (txd_level){txd_arena_string(arena, name), TXD_COLOUR_QUIET, log(vocab)};
    return graph->levels[0].name ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status describe(txd_chart *chart, const txd_trace *recording)
{
    chart->title = chart->graph_count == 2      ? "Loss and gradient norm over steps"
                   : chart->graphs[0].band_name ? "Gradient norm over steps"
                                                : "Loss over steps";
    return txd_chart_note_recording(chart, recording);
}

/* Who asks for a column gets its one point. */
static bool names_a_column(const txd_figure_request *request)
{
    return request->site && strncmp(request->site, "steps/", 6) == 0;
}

txd_status txd_chart_steps(txd_chart *out, txd_arena *arena, const txd_trace *recording,
                           const txd_figure_request *request)
{
    txd_graph *graph = out->graphs;
    column loss, norm;

    *out = (txd_chart){.arena = arena};
    TXD_TRY(read_column(&loss, arena, recording, "steps/loss"));
    TXD_TRY(read_column(&norm, arena, recording, "steps/grad_norm"));
    TXD_TRY(keep_losses(&loss, arena, recording));
    TXD_TRY(keep_losses(&norm, arena, recording));
    keep_backward(&norm);
    if (loss.count != 0) {
        *graph = (txd_graph){.x_title = "step", .y_title = "loss"};
        TXD_TRY(make_line(graph, arena, &loss));
        choose_scale(graph);
        TXD_TRY(add_even_guess(graph, arena, recording));
        graph = &out->graphs[++out->graph_count];
    }
    if (norm.count != 0) {
        *graph = (txd_graph){.x_title = "step",
                             .y_title = "norm of the whole gradient",
                             .logarithmic = true};
        TXD_TRY(make_line(graph, arena, &norm));
        txd_graph_gradient_band(graph);
        out->graph_count++;
    }
    if (out->graph_count == 0)
        return txd_fail(TXD_ERR_MISSING, "steps: %s",
                        loss.values
                            ? "no token predicts another, so there is no loss"
                            : "neither a loss nor a gradient norm was recorded");
    if (loss.count < 2 && norm.count < 2 && !names_a_column(request))
        return txd_fail(TXD_ERR_MISSING,
                        "a curve needs several steps, one was recorded "
                        "(input.steps in model.cfg)");
    return describe(out, recording);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_steps, recording, request);
}

const txd_figure txd_figure_steps = {
    .name = "steps",
    .sentence = "the loss and the norm of the gradient over steps",
    .usage = "txdiag plot REC.h5 steps/loss -o FILE",
    .heading = "Loss and gradient over steps",
    .laws = "initial_loss",
    .draws = names_a_column,
    .draw = draw,
};
