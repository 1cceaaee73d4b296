/* SPDX-License-Identifier: MIT
 *
 * Statistics of the values of a tile (ops/args.h; the reference: ops/ref_rest.c). One
 * sweep of memory: a thread takes 16 elements at a time, their mean and then their
 * deviations from it, in double, and merges them with what it has (Chan, Golub, LeVeque
 * 1979); threads and blocks are merged likewise, in one order. A second, small kernel
 * merges the blocks, so that nothing but the part is copied.
 */
#include <float.h>
#include <limits.h>
#include <string.h>

#include "cuda/quads.h"

/* Fours that a thread has at once. */
#define FOURS 4u
/* Blocks at most, and how many a multiprocessor should have room for. */
#define BLOCKS 792u
#define ROOM 3

namespace
{
/* Of some of the elements. */
struct totals {
    double finite, mean, deviation2; /* of the finite ones, as in txd_stats_part */
    unsigned long long nonfinite, first;
    float first_value, low, high;
};

/* What is counted. */
struct tile {
    const float *x;
    const uint8_t *skip_row, *skip_cell; /* dense rows of `width`; or NULL */
    struct txd_cuda_spans spans;
    size_t rows, width, stride;
    size_t line; /* elements of a row as told: all may be taken for one long row */
    size_t flat_start, flat_stride;
    bool fit;
};

/* By which threads: `across` of a block on a row, and so many blocks on it and on rows
 * below one another. */
struct grid {
    unsigned across, blocks_across, blocks_down;
};

/* Where a thread is, in fours of a row; where it begins in each, and how far it is to
 * its next four and to its next row. */
struct walk {
    size_t row, column, begin, step, rows;
};
} // namespace

/* ---- totals ---- */

static __device__ inline struct totals nothing(void)
{
    return {0, 0, 0, 0, ULLONG_MAX, 0, FLT_MAX, -FLT_MAX};
}

/* Of more elements, all finite. */
static __device__ inline void add_moments(struct totals *to, double finite, double mean,
                                          double deviation2)
{
    double all = to->finite + finite, delta = mean - to->mean, share = finite / all;

    if (finite == 0)
        return;
    to->deviation2 += deviation2 + delta * delta * (to->finite * share);
    to->mean += delta * share;
    to->finite = all;
}

static __device__ inline void add_bad(struct totals *to, float x,
                                      unsigned long long flat)
{
    to->nonfinite++;
    if (flat < to->first) {
        to->first = flat;
        to->first_value = x;
    }
}

static __device__ void merge(struct totals *to, const struct totals &from)
{
    add_moments(to, from.finite, from.mean, from.deviation2);
    to->low = fminf(to->low, from.low);
    to->high = fmaxf(to->high, from.high);
    to->nonfinite += from.nonfinite;
    if (from.first < to->first) {
        to->first = from.first;
        to->first_value = from.first_value;
    }
}

/* Of all threads of the block, in the first. */
static __device__ struct totals total_of_block(const struct totals &mine)
{
    __shared__ struct totals of[TXD_THREADS];

    of[threadIdx.x] = mine;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            merge(&of[threadIdx.x], of[threadIdx.x + half]);
    }
    return of[threadIdx.x];
}

/* ---- the walk ---- */

static __device__ inline struct walk walk_of(struct grid g)
{
    unsigned down = blockIdx.x / g.blocks_across, along = blockIdx.x % g.blocks_across;
    unsigned rows = blockDim.x / g.across;
    struct walk w;

    w.row = (size_t)down * rows + threadIdx.x / g.across;
    w.begin = TXD_QUAD * ((size_t)along * g.across + threadIdx.x % g.across);
    w.column = w.begin;
    w.step = TXD_QUAD * (size_t)g.across * g.blocks_across;
    w.rows = (size_t)rows * g.blocks_down;
    return w;
}

static __device__ inline void advance(struct walk *w, size_t width)
{
    w->column += w->step;
    if (w->column >= width) {
        w->column = w->begin;
        w->row += w->rows;
    }
}

/* Of the four elements from here on: whether none counts, some may, or all do. */
enum { NONE, SOME, ALL };

static __device__ inline int cover_of(const struct tile &t, size_t row, size_t column)
{
    size_t end = column + TXD_QUAD;

    if (row >= t.rows || column >= t.width ||
        (t.skip_row != NULL && t.skip_row[row] != 0))
        return NONE;
    if (t.spans.begin != NULL) {
        txd_span span = txd_cuda_span_of(t.spans, row, column, end);

        if (span.begin == span.end)
            return NONE;
        if (span.end - span.begin < TXD_QUAD)
            return SOME;
    }
    return end > t.width || t.skip_cell != NULL ? SOME : ALL;
}

static __device__ inline bool counts(const struct tile &t, size_t row, size_t column)
{
    return cover_of(t, row, column) != NONE &&
           (t.skip_cell == NULL || t.skip_cell[row * t.width + column] == 0) &&
           (t.spans.begin == NULL || txd_cuda_span_has(t.spans, row, column));
}

static __device__ inline unsigned long long flat_of(const struct tile &t, size_t row,
                                                    size_t column)
{
    return t.flat_start + (row + column / t.line) * t.flat_stride + column % t.line;
}

/* The next fours, element by element, whatever they are. */
static __device__ void add_slowly(struct totals *to, const struct tile &t,
                                  struct walk w)
{
    double sum = 0, finite = 0, deviation2 = 0, mean;
    struct walk again = w;

    for (unsigned i = 0; i < FOURS * TXD_QUAD; i++) {
        size_t column = w.column + i % TXD_QUAD;

        if (counts(t, w.row, column)) {
            float x = t.x[w.row * t.stride + column];

            if (isfinite(x)) {
                finite++;
                sum += (double)x;
                to->low = fminf(to->low, x);
                to->high = fmaxf(to->high, x);
            } else
                add_bad(to, x, flat_of(t, w.row, column));
        }
        if (i % TXD_QUAD == TXD_QUAD - 1)
            advance(&w, t.width);
    }
    mean = finite > 0 ? sum / finite : 0;
    for (unsigned i = 0; i < FOURS * TXD_QUAD; i++) {
        size_t column = again.column + i % TXD_QUAD;

        if (counts(t, again.row, column)) {
            float x = t.x[again.row * t.stride + column];

            if (isfinite(x))
                deviation2 += ((double)x - mean) * ((double)x - mean);
        }
        if (i % TXD_QUAD == TXD_QUAD - 1)
            advance(&again, t.width);
    }
    add_moments(to, finite, mean, deviation2);
}

/* In pairs: no addition waits for more than two others. */
static __device__ inline double sum_of_four(const txd_quad &x)
{
    return ((double)x.at[0] + (double)x.at[1]) + ((double)x.at[2] + (double)x.at[3]);
}

static __device__ inline double deviation_of_four(const txd_quad &x, double mean)
{
    double a = (double)x.at[0] - mean, b = (double)x.at[1] - mean;
    double c = (double)x.at[2] - mean, d = (double)x.at[3] - mean;

    return (a * a + b * b) + (c * c + d * d);
}

/* The next fours. Where each counts as a whole and all are finite, which a sum of
 * doubles tells, they stay in registers. */
static __device__ inline void add_fours(struct totals *to, const struct tile &t,
                                        struct walk *w)
{
    const struct walk from = *w;
    txd_quad x[FOURS];
    bool all[FOURS], slowly = false;
    double sum = 0, deviation2 = 0, finite, mean;
    unsigned fours = 0;
    float low = FLT_MAX, high = -FLT_MAX;

    for (unsigned f = 0; f < FOURS; f++) {
        int cover = cover_of(t, w->row, w->column);

        all[f] = cover == ALL;
        fours += all[f];
        slowly = slowly || cover == SOME;
        if (all[f])
            x[f] = txd_load(t.x + w->row * t.stride, w->column, t.width, t.fit, 0);
        advance(w, t.width);
    }
    for (unsigned f = 0; f < FOURS; f++)
        if (all[f]) {
            sum += sum_of_four(x[f]);
            low = fminf(low, fminf(fminf(x[f].at[0], x[f].at[1]),
                                   fminf(x[f].at[2], x[f].at[3])));
            high = fmaxf(high, fmaxf(fmaxf(x[f].at[0], x[f].at[1]),
                                     fmaxf(x[f].at[2], x[f].at[3])));
        }
    if (slowly || sum - sum != 0) {
        add_slowly(to, t, from);
        return;
    }
    finite = (double)(TXD_QUAD * fours);
    mean = fours == FOURS ? sum / (FOURS * TXD_QUAD) : sum / finite;
    for (unsigned f = 0; f < FOURS; f++)
        if (all[f])
            deviation2 += deviation_of_four(x[f], mean);
    add_moments(to, finite, mean, deviation2);
    to->low = fminf(to->low, low);
    to->high = fmaxf(to->high, high);
}

/* ---- the kernels ---- */

static __global__ void __launch_bounds__(TXD_THREADS, ROOM)
    sweep(struct totals *parts, struct tile t, struct grid g)
{
    struct totals mine = nothing();

    for (struct walk w = walk_of(g); w.row < t.rows && w.column < t.width;)
        add_fours(&mine, t, &w);
    mine = total_of_block(mine);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = mine;
}

static __global__ void merge_blocks(struct txd_stats_part *out,
                                    const struct totals *parts, unsigned count)
{
    struct totals all = nothing();

    for (unsigned p = threadIdx.x; p < count; p += blockDim.x)
        merge(&all, parts[p]);
    all = total_of_block(all);
    if (threadIdx.x != 0)
        return;
    out->count = all.finite + (double)all.nonfinite;
    out->finite = all.finite;
    out->mean = all.mean;
    out->deviation2 = all.deviation2;
    out->low = all.finite > 0 ? (double)all.low : 0;
    out->high = all.finite > 0 ? (double)all.high : 0;
    out->nonfinite = (double)all.nonfinite;
    out->first = all.nonfinite > 0 ? (double)all.first : 0;
    out->first_value = (double)all.first_value;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divided(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

/* As many threads as have all fours at once to do, by the shape alone. */
static struct grid grid_of(const struct tile *t)
{
    size_t fours = txd_quads_of(t->width), on_row, rows;
    struct grid g = {1, 1, 1};

    while (g.across < TXD_THREADS && g.across < fours)
        g.across *= 2;
    g.blocks_across = (unsigned)least(BLOCKS, divided(fours, FOURS * g.across));
    on_row = divided(fours, (size_t)g.across * g.blocks_across);
    rows = TXD_THREADS / g.across * divided(FOURS, on_row);
    g.blocks_down = (unsigned)least(BLOCKS / g.blocks_across, divided(t->rows, rows));
    return g;
}

static bool some_row(const uint8_t *skip_row, size_t rows)
{
    for (size_t r = 0; skip_row != NULL && r < rows; r++)
        if (skip_row[r] != 0)
            return true;
    return false;
}

static txd_status stage(struct tile *t, const struct txd_stats_args *a)
{
    bool skips = some_row(a->skip_row, a->rows);

    *t = {(const float *)a->x,
          NULL,
          NULL,
          {NULL, NULL, 0},
          a->rows,
          a->width,
          a->stride,
          a->width,
          a->flat_start,
          a->flat_stride,
          txd_quads_fit_rows(a->x, a->stride)};
    TXD_TRY(txd_cuda_spans_stage(&t->spans, a->spans, a->rows));
    if (skips)
        t->skip_row = (const uint8_t *)txd_cuda_stage(a->skip_row, a->rows);
    if (a->skip_cell != NULL)
        t->skip_cell = (const uint8_t *)txd_cuda_stage_rows(a->skip_cell, a->rows,
                                                            a->width, a->stride);
    if ((skips && t->skip_row == NULL) ||
        (a->skip_cell != NULL && t->skip_cell == NULL))
        return TXD_ERR_MEMORY;
    if (!skips && a->skip_cell == NULL && a->spans == NULL &&
        (a->stride == a->width || a->rows == 1)) {
        t->width = t->stride = a->rows * a->width;
        t->rows = 1;
        t->fit = txd_quads_fit(a->x);
    }
    return TXD_OK;
}

static txd_status stats_any(const struct txd_stats_args *a)
{
    struct txd_stats_part *part;
    struct totals *parts;
    struct tile t;
    struct grid g;
    unsigned blocks;

    if (a->rows == 0 || a->width == 0) {
        memset(a->part, 0, sizeof *a->part);
        return TXD_OK;
    }
    TXD_TRY(stage(&t, a));
    g = grid_of(&t);
    blocks = g.blocks_across * g.blocks_down;
    parts = (struct totals *)txd_cuda_workspace(blocks * sizeof *parts);
    part = (struct txd_stats_part *)txd_cuda_result(sizeof *part);
    if (parts == NULL || part == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(sweep, blocks, TXD_THREADS, 0, parts, t, g);
    TXD_LAUNCH(merge_blocks, 1, TXD_THREADS, 0, part, parts, blocks);
    TXD_TRY(txd_cuda_check("stats"));
    return txd_cuda_fetch(a->part, part, sizeof *part);
}

TXD_CUDA_ENTRIES_ANY(stats, stats)
