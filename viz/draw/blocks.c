/* SPDX-License-Identifier: MIT
 *
 * Lays blocks out in whole cells, so that the picture stays one image. Gaps are as many
 * cells as a title needs in pixels.
 */
#include "viz/draw/blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/draw/script.h"

enum { TITLE_HEIGHT = 22, MOST_CELL = 34, MOST_SIDE = 4096 };

/* A cell's side in pixels, as maps draw them. */
static size_t cell_side(const txd_map *map)
{
    size_t most =
        map->rows.cells > map->columns.cells ? map->rows.cells : map->columns.cells;
    size_t side = TXD_MAP_CELLS / (most ? most : 1);

    return side < 1 ? 1 : side > MOST_CELL ? MOST_CELL : side;
}

static size_t cells_of(size_t pixels, size_t side)
{
    return (pixels + side - 1) / side;
}

/* Pixels of the longest title. */
static size_t title_width(const txd_blocks *blocks)
{
    size_t widest = 0, count = blocks->row_count * blocks->column_count;

    for (size_t i = 0; blocks->titles && i < count; i++) {
        const char *title = blocks->titles[i];
        size_t width = title ? txd_clean_width(title) : 0;

        widest = width > widest ? width : widest;
    }
    return widest * TXD_TEXT_SMALL * 60 / 100;
}

/* For cells of `side` pixels. Titles are over the blocks and may be wider than them. */
static void place(txd_blocks *blocks, size_t side)
{
    size_t at = 0;

    for (size_t i = 0; i < blocks->row_count; i++) {
        if (i == 0 || !blocks->rows[i].joined)
            at += blocks->titles ? cells_of(TITLE_HEIGHT, side) : i != 0;
        else
            at++;
        blocks->rows[i].start = at;
        at += blocks->rows[i].cells;
    }
    blocks->map->rows.cells = at;
    at = 0;
    for (size_t i = 0; i < blocks->column_count; i++) {
        const txd_strip *strip = &blocks->columns[i];
        size_t width = strip->cells, least = 0;

        blocks->columns[i].start = at += i != 0;
        if (blocks->titles && !strip->joined)
            least = cells_of(title_width(blocks), side);
        at += width > least ? width : least;
    }
    blocks->map->columns.cells = at;
}

/* Smaller cells need more of them for a title, which makes them smaller again. */
static void settle(txd_blocks *blocks)
{
    size_t side = MOST_CELL;

    for (int round = 0; round < 8; round++) {
        size_t found;

        place(blocks, side);
        found = cell_side(blocks->map);
        if (found >= side)
            return;
        side = found;
    }
}

size_t txd_blocks_at(const txd_blocks *blocks, size_t block_row, size_t block_column,
                     size_t row, size_t column)
{
    return (blocks->rows[block_row].start + row) * blocks->map->columns.cells +
           blocks->columns[block_column].start + column;
}

static void add_tic(txd_text *out, int number, double at)
{
    txd_text_addf(out, "%s'%d' ", out->length ? ", " : "", number);
    txd_text_add_real(out, at);
}

/* Numbers of cells, or of strips, at least `room` cells apart. */
static txd_status number(txd_axis *axis, txd_arena *arena, const txd_strip *strips,
                         size_t count, size_t room)
{
    double last = -(double)room;
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; i < count; i++) {
        const txd_strip *strip = &strips[i];
        double middle = (double)strip->start + (double)(strip->cells - 1) / 2;

        for (size_t j = 0; strip->numbers && j < strip->cells; j += room)
            add_tic(&text, strip->numbers[j], (double)(strip->start + j));
        if (strip->numbers || middle - last < (double)room)
            continue;
        add_tic(&text, strip->number, middle);
        last = middle;
    }
    axis->tics = txd_arena_string(arena, txd_text_get(&text));
    axis->count = axis->cells;
    txd_text_finish(&text);
    return axis->tics ? TXD_OK : TXD_ERR_MEMORY;
}

static void add_corner(txd_text *out, const char *before, size_t x, size_t y)
{
    txd_text_add(out, before);
    txd_text_add_real(out, (double)x - 0.5);
    txd_text_add(out, ",");
    txd_text_add_real(out, (double)y - 0.5);
}

/* The last strip that is joined to strip i. */
static size_t last_joined(const txd_strip *strips, size_t count, size_t i)
{
    while (i + 1 < count && strips[i + 1].joined)
        i++;
    return i;
}

/* The frame and the title of the block, or of the joined blocks, that begin here. */
static void add_surroundings(txd_text *out, const txd_blocks *blocks, size_t row,
                             size_t column)
{
    const txd_strip *top = &blocks->rows[row], *left = &blocks->columns[column];
    const txd_strip *bottom =
        &blocks->rows[last_joined(blocks->rows, blocks->row_count, row)];
    const txd_strip *right =
        &blocks->columns[last_joined(blocks->columns, blocks->column_count, column)];
    const char *title =
        blocks->titles ? blocks->titles[row * blocks->column_count + column] : NULL;

    if (blocks->titles && !title)
        return;
    add_corner(out, "set object rectangle from ", left->start, top->start);
    add_corner(out, " to ", right->start + right->cells, bottom->start + bottom->cells);
    txd_text_add(out, " noclip front linewidth 0.5 fillstyle empty border linecolor "
                      "rgb '" TXD_COLOUR_QUIET "'\n");
    if (!title)
        return;
    txd_text_add(out, "set label ");
    txd_script_string(out, title);
    add_corner(out, " at ", left->start, top->start);
    txd_text_add(
        out, " left offset character 0,0.8 front textcolor rgb '" TXD_COLOUR_INK "'\n");
}

static txd_status surround(const txd_blocks *blocks)
{
    txd_map *map = blocks->map;
    txd_text text;

    txd_text_init(&text);
    txd_text_add(&text, "unset border\n");
    for (size_t i = 0; i < blocks->row_count; i++)
        for (size_t j = 0; j < blocks->column_count; j++)
            if (!blocks->rows[i].joined && !blocks->columns[j].joined)
                add_surroundings(&text, blocks, i, j);
    map->extra = txd_text_status(&text) == TXD_OK
                     ? txd_arena_string(map->arena, txd_text_get(&text))
                     : NULL;
    txd_text_finish(&text);
    return map->extra ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_blocks_lay(txd_blocks *blocks)
{
    txd_map *map = blocks->map;
    size_t total, side;

    settle(blocks);
    side = cell_side(map);
    if (map->rows.cells > MOST_SIDE || map->columns.cells > MOST_SIDE)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu x %zu cells do not fit one picture: choose a layer with "
                        "--layer",
                        map->rows.cells, map->columns.cells);
    total = map->rows.cells * map->columns.cells;
    map->cells = txd_arena_alloc(map->arena, total, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, total, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < total; i++)
        map->cells[i] = NAN;
    map->square = true;
    TXD_TRY(number(&map->rows, map->arena, blocks->rows, blocks->row_count,
                   cells_of(13, side)));
    TXD_TRY(number(&map->columns, map->arena, blocks->columns, blocks->column_count,
                   cells_of(18, side)));
    return surround(blocks);
}
