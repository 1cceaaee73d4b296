/* SPDX-License-Identifier: MIT
 *
 * Names of the statistics that are taken of the values at a site.
 */
#ifndef TXD_OPS_STATS_H
#define TXD_OPS_STATS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_stat {
#define TXD_STAT(id, name, unit, meaning) TXD_STAT_##id,
#include "ops/stats.def"
#undef TXD_STAT
    TXD_STAT_COUNT_OF
} txd_stat;

typedef struct txd_stat_info {
    const char *name, *unit, *meaning;
} txd_stat_info;

/* Never NULL for a valid statistic. */
const txd_stat_info *txd_stat_get(txd_stat stat);

#ifdef __cplusplus
}
#endif

#endif
