/* SPDX-License-Identifier: MIT
 *
 * Fills a heat map from a recording. Long values are read in blocks and pooled on the
 * way: gnuplot takes half a microsecond per cell however small the picture, and a value
 * may be larger than memory.
 */
#include <math.h>
#include <string.h>

#include "viz/draw/map.h"

/* Blocks begin at multiples of their sides, so that chunks of a file, which are powers
 * of two, are unpacked once. */
enum { BLOCK_ROWS = 256, BLOCK_COLUMNS = 4096 };

/* What a map needs until it is full. */
typedef struct filling {
    txd_map *map;
    const txd_slice *slice;
    const txd_blank *blank;
    double *values;        /* of a block */
    uint32_t *counts;      /* values in each cell, of a mean; NULL = the largest */
    uint32_t *cell;        /* of each column */
    unsigned char *hidden; /* of the columns of one row */
    int32_t *begin, *end;  /* keys that each query sees; NULL = not one run */
    size_t keys;           /* that there are, drawn or not */
    struct {
        size_t seen, column;
        double largest;
    } rows[BLOCK_ROWS]; /* of the block, as far as its columns were read */
} filling;

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

static void pool(filling *f, size_t at, double value)
{
    double *cell = &f->map->cells[at];

    if (f->counts)
        *cell = f->counts[at]++ ? *cell + value : value;
    else if (isnan(*cell) ||
             (f->map->by_size ? fabs(value) > fabs(*cell) : value > *cell))
        *cell = value;
}

/* A value that is hidden and not silent, or not finite, at a place of the value. */
static void put_odd(filling *f, size_t at, const size_t place[2], double value,
                    bool hidden)
{
    const txd_blank *blank = f->blank;
    txd_map *map = f->map;

    if (blank->is_pooled && isnan(value) && (hidden || !blank->pooled))
        return;
    if (!isfinite(value)) {
        map->flags[at] |= TXD_FLAG_NONFINITE;
        mark(&map->nonfinite, place[0], place[1], 0);
        return;
    }
    if (!blank->query_valid || blank->query_valid[place[0]]) {
        map->flags[at] |= TXD_FLAG_LEAK;
        mark(&map->leaks, place[0], place[1], fabs(value));
    }
    if (!f->counts) /* a mean is of what may be seen */
        pool(f, at, value);
}

/* Which of `count` places the row must not see. */
static void find_hidden(filling *f, size_t row, const size_t *places, size_t count)
{
    const txd_blank *blank = f->blank;

    if (blank->pooled) {
        for (size_t i = 0; i < count; i++)
            f->hidden[i] = blank->pooled[row * blank->pooled_side + places[i]];
    } else if (blank->mask) {
        for (size_t i = 0; i < count; i++)
            f->hidden[i] = txd_mask_hides(blank->mask, row, places[i]) != TXD_SEEN;
    } else {
        memset(f->hidden, 0, count);
    }
}

/* Columns of one row that are all hidden, or all seen: values[i] at places[i]. */
typedef struct run_of_cells {
    size_t row, in_block, line; /* line: of the row's first cell */
    const size_t *places;
    const double *values; /* of the first place on */
    const uint32_t *cell;
    size_t count;
} run_of_cells;

static double value_at(const run_of_cells *run, size_t i)
{
    return run->values[run->places[i] - run->places[0]];
}

/* Neither 0 nor -0, NaN included; a branch per value would cost more than the rest. */
static bool any_but_zero(const double *values, size_t count)
{
    uint64_t bits, any = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &values[i], sizeof bits);
        any |= bits << 1;
    }
    return any != 0;
}

static void put_hidden(filling *f, const run_of_cells *run)
{
    const size_t *places = run->places;
    size_t width = run->count ? places[run->count - 1] - places[0] + 1 : 0;

    if (f->blank->silent == TXD_SILENT_ZERO && !any_but_zero(run->values, width))
        return;
    for (size_t i = 0; i < run->count; i++)
        if (!is_silent(f->blank, value_at(run, i)))
            put_odd(f, run->line + run->cell[i], (const size_t[2]){run->row, places[i]},
                    value_at(run, i), true);
}

static void put_seen(filling *f, const run_of_cells *run)
{
    double largest = f->rows[run->in_block].largest;
    double *cells = f->map->cells + run->line;

    for (size_t i = 0; i < run->count; i++) {
        double value = value_at(run, i);

        if (!isfinite(value)) {
            put_odd(f, run->line + run->cell[i],
                    (const size_t[2]){run->row, run->places[i]}, value, false);
            continue;
        }
        if (value > largest) {
            largest = value;
            f->rows[run->in_block].column = run->places[i];
        }
        if (f->counts || !(value <= cells[run->cell[i]]) || f->map->by_size)
            pool(f, run->line + run->cell[i], value);
    }
    f->rows[run->in_block].largest = largest;
    f->rows[run->in_block].seen += run->count;
}

/* Part of a run, from its column i on. */
static run_of_cells part_of(const run_of_cells *run, size_t i, size_t count)
{
    run_of_cells part = *run;

    part.count = count;
    if (count != 0) {
        part.values += run->places[i] - run->places[0];
        part.places += i;
        part.cell += i;
    }
    return part;
}

static void put_part(filling *f, const run_of_cells *row, size_t from, size_t to,
                     bool hidden)
{
    run_of_cells part = part_of(row, from, to - from);

    if (hidden)
        put_hidden(f, &part);
    else
        put_seen(f, &part);
}

static size_t place_within(int32_t key, const run_of_cells *row)
{
    size_t first = row->places[0], place = key < 0 ? 0 : (size_t)key;

    return place < first ? 0 : place - first < row->count ? place - first : row->count;
}

/* Columns of one row, side by side in the value or not. */
static void put_row(filling *f, const run_of_cells *row)
{
    size_t count = row->count, i = 0;

    if (f->begin && row->places[count - 1] - row->places[0] + 1 == count) {
        size_t from = place_within(f->begin[row->row], row);
        size_t to = place_within(f->end[row->row], row);

        to = to < from ? from : to;
        put_part(f, row, 0, from, true);
        put_part(f, row, from, to, false);
        put_part(f, row, to, count, true);
        return;
    }
    find_hidden(f, row->row, row->places, count);
    while (i < count) {
        size_t end = i + 1;

        while (end < count && f->hidden[end] == f->hidden[i])
            end++;
        put_part(f, row, i, end, f->hidden[i]);
        i = end;
    }
}

/* Keys that a row may see, when not all were drawn. */
static size_t count_seen(const filling *f, size_t row)
{
    size_t seen = 0;

    if (f->begin)
        return f->end[row] > f->begin[row] ? (size_t)(f->end[row] - f->begin[row]) : 0;
    for (size_t k = 0; k < f->keys; k++)
        seen += txd_mask_hides(f->blank->mask, row, k) == TXD_SEEN;
    return seen;
}

/* The largest of the row against an even share, 1 over the keys that it may see. */
static void judge_row(filling *f, size_t row, size_t in_block)
{
    txd_peak *peak = &f->map->peak;
    size_t seen = f->rows[in_block].seen;
    double times;

    if (!f->blank->mask || f->blank->silent != TXD_SILENT_ZERO)
        return;
    if (f->blank->query_valid && !f->blank->query_valid[row])
        return;
    if (f->map->columns.count != f->keys)
        seen = count_seen(f, row);
    times = f->rows[in_block].largest * (double)seen;
    if (times > peak->times)
        *peak = (txd_peak){times, f->rows[in_block].largest, row,
                           f->rows[in_block].column, seen};
}

/* How many places from the given one on are consecutive and within a block. */
static size_t run_of(const txd_axis *axis, size_t from, size_t most)
{
    size_t count = 1;

    while (from + count < axis->count && axis->places[from + count] % most != 0 &&
           axis->places[from + count] == axis->places[from] + count)
        count++;
    return count;
}

/* Columns that are read at once: those between places that are left out, too. */
static size_t width_of(const txd_axis *columns, size_t from, size_t *count)
{
    size_t first = columns->places[from], i = from + 1;

    while (i < columns->count &&
           columns->places[i] / BLOCK_COLUMNS == first / BLOCK_COLUMNS)
        i++;
    *count = i - from;
    return columns->places[i - 1] - first + 1;
}

static txd_status put_block(filling *f, size_t row, size_t run)
{
    const txd_axis *rows = &f->map->rows, *columns = &f->map->columns;
    const txd_slice *slice = f->slice;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK], part;

    for (int axis = 0; axis < slice->info.rank; axis++) {
        start[axis] = slice->fixed[axis];
        count[axis] = 1;
    }
    if (slice->row_axis >= 0) {
        start[slice->row_axis] = rows->places[row] - slice->origin[slice->row_axis];
        count[slice->row_axis] = run;
    }
    for (size_t from = 0; from < columns->count; from += part) {
        size_t width = width_of(columns, from, &part);

        start[slice->column_axis] =
            columns->places[from] - slice->origin[slice->column_axis];
        count[slice->column_axis] = width;
        TXD_TRY(txd_trace_read(slice->recording, f->values, slice->entry, start, count,
                               TXD_F64));
        for (size_t i = 0; i < run; i++)
            put_row(f, &(run_of_cells){.row = rows->places[row + i],
                                       .in_block = i,
                                       .line = (row + i) * rows->cells / rows->count *
                                               columns->cells,
                                       .places = columns->places + from,
                                       .values = f->values + i * width,
                                       .cell = f->cell + from,
                                       .count = part});
    }
    return TXD_OK;
}

static txd_status make_room(filling *f)
{
    const txd_axis *rows = &f->map->rows, *columns = &f->map->columns;
    size_t cells = rows->cells * columns->cells;
    size_t width = columns->places[columns->count - 1] - columns->places[0] + 1;
    size_t height = rows->count < BLOCK_ROWS ? rows->count : BLOCK_ROWS;
    bool shared = rows->cells != rows->count || columns->cells != columns->count;

    if (width > BLOCK_COLUMNS)
        width = BLOCK_COLUMNS;
    f->values = txd_arena_alloc(f->map->arena, height * width, sizeof *f->values);
    f->cell = txd_arena_alloc(f->map->arena, columns->count, sizeof *f->cell);
    f->hidden = txd_arena_alloc(f->map->arena, width, 1);
    if (f->map->mean && shared)
        f->counts = txd_arena_alloc(f->map->arena, cells, sizeof *f->counts);
    if (!f->values || !f->cell || !f->hidden || (f->map->mean && shared && !f->counts))
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < columns->count; i++)
        f->cell[i] = (uint32_t)(i * columns->cells / columns->count);
    return TXD_OK;
}

/* Of most masks each query sees one run of keys. */
static txd_status find_spans(filling *f)
{
    const txd_trace_info *info = &f->slice->info;
    struct txd_hidden_sides sides;
    size_t shape[2] = {1, f->keys};

    if (!f->blank->mask || f->slice->row_axis < 0)
        return TXD_OK;
    shape[0] = info->dims[f->slice->row_axis];
    f->begin = txd_arena_alloc(f->map->arena, shape[0], sizeof *f->begin);
    f->end = txd_arena_alloc(f->map->arena, shape[0], sizeof *f->end);
    if (!f->begin || !f->end)
        return TXD_ERR_MEMORY;
    if (!txd_mask_spans(f->begin, f->end, &sides, f->blank->mask, shape))
        f->begin = f->end = NULL;
    return TXD_OK;
}

/* A file of kilobytes can claim more than can be read in a day. */
static txd_status check_size(const txd_map *map, const txd_slice *slice)
{
    size_t rows = map->rows.count, columns = map->columns.count;

    if ((double)rows * (double)columns <= TXD_MAP_VALUES)
        return TXD_OK;
    return txd_fail(TXD_ERR_LIMIT,
                    "%s: %zu x %zu values are too many to read for one picture: choose "
                    "some with --query and --key",
                    slice->site, rows, columns);
}

txd_status txd_map_fill(txd_map *map, const txd_slice *slice, const txd_blank *blank)
{
    filling f = {.map = map, .slice = slice, .blank = blank};
    size_t run;

    TXD_TRY(check_size(map, slice));
    f.keys = slice->info.dims[slice->column_axis];
    TXD_TRY(make_room(&f));
    TXD_TRY(find_spans(&f));
    for (size_t row = 0; row < map->rows.count; row += run) {
        run = run_of(&map->rows, row, BLOCK_ROWS);
        memset(f.rows, 0, sizeof f.rows);
        TXD_TRY(put_block(&f, row, run));
        for (size_t i = 0; i < run; i++)
            judge_row(&f, map->rows.places[row + i], i);
    }
    for (size_t i = 0; f.counts && i < map->rows.cells * map->columns.cells; i++)
        if (f.counts[i])
            map->cells[i] /= f.counts[i];
    return TXD_OK;
}
