/* SPDX-License-Identifier: MIT
 *
 * Fills a heat map from a recording. Long values are read in blocks of rows and pooled
 * on the way: gnuplot takes half a microsecond per cell however small the picture, and
 * a value may be larger than memory.
 */
#include "viz/draw/map.h"

#include <math.h>

enum { BLOCK_ROWS = 256, BLOCK_VALUES = 1 << 21 };

#define LARGEST 1e300 /* beyond this gnuplot's range would overflow */

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
    map->cells = txd_arena_alloc(map->arena, cells, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, cells, sizeof *map->flags);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++)
        map->cells[i] = NAN;
    return TXD_OK;
}

static bool is_silent(const txd_blank *blank, double value)
{
    switch (blank->silent) {
    case TXD_SILENT_ZERO:
        return value == 0;
    case TXD_SILENT_MASKED:
        return value == -INFINITY || (blank->fill < 0 && value <= blank->fill / 2);
    case TXD_SILENT_ANY:
        break;
    }
    return true;
}

static void mark(txd_marks *marks, size_t row, size_t column, double size)
{
    if (marks->total == 0 || size > marks->worst) {
        marks->row = row;
        marks->column = column;
        marks->worst = size;
    }
    marks->total++;
}

static void pool(double *cell, double value, bool by_size)
{
    if (isnan(*cell) || (by_size ? fabs(value) > fabs(*cell) : value > *cell))
        *cell = value;
}

static bool is_hidden(const txd_blank *blank, const size_t place[2])
{
    if (blank->pooled)
        return blank->pooled[place[0] * blank->pooled_side + place[1]];
    return blank->mask && txd_mask_hides(blank->mask, place[0], place[1]);
}

/* One value at (row, column), places of the value, into the cell at `at`. */
static void put(txd_map *map, const txd_blank *blank, size_t at, const size_t place[2],
                double value)
{
    bool hidden = is_hidden(blank, place);
    bool judged = !blank->query_valid || blank->query_valid[place[0]];

    if (hidden && is_silent(blank, value))
        return;
    if (blank->is_pooled && isnan(value) && (hidden || !blank->pooled))
        return;
    if (!isfinite(value)) {
        map->flags[at] |= TXD_FLAG_NONFINITE;
        mark(&map->nonfinite, place[0], place[1], 0);
        return;
    }
    if (hidden && judged) {
        map->flags[at] |= TXD_FLAG_LEAK;
        mark(&map->leaks, place[0], place[1], fabs(value));
    }
    pool(&map->cells[at], value, map->by_size);
}

static void put_row(txd_map *map, const txd_blank *blank, size_t row,
                    const double *values)
{
    const txd_axis *columns = &map->columns;
    size_t first = columns->places[0];
    size_t line = row * map->rows.cells / map->rows.count * columns->cells;

    for (size_t i = 0; i < columns->count; i++) {
        size_t place[2] = {map->rows.places[row], columns->places[i]};
        size_t at = line + i * columns->cells / columns->count;

        put(map, blank, at, place, values[place[1] - first]);
    }
}

/* Rows of one read: consecutive places, bounded in number and values. */
static size_t run_of(const txd_axis *rows, size_t from, size_t width)
{
    size_t most = BLOCK_VALUES / (width ? width : 1), count = 1;

    if (most > BLOCK_ROWS)
        most = BLOCK_ROWS;
    while (from + count < rows->count && count < most &&
           rows->places[from + count] == rows->places[from] + count)
        count++;
    return count;
}

txd_status txd_map_fill(txd_map *map, const txd_slice *slice, const txd_blank *blank)
{
    const txd_axis *rows = &map->rows, *columns = &map->columns;
    size_t width = columns->places[columns->count - 1] - columns->places[0] + 1;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK], run, largest = 1;
    double *values;

    for (int axis = 0; axis < slice->info.rank; axis++) {
        start[axis] = slice->fixed[axis];
        count[axis] = 1;
    }
    start[slice->column_axis] = columns->places[0];
    count[slice->column_axis] = width;
    for (size_t row = 0; row < rows->count; row += run_of(rows, row, width))
        if (run_of(rows, row, width) > largest)
            largest = run_of(rows, row, width);
    values = txd_arena_alloc(map->arena, largest * width, sizeof *values);
    if (!values)
        return TXD_ERR_MEMORY;
    for (size_t row = 0; row < rows->count; row += run) {
        run = run_of(rows, row, width);
        if (slice->row_axis >= 0) {
            start[slice->row_axis] = rows->places[row];
            count[slice->row_axis] = run;
        }
        TXD_TRY(txd_trace_read(slice->recording, values, slice->entry, start, count,
                               TXD_F64));
        for (size_t i = 0; i < run; i++)
            put_row(map, blank, row + i, values + i * width);
    }
    return TXD_OK;
}

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Smallest, smallest above 0, and largest cell. False if all are blank. */
static bool extremes(double out[3], const txd_map *map)
{
    size_t cells = map->rows.cells * map->columns.cells;

    out[0] = out[1] = INFINITY;
    out[2] = -INFINITY;
    for (size_t i = 0; i < cells; i++) {
        double value = map->cells[i];

        if (isnan(value))
            continue;
        if (value < out[0])
            out[0] = value;
        if (value > 0 && value < out[1])
            out[1] = value;
        if (value > out[2])
            out[2] = value;
    }
    return out[0] <= out[2];
}

/* Six decades at most, so that the colours of large values stay apart. */
static txd_status scale_log(txd_map *map, const double extreme[3])
{
    if (extreme[0] < 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: a logarithmic scale needs values above 0, the smallest is "
                        "%.3g: choose the linear scale",
                        map->title, extreme[0]);
    map->logarithmic = true;
    map->high = isfinite(extreme[1]) ? clamp(extreme[2], 1e-280, LARGEST) : 1;
    map->low = isfinite(extreme[1]) ? extreme[1] : 1e-6;
    map->low = clamp(map->low, map->high * 1e-6, map->high * 0.1);
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        if (!isnan(map->cells[i]))
            map->cells[i] = clamp(map->cells[i], map->low, map->high);
    return TXD_OK;
}

txd_status txd_map_scale(txd_map *map, txd_scale scale, bool from_zero)
{
    double extreme[3] = {0, 0, 1};
    double size;

    if (!extremes(extreme, map))
        extreme[0] = 0, extreme[1] = INFINITY, extreme[2] = 1;
    if (scale == TXD_SCALE_LOG)
        return scale_log(map, extreme);
    map->low = clamp(extreme[0], -LARGEST, LARGEST);
    map->high = clamp(extreme[2], -LARGEST, LARGEST);
    if (from_zero && map->low > 0)
        map->low = 0;
    size = fmax(fmax(fabs(map->low), fabs(map->high)), 1e-280);
    if (map->high - map->low < size * 1e-6) /* gnuplot complains of an empty range */
        map->high = map->low + (size > 1e-280 ? size * 1e-3 : 1);
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        if (!isnan(map->cells[i]))
            map->cells[i] = clamp(map->cells[i], map->low, map->high);
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
