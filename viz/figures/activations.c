/* SPDX-License-Identifier: MIT
 *
 * Figure: how large values are by layer, beside the largest number of float16: the
 * largest of each layer, and its root mean square. Of several steps the largest.
 */
#include <math.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/figures/layer_axis.h"
#include "viz/read/sizes.h"

#define FLOAT16_LARGEST 65504.0
#define FLOAT32_LARGEST 3.4028234663852886e38
/* From here on the end of float32 belongs into the picture. */
#define TOWARDS_FLOAT32 1e20

enum { MOST_LINES = 8 };

/* Lines that are drawn whatever their size, in this order. */
static const txd_point usual[] = {
    TXD_POINT_RESID_POST, TXD_POINT_ATTN_SCORES, TXD_POINT_CROSS_SCORES,
    TXD_POINT_ATTN_OUT,   TXD_POINT_MLP_ACT,     TXD_POINT_MLP_OUT,
};

/* What is not drawn beside a value that is nearly the same, unless it is much larger.
 */
static const struct {
    txd_point point, like;
} alike[] = {
    {TXD_POINT_RESID_PRE, TXD_POINT_RESID_POST},
    {TXD_POINT_RESID_MID, TXD_POINT_RESID_POST},
    {TXD_POINT_RESID_CROSS, TXD_POINT_RESID_POST},
    {TXD_POINT_ATTN_Q_PROJ, TXD_POINT_ATTN_Q},
    {TXD_POINT_ATTN_K_PROJ, TXD_POINT_ATTN_K},
    {TXD_POINT_CROSS_Q_PROJ, TXD_POINT_CROSS_Q},
    {TXD_POINT_CROSS_K_PROJ, TXD_POINT_CROSS_K},
};

/* --- what is drawn --- */

/* A branch is what its projection puts out, where no norm and no scale lie between. */
static bool repeats(const txd_value_sizes *s, const txd_size_curve *c)
{
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        const txd_size_curve *like =
            alike[i].point == c->point ? txd_size_curve_of(s, alike[i].like) : NULL;

        if (like && !(c->peak > 2 * like->peak))
            return true;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->of[i].drawn && txd_size_curves_equal(s, &s->of[i], c))
            return true;
    return false;
}

/* The usual ones, then those with the largest peaks; returns how many are left out. */
static size_t choose(txd_value_sizes *s)
{
    size_t drawn = 0, left_out = 0;

    for (size_t u = 0; u < sizeof usual / sizeof *usual; u++)
        for (size_t i = 0; i < s->count; i++) {
            s->of[i].drawn |= s->of[i].point == usual[u];
            drawn += s->of[i].point == usual[u];
        }
    for (; drawn < MOST_LINES; drawn++) {
        txd_size_curve *best = NULL;

        for (size_t i = 0; i < s->count; i++)
            if (!s->of[i].drawn && (!best || s->of[i].peak > best->peak) &&
                !repeats(s, &s->of[i]))
                best = &s->of[i];
        if (!best)
            break;
        best->drawn = true;
    }
    for (size_t i = 0; i < s->count; i++)
        left_out += !s->of[i].drawn && !repeats(s, &s->of[i]);
    return left_out;
}

static txd_status make_line(txd_line *line, txd_arena *arena, const char *name,
                            size_t count)
{
    *line = (txd_line){.name = name, .legend = true};
    line->x = txd_arena_alloc(arena, count, sizeof *line->x);
    line->y = txd_arena_alloc(arena, count, sizeof *line->y);
    return line->x && line->y ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status add_outside(txd_graph *graph, const txd_value_sizes *s,
                              const double *values)
{
    const txd_curves *curves = &s->curves;
    txd_line *line = &graph->lines[graph->line_count];
    size_t counts[2] = {0, 0};
    txd_layer_axis axis;

    for (size_t i = 0; i < curves->site_count; i++)
        if (!(values[i] < 0) && txd_size_is_outside(curves->sites[i]))
            counts[txd_is_before_layers(curves->sites[i]) ? 0 : 1]++;
    TXD_TRY(txd_layer_axis_begin(&axis, curves->arena, s->layers, counts));
    TXD_TRY(
        make_line(line, curves->arena, "outside the layers", counts[0] + counts[1]));
    line->loose = true;
    graph->line_count += counts[0] + counts[1] != 0;
    for (size_t i = 0; i < curves->site_count; i++) {
        if (values[i] < 0 || !txd_size_is_outside(curves->sites[i]))
            continue;
        line->x[line->count] = txd_layer_axis_place(&axis, curves->sites[i]);
        line->y[line->count++] = values[i];
    }
    return txd_layer_axis_label(graph, &axis);
}

static txd_status fill_graph(txd_graph *graph, const txd_value_sizes *s,
                             const double *values)
{
    txd_arena *arena = s->curves.arena;

    graph->lines = txd_arena_alloc(arena, MOST_LINES + 1, sizeof *graph->lines);
    if (!graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < s->count; i++) {
        const txd_size_curve *c = &s->of[i];
        txd_line *line = &graph->lines[graph->line_count];

        if (!c->drawn)
            continue;
        TXD_TRY(make_line(line, arena, txd_point_get(c->point)->name, c->count));
        for (size_t j = 0; j < c->count; j++) {
            line->x[line->count] = c->layers[j];
            line->y[line->count++] = values[c->rows[j]];
        }
        graph->line_count++;
    }
    return add_outside(graph, s, values);
}

/* --- limits and words --- */

static void add_levels(txd_graph *graph, double size)
{
    graph->levels[graph->level_count++] =
        (txd_level){"float16 ends at 65504", TXD_COLOUR_LEAK, FLOAT16_LARGEST};
    if (size > TOWARDS_FLOAT32)
        graph->levels[graph->level_count++] = (txd_level){
            "float32 and bf16 end at 3.4e38", TXD_COLOUR_INK, FLOAT32_LARGEST};
}

static void add_room(txd_text *text, double size, double limit, const char *formats)
{
    if (size >= limit)
        txd_text_addf(text, "beyond the end of %s (%.5g)", formats, limit);
    else
        txd_text_addf(text,
                      limit / size < 1e6
                          ? "a factor of %.0f below the end of %s (%.5g)"
                          : "a factor of %.2g below the end of %s (%.5g)",
                      limit / size, formats, limit);
}

static txd_status note_headroom(txd_chart *chart, const txd_value_sizes *s)
{
    bool is_bad = s->first_bad < s->curves.site_count;
    double size;
    const char *name = txd_sizes_highest(&size, s);
    txd_text text;
    txd_status status;

    if (!name)
        return TXD_OK;
    txd_text_init(&text);
    if (is_bad)
        txd_text_addf(&text, "No headroom: %s is not finite. Of what is, ",
                      s->curves.sites[s->first_bad]);
    txd_text_addf(&text, "%she largest of all layers is %.5g, in %s: ",
                  is_bad ? "t" : "Headroom: t", size, name);
    add_room(&text, size, FLOAT16_LARGEST, "float16");
    txd_text_add(&text, ", ");
    add_room(&text, size, FLOAT32_LARGEST, "float32 and bf16");
    status = txd_chart_note(chart, false,
                            is_bad || size >= FLOAT16_LARGEST ? TXD_COLOUR_LEAK
                                                              : TXD_COLOUR_INK,
                            txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status describe(txd_chart *chart, const txd_value_sizes *s, size_t left_out)
{
    const char *format = txd_trace_meta(s->curves.recording, "dtype");
    size_t steps = s->steps[1] - s->steps[0];
    txd_text text;
    txd_status status;

    chart->title = "Size of values by layer";
    txd_text_init(&text);
    txd_text_add(&text, "Valid tokens and cells that are seen");
    if (steps > 1)
        txd_text_addf(&text, "; of %zu steps the largest", steps);
    if (format)
        txd_text_addf(&text, "; this run is in %s", format);
    if (left_out != 0)
        txd_text_addf(&text, "; %zu more values are not drawn", left_out);
    status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    TXD_TRY(status);
    TXD_TRY(txd_chart_note_recording(chart, s->curves.recording));
    return note_headroom(chart, s);
}

txd_status txd_chart_activations(txd_chart *out, txd_arena *arena,
                                 const txd_trace *recording,
                                 const txd_figure_request *request)
{
    txd_value_sizes s;
    size_t left_out;
    double size;

    *out = (txd_chart){.arena = arena, .graph_count = 2};
    TXD_TRY(txd_sizes_read(&s, arena, recording, request->step));
    left_out = choose(&s);
    out->graphs[0] = (txd_graph){.x_title = "in order of execution",
                                 .y_title = "largest size",
                                 .logarithmic = true};
    out->graphs[1] = out->graphs[0];
    out->graphs[1].y_title = "root mean square";
    TXD_TRY(fill_graph(&out->graphs[0], &s, s.largest));
    TXD_TRY(fill_graph(&out->graphs[1], &s, s.rms));
    (void)txd_sizes_highest(&size, &s);
    add_levels(&out->graphs[0], size);
    return describe(out, &s, left_out);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_activations, recording, request);
}

static bool draws(const txd_figure_request *request)
{
    return strcmp(request->site, "series/stats") == 0;
}

const txd_figure txd_figure_activations = {
    .name = "activations",
    .sentence =
        "sizes of values by layer, largest and root mean square, with ends of formats",
    .usage = "txdiag plot REC.h5 activations -o FILE",
    .heading = "Size of values, and headroom",
    .laws = "headroom massive_channels",
    .choices = "step",
    .draws = draws,
    .draw = draw,
};
