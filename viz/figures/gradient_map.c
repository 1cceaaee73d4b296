/* SPDX-License-Identifier: MIT
 *
 * Figure: the norms of the gradient of every layer at every step as a map. Colours grow
 * lighter with the norm and change their kind at the ends of the healthy band.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/read/curves.h"

static const char site[] = "layers.*@grad";

enum { MOST_TICS = 14 };

/* What is left of a cell once some of its layers and steps were taken. */
typedef struct cell {
    double value; /* the farthest from the band; NaN = nothing yet */
    bool zero, nonfinite;
} cell;

typedef struct norms {
    txd_curves curves;
    int *layers;
    size_t *rows, count;
    int64_t *steps; /* numbers */
    double *norm, *elements, *nonfinite;
    double band[2];
    /* Values, not cells, beyond each end of the band; what is exactly 0 is below. */
    size_t below, above;
} norms;

static txd_status read_norms(norms *s, txd_arena *arena, const txd_trace *recording)
{
    txd_graph graph = {.level_count = 0};

    *s = (norms){.count = 0};
    txd_graph_gradient_band(&graph);
    s->band[0] = graph.band[0];
    s->band[1] = graph.band[1];
    TXD_TRY(txd_curves_open(&s->curves, arena, recording, "series/grad_norm"));
    TXD_TRY(txd_curves_layers(&s->layers, &s->rows, &s->count, &s->curves, site));
    if (s->count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "series/grad_norm: the gradients of whole layers (%s) were not "
                        "recorded; to record them, in model.cfg: record = ( { probe = "
                        "\"grad_norm\"; } );",
                        site);
    if (s->curves.steps < 2)
        return txd_fail(TXD_ERR_MISSING,
                        "%zu step was recorded, a map needs several "
                        "(input.steps in model.cfg); the figure gradients shows one",
                        s->curves.steps);
    TXD_TRY(txd_curves_read(&s->norm, &s->curves, "l2"));
    TXD_TRY(txd_curves_read(&s->elements, &s->curves, "count"));
    TXD_TRY(txd_curves_read(&s->nonfinite, &s->curves, "nonfinite"));
    return txd_step_numbers(&s->steps, arena, recording, s->curves.steps);
}

/* How far a norm is outside of the band, in decades; inside, less than 0. */
static double outside(const norms *s, double value)
{
    return fmax(log10(s->band[0] / value), log10(value / s->band[1]));
}

/* Several layers or steps of one cell show the one that is farthest out. */
static void take(cell *into, norms *s, size_t layer, size_t step)
{
    size_t at = step * s->curves.site_count + s->rows[layer];
    double value = s->norm[at];

    if (isnan(s->elements[at]))
        return; /* not recorded in this step */
    if (s->nonfinite[at] > 0 || !isfinite(value) || value < 0) {
        into->nonfinite = true;
        return;
    }
    s->below += value < s->band[0];
    s->above += value > s->band[1];
    if (value == 0)
        into->zero = true;
    else if (isnan(into->value) || outside(s, value) > outside(s, into->value))
        into->value = value;
}

static void mark(txd_marks *marks, size_t row, size_t column)
{
    if (marks->total++ == 0) {
        marks->row = row;
        marks->column = column;
    }
}

static void put(txd_map *map, size_t at, const cell *from, size_t row, size_t column)
{
    map->cells[at] = from->value;
    if (from->zero) {
        map->cells[at] = 0; /* the darkest colour, once the range is known */
        map->flags[at] |= TXD_FLAG_LEAK;
        mark(&map->leaks, row, column);
    }
    if (from->nonfinite) {
        map->flags[at] |= TXD_FLAG_NONFINITE;
        mark(&map->nonfinite, row, column);
    }
}

static txd_status make_axis(txd_axis *axis, txd_arena *arena, size_t count)
{
    axis->count = count;
    axis->cells = count < TXD_MAP_CELLS ? count : TXD_MAP_CELLS;
    axis->places = txd_arena_alloc(arena, count, sizeof *axis->places);
    return axis->places ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status fill(txd_map *map, norms *s)
{
    size_t rows, columns;

    TXD_TRY(make_axis(&map->rows, map->arena, s->count));
    TXD_TRY(make_axis(&map->columns, map->arena, s->curves.steps));
    rows = map->rows.cells;
    columns = map->columns.cells;
    map->cells = txd_arena_alloc(map->arena, rows * columns, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, rows * columns, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows * columns; i++) {
        const size_t row = i / columns, column = i % columns;
        size_t layer = row * s->count / rows, step = column * s->curves.steps / columns;
        cell value = {.value = (double)NAN};

        for (size_t l = layer; l < (row + 1) * s->count / rows; l++)
            for (size_t t = step; t < (column + 1) * s->curves.steps / columns; t++)
                take(&value, s, l, t);
        put(map, i, &value, layer, step);
    }
    return TXD_OK;
}

/* Whole decades that hold all values, and the band with one more on each side. */
static void scale(txd_map *map, const norms *s)
{
    size_t cells = map->rows.cells * map->columns.cells;
    double low = log10(s->band[0]) - 1, high = log10(s->band[1]) + 1;

    for (size_t i = 0; i < cells; i++)
        if (map->cells[i] > 0) {
            low = fmin(low, floor(log10(map->cells[i])));
            high = fmax(high, ceil(log10(map->cells[i])));
        }
    map->logarithmic = true;
    map->low = pow(10, fmax(low, -280));
    map->high = pow(10, fmin(high, 280));
    for (size_t i = 0; i < cells; i++)
        if (!isnan(map->cells[i]))
            map->cells[i] = fmin(fmax(map->cells[i], map->low), map->high);
}

static void add_stop(txd_text *out, double place, const char *colours)
{
    txd_text_add_real(out, place);
    txd_text_addf(out, " %s", colours);
}

static void add_decade(txd_text *out, double decade, const char *comma)
{
    if (fabs(decade) <= 3)
        txd_text_addf(out, "%s'%.12g' ", comma, pow(10, decade));
    else
        txd_text_addf(out, "%s'1e%.0f' ", comma, decade);
    txd_text_add_real(out, pow(10, decade));
}

/* Dark and violet below the band, bluish to green within, yellow to white above: in
 * greyscale, too, lighter is larger, with steps at both ends. */
static txd_status add_colours(txd_map *map, const norms *s)
{
    double low = log10(map->low), span = log10(map->high) - low;
    double begin = (log10(s->band[0]) - low) / span;
    double end = (log10(s->band[1]) - low) / span;
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_add(&text, "set palette defined (0 '#12052b', ");
    add_stop(&text, begin, "'#54257c', ");
    add_stop(&text, begin, "'#2a6f9e', ");
    add_stop(&text, end, "'#66b58a', ");
    add_stop(&text, end, "'#f5cb45', ");
    txd_text_add(&text, "1 '#fffbe6')\nset cbtics (");
    for (double decade = ceil(low); decade <= low + span + 1e-9;
         decade += ceil(span / 12))
        add_decade(&text, decade, decade > low ? ", " : "");
    txd_text_add(&text, ")\n");
    map->extra = txd_arena_string(map->arena, txd_text_get(&text));
    status = txd_text_status(&text);
    txd_text_finish(&text);
    return map->extra ? status : TXD_ERR_MEMORY;
}

/* "'0' 0, '20' 20": the numbers of some of the places. */
static txd_status add_tics(txd_axis *axis, const norms *s, bool of_steps)
{
    size_t every = 1 + (axis->cells - 1) / MOST_TICS;
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; i < axis->cells; i += every) {
        size_t place = i * axis->count / axis->cells;

        txd_text_addf(
            &text, "%s'%lld' %zu", i ? ", " : "",
            of_steps ? (long long)s->steps[place] : (long long)s->layers[place], i);
    }
    axis->tics = txd_arena_string(s->curves.arena, txd_text_get(&text));
    txd_text_finish(&text);
    return axis->tics ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status note_marks(txd_map *map, const norms *s)
{
    const struct {
        const txd_marks *marks;
        const char *colour, *what;
    } kinds[] = {{&map->leaks, TXD_COLOUR_LEAK, "exactly 0"},
                 {&map->nonfinite, TXD_COLOUR_NONFINITE, "NaN or infinite"}};
    char line[200];

    for (size_t i = 0; i < 2; i++) {
        const txd_marks *marks = kinds[i].marks;

        if (marks->total == 0)
            continue;
        snprintf(line, sizeof line,
                 "Marked in this colour: %zu cell%s, %s; first: layer %d, step %lld",
                 marks->total, marks->total == 1 ? "" : "s", kinds[i].what,
                 s->layers[marks->row], (long long)s->steps[marks->column]);
        TXD_TRY(txd_map_note(map, false, kinds[i].colour, line));
    }
    return TXD_OK;
}

static txd_status describe(txd_map *map, const norms *s)
{
    bool shared =
        map->rows.cells < map->rows.count || map->columns.cells < map->columns.count;
    char line[320];

    map->title = "Gradient norms by layer and step";
    snprintf(line, sizeof line,
             "L2 norm of the gradient of the loss by all parameters of each layer; %zu "
             "steps; colours logarithmic from %.3g to %.3g%s",
             s->curves.steps, map->low, map->high,
             shared ? "; cells that several share show the norm farthest outside" : "");
    TXD_TRY(txd_map_note(map, true, TXD_COLOUR_QUIET, line));
    snprintf(line, sizeof line,
             "Healthy, in blue and green: %g to %g. Violet, below: %zu of the norms; "
             "yellow, above: %zu",
             s->band[0], s->band[1], s->below, s->above);
    TXD_TRY(txd_map_note(
        map, true, s->below + s->above ? TXD_COLOUR_INK : TXD_COLOUR_QUIET, line));
    TXD_TRY(txd_map_note_recording(map, s->curves.recording));
    return note_marks(map, s);
}

txd_status txd_map_gradients(txd_map *out, txd_arena *arena, const txd_trace *recording)
{
    norms s;

    *out = (txd_map){.arena = arena};
    TXD_TRY(read_norms(&s, arena, recording));
    TXD_TRY(fill(out, &s));
    scale(out, &s);
    out->rows.title = "layer";
    out->columns.title = "step";
    TXD_TRY(add_tics(&out->rows, &s, false));
    TXD_TRY(add_tics(&out->columns, &s, true));
    TXD_TRY(add_colours(out, &s));
    return describe(out, &s);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_map map;

    (void)request;
    TXD_TRY(txd_map_gradients(&map, out->arena, recording));
    return txd_map_draw(out, &map);
}

const txd_figure txd_figure_gradient_map = {
    .name = "gradient_map",
    .sentence = "norms of gradients, layers by steps, with the healthy band in colours",
    .usage = "txdiag plot REC.h5 gradient_map -o FILE",
    .heading = "Gradients by layer and step",
    .draw = draw,
};
