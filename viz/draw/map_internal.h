/* SPDX-License-Identifier: MIT
 *
 * How maps lie on a sheet, and what is drawn over their cells. For map*.c alone.
 */
#ifndef TXD_VIZ_MAP_INTERNAL_H
#define TXD_VIZ_MAP_INTERNAL_H

#include "viz/draw/map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_MAP_EDGE = 16, TXD_MAP_LINE = 17 /* of small text */ };

/* One map of a sheet, in pixels. */
typedef struct txd_map_place {
    txd_box panel;
    int cell_width, cell_height, label_width[2]; /* of rows, of columns */
} txd_map_place;

/* The sheet; its words are those of the first map. */
typedef struct txd_map_layout {
    txd_sheet sheet;
    txd_map_place places[TXD_MAPS];
    char **above[TXD_MAP_NOTES], **below[TXD_MAP_NOTES], **title;
    size_t above_lines[TXD_MAP_NOTES], below_lines[TXD_MAP_NOTES], title_lines;
    int above_height, below_height;
    int words_below; /* where the first line under the maps stands */
} txd_map_layout;

/* Decides all sizes from the maps and their texts; sheet.kind is given. */
txd_status txd_map_arrange(txd_map_layout *out, const txd_map *const *maps,
                           size_t count);

/* The image of a map's cells, or of what lies over them. */
typedef struct txd_grid {
    const char *name;
    const void *data;
    size_t rows, columns, bytes; /* of one cell */
} txd_grid;

/* "'cells' binary array=(3,3) " and the data file of it. */
txd_status txd_grid_write(txd_drawing *out, txd_arena *arena, const txd_grid *from);

/* The name of a data file of the map that is drawn as number `index` of its sheet; NULL
 * when memory is out. */
char *txd_map_file(txd_arena *arena, const char *name, size_t index);

/* Continues the plot of map `index`: rings and crosses, and the edges of the mask. */
txd_status txd_map_write_marks(txd_drawing *out, const txd_map_place *place,
                               const txd_map *map, size_t index);
txd_status txd_map_write_edges(txd_drawing *out, const txd_map_place *place,
                               const txd_map *map, size_t index);

#ifdef __cplusplus
}
#endif

#endif
