/* SPDX-License-Identifier: MIT
 *
 * Figure: which values are NaN or infinite, in order of execution down and by layer
 * across, so that the first can be found and the way that it spread be followed.
 */
#include <math.h>
#include <stdio.h>

#include "viz/figures/figures.h"
#include "viz/read/spread.h"

enum { MOST_ROWS = 90 };

/* The rows that are drawn: all, or, where these are too many, those with trouble. */
static txd_status choose_rows(txd_map *map, const txd_spread *spread)
{
    bool all = spread->count <= MOST_ROWS;
    txd_axis *axis = &map->rows;

    axis->places = txd_arena_alloc(map->arena, spread->count, sizeof *axis->places);
    axis->labels = txd_arena_alloc(map->arena, spread->count, sizeof *axis->labels);
    if (!axis->places || !axis->labels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < spread->count && axis->count < MOST_ROWS; i++) {
        txd_text label;

        if (!all && !spread->rows[i].broken)
            continue;
        txd_text_init(&label);
        txd_clean(&label, spread->rows[i].name, 40);
        axis->labels[axis->count] = txd_arena_string(map->arena, txd_text_get(&label));
        txd_text_finish(&label);
        if (!axis->labels[axis->count])
            return TXD_ERR_MEMORY;
        axis->places[axis->count++] = i;
    }
    axis->cells = axis->count;
    axis->title = "in order of execution";
    return TXD_OK;
}

static txd_status choose_columns(txd_map *map, const txd_spread *spread)
{
    txd_axis *axis = &map->columns;

    axis->count = spread->layers;
    axis->cells = axis->count < TXD_MAP_CELLS ? axis->count : TXD_MAP_CELLS;
    axis->places = txd_arena_alloc(map->arena, axis->count, sizeof *axis->places);
    if (!axis->places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < axis->count; i++)
        axis->places[i] = i;
    axis->title = "layer (values of none: the whole row)";
    return TXD_OK;
}

/* A cell that holds several layers shows the largest share of them. */
static void fill_row(txd_map *map, size_t line, const txd_spread_row *row)
{
    const txd_axis *columns = &map->columns;

    for (size_t i = 0; i < columns->cells; i++) {
        map->cells[line + i] = NAN;
        map->flags[line + i] = TXD_FLAG_UNKNOWN;
    }
    for (size_t i = 0; i < columns->count; i++) {
        size_t at = line + i * columns->cells / columns->count;
        double share = row->shares[row->of_layers ? i : 0];

        if (isnan(share))
            continue;
        map->flags[at] = 0;
        if (share > 0 && !(map->cells[at] > share))
            map->cells[at] = share;
    }
}

static txd_status fill(txd_map *map, const txd_spread *spread)
{
    size_t columns = map->columns.cells, cells = map->rows.cells * columns;

    map->cells = txd_arena_alloc(map->arena, cells, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, cells, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < map->rows.count; i++) {
        size_t place = map->rows.places[i];
        int layer = spread->first_layer;

        fill_row(map, i * columns, &spread->rows[place]);
        if (place != spread->first_row)
            continue;
        map->nonfinite.total = 1;
        map->flags[i * columns +
                   (layer < 0 ? columns / 2
                              : (size_t)layer * columns / map->columns.count)] |=
            TXD_FLAG_NONFINITE;
    }
    return TXD_OK;
}

static void add_line(txd_text *out, double x, double y, double to_x, double to_y)
{
    txd_cell_line(out, (const double[2]){x, y}, (const double[2]){to_x, to_y});
}

/* Cells are white where all is well, so that lines must part them; a value of no layer
 * is one cell. */
static txd_status draw_lines(txd_map *map, const txd_spread *spread)
{
    double right = (double)map->columns.cells - 0.5;
    txd_text lines;

    txd_text_init(&lines);
    for (size_t i = 0; i <= map->rows.cells; i++)
        add_line(&lines, -0.5, (double)i - 0.5, right, (double)i - 0.5);
    for (size_t i = 0; i < map->rows.cells; i++) {
        bool of_layers = spread->rows[map->rows.places[i]].of_layers;
        size_t most = map->columns.cells > TXD_MAP_LABELS ? 1 : map->columns.cells;

        add_line(&lines, -0.5, (double)i - 0.5, -0.5, (double)i + 0.5);
        for (size_t layer = 1; of_layers && layer < most; layer++)
            add_line(&lines, (double)layer - 0.5, (double)i - 0.5, (double)layer - 0.5,
                     (double)i + 0.5);
        add_line(&lines, right, (double)i - 0.5, right, (double)i + 0.5);
    }
    map->extra = txd_arena_string(map->arena, txd_text_get(&lines));
    txd_text_finish(&lines);
    return map->extra ? TXD_OK : TXD_ERR_MEMORY;
}

/* The first, and how far it spread. */
static txd_status note_first(txd_map *map, const txd_spread *spread)
{
    txd_text words;
    txd_status status;

    if (spread->first_row == spread->count)
        return TXD_OK;
    txd_text_init(&words);
    txd_text_addf(&words, "Ringed: the first in order of execution, %s", spread->first);
    if (*spread->first_words)
        txd_text_addf(&words, ": %s", spread->first_words);
    if (spread->broken > 1)
        txd_text_addf(&words, ". It spreads to %zu of %zu values, as far as %s",
                      spread->broken, spread->known, spread->last);
    status = txd_text_status(&words);
    if (status == TXD_OK)
        status = txd_map_note(map, false, TXD_COLOUR_NONFINITE, txd_text_get(&words));
    txd_text_finish(&words);
    return status;
}

static txd_status describe(txd_map *map, const txd_spread *spread,
                           const txd_trace *recording)
{
    char line[200];

    map->title = spread->broken ? "NaN and infinities, value by value"
                                : "No value is NaN or infinite";
    if (spread->broken)
        snprintf(line, sizeof line,
                 "step %zu; colours: share of a value's elements that are NaN or "
                 "infinite, logarithmic from %.3g to 1",
                 spread->step, map->low);
    else
        snprintf(line, sizeof line, "step %zu; %zu values, all finite", spread->step,
                 spread->known);
    TXD_TRY(txd_map_note(map, true, TXD_COLOUR_QUIET, line));
    TXD_TRY(txd_map_note_recording(map, recording));
    TXD_TRY(note_first(map, spread));
    if (map->rows.count < spread->count) {
        snprintf(line, sizeof line, "%zu more rows are not drawn",
                 spread->count - map->rows.count);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_QUIET, line));
    }
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        "White: every element is finite. Grey: nothing is known");
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_spread spread;

    TXD_TRY(txd_spread_read(&spread, out->arena, recording, request->step));
    TXD_TRY(choose_rows(&map, &spread));
    TXD_TRY(choose_columns(&map, &spread));
    TXD_TRY(fill(&map, &spread));
    map.title = "nonfinite";
    TXD_TRY(txd_map_scale(&map, TXD_SCALE_LOG, false));
    map.high = 1;
    map.low = fmin(map.low, 0.1);
    map.no_bar = spread.broken == 0;
    TXD_TRY(draw_lines(&map, &spread));
    TXD_TRY(describe(&map, &spread, recording));
    return txd_map_draw(out, &map);
}

const txd_figure txd_figure_nonfinite = {
    .name = "nonfinite",
    .sentence = "which values are NaN or infinite, the first of them, how it spread",
    .usage = "txdiag plot REC.h5 nonfinite -o FILE",
    .heading = "NaN and infinities",
    .laws = "finite",
    .choices = "step",
    .draw = draw,
};
