/* SPDX-License-Identifier: MIT
 *
 * Thin lines between cells, for maps in which white is an answer too.
 */
#include "viz/figures/figures.h"

void txd_cell_line(txd_text *out, const double from[2], const double to[2])
{
    txd_text_add(out, "set arrow from first ");
    txd_text_add_real(out, from[0]);
    txd_text_add(out, ",");
    txd_text_add_real(out, from[1]);
    txd_text_add(out, " to first ");
    txd_text_add_real(out, to[0]);
    txd_text_add(out, ",");
    txd_text_add_real(out, to[1]);
    txd_text_add(out, " nohead front linewidth 0.5 linecolor rgb '#b6bec8'\n");
}

txd_status txd_map_rule(txd_map *map)
{
    size_t rows = map->rows.cells, columns = map->columns.cells;
    double right = (double)columns - 0.5, bottom = (double)rows - 0.5;
    size_t down = rows > TXD_MAP_LABELS ? rows : 1;
    size_t across = columns > TXD_MAP_LABELS ? columns : 1;
    txd_text lines;

    txd_text_init(&lines);
    for (size_t i = 0; i <= rows; i += down)
        txd_cell_line(&lines, (const double[2]){-0.5, (double)i - 0.5},
                      (const double[2]){right, (double)i - 0.5});
    for (size_t i = 0; i <= columns; i += across)
        txd_cell_line(&lines, (const double[2]){(double)i - 0.5, -0.5},
                      (const double[2]){(double)i - 0.5, bottom});
    map->extra = txd_arena_string(map->arena, txd_text_get(&lines));
    txd_text_finish(&lines);
    return map->extra ? TXD_OK : TXD_ERR_MEMORY;
}
