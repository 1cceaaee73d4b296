/* SPDX-License-Identifier: MIT
 *
 * The arguments of every operation, with its formula and its error bound. Pointers to
 * `void` are values of the backend's dtype, dense and row-major; `int32_t` data is
 * int32 everywhere. Shapes stand beside the arguments.
 *
 * A layer's table may have entries replaced by faults: `at` says where an operation
 * is called, and `at.self` is the replacement's own state.
 *
 * Entries that end in `_back` carry gradients of the loss: `d_x` is that of x. Results
 * that nobody wants are NULL. Gradients of values are written, or added to where the
 * argument `add` says so; those of parameters, and of keys and values, are always added
 * to, in an order that depends on shapes alone. A replaced entry has a replaced
 * backward entry beside it, so that a faulty model has its own, consistent gradients.
 */
#ifndef TXD_OPS_ARGS_H
#define TXD_OPS_ARGS_H

#include "base/status.h"
#include "base/tensor.h"
#include "ops/mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where an operation is called. */
typedef struct txd_op_site {
    int layer; /* -1 outside of layers */
    int point; /* the txd_point whose value it makes; TXD_POINT_COUNT if none */
    int batch, head, first_query; /* of a tile; -1 for whole values */
    const void *self;
} txd_op_site;

/* out (rows, width) = table (vocab, width) at ids (rows). Exact. */
struct txd_embed_args {
    txd_op_site at;
    void *out;
    const void *table;
    const int32_t *ids;
    size_t rows, width;
};

/* d_table (vocab, width) += d_out (rows, width) at ids, rows in ascending order.
 * |error| of an id that n rows have <= gamma_n(u_acc) (|d_table| + sum |d_out|). */
struct txd_embed_back_args {
    txd_op_site at;
    void *d_table;
    const void *d_out;
    const int32_t *ids;
    size_t rows, width;
};

/* out (rows, width): sin and cos of position / 10000^(2i/width), interleaved
 * (Vaswani et al. 2017, section 3.5). Error: one rounding of each value. */
struct txd_sinusoid_args {
    txd_op_site at;
    void *out;
    const int32_t *positions; /* (rows) */
    size_t rows, width;
};

/* out (rows, n) = x (rows, k) weight (n, k)^T + bias (n, or NULL).
 * |error| <= gamma_{k+1}(u_acc) (|x||w|^T + |bias|), then one rounding to store. */
struct txd_linear_args {
    txd_op_site at;
    void *out;
    const void *x, *weight, *bias;
    size_t rows, n, k;
};

/* d_x (rows, k) = or += d_out (rows, n) weight (n, k); d_weight (n, k) += d_out^T x;
 * d_bias (n) += sum over rows of d_out. Bounds as of linear, over n and over rows. */
struct txd_linear_back_args {
    txd_op_site at;
    void *d_x, *d_weight, *d_bias;
    const void *d_out, *x, *weight;
    size_t rows, n, k;
    bool add; /* to d_x */
};

/* out (rows, width) = (offset + gain) * (x - mean) / sqrt(var + eps) + bias over each
 * row, or without mean when `root_mean_square`. bias may be NULL. Bounds: ops/bounds.c;
 * of the backward entry, bounds_back.c. */
struct txd_norm_args {
    txd_op_site at;
    void *out;
    const void *x, *gain, *bias;
    size_t rows, width;
    size_t sequence; /* rows of one batch row; divides rows; for replacements */
    double eps;
    double offset; /* of the gain: 1 where parameters say how far it is from 1 */
    bool root_mean_square;
};

/* With y = (x - mean) / s, s = sqrt(var + eps), g = (offset + gain) * d_out:
 * d_x = or += (g - mean(g) - y mean(g y)) / s, without mean(g) when
 * `root_mean_square`; d_gain (width) += sum over rows of d_out y; d_bias += of d_out.
 */
struct txd_norm_back_args {
    txd_op_site at;
    void *d_x, *d_gain, *d_bias;
    const void *d_out, *x, *gain;
    size_t rows, width;
    size_t sequence;
    double eps, offset;
    bool root_mean_square;
    bool add; /* to d_x */
};

/* out = act(x); kind is a txd_activation of model/config.h.
 * |error| <= 12 u_acc (|x| + |out|), then one rounding to store. */
struct txd_activate_args {
    txd_op_site at;
    void *out;
    const void *x;
    size_t count;
    int kind;
};

/* d_x = d_out act'(x); d_x may be d_out or x. The derivative of relu at 0 is 0.
 * |error| <= 14 u_acc |d_out|, then one rounding of the product. */
struct txd_activate_back_args {
    txd_op_site at;
    void *d_x;
    const void *d_out, *x;
    size_t count;
    int kind;
};

/* out = a * b, or a + b, elementwise; out may be a or b. One rounding. */
struct txd_pair_args {
    txd_op_site at;
    void *out;
    const void *a, *b;
    size_t count;
};

/* Of multiply: d_a = d_out b, d_b = d_out a, one rounding; of add: d_a = d_b = d_out,
 * exact, a and b unread. d_a or d_b may be d_out. */
struct txd_pair_back_args {
    txd_op_site at;
    void *d_a, *d_b;
    const void *d_out, *a, *b;
    size_t count;
};

/* out = factor * x. One rounding of the factor, one of the product. Its own backward:
 * out = d_x, x = d_out. */
struct txd_scale_args {
    txd_op_site at;
    void *out;
    const void *x;
    double factor;
    size_t count;
};

/* split: x (b, t, heads, width) to out (b, heads, t, width); merge: the reverse. Exact.
 * Backward: out = d_x, x = d_out; split_heads_back does what merge_heads does. */
struct txd_heads_args {
    txd_op_site at;
    void *out;
    const void *x;
    size_t batch, length, heads, width;
};

/* Rotations of other speeds than those of a base: radians per position of each pair;
 * `factor` multiplies cosines and sines. */
struct txd_turns {
    const double *speed;
    double factor;
};

/* out, x (b, heads, t, width): the first rope_width lanes of each head turn in pairs by
 * position / base^(2i/rope_width) (Su et al. 2021); the rest pass. Angles are taken in
 * double. |error| <= 4 u (|x1| + |x2|) per pair, 6 u |factor| (|x1| + |x2|) with a
 * factor. Backward (out = d_x, x = d_out) turns the other way. */
struct txd_rotate_args {
    txd_op_site at;
    void *out;
    const void *x;
    const int32_t *positions; /* (b, t) */
    size_t batch, heads, length, width, rope_width;
    double base;
    bool adjacent;                 /* pairs (2i, 2i+1); else (i, i + rope_width/2) */
    const struct txd_turns *turns; /* instead of base; or NULL */
};

/* out (rows, keys) bytes: 1 where the query sees the key. Queries first_query +
 * 0..rows-1, keys 0..keys-1 of `mask`. */
struct txd_visible_args {
    txd_op_site at;
    uint8_t *out;
    const txd_mask_view *mask;
    size_t rows, keys;
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

/* out = visible ? scores : fill; out may be scores. Exact. */
struct txd_mask_args {
    txd_op_site at;
    void *out;
    const void *scores;
    const uint8_t *visible; /* row stride = stride, too */
    const txd_spans *spans; /* instead of visible; or NULL */
    size_t rows, keys, stride;
    double fill;
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
    const double *max;      /* (rows), as softmax gave it */
    const txd_spans *spans; /* or NULL */
    size_t rows, keys, stride, begin, end;
    const txd_mask_view *mask;
    size_t key_begin;
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

/* out (rows) = log-sum-exp(logits (rows, vocab)) - logits[target]; NaN for target < 0.
 * |error| <= gamma_{vocab+4}(u_acc) + u_acc (8 max |logits| + 4 |out| + 4), then one
 * rounding to store. */
struct txd_loss_args {
    txd_op_site at;
    void *out;
    const void *logits;
    const int32_t *targets;
    size_t rows, vocab;
};

/* d_logits (rows, vocab) = d_out (rows) * (softmax(logits) - [j = target]); 0 where the
 * target is < 0, whatever d_out is there. d_logits may be logits. Error: that of
 * softmax and a roundoff of 1, times |d_out|. */
struct txd_loss_back_args {
    txd_op_site at;
    void *d_logits;
    const void *d_out, *logits;
    const int32_t *targets;
    size_t rows, vocab;
};

#ifdef __cplusplus
}
#endif

#endif
