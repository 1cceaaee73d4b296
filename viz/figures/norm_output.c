/* SPDX-License-Identifier: MIT
 *
 * Figure: how much the outputs of norms vary, by layer. The standard deviation, and the
 * root mean square in parts of what gain and bias make of a normalised vector: that is
 * what a norm promises, and what training does not move.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/figures/layer_axis.h"
#include "viz/read/curves.h"

/* What the law norm_moments tells of, and of what it warns, unless it is told
 * otherwise. */
#define LOW 0.8
#define HIGH 1.2
#define ALARM_LOW 0.5
#define ALARM_HIGH 2

#define WORD(x) #x
#define NUMBER(x) WORD(x)

enum { MOST_SITE = 96 };

static const struct {
    txd_point point;
    const char *parameters; /* what its gain and bias are called, without the ending */
} norms[] = {
    {TXD_POINT_EMBED_NORM, "embed_norm"},
    {TXD_POINT_NORM1_OUT, "norm1"},
    {TXD_POINT_ATTN_Q_NORM, "attn.q_norm"},
    {TXD_POINT_ATTN_K_NORM, "attn.k_norm"},
    {TXD_POINT_NORM1_POST_OUT, "norm1_post"},
    {TXD_POINT_NORM_CROSS_OUT, "norm_cross"},
    {TXD_POINT_CROSS_Q_NORM, "cross.q_norm"},
    {TXD_POINT_CROSS_K_NORM, "cross.k_norm"},
    {TXD_POINT_NORM_CROSS_POST_OUT, "norm_cross_post"},
    {TXD_POINT_NORM2_OUT, "norm2"},
    {TXD_POINT_NORM2_POST_OUT, "norm2_post"},
    {TXD_POINT_FINAL_NORM, "final_norm"},
    {TXD_POINT_HEAD_NORM, "head_norm"},
};

enum { NORMS = sizeof norms / sizeof *norms };

/* One norm in one layer (-1 = of no layer). */
typedef struct place {
    size_t norm;
    int layer;
    size_t row;
    double std, rms; /* of the steps the farthest from 1; NaN = not finite */
    double expected; /* rms by gain and bias; NaN = not known */
} place;

typedef struct outputs {
    txd_curves curves;
    size_t steps[2]; /* first, and one past the last */
    double *count, *std, *rms, *nonfinite;
    place *places;
    size_t place_count, layers;
    bool is_drawn;    /* the weights are: gains as they are before training */
    bool is_claimed;  /* the configuration is known */
    bool is_rms;      /* root mean square norms */
    bool has_gains;   /* of every norm it is known what gain and bias give */
    bool gains_are_1; /* and that is 1 */
} outputs;

/* --- reading --- */

static bool find_norm(size_t *norm, int *layer, const char *site)
{
    txd_point point;

    if (txd_ends_in(site, TXD_GRADIENT_SUFFIX) ||
        !txd_point_of_name(&point, layer, site))
        return false;
    for (size_t i = 0; i < NORMS; i++)
        if (norms[i].point == point) {
            *norm = i;
            return true;
        }
    return false;
}

/* NaN stays; else what is farther from 1, by its factor. */
static double farther(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return fabs(log(b)) > fabs(log(a)) ? b : a;
}

/* False if it was recorded in none of the steps. */
static bool read_place(place *p, const outputs *s)
{
    bool any = false;

    for (size_t step = s->steps[0]; step < s->steps[1]; step++) {
        size_t at = step * s->curves.site_count + p->row;
        bool is_bad = s->nonfinite[at] > 0;
        double std = is_bad ? (double)NAN : s->std[at];
        double rms = is_bad ? (double)NAN : s->rms[at];

        if (isnan(s->count[at]) || (s->count[at] == 0 && !is_bad))
            continue;
        p->std = any ? farther(p->std, std) : std;
        p->rms = any ? farther(p->rms, rms) : rms;
        any = true;
    }
    return any;
}

static txd_status find_places(outputs *s)
{
    const txd_curves *curves = &s->curves;

    s->places = txd_arena_alloc(curves->arena, curves->site_count, sizeof *s->places);
    if (!s->places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < curves->site_count; i++) {
        place *p = &s->places[s->place_count];

        *p = (place){.row = i, .expected = (double)NAN};
        if (!find_norm(&p->norm, &p->layer, curves->sites[i]) || !read_place(p, s))
            continue;
        s->place_count++;
        if (p->layer >= 0 && (size_t)p->layer >= s->layers)
            s->layers = (size_t)p->layer + 1;
    }
    return TXD_OK;
}

/* Columns of /series/param. */
typedef struct gains {
    txd_curves curves;
    double *mean, *rms, offset;
} gains;

static bool find_parameter(size_t *row, const gains *from, const place *p,
                           const char *ending)
{
    char site[MOST_SITE];

    if (p->layer < 0)
        snprintf(site, sizeof site, "%s.%s", norms[p->norm].parameters, ending);
    else
        snprintf(site, sizeof site, "layers.%d.%s.%s", p->layer,
                 norms[p->norm].parameters, ending);
    return txd_curves_find(row, &from->curves, site);
}

/* Of a vector of mean 0 and mean square 1 whose elements go their own ways. */
static double expect(const gains *from, const place *p)
{
    double square, offset = from->offset;
    size_t row;

    if (!find_parameter(&row, from, p, "weight"))
        return (double)NAN;
    square = offset * offset + 2 * offset * from->mean[row] +
             from->rms[row] * from->rms[row];
    if (find_parameter(&row, from, p, "bias"))
        square += from->rms[row] * from->rms[row];
    return sqrt(square);
}

static txd_status read_gains(outputs *s, const txd_claim *claim)
{
    gains from = {.offset = claim->configured ? claim->config.norm_offset : 0};
    size_t entry;

    s->has_gains =
        txd_trace_find(s->curves.recording, &entry, "series/param") == TXD_OK;
    if (!s->has_gains)
        return TXD_OK;
    TXD_TRY(txd_curves_open(&from.curves, s->curves.arena, s->curves.recording,
                            "series/param"));
    TXD_TRY(txd_curves_read(&from.mean, &from.curves, "mean"));
    TXD_TRY(txd_curves_read(&from.rms, &from.curves, "rms"));
    s->gains_are_1 = true;
    for (size_t i = 0; i < s->place_count; i++) {
        place *p = &s->places[i];

        p->expected = expect(&from, p);
        s->has_gains &= p->expected > 0 && isfinite(p->expected);
        s->gains_are_1 &= fabs(p->expected - 1) < 1e-6;
    }
    s->gains_are_1 &= s->has_gains;
    return TXD_OK;
}

static txd_status read_claim(outputs *s)
{
    const char *weights = txd_trace_meta(s->curves.recording, "weights");
    txd_claim claim;
    txd_status status = txd_claim_init(&claim, s->curves.recording, s->steps[0]);

    s->is_drawn = weights && strcmp(weights, "drawn") == 0;
    if (status == TXD_OK) {
        s->is_claimed = claim.configured;
        s->is_rms = claim.configured && claim.config.norm == TXD_NORM_RMS;
        status = read_gains(s, &claim);
    }
    txd_claim_finish(&claim);
    return status;
}

static txd_status read_outputs(outputs *s, txd_arena *arena, const txd_trace *recording,
                               const txd_figure_request *request)
{
    *s = (outputs){.place_count = 0};
    TXD_TRY(txd_curves_open(&s->curves, arena, recording, "series/stats"));
    s->steps[1] = s->curves.steps;
    if (request->step >= 0) {
        TXD_TRY(txd_choice(&s->steps[0], "step", request->step, s->curves.steps));
        s->steps[1] = s->steps[0] + 1;
    }
    TXD_TRY(txd_curves_read(&s->count, &s->curves, "count"));
    TXD_TRY(txd_curves_read(&s->std, &s->curves, "std"));
    TXD_TRY(txd_curves_read(&s->rms, &s->curves, "rms"));
    TXD_TRY(txd_curves_read(&s->nonfinite, &s->curves, "nonfinite"));
    TXD_TRY(find_places(s));
    if (s->place_count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "series/stats: no output of a norm was recorded; to record "
                        "them, in model.cfg: record = ( { probe = \"stats\"; } );");
    return read_claim(s);
}

/* --- the graphs --- */

static double value_of(const outputs *s, const place *p, bool by_gain)
{
    if (!by_gain)
        return p->std;
    return s->has_gains ? p->rms / p->expected : p->rms;
}

static txd_status begin_line(txd_line *line, const outputs *s, const char *name)
{
    *line = (txd_line){.name = name, .legend = true};
    line->x = txd_arena_alloc(s->curves.arena, s->place_count, sizeof *line->x);
    line->y = txd_arena_alloc(s->curves.arena, s->place_count, sizeof *line->y);
    return line->x && line->y ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status add_outside(txd_graph *graph, const outputs *s, bool by_gain)
{
    txd_line *line = &graph->lines[graph->line_count];
    size_t counts[2] = {0, 0};
    txd_layer_axis axis;

    for (size_t i = 0; i < s->place_count; i++)
        if (s->places[i].layer < 0)
            counts[txd_is_before_layers(s->curves.sites[s->places[i].row]) ? 0 : 1]++;
    TXD_TRY(txd_layer_axis_begin(&axis, s->curves.arena, s->layers, counts));
    TXD_TRY(begin_line(line, s, "outside the layers"));
    line->loose = true;
    for (size_t i = 0; i < s->place_count; i++) {
        const place *p = &s->places[i];

        if (p->layer >= 0)
            continue;
        line->x[line->count] = txd_layer_axis_place(&axis, s->curves.sites[p->row]);
        line->y[line->count++] = value_of(s, p, by_gain);
    }
    graph->line_count += line->count != 0;
    return txd_layer_axis_label(graph, &axis);
}

/* Linear, unless it would hide most of the values. */
static void choose_scale(txd_graph *graph)
{
    double range[2];

    graph->logarithmic = true; /* what is 0 does not count */
    txd_graph_range(range, graph);
    graph->logarithmic = range[0] < 0.05 || range[1] > 10;
}

static void add_reference(txd_graph *graph)
{
    graph->band_name = "usual: " NUMBER(LOW) " to " NUMBER(HIGH);
    graph->band[0] = LOW;
    graph->band[1] = HIGH;
    graph->levels[graph->level_count++] =
        (txd_level){"far off below " NUMBER(ALARM_LOW), TXD_COLOUR_LEAK, ALARM_LOW};
    graph->levels[graph->level_count++] =
        (txd_level){"far off above " NUMBER(ALARM_HIGH), TXD_COLOUR_LEAK, ALARM_HIGH};
}

static txd_status fill_graph(txd_graph *graph, const outputs *s, bool by_gain)
{
    graph->x_title = "in order of execution";
    graph->y_title = !by_gain                          ? "standard deviation"
                     : s->has_gains && !s->gains_are_1 ? "rms / that of gain and bias"
                                                       : "root mean square";
    graph->lines = txd_arena_alloc(s->curves.arena, NORMS + 1, sizeof *graph->lines);
    if (!graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t norm = 0; norm < NORMS; norm++) {
        txd_line *line = &graph->lines[graph->line_count];

        TXD_TRY(begin_line(line, s, txd_point_get(norms[norm].point)->name));
        for (size_t i = 0; i < s->place_count; i++) {
            const place *p = &s->places[i];

            if (p->norm != norm || p->layer < 0)
                continue;
            line->x[line->count] = p->layer;
            line->y[line->count++] = value_of(s, p, by_gain);
        }
        graph->line_count += line->count != 0;
    }
    TXD_TRY(add_outside(graph, s, by_gain));
    choose_scale(graph);
    if (by_gain ? s->has_gains || s->is_drawn : s->is_drawn)
        add_reference(graph);
    return TXD_OK;
}

static txd_status describe(txd_chart *chart, const outputs *s)
{
    size_t steps = s->steps[1] - s->steps[0];
    txd_text text;
    txd_status status;

    chart->title = "Outputs of the norms by layer";
    txd_text_init(&text);
    txd_text_addf(&text, "%sValid tokens",
                  !s->is_claimed ? ""
                  : s->is_rms
                      ? "Claimed: rmsnorm, which promises the root mean square alone. "
                      : "Claimed: layernorm, which promises mean 0 and deviation 1. ");
    if (steps > 1)
        txd_text_addf(&text, "; of %zu steps the value farthest from 1", steps);
    if (!s->is_drawn)
        txd_text_add(&text, "; the weights are trained, and training moves the gains");
    if (!s->has_gains && !s->is_drawn)
        txd_text_add(&text, " (not recorded: the probe norms records them)");
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_chart_note_recording(chart, s->curves.recording)
                            : status;
}

txd_status txd_chart_norm_output(txd_chart *out, txd_arena *arena,
                                 const txd_trace *recording,
                                 const txd_figure_request *request)
{
    outputs s;

    *out = (txd_chart){.arena = arena, .graph_count = 1};
    TXD_TRY(read_outputs(&s, arena, recording, request));
    TXD_TRY(fill_graph(&out->graphs[0], &s, false));
    /* A layernorm whose gains are 1 would show the same twice. */
    if (s.is_rms || !s.is_claimed || (s.has_gains && !s.gains_are_1))
        TXD_TRY(fill_graph(&out->graphs[out->graph_count++], &s, true));
    return describe(out, &s);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_norm_output, recording, request);
}

const txd_figure txd_figure_norm_output = {
    .name = "norm_output",
    .sentence = "how much the outputs of norms vary, by layer, with the usual band",
    .usage = "txdiag plot REC.h5 norm_output -o FILE",
    .heading = "Outputs of the norms",
    .laws = "norm_moments norm_output",
    .choices = "step",
    .draw = draw,
};
