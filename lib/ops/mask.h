/* SPDX-License-Identifier: MIT
 *
 * Which keys a query may see: the one definition, over data (positions, validity and
 * documents), never over "i >= j", so that causality, padding on either side, windows
 * and packing are one rule.
 */
#ifndef TXD_OPS_MASK_H
#define TXD_OPS_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One layer's rule over one batch row. */
typedef struct txd_mask_view {
    bool causal;
    size_t window; /* keys that a query sees, itself included; 0 = all */
    /* Documents NULL: all are one. Positions are read only if causal or with a window.
     */
    const int32_t *query_positions, *query_document;
    const int32_t *key_positions, *key_document, *key_valid;
    size_t past; /* keys of earlier calls, before those of the queries' own tokens */
} txd_mask_view;

/* Why a key is hidden from a query (the first reason that applies). */
typedef enum txd_hidden {
    TXD_SEEN = 0,
    TXD_HIDDEN_PADDING,  /* the key is not a real token */
    TXD_HIDDEN_DOCUMENT, /* another document */
    TXD_HIDDEN_FUTURE,   /* causal, and the key's position is after the query's */
    TXD_HIDDEN_WINDOW,   /* too far away */
} txd_hidden;

static inline txd_hidden txd_mask_hides(const txd_mask_view *mask, size_t query,
                                        size_t key)
{
    int64_t distance, away;

    if (!mask->key_valid[key])
        return TXD_HIDDEN_PADDING;
    if (mask->key_document && mask->key_document[key] != mask->query_document[query])
        return TXD_HIDDEN_DOCUMENT;
    if (!mask->causal && mask->window == 0)
        return TXD_SEEN;
    distance = (int64_t)mask->query_positions[query] - mask->key_positions[key];
    if (mask->causal && distance < 0)
        return TXD_HIDDEN_FUTURE;
    away = distance < 0 ? -distance : distance;
    if (mask->window != 0 && away >= (int64_t)mask->window)
        return TXD_HIDDEN_WINDOW;
    return TXD_SEEN;
}

/* Cells of a tile that count, where they are one run per row: keys [begin[r], end[r])
 * of row r, of which column 0 is key `first`. What lies outside of the columns is cut
 * off; a row without such cells has end <= begin. An alternative to a byte map, which
 * may then be NULL. */
typedef struct txd_spans {
    const int32_t *begin, *end; /* (rows) */
    int32_t first;
} txd_spans;

typedef struct txd_span {
    size_t begin, end; /* columns; begin <= end */
} txd_span;

/* The columns in [begin, end) that count in a row; all of them if spans is NULL. */
static inline txd_span txd_span_of(const txd_spans *spans, size_t row, size_t begin,
                                   size_t end)
{
    txd_span span = {begin, end};
    int64_t from, to;

    if (spans != NULL) {
        from = (int64_t)spans->begin[row] - spans->first;
        to = (int64_t)spans->end[row] - spans->first;
        span.begin = from > (int64_t)begin ? (size_t)from : begin;
        span.end = to < (int64_t)end ? (size_t)(to < 0 ? 0 : to) : end;
    }
    if (span.begin >= span.end)
        span.begin = span.end = begin;
    return span;
}

/* Whether the cell of a row and column does. */
static inline bool txd_span_has(const txd_spans *spans, size_t row, size_t column)
{
    int64_t key = (int64_t)column + spans->first;

    return key >= spans->begin[row] && key < spans->end[row];
}

/* Why the cells outside of spans are hidden: those of keys below a row's begin, and the
 * others; but as padding those of keys outside of [real_begin, real_end), counted as
 * the spans are. */
struct txd_hidden_sides {
    txd_hidden before, after;
    int32_t real_begin, real_end;
};

static inline txd_hidden txd_span_hides(const txd_spans *spans,
                                        const struct txd_hidden_sides *sides,
                                        size_t row, size_t column)
{
    int64_t key = (int64_t)column + spans->first;

    if (txd_span_has(spans, row, column))
        return TXD_SEEN;
    if (key < sides->real_begin || key >= sides->real_end)
        return TXD_HIDDEN_PADDING;
    return key < spans->begin[row] ? sides->before : sides->after;
}

/* Where the keys that each query sees are one run: begin and end (queries each, counted
 * in keys) and why the others are hidden; true. False if the data is not of a kind of
 * which this is known: documents, padding between real keys, positions that do not
 * ascend over the real ones. */
bool txd_mask_spans(int32_t *begin, int32_t *end, struct txd_hidden_sides *sides,
                    const txd_mask_view *mask, const size_t shape[2]);

#ifdef __cplusplus
}
#endif

#endif
