/* SPDX-License-Identifier: MIT
 *
 * Spans of tiles for trials, and the byte maps that say the same, by a rule of their
 * own.
 */
#include "trial.h"

#define FIRST 100 /* the key of column 0 */

/* Rows whose cells all count and reach beyond the tile, where none do, where those in
 * the middle do, and those from the first on. */
const txd_spans *trial_spans(struct trial *t, size_t keys)
{
    int32_t n = (int32_t)keys;
    const int32_t begin[TRIAL_SPANS] = {FIRST - 7, FIRST + n, FIRST + n / 3, FIRST};
    const int32_t end[TRIAL_SPANS] = {FIRST + n + 2, FIRST, FIRST + n - n / 4,
                                      FIRST + n / 2};
    int32_t *ends = trial_keep(t, 2 * TRIAL_SPANS * sizeof *ends);
    txd_spans *spans = trial_keep(t, sizeof *spans);

    for (size_t r = 0; r < TRIAL_SPANS; r++) {
        ends[r] = begin[r];
        ends[TRIAL_SPANS + r] = end[r];
    }
    *spans = (txd_spans){ends, ends + TRIAL_SPANS, FIRST};
    return spans;
}

bool trial_counts(size_t row, size_t column, size_t keys)
{
    switch (row) {
    case 0:
        return true;
    case 1:
        return false;
    case 2:
        return column >= keys / 3 && column < keys - keys / 4;
    default:
        return column < keys / 2;
    }
}

uint8_t *trial_spans_map(struct trial *t, size_t keys, size_t stride)
{
    uint8_t *map = trial_keep(t, TRIAL_SPANS * stride);

    for (size_t i = 0; i < TRIAL_SPANS * stride; i++)
        map[i] = i % stride < keys && trial_counts(i / stride, i % stride, keys);
    return map;
}
