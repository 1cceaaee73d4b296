/* SPDX-License-Identifier: MIT
 *
 * The weight that stands out most of a long sequence. As one pixel among half a million
 * it would be overlooked, so that it is named, and arrows outside of the frame, which
 * cover no cell, show its row and its column.
 */
#include "viz/draw/map.h"

enum { STANDS_OUT = 20, GAP = 3, LENGTH = 11 };

txd_status txd_map_note_peak(txd_map *map)
{
    const txd_peak *peak = &map->peak;
    bool fine = map->rows.count > TXD_MAP_LABELS || map->columns.count > TXD_MAP_LABELS;
    txd_text text;
    txd_status status;

    if (!fine || peak->times < STANDS_OUT)
        return TXD_OK;
    map->point_at_peak = true;
    txd_text_init(&text);
    txd_text_addf(&text,
                  "Arrows: the weight furthest above an even share: %.3g at %s %zu, %s "
                  "%zu, %.0f times 1/%zu",
                  peak->value, map->rows.title, peak->row, map->columns.title,
                  peak->column, peak->times, peak->seen);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note(map, false, TXD_COLOUR_INK, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

/* The middle of the cell that holds a place, in cells; -1 if it is not drawn. */
static double cell_of(const txd_axis *axis, size_t place)
{
    for (size_t i = 0; i < axis->count; i++)
        if (axis->places[i] == place)
            return (double)(i * axis->cells / axis->count) + 0.5;
    return -1;
}

static void add_arrow(txd_text *out, const txd_sheet *sheet, const double from[2],
                      const double to[2])
{
    txd_text_add(out, "set arrow from screen ");
    txd_text_add_real(out, from[0] / sheet->width);
    txd_text_add(out, ",");
    txd_text_add_real(out, 1 - from[1] / sheet->height);
    txd_text_add(out, " to screen ");
    txd_text_add_real(out, to[0] / sheet->width);
    txd_text_add(out, ",");
    txd_text_add_real(out, 1 - to[1] / sheet->height);
    txd_text_addf(out,
                  " size screen %d.0/%d,30 filled linewidth 1.5 linecolor rgb '%s'\n",
                  6, sheet->width, TXD_COLOUR_INK);
}

void txd_map_point(txd_text *out, const txd_map *map, const txd_sheet *sheet,
                   const txd_box *panel)
{
    double right = panel->left + panel->width + GAP, above = panel->top - GAP;
    double row, column;

    if (!map->point_at_peak)
        return;
    row = cell_of(&map->rows, map->peak.row);
    column = cell_of(&map->columns, map->peak.column);
    if (row < 0 || column < 0)
        return;
    row = panel->top + row * panel->height / (double)map->rows.cells;
    column = panel->left + column * panel->width / (double)map->columns.cells;
    add_arrow(out, sheet, (const double[2]){right + LENGTH, row},
              (const double[2]){right, row});
    add_arrow(out, sheet, (const double[2]){column, above - LENGTH},
              (const double[2]){column, above});
}
