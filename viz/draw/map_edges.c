/* SPDX-License-Identifier: MIT
 *
 * The edges of the claimed mask as thin lines: the diagonal, the window, documents,
 * padding. They run inside of the hidden cells, which are blank, so that they cover
 * nothing that is to be seen; marks of leaks are drawn over them.
 */
#include <math.h>
#include <string.h>

#include "viz/draw/map_internal.h"

enum {
    KINDS = 4,
    LARGE_CELL = 8, /* in which there is room for a line with a white one below */
};

/* A line per reason. Dashes are cut here, and not by gnuplot, whose dashes begin anew
 * at every segment, and segments may be a pixel long. */
static const struct {
    txd_hidden reason;
    int on, period; /* pixels */
    const char *sample, *words;
} kinds[KINDS] = {
    {TXD_HIDDEN_FUTURE, 1, 1, "\xE2\x94\x80\xE2\x94\x80", "later keys"},
    {TXD_HIDDEN_WINDOW, 6, 10, "\xE2\x80\x93 \xE2\x80\x93", "keys before the window"},
    {TXD_HIDDEN_DOCUMENT, 3, 5, "- -", "other documents"},
    {TXD_HIDDEN_PADDING, 1, 4, "\xC2\xB7\xC2\xB7\xC2\xB7", "padding"},
};

/* What a query sees of the places from `first` to `last`, the keys there being side by
 * side: most masks let each see one run of keys. */
static bool is_any_seen(const txd_spans *spans, size_t query, size_t first, size_t last)
{
    return spans->begin[query] <= (int64_t)last && spans->end[query] > (int64_t)first &&
           spans->begin[query] < spans->end[query];
}

/* A cell is seen if any of its places is. */
static unsigned char reason_of(const txd_mask_view *mask, const txd_spans *spans,
                               const txd_map *map, size_t row, size_t column)
{
    const txd_axis *rows = &map->rows, *columns = &map->columns;
    size_t row_end = ((row + 1) * rows->count + rows->cells - 1) / rows->cells;
    size_t begin = (column * columns->count + columns->cells - 1) / columns->cells;
    size_t end = ((column + 1) * columns->count + columns->cells - 1) / columns->cells;
    size_t first = columns->places[begin], last = columns->places[end - 1];
    txd_hidden reason = TXD_SEEN;

    if (last - first + 1 != end - begin)
        spans = NULL;
    for (size_t r = (row * rows->count + rows->cells - 1) / rows->cells; r < row_end;
         r++)
        for (size_t c = spans ? end - 1 : begin; c < end; c++) {
            if (spans && is_any_seen(spans, rows->places[r], first, last))
                return TXD_SEEN;
            reason = txd_mask_hides(mask, rows->places[r], columns->places[c]);
            if (reason == TXD_SEEN)
                return TXD_SEEN;
        }
    return (unsigned char)reason;
}

txd_status txd_map_find_edges(txd_map *map, const txd_mask_view *mask)
{
    size_t rows = map->rows.cells, columns = map->columns.cells;
    const size_t shape[2] = {map->rows.places[map->rows.count - 1] + 1,
                             map->columns.places[map->columns.count - 1] + 1};
    unsigned char *hidden = txd_arena_alloc(map->arena, rows * columns, 1);
    int32_t *begin = txd_arena_alloc(map->arena, shape[0], sizeof *begin);
    int32_t *end = txd_arena_alloc(map->arena, shape[0], sizeof *end);
    const txd_spans spans = {begin, end, 0};
    struct txd_hidden_sides sides;
    bool is_run;

    if (!hidden || !begin || !end)
        return TXD_ERR_MEMORY;
    is_run = txd_mask_spans(begin, end, &sides, mask, shape);
    for (size_t i = 0; i < rows * columns; i++)
        hidden[i] =
            reason_of(mask, is_run ? &spans : NULL, map, i / columns, i % columns);
    map->hidden = hidden;
    return TXD_OK;
}

/* Lines as they grow: x, y, dx, dy of each, in cells. */
typedef struct lines {
    const txd_map_place *place;
    txd_text bytes; /* of doubles */
    size_t count;
    int on, period;
} lines;

/* A line of one axis from `from` to `to` pixels, along the other at `across` pixels. */
static void add_line(lines *out, double from, double to, double across, bool is_row)
{
    double width = out->place->cell_width, height = out->place->cell_height;
    double x = is_row ? from : across, y = is_row ? across : from;
    double numbers[4] = {x / width - 0.5, y / height - 0.5,
                         is_row ? (to - from) / width : 0,
                         is_row ? 0 : (to - from) / height};

    txd_text_add_bytes(&out->bytes, (const char *)numbers, sizeof numbers);
    out->count++;
}

/* The same, cut to dashes by the distance from the map's corner. */
static void add_dashes(lines *out, int from, int to, double across, bool is_row)
{
    if (out->on == out->period) {
        add_line(out, from, to, across, is_row);
        return;
    }
    for (int begin = from - from % out->period; begin < to; begin += out->period) {
        int left = begin > from ? begin : from;
        int right = begin + out->on < to ? begin + out->on : to;

        if (right > left)
            add_line(out, left, right, across, is_row);
    }
}

static unsigned char hidden_at(const txd_map *map, size_t row, size_t column,
                               bool turned)
{
    return turned ? map->hidden[column * map->columns.cells + row]
                  : map->hidden[row * map->columns.cells + column];
}

/* Between each two neighbours in a row (or, turned, in a column) of which one is seen
 * and the other hidden for `reason`. */
static void find_lines(lines *out, const txd_map *map, txd_hidden reason, bool turned)
{
    size_t rows = turned ? map->columns.cells : map->rows.cells;
    size_t columns = turned ? map->rows.cells : map->columns.cells;
    int along = turned ? out->place->cell_width : out->place->cell_height;
    int across = turned ? out->place->cell_height : out->place->cell_width;
    int away = across < LARGE_CELL ? 1 : 2;

    for (size_t row = 0; row < rows; row++)
        for (size_t column = 1; column < columns; column++) {
            unsigned char before = hidden_at(map, row, column - 1, turned);
            unsigned char after = hidden_at(map, row, column, turned);
            double side = after == TXD_SEEN ? -away : away;

            if ((before == TXD_SEEN) == (after == TXD_SEEN) ||
                before + after != (int)reason)
                continue;
            add_dashes(out, (int)row * along, (int)(row + 1) * along,
                       (double)column * across + side, turned);
        }
}

/* White below, so that it is seen where hidden cells are not blank. */
static void write_vectors(txd_text *script, const char *name, size_t count,
                          const char *style)
{
    txd_text_addf(
        script,
        ", \\\n     '%s' binary record=(%zu) "
        "format='%%double%%double%%double%%double' using 1:2:3:4 with vectors "
        "nohead linewidth %s",
        name, count, style);
}

static txd_status write_lines(txd_drawing *out, const lines *found, txd_arena *arena,
                              const char *name)
{
    size_t bytes = found->bytes.length;
    char *copy = txd_arena_alloc(arena, bytes, 1);

    TXD_TRY(txd_text_status(&found->bytes));
    if (!copy)
        return TXD_ERR_MEMORY;
    memcpy(copy, found->bytes.data, bytes);
    if (found->place->cell_width >= LARGE_CELL)
        write_vectors(&out->script, name, found->count, "3 linecolor rgb '#ffffff'");
    write_vectors(&out->script, name, found->count,
                  "1 linecolor rgb '" TXD_COLOUR_INK "'");
    return txd_drawing_add(out, name, copy, bytes);
}

txd_status txd_map_write_edges(txd_drawing *out, const txd_map_place *place,
                               const txd_map *map, size_t index)
{
    lines found = {.place = place};
    txd_status status = TXD_OK;
    char *name = txd_map_file(map->arena, "edges", index);

    if (!map->hidden)
        return TXD_OK;
    if (!name)
        return TXD_ERR_MEMORY;
    txd_text_init(&found.bytes);
    for (int i = 0; i < KINDS; i++) {
        found.on = kinds[i].on;
        found.period = kinds[i].period;
        find_lines(&found, map, kinds[i].reason, false);
        find_lines(&found, map, kinds[i].reason, true);
    }
    if (found.count != 0)
        status = write_lines(out, &found, map->arena, name);
    txd_text_finish(&found.bytes);
    return status;
}

static bool has_reason(const txd_map *map, txd_hidden reason)
{
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        if (map->hidden[i] == reason)
            return true;
    return false;
}

txd_status txd_map_note_edges(txd_map *map)
{
    const char *comma = "Lines: the edge of ";
    txd_text words;
    txd_status status;

    if (!map->hidden)
        return TXD_OK;
    txd_text_init(&words);
    for (int i = 0; i < KINDS; i++) {
        if (!has_reason(map, kinds[i].reason))
            continue;
        txd_text_addf(&words, "%s%s %s", comma, kinds[i].sample, kinds[i].words);
        comma = ", ";
    }
    status = txd_text_status(&words);
    if (status == TXD_OK)
        status = txd_map_note(map, false, TXD_COLOUR_QUIET, txd_text_get(&words));
    txd_text_finish(&words);
    return status;
}
