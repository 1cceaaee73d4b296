/* SPDX-License-Identifier: MIT
 *
 * Statistics of values by kernels: the runs of elements that count, gathered in pieces
 * of some thousand of them, merged in order. What the pieces are depends on what is
 * counted alone, not on what lies between.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/cpu_pieces.h"

/* The end of a run of bytes that are 0, or not, from i on. */
static size_t run_end(const uint8_t *bytes, size_t i, size_t end, bool zero)
{
    const uint64_t none = 0;

    for (; i < end; i++) {
        while (zero && end - i >= sizeof none &&
               memcmp(bytes + i, &none, sizeof none) == 0)
            i += sizeof none;
        if (i == end || (bytes[i] == 0) != zero)
            break;
    }
    return i;
}

static void add_row(struct txd_piece *piece, size_t r)
{
    const struct txd_stats_args *a = piece->of;
    txd_span span = txd_span_of(a->spans, r, 0, a->width);
    const uint8_t *skip = a->skip_cell;
    size_t i = span.begin, end;

    if (skip == NULL) {
        txd_piece_add_columns(piece, r, span.begin, span.end);
        return;
    }
    skip += r * a->stride;
    while (i < span.end) {
        end = run_end(skip, i, span.end, true);
        txd_piece_add_columns(piece, r, i, end);
        i = run_end(skip, end, span.end, false);
    }
}

static bool is_skipped(const struct txd_stats_args *a, size_t r)
{
    return a->skip_row != NULL && a->skip_row[r] != 0;
}

/* Whole rows that lie one after the other, as many as make a run. */
static void add_rows(struct txd_piece *piece)
{
    const struct txd_stats_args *a = piece->of;
    size_t most = TXD_PIECE / a->width, r = 0;

    while (r < a->rows) {
        struct txd_piece_run run = {r, 0, 0, a->width};
        struct txd_totals total;

        while (run.rows < most && r + run.rows < a->rows &&
               !is_skipped(a, r + run.rows))
            run.rows++;
        r += run.rows > 0 ? run.rows : 1;
        if (run.rows == 0)
            continue;
        (void)txd_kernels_here()->totals(
            &total, (const float *)a->x + run.row * a->stride, run.rows * run.width);
        txd_piece_add(piece, &run, &total);
    }
}

txd_status txd_cpu32_stats(txd_ctx *ctx, const struct txd_stats_args *a)
{
    bool dense = a->skip_cell == NULL && a->spans == NULL && a->stride == a->width;
    struct txd_piece piece;

    (void)ctx;
    txd_piece_begin(&piece, a);
    if (dense && a->width > 0 && a->width <= TXD_PIECE / 2)
        add_rows(&piece);
    else
        for (size_t r = 0; r < a->rows; r++)
            if (!is_skipped(a, r))
                add_row(&piece, r);
    txd_piece_end(&piece);
    return TXD_OK;
}
