/* SPDX-License-Identifier: MIT
 *
 * The words around a heat map: what the colours mean, what is blank, what rings and
 * crosses are. A picture that needs a manual is read wrongly.
 */
#include "viz/draw/map.h"

static txd_status note_text(txd_map *map, bool above, const char *colour,
                            txd_text *text)
{
    txd_status status = txd_text_status(text);

    if (status == TXD_OK)
        status = txd_map_note(map, above, colour, txd_text_get(text));
    txd_text_finish(text);
    return status;
}

static void add_shared(txd_text *text, const txd_map *map)
{
    const txd_axis *rows = &map->rows, *columns = &map->columns;

    if (rows->cells == rows->count && columns->cells == columns->count)
        return;
    txd_text_addf(text, "; %zu x %zu values in %zu x %zu cells, each shows ",
                  rows->count, columns->count, rows->cells, columns->cells);
    txd_text_add(text, map->mean      ? "the mean of what may be seen"
                       : map->by_size ? "its largest in size"
                                      : "its largest");
}

txd_status txd_map_note_scale(txd_map *map, const char *before)
{
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text, "%s; colours %s from %.3g to %.3g", before,
                  map->logarithmic ? "logarithmic" : "linear", map->low, map->high);
    if (map->logarithmic)
        txd_text_addf(&text, " (smaller values, and 0, as %.3g)", map->low);
    add_shared(&text, map);
    return note_text(map, true, TXD_COLOUR_QUIET, &text);
}

static txd_status note_leaks(txd_map *map)
{
    const txd_marks *leaks = &map->leaks;
    txd_text text;

    if (leaks->total == 0)
        return TXD_OK;
    txd_text_init(&text);
    txd_text_addf(&text,
                  "Marked in this colour: %zu hidden %s %s; largest %.3g at %s %zu, "
                  "%s %zu",
                  leaks->total, leaks->total == 1 ? "cell that is" : "cells that are",
                  map->loud ? map->loud : "not 0", leaks->worst, map->rows.title,
                  leaks->row, map->columns.title, leaks->column);
    return note_text(map, false, TXD_COLOUR_LEAK, &text);
}

static txd_status note_nonfinite(txd_map *map)
{
    const txd_marks *marks = &map->nonfinite;
    txd_text text;

    if (marks->total == 0)
        return TXD_OK;
    txd_text_init(&text);
    txd_text_addf(&text, "Marked in this colour: %zu %s NaN or infinite, first at ",
                  marks->total,
                  marks->total == 1 ? "value that is" : "values that are");
    if (*map->rows.title)
        txd_text_addf(&text, "%s %zu, ", map->rows.title, marks->row);
    txd_text_addf(&text, "%s %zu", map->columns.title, marks->column);
    return note_text(map, false, TXD_COLOUR_NONFINITE, &text);
}

txd_status txd_map_note_marks(txd_map *map, const char *hidden_by)
{
    txd_text text;

    TXD_TRY(note_leaks(map));
    TXD_TRY(note_nonfinite(map));
    if (!hidden_by)
        return TXD_OK;
    txd_text_init(&text);
    txd_text_addf(&text, "Blank: hidden by the claimed mask (%s)", hidden_by);
    return note_text(map, false, TXD_COLOUR_QUIET, &text);
}
