/* SPDX-License-Identifier: MIT
 *
 * Figure: all heads of all layers as one picture, layers down and heads across. The
 * panels are put together here into a single image: gnuplot takes 70 s for 144 panels
 * of 1024 x 1024, and half a second for one image of the same size on paper.
 */
#include <math.h>
#include <stdio.h>

#include "viz/figures/figures.h"
#include "viz/figures/panels.h"

enum { WHOLE = 960, LEAST_PANEL = 6, MOST_PANEL = 200, MOST_SIDE = 8192, GAP = 4 };

#define FRAME 1.5 /* from the cells to the middle of their frame */

typedef struct mosaic {
    txd_map *map; /* of the whole picture */
    const char *site;
    txd_panels *panels;
    txd_arena *scratch; /* of one panel */
    size_t panel[2];    /* height and width of a panel in pixels, 0 before the first */
    size_t zoom[2];     /* pixels per cell */
    size_t limit, rows, columns;
    txd_text frames;
    int leak_layer;
    size_t leak_head, nonfinite_head, queries, keys;
    int peak_layer;
    size_t peak_head;
    int nonfinite_layer;
} mosaic;

static size_t panel_limit(const txd_panels *panels)
{
    size_t most =
        panels->layer_count > panels->heads ? panels->layer_count : panels->heads;
    size_t limit = WHOLE / most;

    limit = limit > GAP + LEAST_PANEL ? limit - GAP : LEAST_PANEL;
    return limit > MOST_PANEL ? MOST_PANEL : limit;
}

/* The first panel settles the size of all. */
static txd_status size_mosaic(mosaic *m, const txd_map *first)
{
    txd_map *map = m->map;
    size_t cells[2] = {first->rows.cells, first->columns.cells}, total;
    size_t zoom = m->limit / (cells[0] > cells[1] ? cells[0] : cells[1]);

    m->queries = first->rows.count;
    m->keys = first->columns.count;
    if ((double)m->queries * (double)m->keys * (double)m->panels->layer_count *
            (double)m->panels->heads >
        TXD_MAP_VALUES)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu layers of %zu heads of %zu x %zu values are too many to "
                        "read for one picture: choose some with --layer, --query and "
                        "--key",
                        m->panels->layer_count, m->panels->heads, m->queries, m->keys);
    for (int i = 0; i < 2; i++) {
        m->zoom[i] = zoom ? zoom : 1;
        m->panel[i] = cells[i] * m->zoom[i];
    }
    map->rows.cells = m->panels->layer_count * (m->panel[0] + GAP) - GAP;
    map->columns.cells = m->panels->heads * (m->panel[1] + GAP) - GAP;
    if (map->rows.cells > MOST_SIDE || map->columns.cells > MOST_SIDE)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu layers of %zu heads do not fit one picture: choose a "
                        "layer with --layer",
                        m->panels->layer_count, m->panels->heads);
    total = map->rows.cells * map->columns.cells;
    map->cells = txd_arena_alloc(map->arena, total, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, total, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < total; i++)
        map->cells[i] = NAN;
    return TXD_OK;
}

static void paste(mosaic *m, const txd_map *panel, size_t row, size_t column)
{
    size_t stride = m->map->columns.cells;
    size_t top = row * (m->panel[0] + GAP), left = column * (m->panel[1] + GAP);

    for (size_t y = 0; y < m->panel[0]; y++) {
        for (size_t x = 0; x < m->panel[1]; x++) {
            size_t from = y / m->zoom[0] * panel->columns.cells + x / m->zoom[1];
            size_t to = (top + y) * stride + left + x;
            bool centre =
                y % m->zoom[0] == m->zoom[0] / 2 && x % m->zoom[1] == m->zoom[1] / 2;

            m->map->cells[to] = panel->cells[from];
            m->map->flags[to] = centre ? panel->flags[from] : 0;
        }
    }
}

static void add_corner(mosaic *m, const char *before, double x, double y)
{
    txd_text_add(&m->frames, before);
    txd_text_add_real(&m->frames, x);
    txd_text_add(&m->frames, ",");
    txd_text_add_real(&m->frames, y);
}

/* In the gap, a pixel beside the cells: a line is as wide on both sides of its place,
 * and on the edge of the cells it would cover half of key 0, where sinks are. */
static void frame(mosaic *m, size_t row, size_t column, const txd_map *panel)
{
    double top = (double)(row * (m->panel[0] + GAP)) - 0.5;
    double left = (double)(column * (m->panel[1] + GAP)) - 0.5;
    const char *style = panel->leaks.total       ? "2 fillstyle empty border linecolor "
                                                   "rgb '" TXD_COLOUR_LEAK "'"
                        : panel->nonfinite.total ? "2 fillstyle empty border linecolor "
                                                   "rgb '" TXD_COLOUR_NONFINITE "'"
                                                 : "1 fillstyle empty border linecolor "
                                                   "rgb '#c4c9cf'";

    add_corner(m, "set object rectangle from ", left - FRAME, top - FRAME);
    add_corner(m, " to ", left + (double)m->panel[1] + FRAME,
               top + (double)m->panel[0] + FRAME);
    txd_text_addf(&m->frames, " noclip front linewidth %s\n", style);
}

static void count_marks(mosaic *m, const txd_map *panel, int layer, size_t head)
{
    txd_marks *leaks = &m->map->leaks, *nonfinite = &m->map->nonfinite;
    size_t total = leaks->total + panel->leaks.total;

    if (panel->peak.times > m->map->peak.times) {
        m->map->peak = panel->peak;
        m->peak_layer = layer;
        m->peak_head = head;
    }
    if (panel->leaks.total && (!leaks->total || panel->leaks.worst > leaks->worst)) {
        *leaks = panel->leaks;
        m->leak_layer = layer;
        m->leak_head = head;
    }
    leaks->total = total;
    total = nonfinite->total + panel->nonfinite.total;
    if (panel->nonfinite.total && !nonfinite->total) {
        *nonfinite = panel->nonfinite;
        m->nonfinite_layer = layer;
        m->nonfinite_head = head;
    }
    nonfinite->total = total;
}

static txd_status add_panel(mosaic *m, size_t row, size_t head)
{
    txd_map panel = {.arena = m->scratch};
    int layer = m->panels->layers[row];

    txd_arena_reset(m->scratch);
    TXD_TRY(txd_panels_fill(&panel, m->panels, layer, head, m->limit));
    if (m->panel[0] == 0)
        TXD_TRY(size_mosaic(m, &panel));
    if (panel.rows.cells * m->zoom[0] != m->panel[0] ||
        panel.columns.cells * m->zoom[1] != m->panel[1])
        return txd_fail(TXD_ERR_FORMAT,
                        "layer %d: %zu x %zu cells, other layers have %zu x %zu", layer,
                        panel.rows.cells, panel.columns.cells, m->panel[0] / m->zoom[0],
                        m->panel[1] / m->zoom[1]);
    m->map->by_size = panel.by_size;
    m->map->loud = panel.loud;
    paste(m, &panel, row, head);
    frame(m, row, head, &panel);
    count_marks(m, &panel, layer, head);
    return TXD_OK;
}

/* "'0' 36, '1' 112": a number at the middle of each panel, or of some if crowded. */
static txd_status number_panels(txd_axis *axis, txd_arena *arena, const int *numbers,
                                size_t count, size_t panel)
{
    size_t step = 1 + 16 / (panel + GAP);
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; i < count; i += step)
        txd_text_addf(&text, "%s'%d' %zu", i ? ", " : "", numbers ? numbers[i] : (int)i,
                      i * (panel + GAP) + panel / 2);
    axis->tics = txd_arena_string(arena, txd_text_get(&text));
    axis->count = axis->cells;
    txd_text_finish(&text);
    return axis->tics ? TXD_OK : TXD_ERR_MEMORY;
}

static const char *key_word(const txd_panels *panels, bool exact)
{
    if (panels->kind == TXD_ATTENTION_CROSS)
        return exact ? "memory row" : "pooled memory row";
    return exact ? "key" : "pooled key";
}

static txd_status note_marks(mosaic *m)
{
    const txd_marks *leaks = &m->map->leaks, *nonfinite = &m->map->nonfinite;
    const char *unit = m->panels->pooled ? "pooled cell" : "cell";
    bool exact = !m->panels->pooled || m->panels->leaks_by_row;
    char line[256];

    if (leaks->total != 0) {
        snprintf(line, sizeof line,
                 "Marked in this colour: %zu hidden %s%s, %s%s; largest %.3g in layer "
                 "%d, head %zu, %s %zu, %s %zu",
                 leaks->total, m->panels->leaks_by_row ? "cell" : unit,
                 leaks->total == 1 ? "" : "s", m->map->loud,
                 m->panels->leaks_by_row ? ", the largest of each query" : "",
                 leaks->worst, m->leak_layer, m->leak_head,
                 exact ? "query" : "pooled query", leaks->row,
                 key_word(m->panels, exact), leaks->column);
        TXD_TRY(txd_map_note(m->map, false, TXD_COLOUR_LEAK, line));
    }
    if (nonfinite->total == 0)
        return TXD_OK;
    snprintf(line, sizeof line,
             "Marked in this colour: %zu %s%s, NaN or infinite; first in layer %d, "
             "head %zu",
             nonfinite->total, unit, nonfinite->total == 1 ? "" : "s",
             m->nonfinite_layer, m->nonfinite_head);
    return txd_map_note(m->map, false, TXD_COLOUR_NONFINITE, line);
}

/* A panel has too few pixels for arrows. */
static txd_status note_peak(mosaic *m)
{
    const txd_peak *peak = &m->map->peak;
    char line[256];

    if (m->zoom[0] > 1 || peak->times < TXD_PEAK_STANDS_OUT ||
        !txd_site_is_weights(m->site))
        return TXD_OK;
    snprintf(line, sizeof line,
             "Furthest above an even share: %.3g in layer %d, head %zu, query %zu, %s "
             "%zu, %.0f times 1/%zu",
             peak->value, m->peak_layer, m->peak_head, peak->row,
             key_word(m->panels, true), peak->column, peak->times, peak->seen);
    return txd_map_note(m->map, false, TXD_COLOUR_INK, line);
}

/* Queries or keys along a side of a panel, which pooled maps have fewer cells for. */
static size_t tokens(const mosaic *m, int side)
{
    size_t cells = side ? m->keys : m->queries;
    size_t length = m->panels->pooling.tokens[side];

    return m->panels->pooled && length > cells ? length : cells;
}

static txd_status describe(mosaic *m, const txd_figure_request *request)
{
    const txd_panels *panels = m->panels;
    bool mean = request->pool == TXD_POOL_MEAN;
    txd_map *map = m->map;
    char line[400], pooled[120] = "";

    snprintf(line, sizeof line, "%s: %zu %s of %zu heads", request->site,
             panels->layer_count, panels->layer_count == 1 ? "layer" : "layers",
             panels->heads);
    map->title = txd_arena_string(map->arena, line);
    if (!map->title)
        return TXD_ERR_MEMORY;
    if (panels->pooled)
        snprintf(pooled, sizeof pooled,
                 " (%s of cells, as recorded by the probe pooled)",
                 mean ? "means" : "maxima");
    else if (m->queries > m->limit || m->keys > m->limit)
        snprintf(pooled, sizeof pooled, " (each pixel the %s of its cell)",
                 mean ? "mean" : "largest");
    snprintf(line, sizeof line,
             "step %d, batch %d; each panel: %zu queries down, %zu %s across%s; one "
             "scale for all: %s from %.3g to %.3g",
             request->step < 0 ? 0 : request->step,
             request->batch < 0 ? 0 : request->batch, tokens(m, 0), tokens(m, 1),
             panels->kind == TXD_ATTENTION_CROSS ? "rows of the memory" : "keys",
             pooled, map->logarithmic ? "logarithmic" : "linear", map->low, map->high);
    TXD_TRY(txd_map_note(map, true, TXD_COLOUR_QUIET, line));
    TXD_TRY(txd_map_note_recording(map, panels->recording));
    TXD_TRY(note_marks(m));
    TXD_TRY(note_peak(m));
    if (panels->missing)
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_QUIET,
                             "Panels without any cell: heads that `record` of this "
                             "run does not select"));
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        panels->claim->configured && panels->claim->has_inputs
                            ? "Blank: hidden by the claimed mask, or not computed"
                            : "The claimed mask was not recorded: nothing is judged");
}

static txd_status assemble(mosaic *m, const txd_figure_request *request)
{
    txd_map *map = m->map;
    size_t heads = m->panels->heads;

    m->limit = panel_limit(m->panels);
    for (size_t i = 0; i < m->panels->layer_count * heads; i++)
        TXD_TRY(add_panel(m, i / heads, i % heads));
    map->title = request->site;
    TXD_TRY(txd_map_scale(map, request->scale, !map->by_size));
    TXD_TRY(number_panels(&map->rows, map->arena, m->panels->layers,
                          m->panels->layer_count, m->panel[0]));
    TXD_TRY(number_panels(&map->columns, map->arena, NULL, heads, m->panel[1]));
    map->square = true;
    map->rows.title = "layer";
    map->columns.title = "head";
    TXD_TRY(txd_text_status(&m->frames));
    map->extra = txd_text_get(&m->frames);
    return describe(m, request);
}

static txd_status draw_claimed(txd_drawing *out, const txd_claim *claim,
                               const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_panels panels;
    mosaic m = {.map = &map, .panels = &panels, .site = request->site};
    txd_status status;

    TXD_TRY(txd_panels_find(&panels, claim, request));
    TXD_TRY(txd_arena_create(&m.scratch));
    txd_text_init(&m.frames);
    txd_text_add(&m.frames, "unset border\n");
    status = assemble(&m, request);
    if (status == TXD_OK)
        status = txd_map_draw(out, &map);
    txd_text_finish(&m.frames);
    txd_arena_destroy(m.scratch);
    return status;
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    size_t step = request->step < 0 ? 0 : (size_t)request->step;
    txd_claim claim;
    txd_status status = txd_claim_init(&claim, recording, step);

    if (status == TXD_OK)
        status = draw_claimed(out, &claim, request);
    txd_claim_finish(&claim);
    return status;
}

const txd_figure txd_figure_overview = {
    .name = "overview",
    .sentence = "the attention of all layers and heads as one picture of small maps",
    .usage = "txdiag plot REC.h5 'layers.*.attn.weights' -o FILE",
    .draw = draw,
};
