/* SPDX-License-Identifier: MIT
 *
 * Names of row statistics and value statistics, and the merging of parts of the latter
 * in index order (Chan, Golub, LeVeque 1979), so that threads cannot change a bit.
 */
#include <math.h>

#include "ops/ops.h"

const txd_row_info *txd_row_get(txd_row row)
{
    static const txd_row_info rows[TXD_ROW_COUNT] = {
#define TXD_ROW(id, name, is_key, unit, meaning) {name, is_key, unit, meaning},
#include "ops/rows.def"
#undef TXD_ROW
    };

    return &rows[row];
}

void txd_rows_without_places(double *rows, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        rows[r * TXD_ROW_COUNT + TXD_ROW_SELF] = NAN;
        rows[r * TXD_ROW_COUNT + TXD_ROW_DISTANCE] = NAN;
    }
}

const txd_stat_info *txd_stat_get(txd_stat stat)
{
    static const txd_stat_info stats[TXD_STAT_COUNT_OF] = {
#define TXD_STAT(id, name, unit, meaning) {name, unit, meaning},
#include "ops/stats.def"
#undef TXD_STAT
    };

    return &stats[stat];
}

void txd_stats_merge(struct txd_stats_part *to, const struct txd_stats_part *part)
{
    double finite = to->finite + part->finite;
    double delta = part->mean - to->mean;

    if (to->nonfinite == 0 && part->nonfinite > 0) {
        to->first = part->first;
        to->first_value = part->first_value;
    }
    to->count += part->count;
    to->nonfinite += part->nonfinite;
    if (part->finite == 0)
        return;
    to->low = to->finite == 0 || part->low < to->low ? part->low : to->low;
    to->high = to->finite == 0 || part->high > to->high ? part->high : to->high;
    to->deviation2 +=
        part->deviation2 + delta * delta * (to->finite * part->finite / finite);
    to->mean += delta * (part->finite / finite);
    to->finite = finite;
}

void txd_stats_final(double *out, const struct txd_stats_part *part)
{
    bool some = part->finite > 0;
    double variance = some ? part->deviation2 / part->finite : NAN;

    out[TXD_STAT_COUNT] = part->count;
    out[TXD_STAT_MEAN] = some ? part->mean : NAN;
    out[TXD_STAT_STD] = some ? sqrt(variance) : NAN;
    out[TXD_STAT_RMS] = some ? sqrt(variance + part->mean * part->mean) : NAN;
    out[TXD_STAT_MIN] = some ? part->low : NAN;
    out[TXD_STAT_MAX] = some ? part->high : NAN;
    out[TXD_STAT_NONFINITE] = part->nonfinite;
    out[TXD_STAT_FIRST] = part->nonfinite > 0 ? part->first : -1;
    out[TXD_STAT_FIRST_VALUE] = part->nonfinite > 0 ? part->first_value : 0;
}
