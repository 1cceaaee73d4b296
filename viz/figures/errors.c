/* SPDX-License-Identifier: MIT
 *
 * Figure: the relative error of values by layer, of a recording against another one of
 * the same model and tokens in a finer format. Values and gradients have a graph each;
 * values of no layer stand left and right of them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/layer_axis.h"
#include "viz/read/rounding.h"

enum { MOST_LINES = 8 };

/* Sums of the same numbers in another order differ by less, relatively. */
#define SAME 1e-9

/* Errors of one name: compared->errors[begin] to [end - 1]. */
typedef struct run {
    size_t begin, end;
    double worst;
    bool drawn;
} run;

typedef struct drawing {
    txd_arena *arena;
    const txd_compared *compared;
    txd_graph *graph;
    run *runs;
    size_t run_count;
} drawing;

static double worst_of(double a, double b)
{
    return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

/* The names of one kind, those of gradients or those of values. */
static txd_status find_runs(drawing *d, txd_error_kind kind, bool gradients)
{
    const txd_error *errors = d->compared->errors;
    size_t count = d->compared->count;

    d->run_count = 0;
    d->runs = txd_arena_alloc(d->arena, count, sizeof *d->runs);
    if (!d->runs)
        return TXD_ERR_MEMORY;
    for (size_t i = 0, end; i < count; i = end) {
        run *next = &d->runs[d->run_count];

        end = txd_compared_end(d->compared, i);
        *next = (run){.begin = i, .end = end};
        for (size_t j = i; j < end; j++)
            next->worst = worst_of(next->worst, errors[j].relative);
        d->run_count +=
            errors[i].kind == kind && txd_error_is_gradient(&errors[i]) == gradients;
    }
    return TXD_OK;
}

/* The residual stream is what all errors come together in. */
static double weight_of(const drawing *d, const run *of)
{
    const char *name = d->compared->errors[of->begin].name;

    if (strstr(name, ".resid.pre"))
        return -1; /* the layer before has it already */
    return strstr(name, ".resid.post") ? (double)INFINITY : of->worst;
}

/* The same numbers in the same layers, as of a value and its rows in another order. */
static bool is_same(const drawing *d, const run *a, const run *b)
{
    const txd_error *errors = d->compared->errors;

    if (a->end - a->begin != b->end - b->begin)
        return false;
    for (size_t i = 0; i < a->end - a->begin; i++)
        if (errors[a->begin + i].layer != errors[b->begin + i].layer ||
            !txd_within(
                fabs(errors[a->begin + i].relative - errors[b->begin + i].relative),
                SAME * errors[a->begin + i].relative))
            return false;
    return true;
}

static bool repeats(const drawing *d, const run *of)
{
    for (size_t i = 0; i < d->run_count; i++)
        if (d->runs[i].drawn && is_same(d, &d->runs[i], of))
            return true;
    return false;
}

/* Lines are few enough to be told apart: the residual stream and the largest errors.
 * Returns how many are left out. */
static size_t choose_lines(drawing *d)
{
    size_t left_out = 0;

    for (size_t drawn = 0; drawn < MOST_LINES; drawn++) {
        run *best = NULL;

        for (size_t i = 0; i < d->run_count; i++)
            if (!d->runs[i].drawn && d->compared->errors[d->runs[i].begin].layer >= 0 &&
                (!best || weight_of(d, &d->runs[i]) > weight_of(d, best)) &&
                !repeats(d, &d->runs[i]))
                best = &d->runs[i];
        if (!best)
            break;
        best->drawn = true;
    }
    for (size_t i = 0; i < d->run_count; i++)
        left_out += !d->runs[i].drawn &&
                    d->compared->errors[d->runs[i].begin].layer >= 0 &&
                    !repeats(d, &d->runs[i]);
    return left_out;
}

static txd_status make_line(txd_line *line, const drawing *d, size_t count,
                            const char *name)
{
    *line = (txd_line){.name = name, .legend = true};
    line->x = txd_arena_alloc(d->arena, count, sizeof *line->x);
    line->y = txd_arena_alloc(d->arena, count, sizeof *line->y);
    return line->x && line->y ? TXD_OK : TXD_ERR_MEMORY;
}

/* "layers.*.attn.q@grad" as "attn.q": the axes say the rest. */
static const char *short_name(txd_arena *arena, const char *name)
{
    static const char prefix[] = "layers.*.";
    char *copy = txd_arena_string(arena, strncmp(name, prefix, sizeof prefix - 1) == 0
                                             ? name + sizeof prefix - 1
                                             : name);
    size_t length = copy ? strlen(copy) : 0, tail = sizeof TXD_GRADIENT_SUFFIX - 1;

    if (copy && txd_ends_in(copy, TXD_GRADIENT_SUFFIX))
        copy[length - tail] = '\0';
    return copy;
}

static txd_status add_layers(const drawing *d, const run *from)
{
    const txd_error *errors = d->compared->errors;
    const char *name = short_name(d->arena, errors[from->begin].name);
    txd_line *line = &d->graph->lines[d->graph->line_count++];

    TXD_TRY(name ? TXD_OK : TXD_ERR_MEMORY);
    TXD_TRY(make_line(line, d, from->end - from->begin, name));
    for (size_t i = from->begin; i < from->end; i++) {
        line->x[line->count] = errors[i].layer;
        line->y[line->count++] = errors[i].relative;
    }
    return TXD_OK;
}

/* Of errors of values: about the least that a format can do. */
static txd_status add_floor(const drawing *d)
{
    txd_line *line = &d->graph->lines[d->graph->line_count];
    double *errors;
    size_t count;

    TXD_TRY(txd_rounding_floor(&errors, &count, d->arena, d->compared));
    if (count == 0)
        return TXD_OK;
    TXD_TRY(make_line(line, d, count, "rounding of the stream alone"));
    for (size_t i = 0; i < count; i++) {
        line->x[line->count] = (double)i;
        line->y[line->count++] = errors[i];
    }
    line->dashed = true;
    d->graph->line_count++;
    return TXD_OK;
}

/* Values of no layer as points with their names below. */
static txd_status add_outside(const drawing *d)
{
    const txd_error *errors = d->compared->errors;
    txd_line *line = &d->graph->lines[d->graph->line_count];
    size_t counts[2] = {0, 0};
    txd_layer_axis axis;

    for (size_t i = 0; i < d->run_count; i++)
        if (errors[d->runs[i].begin].layer < 0)
            counts[txd_is_before_layers(errors[d->runs[i].begin].name) ? 0 : 1]++;
    TXD_TRY(txd_layer_axis_begin(&axis, d->arena, d->compared->layers, counts));
    if (counts[0] + counts[1] != 0) {
        TXD_TRY(make_line(line, d, counts[0] + counts[1], "outside the layers"));
        line->loose = true;
        d->graph->line_count++;
    }
    for (size_t i = 0; i < d->run_count; i++) {
        const txd_error *error = &errors[d->runs[i].begin];

        if (error->layer >= 0)
            continue;
        line->x[line->count] = txd_layer_axis_place(&axis, error->name);
        line->y[line->count++] = error->relative;
    }
    return txd_layer_axis_label(d->graph, &axis);
}

static txd_status fill_graph(drawing *d, bool with_floor, size_t *left_out)
{
    const txd_compared *compared = d->compared;
    char level[80];

    *left_out = choose_lines(d);
    d->graph->lines = txd_arena_alloc(d->arena, MOST_LINES + 2, sizeof(txd_line));
    if (!d->graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < d->run_count; i++)
        if (d->runs[i].drawn)
            TXD_TRY(add_layers(d, &d->runs[i]));
    TXD_TRY(add_outside(d));
    if (with_floor)
        TXD_TRY(add_floor(d));
    snprintf(level, sizeof level, "unit roundoff of %s: %.2g", compared->formats[1],
             compared->roundoff);
    d->graph->levels[0] = (txd_level){txd_arena_string(d->arena, level), TXD_COLOUR_INK,
                                      compared->roundoff};
    d->graph->level_count = 1;
    return d->graph->levels[0].name ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_error_kind best_kind(const txd_compared *compared)
{
    txd_error_kind best = TXD_ERROR_STATS;

    for (size_t i = 0; i < compared->count; i++)
        if (compared->errors[i].kind < best)
            best = compared->errors[i].kind;
    return best;
}

static bool has_floor(const txd_chart *chart)
{
    const txd_graph *graph = &chart->graphs[0];

    return graph->line_count > 0 && graph->lines[graph->line_count - 1].dashed;
}

/* A picture travels without the page around it. */
static txd_status note_faults(txd_chart *chart, const txd_compared *compared)
{
    const txd_trace *const runs[] = {compared->measured, compared->reference};
    static const char *const words[] = {
        "Different faults were planted: not all of this is rounding. Measured: ",
        "; reference: "};
    const char *faults[2];
    txd_text text;
    txd_status status;

    for (int i = 0; i < 2; i++)
        if (!(faults[i] = txd_trace_meta(runs[i], "faults")))
            return TXD_OK;
    if (strcmp(faults[0], faults[1]) == 0)
        return TXD_OK;
    txd_text_init(&text);
    for (int i = 0; i < 2; i++) {
        txd_text_add(&text, words[i]);
        txd_recording_words(&text, runs[i]);
    }
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_chart_note(chart, true, TXD_COLOUR_INK, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status describe(txd_chart *chart, const txd_compared *compared,
                           txd_error_kind kind, size_t left_out)
{
    static const char *const words[] = {
        [TXD_ERROR_FULL] = "L2 norm of the difference / L2 norm of the reference",
        [TXD_ERROR_ROWS] = "Only row statistics are in both recordings: their relative "
                           "difference",
        [TXD_ERROR_STATS] = "Only the rms is in both recordings: its relative "
                            "difference, which is no bound on the error"};
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_addf(&text, "Relative error by layer: %s against %s", compared->formats[1],
                  compared->formats[0]);
    chart->title = txd_arena_string(chart->arena, txd_text_get(&text));
    txd_text_finish(&text);
    if (!chart->title)
        return TXD_ERR_MEMORY;
    txd_text_addf(&text, "%s; %zu step%s", words[kind], compared->common,
                  compared->common == 1 ? "" : "s");
    if (left_out != 0)
        txd_text_addf(&text, "; %zu values with smaller errors are not drawn",
                      left_out);
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    if (status == TXD_OK)
        status = note_faults(chart, compared);
    if (status == TXD_OK && has_floor(chart))
        status = txd_chart_note(
            chart, false, TXD_COLOUR_QUIET,
            "Dotted, the rounding floor: what is left if nothing but the sums of the "
            "residual stream are rounded, each by 0.39 roundoffs (of all its elements "
            "together) and apart from the others");
    return status;
}

txd_status txd_chart_errors(txd_chart *out, txd_arena *arena,
                            const txd_compared *compared)
{
    txd_error_kind kind = best_kind(compared);
    size_t left_out = 0;

    *out = (txd_chart){.arena = arena};
    for (int gradients = 0; gradients < 2; gradients++) {
        txd_graph *graph = &out->graphs[out->graph_count];
        drawing d = {.arena = arena, .compared = compared, .graph = graph};
        size_t more;

        *graph = (txd_graph){.x_title = "in order of execution",
                             .y_title = gradients ? "relative error of gradients"
                                                  : "relative error",
                             .logarithmic = true,
                             .zero_is_well = true};
        TXD_TRY(find_runs(&d, kind, gradients != 0));
        if (d.run_count == 0)
            continue;
        TXD_TRY(fill_graph(&d, kind == TXD_ERROR_FULL && gradients == 0, &more));
        left_out += more;
        out->graph_count++;
    }
    return describe(out, compared, kind, left_out);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_compared compared;
    txd_chart chart;

    if (!request->other)
        return txd_fail(TXD_ERR_MISSING,
                        "needs a second recording, of the same model and tokens in a "
                        "finer format: txdiag plot REC.h5 errors --other OTHER.h5 -o "
                        "FILE");
    TXD_TRY(txd_compared_measure(&compared, out->arena, recording, request->other));
    TXD_TRY(txd_chart_errors(&chart, out->arena, &compared));
    return txd_chart_draw(out, &chart);
}

const txd_figure txd_figure_errors = {
    .name = "errors",
    .sentence = "relative errors by layer against a recording in a finer format "
                "(report REC OTHER)",
    .usage = "txdiag plot REC.h5 errors --other OTHER.h5 -o FILE",
    .heading = "Precision ladder: errors by layer",
    .draw = draw,
};
