/* SPDX-License-Identifier: MIT
 *
 * Lays maps out beside each other on a sheet. All sizes are decided here, in pixels,
 * from the texts there are, so that nothing is cut off.
 */
#include "viz/draw/map_internal.h"

enum {
    LEAST_WIDTH = 560,
    BAR_WIDTH = 20 + 14 + 76, /* gap, bar, numbers */
    NO_BAR_WIDTH = 24,
    HEADING = 24,
};

/* DejaVu Sans is wide: 0.64 of its size on average. */
static size_t characters(int width, int size)
{
    return (size_t)(width * 100 / (size * 64));
}

static int labels_width(const txd_axis *axis)
{
    int widest = 48; /* numbers */

    for (size_t i = 0; axis->labels && i < axis->cells; i++) {
        int width = (int)txd_clean_width(axis->labels[i]) * TXD_TEXT_SMALL * 64 / 100;

        if (width > widest)
            widest = width;
    }
    return widest;
}

/* Pixels of a cell of an axis that is to be `whole` pixels long. */
static int cell_size(const txd_axis *axis, int whole)
{
    int cells = (int)axis->cells, least = axis->labels ? 15 : 1;
    int size = whole / (cells ? cells : 1);

    return size < least ? least : size > 34 ? 34 : size;
}

static void size_panel(txd_map_place *out, const txd_map *map)
{
    int whole = map->side ? (int)map->side : TXD_MAP_CELLS;

    out->cell_width = cell_size(&map->columns, whole);
    out->cell_height = cell_size(&map->rows, whole);
    if (map->square && out->cell_width < out->cell_height)
        out->cell_height = out->cell_width;
    if (map->square && out->cell_height < out->cell_width)
        out->cell_width = out->cell_height;
    if (map->square && map->rows.labels && out->cell_height < 15)
        out->cell_height = 15;
    if (map->square && map->columns.labels && out->cell_width < 15)
        out->cell_width = 15;
    out->panel.width = out->cell_width * (int)map->columns.cells;
    out->panel.height = out->cell_height * (int)map->rows.cells;
    out->label_width[0] =
        map->rows.tics && !*map->rows.tics ? 0 : labels_width(&map->rows);
    out->label_width[1] = map->columns.labels ? labels_width(&map->columns) : 14;
}

static txd_status wrap_notes(txd_map_layout *out, const txd_map *map, bool above,
                             int width)
{
    const txd_note *notes = above ? map->above : map->below;
    size_t count = above ? map->above_count : map->below_count;
    size_t *counts = above ? out->above_lines : out->below_lines;
    int *height = above ? &out->above_height : &out->below_height;
    char ***lines = above ? out->above : out->below;

    *height = 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = txd_clean_fit(map->arena, notes[i].text, out->sheet.kind);

        TXD_TRY(txd_wrap(&lines[i], &counts[i], map->arena, text,
                         characters(width, TXD_TEXT_SMALL)));
        *height += (int)counts[i] * TXD_MAP_LINE;
    }
    return TXD_OK;
}

/* From left to right; returns where the last one ends. */
static int line_up(txd_map_layout *out, const txd_map *const *maps, size_t count)
{
    int x = TXD_MAP_EDGE;

    for (size_t i = 0; i < count; i++) {
        txd_map_place *place = &out->places[i];

        size_panel(place, maps[i]);
        if (place->label_width[0] != 0)
            x += TXD_MAP_LINE + 8 + place->label_width[0] + 8;
        place->panel.left = x;
        x += place->panel.width + (maps[i]->no_bar ? NO_BAR_WIDTH : BAR_WIDTH);
    }
    return x + TXD_MAP_EDGE;
}

/* Text is wrapped to the sheet, so the width comes first. */
txd_status txd_map_arrange(txd_map_layout *out, const txd_map *const *maps,
                           size_t count)
{
    const txd_map *first = maps[0];
    int inner, top, bottom = 0;

    out->sheet.width = line_up(out, maps, count);
    if (out->sheet.width < LEAST_WIDTH)
        out->sheet.width = LEAST_WIDTH;
    inner = out->sheet.width - 2 * TXD_MAP_EDGE;
    TXD_TRY(txd_wrap(&out->title, &out->title_lines, first->arena,
                     txd_clean_fit(first->arena, first->title, out->sheet.kind),
                     characters(inner, TXD_TEXT_TITLE)));
    TXD_TRY(wrap_notes(out, first, true, inner));
    TXD_TRY(wrap_notes(out, first, false, inner));
    top = TXD_MAP_EDGE + (int)out->title_lines * 22 + out->above_height + 14;
    for (size_t i = 0; i < count; i++) {
        txd_map_place *place = &out->places[i];
        int end;

        place->panel.top = top + (first->heading ? HEADING : 0);
        end = place->panel.top + place->panel.height + 8 + place->label_width[1];
        bottom = end > bottom ? end : bottom;
    }
    out->words_below = bottom + 12 + TXD_MAP_LINE + 10;
    out->sheet.height =
        bottom + 8 + TXD_MAP_LINE + 12 + out->below_height + TXD_MAP_EDGE;
    return TXD_OK;
}
