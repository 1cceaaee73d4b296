/* SPDX-License-Identifier: MIT
 *
 * Lays a heat map out and writes its gnuplot script. All sizes are decided here, in
 * pixels, from the texts there are, so that nothing is cut off.
 */
#include <math.h>
#include <string.h>

#include "viz/draw/map.h"

enum {
    EDGE = 16,
    LINE = 17, /* of small text */
    LEAST_WIDTH = 560,
    BAR_WIDTH = 20 + 14 + 76, /* gap, bar, numbers */
    RING_CELL = 8,            /* smallest cell in which a ring can be seen */
    FEW = 64,                 /* marks that are ringed however small their cells */
};

typedef struct layout {
    txd_sheet sheet;
    txd_box panel;
    int cell_width, cell_height, label_width[2]; /* of rows, of columns */
    char **above[TXD_MAP_NOTES], **below[TXD_MAP_NOTES], **title;
    size_t above_lines[TXD_MAP_NOTES], below_lines[TXD_MAP_NOTES], title_lines;
    int above_height, below_height;
} layout;

/* DejaVu Sans is wide: 0.64 of its size on average. */
static size_t characters(int width, int size)
{
    return (size_t)(width * 100 / (size * 64));
}

static int labels_width(const txd_axis *axis)
{
    int widest = 48; /* numbers */

    for (size_t i = 0; axis->labels && i < axis->cells; i++) {
        int width = (int)txd_clean_width(axis->labels[i]) * TXD_TEXT_SMALL * 64 / 100;

        if (width > widest)
            widest = width;
    }
    return widest;
}

static int cell_size(const txd_axis *axis)
{
    int cells = (int)axis->cells, least = axis->labels ? 15 : 1;
    int size = TXD_MAP_CELLS / (cells ? cells : 1);

    return size < least ? least : size > 34 ? 34 : size;
}

static void size_panel(layout *out, const txd_map *map)
{
    out->cell_width = cell_size(&map->columns);
    out->cell_height = cell_size(&map->rows);
    if (map->square && out->cell_width < out->cell_height)
        out->cell_height = out->cell_width;
    if (map->square && out->cell_height < out->cell_width)
        out->cell_width = out->cell_height;
    if (map->square && map->rows.labels && out->cell_height < 15)
        out->cell_height = 15;
    if (map->square && map->columns.labels && out->cell_width < 15)
        out->cell_width = 15;
    out->panel.width = out->cell_width * (int)map->columns.cells;
    out->panel.height = out->cell_height * (int)map->rows.cells;
}

static txd_status wrap_notes(layout *out, const txd_map *map, bool above, int width)
{
    const txd_note *notes = above ? map->above : map->below;
    size_t count = above ? map->above_count : map->below_count;
    size_t *counts = above ? out->above_lines : out->below_lines;
    int *height = above ? &out->above_height : &out->below_height;
    char ***lines = above ? out->above : out->below;

    *height = 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = txd_clean_fit(map->arena, notes[i].text, out->sheet.kind);

        TXD_TRY(txd_wrap(&lines[i], &counts[i], map->arena, text,
                         characters(width, TXD_TEXT_SMALL)));
        *height += (int)counts[i] * LINE;
    }
    return TXD_OK;
}

/* Text is wrapped to the sheet, so the width comes first. */
static txd_status arrange(layout *out, const txd_map *map)
{
    int inner;

    size_panel(out, map);
    out->label_width[0] = labels_width(&map->rows);
    out->label_width[1] = map->columns.labels ? labels_width(&map->columns) : 14;
    out->panel.left = EDGE + LINE + 8 + out->label_width[0] + 8;
    out->sheet.width = out->panel.left + out->panel.width + BAR_WIDTH + EDGE;
    if (out->sheet.width < LEAST_WIDTH)
        out->sheet.width = LEAST_WIDTH;
    inner = out->sheet.width - 2 * EDGE;
    TXD_TRY(txd_wrap(&out->title, &out->title_lines, map->arena,
                     txd_clean_fit(map->arena, map->title, out->sheet.kind),
                     characters(inner, TXD_TEXT_TITLE)));
    TXD_TRY(wrap_notes(out, map, true, inner));
    TXD_TRY(wrap_notes(out, map, false, inner));
    out->panel.top = EDGE + (int)out->title_lines * 22 + out->above_height + 14;
    out->sheet.height = out->panel.top + out->panel.height + 8 + out->label_width[1] +
                        8 + LINE + 12 + out->below_height + EDGE;
    return TXD_OK;
}

static void write_words(txd_text *out, const layout *lay, const txd_map *map)
{
    const txd_box *panel = &lay->panel;
    int y = EDGE + 6;

    for (size_t i = 0; i < lay->title_lines; i++, y += 22)
        txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_TITLE,
                         TXD_COLOUR_INK, lay->title[i]);
    for (size_t n = 0; n < map->above_count; n++)
        for (size_t i = 0; i < lay->above_lines[n]; i++, y += LINE)
            txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_SMALL,
                             map->above[n].colour, lay->above[n][i]);
    txd_script_label(out, &lay->sheet, EDGE + 4, panel->top + panel->height / 2,
                     "center rotate by 90", TXD_TEXT_SMALL, TXD_COLOUR_INK,
                     map->rows.title);
    y = panel->top + panel->height + 8 + lay->label_width[1] + 12;
    txd_script_label(out, &lay->sheet, panel->left + panel->width / 2, y, "center",
                     TXD_TEXT_SMALL, TXD_COLOUR_INK, map->columns.title);
    y += LINE + 10;
    for (size_t n = 0; n < map->below_count; n++)
        for (size_t i = 0; i < lay->below_lines[n]; i++, y += LINE)
            txd_script_label(out, &lay->sheet, EDGE, y, "left", TXD_TEXT_SMALL,
                             map->below[n].colour, lay->below[n][i]);
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

/* Rings (or crosses) around cells; a white one below keeps them apart from colours. */
static void write_rings(txd_drawing *out, const layout *lay, const char *name,
                        size_t count, const char *colour)
{
    static const char *const under[2] = {"4 linecolor rgb '#ffffff'",
                                         "2 linecolor rgb "};
    double least = count <= FEW ? 7.0 / lay->cell_width : 0;
    double radius = least > 0.4 ? least : 0.4;

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

/* gnuplot refuses images of less than 2 x 2: then every cell is given as four. */
typedef struct grid {
    const char *name;
    const void *data;
    size_t rows, columns, bytes; /* of one cell */
} grid;

static txd_status write_grid(txd_drawing *out, txd_arena *arena, const grid *from)
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

/* Flagged cells as a second image: every one of them, in the warning's colour, and at
 * least three pixels wide. */
static txd_status write_overlay(txd_drawing *out, const layout *lay, const txd_map *map)
{
    static const unsigned char leak[4] = {0xE8, 0x37, 0x1B, 0xFF};
    static const unsigned char nonfinite[4] = {0xE0, 0x00, 0xD0, 0xFF};
    size_t rows = map->rows.cells, columns = map->columns.cells;
    unsigned char *pixels = txd_arena_alloc(map->arena, rows * columns, 4);
    size_t reach = lay->cell_width < 3 ? 1 : 0;

    if (!pixels)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows * columns; i++) {
        size_t row = i / columns, column = i % columns;

        for (size_t r = row < reach ? 0 : row - reach;
             map->flags[i] && r <= row + reach && r < rows; r++)
            for (size_t c = column < reach ? 0 : column - reach;
                 c <= column + reach && c < columns; c++)
                memcpy(pixels + (r * columns + c) * 4,
                       map->flags[i] & TXD_FLAG_LEAK ? leak : nonfinite, 4);
    }
    txd_text_add(&out->script, ", \\\n     ");
    TXD_TRY(write_grid(out, map->arena, &(grid){"marks", pixels, rows, columns, 4}));
    txd_text_add(&out->script, "format='%uchar' using 1:2:3:4 with rgbalpha");
    return TXD_OK;
}

static txd_status write_marks(txd_drawing *out, const layout *lay, const txd_map *map)
{
    static const struct {
        int flag;
        const char *name, *colour;
    } kinds[] = {{TXD_FLAG_LEAK, "leaks", TXD_COLOUR_LEAK},
                 {TXD_FLAG_NONFINITE, "nonfinite", TXD_COLOUR_NONFINITE}};
    bool small = lay->cell_width < RING_CELL || lay->cell_height < RING_CELL;

    if (small && map->leaks.total + map->nonfinite.total != 0)
        TXD_TRY(write_overlay(out, lay, map));
    for (size_t i = 0; i < 2; i++) {
        double *points;
        size_t count;

        TXD_TRY(collect(&points, &count, map, kinds[i].flag));
        if (count == 0 || (small && count > FEW))
            continue;
        write_rings(out, lay, kinds[i].name, count, kinds[i].colour);
        (void)txd_drawing_add(out, kinds[i].name, points, count * 2 * sizeof *points);
    }
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
static void write_frame(txd_text *out, const layout *lay)
{
    const txd_box *panel = &lay->panel;

    txd_text_addf(out,
                  "unset border\nset object rectangle from screen "
                  "(%d-1.5)/%d,1-(%d-1.5)/%d to screen (%d+1.5)/%d,1-(%d+1.5)/%d "
                  "noclip front linewidth 1 fillstyle empty border linecolor rgb "
                  "'%s'\n",
                  panel->left, lay->sheet.width, panel->top, lay->sheet.height,
                  panel->left + panel->width, lay->sheet.width,
                  panel->top + panel->height, lay->sheet.height, TXD_COLOUR_QUIET);
}

static txd_status write_map(txd_drawing *out, const txd_map *map, layout *lay)
{
    size_t rows = map->rows.cells, columns = map->columns.cells;
    txd_image_kind kind = lay->sheet.kind;

    TXD_TRY(arrange(lay, map));
    txd_script_begin(&out->script, &lay->sheet);
    txd_script_panel(&out->script, &lay->sheet, &lay->panel, rows, columns);
    txd_script_scale(&out->script, &lay->sheet, &lay->panel, map->low, map->high,
                     map->logarithmic);
    write_words(&out->script, lay, map);
    if (map->extra)
        txd_text_add(&out->script, map->extra);
    else
        write_frame(&out->script, lay);
    txd_map_point(&out->script, map, &lay->sheet, &lay->panel);
    write_tics(&out->script, "x", &map->columns, lay->cell_width);
    write_tics(&out->script, "y", &map->rows, lay->cell_height);
    txd_text_add(&out->script, "plot ");
    TXD_TRY(write_grid(out, map->arena,
                       &(grid){"cells", map->cells, rows, columns, sizeof(double)}));
    txd_text_addf(&out->script, "format='%%double' using 1 %s", image_style(map, kind));
    TXD_TRY(write_marks(out, lay, map));
    txd_text_add(&out->script, "\nset output\n");
    return txd_text_status(&out->script);
}

txd_status txd_map_draw(txd_drawing *out, const txd_map *map)
{
    layout lay = {.sheet.kind = out->kind};
    txd_map drawn = *map;

    TXD_TRY(
        txd_clean_fit_all(&drawn.rows.labels, map->arena, map->rows.cells, out->kind));
    TXD_TRY(txd_clean_fit_all(&drawn.columns.labels, map->arena, map->columns.cells,
                              out->kind));
    return write_map(out, &drawn, &lay);
}
