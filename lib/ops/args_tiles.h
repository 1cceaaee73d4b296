/* SPDX-License-Identifier: MIT
 *
 * The arguments of what works on tiles of attention, as ops/args.h has those of the
 * others: `void` is a value of the backend's dtype, `_back` carries gradients.
 */
#ifndef TXD_OPS_ARGS_TILES_H
#define TXD_OPS_ARGS_TILES_H

#include "ops/mask.h"
#include "ops/op_site.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out (rows, keys) bytes: 1 where the query sees the key. Queries first_query +
 * 0..rows-1, keys 0..keys-1 of `mask`. */
struct txd_visible_args {
    txd_op_site at;
    uint8_t *out;
    const txd_mask_view *mask;
    size_t rows, keys;
    bool observed; /* somebody reads the weights, which must change nothing */
    /* For replacements: the mask of any of `batch` rows; NULL where there is none. */
    txd_mask_view (*mask_of)(const void *job, size_t batch_row);
    const void *job;
    size_t batch;
};

/* out (rows, keys) with row stride `stride` = scale * q (rows, width) k (keys,
 * width)^T. |error| <= gamma_{width+2}(u_acc) |scale| |q||k|^T, then one rounding to
 * store. */
struct txd_scores_args {
    txd_op_site at;
    void *out;
    const void *q, *k;
    size_t rows, keys, width, stride;
    double scale;
};

/* d_q (rows, width) = or += scale * d_out k; d_k (keys, width) += scale * d_out^T q,
 * over visible cells (no map and no spans: all): the others are never multiplied, so
 * that 0 x NaN does not depend on tile edges. Bounds as of scores, over keys and over
 * rows. */
struct txd_scores_back_args {
    txd_op_site at;
    void *d_q, *d_k;
    const void *d_out, *q, *k; /* d_out (rows, keys), row stride `stride` */
    const uint8_t *visible;    /* row stride = stride, too */
    const txd_spans *spans;    /* instead of visible; or NULL */
    size_t rows, keys, width, stride;
    double scale;
    bool add; /* to d_q */
};

/* out (rows, width), row stride `stride`, = cap tanh(x / cap); out may be x. |error| <=
 * 10 u_acc |out|, then one rounding to store. */
struct txd_softcap_args {
    txd_op_site at;
    void *out;
    const void *x;
    double cap;
    size_t rows, width, stride;
};

/* d_x = d_out / cosh(x / cap)^2; d_x may be d_out or x. |error| <= 16 u_acc |d_out|,
 * then one rounding to store. */
struct txd_softcap_back_args {
    txd_op_site at;
    void *d_x;
    const void *d_out, *x;
    double cap;
    size_t rows, width, stride;
};

/* A table of numbers by distance: key position - query position, cut off at +-farthest,
 * has the bucket bucket_of[distance + farthest]. */
struct txd_relative {
    const void *table; /* (buckets, heads) */
    const int32_t *bucket_of;
    int32_t farthest;
    size_t buckets, heads, head; /* head: whose column it is */
};

/* out (rows, keys), row stride `stride`, = scores + bias, or the bias alone (scores
 * NULL); out may be scores. The bias of a cell is that of the table, or without one
 * -slope |key position - query position| (Press et al. 2021). |error| of the bias <= 2
 * u_acc |bias|, none of a table's; then one rounding to store, and one of the sum. */
struct txd_bias_args {
    txd_op_site at;
    void *out;
    const void *scores;
    const int32_t *query_positions, *key_positions; /* (rows), (keys) */
    double slope;
    const struct txd_relative *relative; /* instead of slope; or NULL */
    size_t rows, keys, stride;
};

/* d_table (buckets, heads): column `head` += sum of d_out (rows, keys), row stride
 * `stride`, over the cells of a bucket, rows in order. |error| <= gamma_n(u_acc)
 * (|d_table| + sum |d_out|), n cells. */
struct txd_bias_back_args {
    txd_op_site at;
    void *d_table;
    const void *d_out;
    const int32_t *query_positions, *key_positions;
    const struct txd_relative *relative; /* its table is not read */
    size_t rows, keys, stride;
};

/* out = visible ? scores : fill; out may be scores. Exact. */
struct txd_mask_args {
    txd_op_site at;
    void *out;
    const void *scores;
    const uint8_t *visible; /* row stride = stride, too */
    const txd_spans *spans; /* instead of visible; or NULL */
    size_t rows, keys, stride;
    double fill;
    /* As softmax has them: for replacements; NULL where there is none. */
    const txd_mask_view *mask;
    size_t key_begin;
};

/* d_scores = visible ? d_out : 0; d_scores may be d_out. Exact. */
struct txd_mask_back_args {
    txd_op_site at;
    void *d_scores;
    const void *d_out;
    const uint8_t *visible;
    const txd_spans *spans; /* instead of visible; or NULL */
    size_t rows, keys, stride;
};

/* out = softmax of each row of masked, columns [begin, end) of it taking part, of these
 * those of its span if there are spans; the other computed cells come out as 0. A row
 * whose largest value is -inf follows masked_row (a txd_masked_row of model/config.h)
 * in all its computed cells. out may be masked. |error| <= (gamma_{keys+10}(u_acc) + 2
 * u_acc (d + 1)) out, d the largest difference to the row's maximum, then one rounding
 * to store; more if `same` (ops/bounds.c). */
struct txd_softmax_args {
    txd_op_site at;
    void *out;
    const void *masked;
    double *max, *lse; /* (rows): largest value; log-sum-exp. Rounded to the dtype */
    /* NULL, or one number: a logit more in the sum, and in lse, of every row that has a
     * finite value. It has no weight: rows sum to less than 1. */
    const void *sink;
    /* (rows), or NULL: -sum of w log w over the weights w > 0, as they are stored. Kept
     * to about the weights' own accuracy (ops/bounds.c); whoever replaces softmax and
     * does not say otherwise leaves it as it is: ask for it from a backend's own. */
    double *entropy;
    const txd_spans *spans; /* or NULL */
    size_t rows, keys, stride, begin, end;
    int masked_row;
    bool same; /* every step is rounded as values are stored, not only the result */
    /* The layer's true mask over this batch row, and the place of column 0: for
     * replacements that must know it; NULL where there is none. */
    const txd_mask_view *mask;
    size_t key_begin;
};

/* d_masked = weights (d_out - sum over the row of d_out weights) on columns [begin,
 * end), of these those of the row's span if there are spans, and 0 on the others and in
 * rows whose `max` is -inf. As far as the weights of a row sum to 1, its results sum to
 * 0. d_masked may be d_out. |error| <= gamma_{keys+3}(u_acc) weights (|d_out| + sum
 * |d_out| weights), then one rounding to store. */
struct txd_softmax_back_args {
    txd_op_site at;
    void *d_masked;
    const void *d_out, *weights, *masked;
    const void *sink;       /* as softmax had it: for replacements */
    const double *max;      /* (rows), as softmax gave it */
    const txd_spans *spans; /* or NULL */
    size_t rows, keys, stride, begin, end;
    const txd_mask_view *mask;
    size_t key_begin;
};

/* d_sink (one number) += -sum over rows of p sum over the row of d_out weights, p =
 * exp(sink - lse) what the sink has of the row; rows in order, those whose `max` is
 * -inf left out. Columns as of softmax_back, which d_masked is the same of with a sink.
 * With size the sum of p |d_out| weights, |error| <= gamma_{keys+rows+12}(u_acc)
 * (|d_sink| + size) + 2 u_acc |sink - lse| size. */
struct txd_sink_back_args {
    txd_op_site at;
    void *d_sink;
    const void *d_out, *weights, *sink;
    const double *max, *lse; /* (rows), as softmax gave them */
    const txd_spans *spans;  /* or NULL */
    size_t rows, keys, stride, begin, end;
};

/* Statistics of a part of a value, to be merged in index order. */
struct txd_stats_part {
    double count, mean, deviation2; /* of the finite: sum of (x - mean)^2 */
    double low, high, nonfinite, first, first_value, finite;
};

/* part = statistics of x (rows, width), row stride `stride`. Rows with skip_row != 0
 * and cells with skip_cell != 0 or outside of the spans are left out (any of these may
 * be NULL). `first` counts from flat_start, with flat_stride per row. */
struct txd_stats_args {
    txd_op_site at;
    struct txd_stats_part *part;
    const void *x;
    const uint8_t *skip_row, *skip_cell;
    const txd_spans *spans;
    size_t rows, width, stride;
    size_t flat_start, flat_stride;
};

/* rows (rows, TXD_ROW_COUNT): the row statistics of weights; columns max and lse are
 * taken from the arguments of the same name, entropy too if it is given (as softmax
 * gave it). `hidden` holds a txd_hidden per cell by the claimed mask; sums in double,
 * then rounded to the dtype. Query row 0 stands at place at.first_query, column 0 at
 * place key_begin. */
struct txd_rows_args {
    txd_op_site at;
    double *rows;
    const void *weights;
    const double *max, *lse, *entropy; /* (rows); entropy may be NULL */
    const uint8_t *hidden;             /* (rows, keys), row stride = stride */
    const txd_spans *spans;        /* of the seen cells: instead of hidden; or NULL */
    struct txd_hidden_sides sides; /* read with spans */
    const int32_t *seen,
        *first_seen; /* (rows): seen keys, computed or not; the first */
    size_t row_count, keys, stride, key_begin; /* key_begin: of column 0 */
    /* NULL, or what `stats` would be told of the same weights, seen cells alone: it is
     * done on the way. */
    const struct txd_stats_args *measure;
};

/* out (rows, width) = sum over the used keys of weights * v (keys, width): unused
 * keys are never multiplied (0 x NaN must not depend on tile edges).
 * |error| <= gamma_{keys}(u_acc) |weights||v|, then one rounding to store. */
struct txd_mix_args {
    txd_op_site at;
    void *out;
    const void *weights, *v;
    const uint8_t *used;    /* (rows, keys), row stride = stride */
    const txd_spans *spans; /* instead of used; or NULL */
    size_t rows, keys, stride, width;
};

/* d_weights (rows, keys), row stride `stride`, = used ? d_out . v : 0;
 * d_v (keys, width) += sum over rows of weights d_out, used cells alone. Bounds as of
 * mix, over width and over rows. */
struct txd_mix_back_args {
    txd_op_site at;
    void *d_weights, *d_v;
    const void *d_out, *weights, *v;
    const uint8_t *used;
    const txd_spans *spans; /* instead of used; or NULL */
    size_t rows, keys, stride, width;
};

#ifdef __cplusplus
}
#endif

#endif
