/* SPDX-License-Identifier: MIT
 *
 * Statistics of values by kernels: pieces of some thousand elements, of whose sums of
 * squares little cancels, merged in order. What the pieces are depends on what is
 * counted alone, not on what lies between. A piece with a NaN or an infinity is the
 * reference's.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* Elements of a piece, at most, unless a row of less is to be whole. */
#define PIECE 4096

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `rows` rows of `width` that follow one another: those from row r, column i on. */
static void add_piece(const struct txd_stats_args *a, size_t r, size_t i, size_t rows,
                      size_t width)
{
    const float *x = (const float *)a->x + r * a->stride + i;
    struct txd_stats_part part = {.count = (double)(rows * width)};
    struct txd_moments moments;
    struct txd_stats_args piece = {.part = &part,
                                   .x = x,
                                   .rows = rows,
                                   .width = width,
                                   .stride = a->stride,
                                   .flat_start = a->flat_start + r * a->flat_stride + i,
                                   .flat_stride = a->flat_stride};

    if (txd_kernels_here()->moments(&moments, x, rows * width)) {
        part.finite = part.count;
        part.mean = moments.mean;
        part.deviation2 = moments.deviation2;
        part.low = (double)moments.low;
        part.high = (double)moments.high;
    } else
        (void)txd_ref32_stats(NULL, &piece);
    if (part.count > 0)
        txd_stats_merge(a->part, &part);
}

/* Columns [begin, end) of row r. */
static void add_run(const struct txd_stats_args *a, size_t r, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i += PIECE)
        add_piece(a, r, i, 1, least(PIECE, end - i));
}

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

static void add_row(const struct txd_stats_args *a, size_t r)
{
    txd_span span = txd_span_of(a->spans, r, 0, a->width);
    const uint8_t *skip = a->skip_cell;
    size_t i = span.begin, end;

    if (skip == NULL) {
        add_run(a, r, span.begin, span.end);
        return;
    }
    skip += r * a->stride;
    while (i < span.end) {
        end = run_end(skip, i, span.end, true);
        add_run(a, r, i, end);
        i = run_end(skip, end, span.end, false);
    }
}

static bool is_skipped(const struct txd_stats_args *a, size_t r)
{
    return a->skip_row != NULL && a->skip_row[r] != 0;
}

/* Whole rows that lie one after the other, as many as make a piece. */
static void add_rows(const struct txd_stats_args *a)
{
    size_t most = PIECE / a->width, r = 0;

    while (r < a->rows) {
        size_t rows = 0;

        while (rows < most && r + rows < a->rows && !is_skipped(a, r + rows))
            rows++;
        if (rows > 0)
            add_piece(a, r, 0, rows, a->width);
        r += rows > 0 ? rows : 1;
    }
}

txd_status txd_cpu32_stats(txd_ctx *ctx, const struct txd_stats_args *a)
{
    bool dense = a->skip_cell == NULL && a->spans == NULL && a->stride == a->width;

    (void)ctx;
    memset(a->part, 0, sizeof *a->part);
    if (a->width == 0)
        return TXD_OK;
    if (dense && a->width <= PIECE / 2)
        add_rows(a);
    else
        for (size_t r = 0; r < a->rows; r++)
            if (!is_skipped(a, r))
                add_row(a, r);
    return TXD_OK;
}
