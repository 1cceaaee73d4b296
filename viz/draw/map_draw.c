/* SPDX-License-Identifier: MIT
 *
 * Writes the gnuplot script of one or several heat maps on a sheet.
 */
#include <stdio.h>
#include <string.h>

#include "viz/draw/map_internal.h"

/* Title and notes of the sheet. */
static void write_words(txd_text *out, const txd_map_layout *lay, const txd_map *map)
{
    int y = TXD_MAP_EDGE + 6;

    for (size_t i = 0; i < lay->title_lines; i++, y += 22)
        txd_script_label(out, &lay->sheet, TXD_MAP_EDGE, y, "left", TXD_TEXT_TITLE,
                         TXD_COLOUR_INK, lay->title[i]);
    for (size_t n = 0; n < map->above_count; n++)
        for (size_t i = 0; i < lay->above_lines[n]; i++, y += TXD_MAP_LINE)
            txd_script_label(out, &lay->sheet, TXD_MAP_EDGE, y, "left", TXD_TEXT_SMALL,
                             map->above[n].colour, lay->above[n][i]);
    y = lay->words_below;
    for (size_t n = 0; n < map->below_count; n++)
        for (size_t i = 0; i < lay->below_lines[n]; i++, y += TXD_MAP_LINE)
            txd_script_label(out, &lay->sheet, TXD_MAP_EDGE, y, "left", TXD_TEXT_SMALL,
                             map->below[n].colour, lay->below[n][i]);
}

/* Titles of a map's axes, and what stands over it. */
static void write_titles(txd_text *out, const txd_sheet *sheet,
                         const txd_map_place *place, const txd_map *map)
{
    const txd_box *panel = &place->panel;
    int x = panel->left - 8 - place->label_width[0] - 8 - TXD_MAP_LINE + 4;
    int y = panel->top + panel->height + 8 + place->label_width[1] + 12;

    if (place->label_width[0] != 0)
        txd_script_label(out, sheet, x, panel->top + panel->height / 2,
                         "center rotate by 90", TXD_TEXT_SMALL, TXD_COLOUR_INK,
                         map->rows.title);
    txd_script_label(out, sheet, panel->left + panel->width / 2, y, "center",
                     TXD_TEXT_SMALL, TXD_COLOUR_INK, map->columns.title);
    if (map->heading)
        txd_script_label(out, sheet, panel->left, panel->top - 14, "left",
                         TXD_TEXT_SMALL, TXD_COLOUR_INK, map->heading);
}

/* A tic's label is a format: '%' must be doubled. */
static void write_tic(txd_text *out, const char *label, size_t cell)
{
    txd_text doubled;

    txd_text_init(&doubled);
    for (; *label; label++)
        txd_text_add_bytes(&doubled, *label == '%' ? "%%" : label,
                           *label == '%' ? 2 : 1);
    txd_script_string(out, txd_text_get(&doubled));
    txd_text_addf(out, " %zu", cell);
    if (txd_text_status(&doubled) != TXD_OK)
        out->status = txd_text_status(&doubled);
    txd_text_finish(&doubled);
}

/* Distance of numbered tics: 1, 2 or 5 times a power of ten, and room for digits. */
static size_t tic_step(const txd_axis *axis, int cell)
{
    size_t span = axis->places[axis->count - 1] - axis->places[0] + 1;
    size_t most = axis->cells * (size_t)cell / 48 + 1, step = 1;
    static const size_t next[] = {2, 5, 10};

    for (size_t power = 1;; power *= 10) {
        for (size_t i = 0; i < 3; i++) {
            if (span / step <= (most < 12 ? most : 12))
                return step;
            step = power * next[i];
        }
    }
}

static void write_tics(txd_text *out, const char *axis_name, const txd_axis *axis,
                       int cell)
{
    size_t step = axis->tics || axis->labels ? 1 : tic_step(axis, cell);
    const char *comma = "";

    if (axis->tics && !*axis->tics) {
        txd_text_addf(out, "unset %stics\n", axis_name);
        return;
    }
    txd_text_addf(out, "set %stics %s (", axis_name,
                  axis_name[0] == 'x' && axis->labels ? "rotate by 90 right" : "");
    if (axis->tics)
        txd_text_add(out, axis->tics);
    for (size_t i = 0; i < axis->count && !axis->tics; i++) {
        size_t at = i * axis->cells / axis->count;

        if (axis->places[i] % step != 0)
            continue;
        txd_text_add(out, comma);
        if (axis->labels)
            write_tic(out, axis->labels[at], at);
        else
            txd_text_addf(out, "'%zu' %zu", axis->places[i], at);
        comma = ", ";
    }
    txd_text_add(out, ")\n");
}

/* gnuplot refuses images of less than 2 x 2: then every cell is given as four. */
txd_status txd_grid_write(txd_drawing *out, txd_arena *arena, const txd_grid *from)
{
    size_t times = from->rows < 2 || from->columns < 2 ? 2 : 1;
    size_t columns = from->columns * times, rows = from->rows * times;
    unsigned char *copy;

    txd_text_addf(&out->script, "'%s' binary array=(%zu,%zu) ", from->name, columns,
                  rows);
    if (times == 1) {
        (void)txd_drawing_add(out, from->name, from->data,
                              rows * columns * from->bytes);
        return TXD_OK;
    }
    copy = txd_arena_alloc(arena, rows * columns, from->bytes);
    if (!copy)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows * columns; i++) {
        size_t cell = i / columns / times * from->columns + i % columns / times;

        memcpy(copy + i * from->bytes,
               (const unsigned char *)from->data + cell * from->bytes, from->bytes);
    }
    txd_text_add(&out->script, "dx=0.5 dy=0.5 origin=(-0.25,-0.25) ");
    (void)txd_drawing_add(out, from->name, copy, rows * columns * from->bytes);
    return TXD_OK;
}

/* Viewers blur the small image that a vector file embeds; few cells are drawn as
 * rectangles instead. */
static const char *image_style(const txd_map *map, txd_image_kind kind)
{
    size_t cells = map->rows.cells * map->columns.cells;

    return kind != TXD_IMAGE_PNG && cells <= TXD_MAP_LABELS * TXD_MAP_LABELS
               ? "with image pixels"
               : "with image";
}

/* Beside the cells: half of a border's width would cover those at the edges, which in
 * long sequences are a pixel wide; in the first column are the sinks. */
static void write_frame(txd_text *out, const txd_sheet *sheet, const txd_box *panel)
{
    txd_text_addf(out,
                  "unset border\nset object rectangle from screen "
                  "(%d-1.5)/%d,1-(%d-1.5)/%d to screen (%d+1.5)/%d,1-(%d+1.5)/%d "
                  "noclip front linewidth 1 fillstyle empty border linecolor rgb "
                  "'%s'\n",
                  panel->left, sheet->width, panel->top, sheet->height,
                  panel->left + panel->width, sheet->width, panel->top + panel->height,
                  sheet->height, TXD_COLOUR_QUIET);
}

/* What a map before this one on the sheet has set and this one does not. */
static void forget_last(txd_text *out, const txd_map *map)
{
    txd_text_add(out, "unset label\nunset object\nunset arrow\nset cbtics autofreq\n");
    if (!map->logarithmic)
        txd_text_add(out, "unset logscale cb\n");
}

static txd_status write_map(txd_drawing *out, const txd_map_layout *lay,
                            const txd_map *map, size_t index)
{
    const txd_map_place *place = &lay->places[index];
    const txd_box *panel = &place->panel;
    txd_grid grid = {.name = txd_map_file(map->arena, "cells", index),
                     .data = map->cells,
                     .rows = map->rows.cells,
                     .columns = map->columns.cells,
                     .bytes = sizeof *map->cells};

    if (!grid.name)
        return TXD_ERR_MEMORY;
    if (map->diverging)
        txd_script_differences(&out->script);
    txd_script_panel(&out->script, &lay->sheet, panel, grid.rows, grid.columns);
    txd_script_scale(&out->script, &lay->sheet, panel, map->low, map->high,
                     map->logarithmic);
    if (map->no_bar)
        txd_text_add(&out->script, "unset colorbox\n");
    write_titles(&out->script, &lay->sheet, place, map);
    if (map->extra)
        txd_text_add(&out->script, map->extra);
    else
        write_frame(&out->script, &lay->sheet, panel);
    txd_map_point(&out->script, map, &lay->sheet, panel);
    write_tics(&out->script, "x", &map->columns, place->cell_width);
    write_tics(&out->script, "y", &map->rows, place->cell_height);
    txd_text_add(&out->script, "plot ");
    TXD_TRY(txd_grid_write(out, map->arena, &grid));
    txd_text_addf(&out->script, "format='%%double' using 1 %s",
                  image_style(map, lay->sheet.kind));
    TXD_TRY(txd_map_write_edges(out, place, map, index));
    TXD_TRY(txd_map_write_marks(out, place, map, index));
    txd_text_add(&out->script, "\n");
    return txd_text_status(&out->script);
}

char *txd_map_file(txd_arena *arena, const char *name, size_t index)
{
    char numbered[40];

    if (index == 0)
        return txd_arena_string(arena, name);
    snprintf(numbered, sizeof numbered, "%s%zu", name, index + 1);
    return txd_arena_string(arena, numbered);
}

txd_status txd_maps_draw(txd_drawing *out, const txd_map *const *maps, size_t count)
{
    txd_map_layout lay = {.sheet.kind = out->kind};
    txd_map drawn[TXD_MAPS];
    const txd_map *fitted[TXD_MAPS] = {NULL};

    for (size_t i = 0; i < count; i++) {
        txd_map *map = &drawn[i];

        *map = *maps[i];
        fitted[i] = map;
        TXD_TRY(txd_clean_fit_all(&map->rows.labels, map->arena, map->rows.cells,
                                  out->kind));
        TXD_TRY(txd_clean_fit_all(&map->columns.labels, map->arena, map->columns.cells,
                                  out->kind));
    }
    TXD_TRY(txd_map_arrange(&lay, fitted, count));
    txd_script_begin(&out->script, &lay.sheet);
    txd_text_add(&out->script, count > 1 ? "set multiplot\n" : "");
    write_words(&out->script, &lay, fitted[0]);
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            forget_last(&out->script, fitted[i]);
        TXD_TRY(write_map(out, &lay, fitted[i], i));
    }
    txd_text_add(&out->script, count > 1 ? "unset multiplot\n" : "");
    txd_text_add(&out->script, "set output\n");
    return txd_text_status(&out->script);
}

txd_status txd_map_draw(txd_drawing *out, const txd_map *map)
{
    return txd_maps_draw(out, &map, 1);
}
