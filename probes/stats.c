/* SPDX-License-Identifier: MIT
 *
 * The probe `stats`: mean, deviation, range and non-finite elements of every value
 * (and, where they are asked for, gradient), as one series. The backends compute them;
 * this file only keeps them.
 */
#include <string.h>

#include "probes/common.h"

typedef struct stats {
    txd_probe_frame frame;
    txd_series series;
} stats;

static unsigned ask(txd_site_kind kind, txd_point point)
{
    if (kind == TXD_SITE_PARAMETER)
        return 0;
    if (kind == TXD_SITE_VALUE && txd_point_get(point)->place == TXD_PLACE_INPUT)
        return 0;
    return TXD_ASK_STATS;
}

static txd_status fill(void *self)
{
    stats *state = self;
    txd_series_spec spec = {
        .name = "stats",
        .fields = txd_series_stat_fields(state->frame.arena, ""),
        .kinds = TXD_KINDS_VALUES | TXD_KIND(TXD_SITE_PARAMETER_GRADIENT),
    };

    if (!spec.fields)
        return TXD_ERR_MEMORY;
    return txd_series_create(&state->series, &state->frame, &spec);
}

static txd_status end(void *self, const txd_block *block)
{
    stats *state = self;

    if (block->stats)
        memcpy(txd_series_row(&state->series, block->site), block->stats,
               TXD_STAT_COUNT_OF * sizeof(double));
    return TXD_OK;
}

const txd_probe txd_probe_stats = {
    .name = "stats",
    .sentence = "mean, deviation, range and non-finite elements of every value",
    .points = "*",
    .ask = ask,
    .state_bytes = sizeof(stats),
    .fill = fill,
    .end = end,
};
