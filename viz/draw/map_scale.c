/* SPDX-License-Identifier: MIT
 *
 * Which colours stand for which values. A causal head of a thousand tokens has a 1 in
 * its first row and thousandths nearly everywhere else: on a linear scale all of it is
 * dark, so that the default looks at what is there.
 */
#include <math.h>

#include "viz/draw/map.h"

#define LARGEST 1e300 /* beyond this gnuplot's range would overflow */
#define DARK 0.05     /* of a linear scale that begins at 0 */

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

/* Six decades at most, so that the colours of large values stay apart; two at least, so
 * that the bar has numbers. */
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
    map->low = clamp(map->low, map->high * 1e-6, map->high * 0.01);
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        if (!isnan(map->cells[i]))
            map->cells[i] = clamp(map->cells[i], map->low, map->high);
    return TXD_OK;
}

/* True if more than half of the cells would be as good as black. */
static bool is_dark(const txd_map *map, const double extreme[3])
{
    size_t cells = map->rows.cells * map->columns.cells, drawn = 0, dark = 0;

    if (!(extreme[0] >= 0) || !isfinite(extreme[1]))
        return false;
    for (size_t i = 0; i < cells; i++) {
        drawn += !isnan(map->cells[i]);
        dark += map->cells[i] < DARK * extreme[2];
    }
    return 2 * dark > drawn;
}

txd_status txd_map_scale(txd_map *map, txd_scale scale, bool from_zero)
{
    double extreme[3] = {0, 0, 1};
    double size;

    if (!extremes(extreme, map))
        extreme[0] = 0, extreme[1] = INFINITY, extreme[2] = 1;
    if (scale == TXD_SCALE_LOG || (scale == TXD_SCALE_AUTO && is_dark(map, extreme)))
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
