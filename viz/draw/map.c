/* SPDX-License-Identifier: MIT
 *
 * Which places a heat map shows, in how many cells, and the lines of text around it.
 */
#include "viz/draw/map.h"

#include <math.h>

/* Axis 0: rows, 1: columns. */
static txd_status select_axis(txd_map *map, int which, const txd_slice *slice,
                              const txd_figure_request *request, size_t length)
{
    static const txd_range everything;
    txd_axis *axis = which ? &map->columns : &map->rows;
    int number = which ? slice->column_axis : slice->row_axis;
    const txd_range *range = number < 0 ? &everything
                             : which    ? &request->key
                                        : &request->query;
    size_t count = number < 0 ? 1 : slice->info.dims[number];
    size_t limit = map->limit ? map->limit : TXD_MAP_CELLS;

    if (length != 0 && length < count)
        count = length;
    axis->title = number < 0 ? "" : txd_axis_word(slice, number);
    if (txd_places(&axis->places, &axis->count, map->arena, range, count,
                   axis->title) != TXD_OK)
        return txd_fail_prefix(TXD_ERR_CONFIG, "%s", slice->site);
    axis->cells = axis->count < limit ? axis->count : limit;
    return TXD_OK;
}

txd_status txd_map_select(txd_map *map, const txd_slice *slice,
                          const txd_figure_request *request, const size_t lengths[2])
{
    size_t cells;

    TXD_TRY(select_axis(map, 0, slice, request, lengths[0]));
    TXD_TRY(select_axis(map, 1, slice, request, lengths[1]));
    cells = map->rows.cells * map->columns.cells;
    map->mean = request->pool == TXD_POOL_MEAN;
    map->cells = txd_arena_alloc(map->arena, cells, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, cells, sizeof *map->flags);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++)
        map->cells[i] = NAN;
    return TXD_OK;
}

txd_status txd_map_note(txd_map *map, bool above, const char *colour, const char *text)
{
    size_t *count = above ? &map->above_count : &map->below_count;
    txd_note *note = above ? &map->above[*count] : &map->below[*count];
    txd_text cleaned;

    if (*count == TXD_MAP_NOTES || *text == '\0')
        return TXD_OK;
    txd_text_init(&cleaned);
    txd_clean(&cleaned, text, 600);
    note->text = txd_arena_string(map->arena, txd_text_get(&cleaned));
    note->colour = colour;
    txd_text_finish(&cleaned);
    if (!note->text)
        return TXD_ERR_MEMORY;
    ++*count;
    return TXD_OK;
}
