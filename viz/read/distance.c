/* SPDX-License-Identifier: MIT
 *
 * Adds weights up along the diagonals of the attention matrix. A sum that holds a NaN
 * is NaN: it is marked in the picture, not hidden in a mean.
 */
#include "viz/read/distance.h"

#include <math.h>

enum { SINGLE = 16, MOST_BINS = 256 };

/* Where the bin ends that begins at `end`. */
static size_t next_end(size_t end)
{
    return end <= SINGLE ? end + 1 : end + (end + 4) / 5;
}

void txd_distance_bin(size_t out[2], size_t bin)
{
    out[0] = 0;
    out[1] = 1;
    while (bin-- > 0) {
        out[0] = out[1];
        out[1] = next_end(out[1]);
    }
}

size_t txd_distance_bins(size_t longest)
{
    size_t bins = 1;

    for (size_t end = 1; end <= longest && bins < MOST_BINS; end = next_end(end))
        bins++;
    return bins;
}

/* Sums and numbers of pairs by distance: one head, one side. */
typedef struct totals {
    double *sums, *counts;
} totals;

typedef struct walk {
    const txd_weights *weights;
    totals *before, *after; /* of each head */
    totals alike;
} walk;

static txd_status make_totals(totals *out, txd_arena *arena, size_t distances)
{
    out->sums = txd_arena_alloc(arena, distances, sizeof *out->sums);
    out->counts = txd_arena_alloc(arena, distances, sizeof *out->counts);
    return out->sums && out->counts ? TXD_OK : TXD_ERR_MEMORY;
}

/* The keys on one side of a query; its own is before. */
static void add_side(const totals *to, const txd_weights_row *row, size_t own,
                     bool before)
{
    size_t from = before ? 0 : own + 1;
    size_t end = !before || own + 1 > row->keys ? row->keys : own + 1;

    for (size_t k = from; k < end; k++) {
        size_t distance = before ? own - k : k - own;

        if (row->hidden[k] && row->weights[k] == 0)
            continue;
        to->sums[distance] += row->weights[k];
        to->counts[distance]++;
    }
}

static void add_alike(const totals *to, const txd_weights_row *row, size_t own)
{
    size_t seen = 0;

    for (size_t k = 0; k < row->keys; k++)
        seen += !row->hidden[k];
    for (size_t k = 0; k <= own && k < row->keys; k++) {
        if (row->hidden[k])
            continue;
        to->sums[own - k] += 1 / (double)seen;
        to->counts[own - k]++;
    }
}

static void add_row(void *context, const txd_weights_row *row)
{
    const walk *to = context;
    size_t own = row->query + to->weights->past;

    add_side(&to->before[row->head], row, own, true);
    add_side(&to->after[row->head], row, own, false);
    if (row->head == 0)
        add_alike(&to->alike, row, own);
}

static txd_status make_side(txd_distance_side *out, txd_arena *arena, size_t count)
{
    out->means = txd_arena_alloc(arena, count, sizeof *out->means);
    out->pairs = txd_arena_alloc(arena, count, sizeof *out->pairs);
    return out->means && out->pairs ? TXD_OK : TXD_ERR_MEMORY;
}

static void fill_bins(const txd_distance_side *out, size_t first, size_t bins,
                      const totals *from, size_t distances)
{
    for (size_t bin = 0; bin < bins; bin++) {
        double sum = 0, count = 0;
        size_t range[2];

        txd_distance_bin(range, bin);
        for (size_t d = range[0]; d < range[1] && d < distances; d++) {
            sum += from->sums[d];
            count += from->counts[d];
        }
        out->means[first + bin] = count > 0 ? sum / count : (double)NAN;
        out->pairs[first + bin] = count;
    }
}

static txd_status make_walk(walk *out, const txd_weights *weights, txd_arena *scratch,
                            size_t distances)
{
    *out =
        (walk){.weights = weights,
               .before = txd_arena_alloc(scratch, weights->heads, sizeof *out->before),
               .after = txd_arena_alloc(scratch, weights->heads, sizeof *out->after)};
    if (!out->before || !out->after)
        return TXD_ERR_MEMORY;
    for (size_t head = 0; head < weights->heads; head++) {
        TXD_TRY(make_totals(&out->before[head], scratch, distances));
        TXD_TRY(make_totals(&out->after[head], scratch, distances));
    }
    return make_totals(&out->alike, scratch, distances);
}

txd_status txd_distances_read(txd_distances *out, const txd_weights *weights, int layer,
                              txd_arena *arena, txd_arena *scratch)
{
    size_t heads = weights->heads, distances = weights->keys + weights->queries, bins;
    walk to;

    out->heads = heads;
    out->bins = bins = txd_distance_bins(weights->keys ? weights->keys - 1 : 0);
    TXD_TRY(make_side(&out->before, arena, heads * bins));
    TXD_TRY(make_side(&out->after, arena, heads * bins));
    TXD_TRY(make_side(&out->alike, arena, bins));
    TXD_TRY(make_walk(&to, weights, scratch, distances));
    TXD_TRY(txd_weights_walk(weights, layer, scratch, add_row, &to));
    for (size_t head = 0; head < heads; head++) {
        fill_bins(&out->before, head * bins, bins, &to.before[head], distances);
        fill_bins(&out->after, head * bins, bins, &to.after[head], distances);
    }
    fill_bins(&out->alike, 0, bins, &to.alike, distances);
    return TXD_OK;
}
