/* SPDX-License-Identifier: MIT
 *
 * Sums and squares of runs add up to those of a piece. Where they say too little of the
 * deviations, which are a small part of the squares, runs are measured about one of
 * their elements, each on its own; and one with a NaN or an infinity is the
 * reference's.
 */
#include "ops/cpu_pieces.h"

#include <string.h>

#include "ops/ref.h"

/* How many times as large as the deviations the squares may be, mean included. Of a
 * piece they are known to some 2^-44 of themselves. */
#define CANCELS 256.0

static const float *data_of(const struct txd_piece *piece,
                            const struct txd_piece_run *run)
{
    return (const float *)piece->of->x + run->row * piece->of->stride + run->column;
}

static void add_alone(const struct txd_piece *piece, const struct txd_piece_run *run)
{
    const struct txd_stats_args *of = piece->of;
    size_t count = run->rows * run->width;
    struct txd_stats_part part = {.count = (double)count};
    struct txd_moments moments;
    struct txd_stats_args args = {
        .part = &part,
        .x = data_of(piece, run),
        .rows = run->rows,
        .width = run->width,
        .stride = of->stride,
        .flat_start = of->flat_start + run->row * of->flat_stride + run->column,
        .flat_stride = of->flat_stride};

    if (txd_kernels_here()->moments(&moments, args.x, count)) {
        part.finite = part.count;
        part.mean = moments.mean;
        part.deviation2 = moments.deviation2;
        part.low = (double)moments.low;
        part.high = (double)moments.high;
    } else
        (void)txd_ref32_stats(NULL, &args);
    txd_stats_merge(of->part, &part);
}

static void merge(struct txd_piece *piece)
{
    const struct txd_totals *total = &piece->total;
    double count = (double)piece->count, mean = total->sum / count;
    struct txd_stats_part part = {.count = count,
                                  .finite = count,
                                  .mean = mean,
                                  .deviation2 = total->squares - total->sum * mean,
                                  .low = (double)total->low,
                                  .high = (double)total->high};

    /* Fails for NaN, too. */
    if (part.deviation2 * CANCELS >= total->squares)
        txd_stats_merge(piece->of->part, &part);
    else
        for (size_t i = 0; i < piece->run_count; i++)
            add_alone(piece, &piece->runs[i]);
    piece->run_count = piece->count = 0;
}

void txd_piece_begin(struct txd_piece *piece, const struct txd_stats_args *of)
{
    piece->of = of;
    piece->run_count = piece->count = 0;
    memset(of->part, 0, sizeof *of->part);
}

void txd_piece_add(struct txd_piece *piece, const struct txd_piece_run *run,
                   const struct txd_totals *total)
{
    struct txd_totals *all = &piece->total;

    if (piece->run_count == 0)
        *all = *total;
    else {
        all->sum += total->sum;
        all->squares += total->squares;
        all->low = total->low < all->low ? total->low : all->low;
        all->high = total->high > all->high ? total->high : all->high;
    }
    piece->runs[piece->run_count++] = *run;
    piece->count += run->rows * run->width;
    if (piece->count >= TXD_PIECE || piece->run_count == TXD_PIECE_RUNS)
        merge(piece);
}

void txd_piece_end(struct txd_piece *piece)
{
    if (piece->run_count > 0)
        merge(piece);
}

void txd_piece_add_columns(struct txd_piece *piece, size_t row, size_t begin,
                           size_t end)
{
    struct txd_piece_run run = {row, begin, 1, 0};
    struct txd_totals total;

    for (; run.column < end; run.column += TXD_PIECE) {
        run.width = end - run.column < TXD_PIECE ? end - run.column : TXD_PIECE;
        (void)txd_kernels_here()->totals(&total, data_of(piece, &run), run.width);
        txd_piece_add(piece, &run, &total);
    }
}
