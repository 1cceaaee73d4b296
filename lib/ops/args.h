/* SPDX-License-Identifier: MIT
 *
 * The arguments of every operation, with its formula and its error bound. Pointers to
 * `void` are values of the backend's dtype in its memory, dense and row-major; all
 * other pointers are to the host's memory. `int32_t` data is int32 everywhere. Shapes
 * stand beside the arguments.
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
#include "ops/args_tiles.h"
#include "ops/op_site.h"

#ifdef __cplusplus
extern "C" {
#endif

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
