/* SPDX-License-Identifier: MIT
 *
 * What is wrong in a map, over its cells: rings around hidden cells that are not
 * silent and around values that are not finite, however small their cells.
 */
#include <string.h>

#include "viz/draw/map_internal.h"

enum {
    RING_CELL = 8, /* smallest cell in which a ring can be seen */
    FEW = 64,      /* marks that are ringed however small their cells */
    ALARMS = TXD_FLAG_LEAK | TXD_FLAG_NONFINITE,
};

/* Centres of the flagged cells, as pairs of doubles. */
static txd_status collect(double **out, size_t *count, const txd_map *map, int flag)
{
    size_t cells = map->rows.cells * map->columns.cells, found = 0;
    double *points;

    for (size_t i = 0; i < cells; i++)
        found += (map->flags[i] & flag) != 0;
    points = txd_arena_alloc(map->arena, found, 2 * sizeof *points);
    if (!points)
        return TXD_ERR_MEMORY;
    *out = points;
    *count = found;
    for (size_t i = 0; i < cells; i++) {
        if (!(map->flags[i] & flag))
            continue;
        *points++ = (double)(i % map->columns.cells);
        *points++ = (double)(i / map->columns.cells);
    }
    return TXD_OK;
}

static int smaller_side(const txd_map_place *place)
{
    return place->cell_width < place->cell_height ? place->cell_width
                                                  : place->cell_height;
}

/* Rings (or crosses) around cells; a white one below keeps them apart from colours. */
static void write_rings(txd_drawing *out, const txd_map_place *place, const char *name,
                        size_t count, const char *colour)
{
    static const char *const under[2] = {"4 linecolor rgb '#ffffff'",
                                         "2 linecolor rgb "};
    double inner = 0.4 * smaller_side(place) / place->cell_width;
    double least = count <= FEW ? 7.0 / place->cell_width : 0;
    double radius = least > inner ? least : inner;

    for (int i = 0; i < 2; i++) {
        txd_text_addf(&out->script,
                      ", \\\n     '%s' binary record=(%zu) format='%%double%%double' "
                      "using 1:2:(",
                      name, count);
        txd_text_add_real(&out->script, radius);
        txd_text_addf(&out->script, ") with circles fillstyle empty linewidth %s",
                      under[i]);
        if (i == 1)
            txd_text_addf(&out->script, "'%s'", colour);
    }
}

static txd_status write_pixels(txd_drawing *out, const txd_map *map, const char *name,
                               const unsigned char *pixels)
{
    const txd_grid grid = {name, pixels, map->rows.cells, map->columns.cells, 4};

    txd_text_add(&out->script, ", \\\n     ");
    TXD_TRY(txd_grid_write(out, map->arena, &grid));
    txd_text_add(&out->script, "format='%uchar' using 1:2:3:4 with rgbalpha");
    return TXD_OK;
}

/* Cells of which nothing is known, in a grey that no scale has. */
static txd_status write_unknown(txd_drawing *out, const txd_map *map, const char *name)
{
    static const unsigned char grey[4] = {0xD8, 0xDE, 0xE4, 0xFF};
    size_t cells = map->rows.cells * map->columns.cells, found = 0;
    unsigned char *pixels = txd_arena_alloc(map->arena, cells, 4);

    if (!pixels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++) {
        if (!(map->flags[i] & TXD_FLAG_UNKNOWN))
            continue;
        memcpy(pixels + 4 * i, grey, 4);
        found++;
    }
    return found == 0 ? TXD_OK : write_pixels(out, map, name, pixels);
}

/* Flagged cells as a second image: every one of them, in the warning's colour, and at
 * least three pixels wide. */
static txd_status write_overlay(txd_drawing *out, const txd_map_place *place,
                                const txd_map *map, const char *name)
{
    static const unsigned char leak[4] = {0xE8, 0x37, 0x1B, 0xFF};
    static const unsigned char nonfinite[4] = {0xE0, 0x00, 0xD0, 0xFF};
    size_t rows = map->rows.cells, columns = map->columns.cells;
    unsigned char *pixels = txd_arena_alloc(map->arena, rows * columns, 4);
    size_t reach = place->cell_width < 3 ? 1 : 0;

    if (!pixels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows * columns; i++) {
        size_t row = i / columns, column = i % columns;

        for (size_t r = row < reach ? 0 : row - reach;
             map->flags[i] & ALARMS && r <= row + reach && r < rows; r++)
            for (size_t c = column < reach ? 0 : column - reach;
                 c <= column + reach && c < columns; c++)
                memcpy(pixels + (r * columns + c) * 4,
                       map->flags[i] & TXD_FLAG_LEAK ? leak : nonfinite, 4);
    }
    return write_pixels(out, map, name, pixels);
}

txd_status txd_map_write_marks(txd_drawing *out, const txd_map_place *place,
                               const txd_map *map, size_t index)
{
    static const struct {
        int flag;
        const char *name, *colour;
    } kinds[] = {{TXD_FLAG_LEAK, "leaks", TXD_COLOUR_LEAK},
                 {TXD_FLAG_NONFINITE, "nonfinite", TXD_COLOUR_NONFINITE}};
    bool small = smaller_side(place) < RING_CELL;
    char *name = txd_map_file(map->arena, "marks", index);
    char *unknown = txd_map_file(map->arena, "unknown", index);

    if (!name || !unknown)
        return TXD_ERR_MEMORY;
    TXD_TRY(write_unknown(out, map, unknown));
    if (small && map->leaks.total + map->nonfinite.total != 0)
        TXD_TRY(write_overlay(out, place, map, name));
    for (size_t i = 0; i < 2; i++) {
        double *points;
        size_t count;

        TXD_TRY(collect(&points, &count, map, kinds[i].flag));
        name = txd_map_file(map->arena, kinds[i].name, index);
        if (!name)
            return TXD_ERR_MEMORY;
        if (count == 0 || (small && count > FEW))
            continue;
        write_rings(out, place, name, count, kinds[i].colour);
        (void)txd_drawing_add(out, name, points, count * 2 * sizeof *points);
    }
    return TXD_OK;
}
