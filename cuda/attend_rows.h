/* SPDX-License-Identifier: MIT
 *
 * What is told of the weights of a row of attention that is never formed: lib/ops/
 * rows.def, over the cells that the row uses.
 */
#ifndef TXD_CUDA_ATTEND_ROWS_H
#define TXD_CUDA_ATTEND_ROWS_H

#include "cuda/attend_tile.h"
#include "ops/rows.h"

/* The largest of some weights, and where it is: the first of equals; NaN beats all. */
struct attend_peak {
    float size;
    int key;
};

static __device__ inline attend_peak attend_higher(attend_peak a, attend_peak b)
{
    bool strange_a = a.size != a.size, strange_b = b.size != b.size;
    bool same = strange_a ? strange_b : a.size == b.size;

    if (same)
        return a.key >= 0 && (b.key < 0 || a.key < b.key) ? a : b;
    return strange_a || (!strange_b && a.size > b.size) ? a : b;
}

static __device__ inline attend_peak attend_highest(attend_peak peak)
{
    for (int lanes = 8; lanes > 0; lanes /= 2) {
        attend_peak other;

        other.size = __shfl_xor_sync(TXD_ALL_LANES, peak.size, lanes);
        other.key = __shfl_xor_sync(TXD_ALL_LANES, peak.key, lanes);
        peak = attend_higher(peak, other);
    }
    return peak;
}

/* Used cells that the claimed mask hides: all, those of the future, of padding. */
enum { ATTEND_ALL, ATTEND_FUTURE, ATTEND_PADDING, ATTEND_KINDS };

struct attend_hidden {
    double sum;
    attend_peak peak[ATTEND_KINDS];
    int count[ATTEND_KINDS];
};

/* A thread's share of a row. */
struct attend_share {
    double sum, entropy, distance;
    attend_peak peak;
    int strange;
};

/* What all threads of a block know of a row. */
struct attend_line {
    float base, sum;
    double log_sum;
    int32_t seen_from, seen_to;
    float first, self;
    struct attend_hidden hidden;
};

static __device__ inline void attend_hidden_clear(attend_hidden *hidden)
{
    hidden->sum = 0;
    for (int kind = 0; kind < ATTEND_KINDS; kind++) {
        hidden->peak[kind] = {0, -1};
        hidden->count[kind] = 0;
    }
}

/* A weight of 0 is counted and is no peak. */
static __device__ inline void attend_hidden_add(attend_hidden *hidden, float w, int key,
                                                txd_hidden why)
{
    hidden->sum += (double)w;
    for (int kind = 0; kind < ATTEND_KINDS; kind++) {
        bool counts = kind == ATTEND_ALL ||
                      (kind == ATTEND_FUTURE && why == TXD_HIDDEN_FUTURE) ||
                      (kind == ATTEND_PADDING && why == TXD_HIDDEN_PADDING);

        hidden->count[kind] += counts;
        if (counts && w != 0)
            hidden->peak[kind] = attend_higher(hidden->peak[kind], {w, key});
    }
}

/* Over the 16 threads of a row, into *line by the first of them. */
static __device__ inline void attend_hidden_merge(attend_line *line,
                                                  attend_hidden hidden)
{
    bool first = threadIdx.x % 16 == 0;

    hidden.sum = attend_across(hidden.sum, txd_how_sum());
    if (first)
        line->hidden.sum += hidden.sum;
    for (int kind = 0; kind < ATTEND_KINDS; kind++) {
        int count = attend_across(hidden.count[kind], txd_how_sum());
        attend_peak peak = attend_highest(hidden.peak[kind]);

        if (!first)
            continue;
        line->hidden.count[kind] += count;
        line->hidden.peak[kind] = attend_higher(line->hidden.peak[kind], peak);
    }
}

/* Entropy of a weight whose logarithm is known. */
static __device__ inline double attend_entropy(float w, double log_w)
{
    return w > 0 ? -(double)w * log_w : (w != w ? (double)w : 0);
}

/* The row as it is stored: rounded to float32. */
static __device__ inline void attend_row_store(double *row, const attend_line &line,
                                               const attend_share &share, float max)
{
    const attend_hidden &hidden = line.hidden;
    bool none = share.peak.key < 0;

    row[TXD_ROW_SUM] = share.sum;
    row[TXD_ROW_MAX] = (double)max;
    row[TXD_ROW_LSE] =
        line.base == -INFINITY ? (double)-INFINITY : (double)line.base + line.log_sum;
    row[TXD_ROW_ENTROPY] = share.entropy;
    row[TXD_ROW_PEAK] = none ? 0 : (double)share.peak.size;
    row[TXD_ROW_PEAK_KEY] = share.peak.key;
    row[TXD_ROW_FIRST] = (double)line.first;
    row[TXD_ROW_SELF] = (double)line.self;
    row[TXD_ROW_HIDDEN_SUM] = hidden.sum;
    row[TXD_ROW_HIDDEN_MAX] = (double)hidden.peak[ATTEND_ALL].size;
    row[TXD_ROW_HIDDEN_KEY] = hidden.peak[ATTEND_ALL].key;
    row[TXD_ROW_DISTANCE] = share.distance;
    row[TXD_ROW_NONFINITE] = share.strange;
    row[TXD_ROW_SEEN] =
        line.seen_from < line.seen_to ? line.seen_to - line.seen_from : 0;
    row[TXD_ROW_FUTURE_COUNT] = hidden.count[ATTEND_FUTURE];
    row[TXD_ROW_FUTURE_MAX] = (double)hidden.peak[ATTEND_FUTURE].size;
    row[TXD_ROW_FUTURE_KEY] = hidden.peak[ATTEND_FUTURE].key;
    row[TXD_ROW_PADDING_COUNT] = hidden.count[ATTEND_PADDING];
    row[TXD_ROW_PADDING_MAX] = (double)hidden.peak[ATTEND_PADDING].size;
    row[TXD_ROW_PADDING_KEY] = hidden.peak[ATTEND_PADDING].key;
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = (double)(float)row[c];
}

#endif
