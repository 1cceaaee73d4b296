/* SPDX-License-Identifier: MIT
 *
 * Which cells of a tile count, on the device: the rules of ops/mask.h over arrays that
 * were staged.
 */
#ifndef TXD_CUDA_SPANS_H
#define TXD_CUDA_SPANS_H

#include <cuda_runtime.h>

#include "cuda/device.h"
#include "ops/mask.h"

/* txd_spans in the device's memory; begin NULL: there are none. Passed by value, so
 * without padding: bytes that nobody set are no argument. */
struct txd_cuda_spans {
    const int32_t *begin, *end;
    int64_t first;
};

/* The cells that count, by a byte map (dense rows of `keys`) or by spans; neither:
 * all. */
struct txd_cuda_cells {
    const uint8_t *map;
    struct txd_cuda_spans spans;
    size_t keys;
};

/* Stages spans, which may be NULL, of `rows` rows. Valid until the operation returns.
 */
static inline txd_status txd_cuda_spans_stage(struct txd_cuda_spans *out,
                                              const txd_spans *spans, size_t rows)
{
    *out = txd_cuda_spans();
    if (spans == NULL)
        return TXD_OK;
    out->begin = (const int32_t *)txd_cuda_stage(spans->begin, rows * sizeof(int32_t));
    out->end = (const int32_t *)txd_cuda_stage(spans->end, rows * sizeof(int32_t));
    out->first = spans->first;
    return out->begin == NULL || out->end == NULL ? TXD_ERR_MEMORY : TXD_OK;
}

/* Stages a map of rows that are `stride` bytes apart, or the spans instead of it; both
 * may be NULL. */
static inline txd_status txd_cuda_cells_stage(struct txd_cuda_cells *out,
                                              const uint8_t *map,
                                              const txd_spans *spans, size_t rows,
                                              size_t keys, size_t stride)
{
    *out = txd_cuda_cells();
    out->keys = keys;
    if (spans != NULL || map == NULL)
        return txd_cuda_spans_stage(&out->spans, spans, rows);
    out->map = (const uint8_t *)txd_cuda_stage_rows(map, rows, keys, stride);
    return out->map == NULL ? TXD_ERR_MEMORY : TXD_OK;
}

/* txd_span_of. */
static __device__ inline txd_span txd_cuda_span_of(const struct txd_cuda_spans &spans,
                                                   size_t row, size_t begin, size_t end)
{
    txd_span span = {begin, end};

    if (spans.begin != NULL) {
        int64_t from = (int64_t)spans.begin[row] - spans.first;
        int64_t to = (int64_t)spans.end[row] - spans.first;

        span.begin = from > (int64_t)begin ? (size_t)from : begin;
        span.end = to < (int64_t)end ? (size_t)(to < 0 ? 0 : to) : end;
    }
    if (span.begin >= span.end)
        span.begin = span.end = begin;
    return span;
}

/* txd_span_has; the spans are there. */
static __device__ inline bool txd_cuda_span_has(const struct txd_cuda_spans &spans,
                                                size_t row, size_t column)
{
    int64_t key = (int64_t)column + spans.first;

    return key >= spans.begin[row] && key < spans.end[row];
}

/* txd_span_hides; the spans are there. */
static __device__ inline txd_hidden
txd_cuda_span_hides(const struct txd_cuda_spans &spans,
                    const struct txd_hidden_sides &sides, size_t row, size_t column)
{
    int64_t key = (int64_t)column + spans.first;

    if (txd_cuda_span_has(spans, row, column))
        return TXD_SEEN;
    if (key < sides.real_begin || key >= sides.real_end)
        return TXD_HIDDEN_PADDING;
    return key < spans.begin[row] ? sides.before : sides.after;
}

/* Whether the cell of a row and column counts. */
static __device__ inline bool txd_cuda_cell(const struct txd_cuda_cells &cells,
                                            size_t row, size_t column)
{
    if (cells.spans.begin != NULL)
        return txd_cuda_span_has(cells.spans, row, column);
    return cells.map == NULL || cells.map[row * cells.keys + column] != 0;
}

#endif
