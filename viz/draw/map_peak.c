/* SPDX-License-Identifier: MIT
 *
 * The weight that stands out most of a long sequence. As one pixel among half a million
 * it would be overlooked, so that it is named, and arrows outside of the frame, which
 * cover no cell, show its row and its column.
 */
#include <string.h>

#include "viz/draw/map.h"

enum { GAP = 3, LENGTH = 11 };

/* The middle of the cell that holds a place, in cells; -1 if it is not drawn. */
static double cell_of(const txd_axis *axis, size_t place)
{
    for (size_t i = 0; i < axis->count; i++)
        if (axis->places[i] == place)
            return (double)(i * axis->cells / axis->count) + 0.5;
    return -1;
}

/* The word of an axis of tokens, even where it is pooled. */
static const char *token_word(const char *title)
{
    static const char pooled[] = "pooled ";

    return strncmp(title, pooled, sizeof pooled - 1) == 0 ? title + sizeof pooled - 1
                                                          : title;
}

txd_status txd_map_note_peak(txd_map *map, const size_t cell[2])
{
    const txd_peak *peak = &map->peak;
    bool fine = map->rows.count > TXD_MAP_LABELS || map->columns.count > TXD_MAP_LABELS;
    txd_text text;
    txd_status status;

    if ((!fine && !cell) || peak->times < TXD_PEAK_STANDS_OUT)
        return TXD_OK;
    map->pointed[0] = cell_of(&map->rows, cell ? cell[0] : peak->row);
    map->pointed[1] = cell_of(&map->columns, cell ? cell[1] : peak->column);
    if (map->pointed[0] < 0 || map->pointed[1] < 0)
        return TXD_OK;
    map->is_pointed = true;
    txd_text_init(&text);
    txd_text_addf(&text,
                  "Arrows: the weight furthest above an even share: %.3g at %s %zu, %s "
                  "%zu, %.0f times 1/%zu",
                  peak->value, token_word(map->rows.title), peak->row,
                  token_word(map->columns.title), peak->column, peak->times,
                  peak->seen);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note(map, false, TXD_COLOUR_INK, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
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
    double row = panel->top + map->pointed[0] * panel->height / (double)map->rows.cells;
    double column =
        panel->left + map->pointed[1] * panel->width / (double)map->columns.cells;

    if (!map->is_pointed)
        return;
    add_arrow(out, sheet, (const double[2]){right + LENGTH, row},
              (const double[2]){right, row});
    add_arrow(out, sheet, (const double[2]){column, above - LENGTH},
              (const double[2]){column, above});
}
