/* SPDX-License-Identifier: MIT
 *
 * The table of operations that a backend provides, and their arguments. Pointers to
 * `void` are values of the backend's dtype, dense and row-major; `int32_t` data is
 * int32 everywhere. No operation allocates. Shapes stand beside the arguments.
 *
 * A layer's table may have entries replaced by faults: `at` says where an operation
 * is called, and `at.self` is the replacement's own state.
 */
#ifndef TXD_OPS_OPS_H
#define TXD_OPS_OPS_H

#include "base/status.h"
#include "base/tensor.h"
#include "ops/mask.h"
#include "ops/registry.h"
#include "ops/rows.h"
#include "ops/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the operations run with. */
typedef struct txd_ctx {
    int threads; /* workers of txd_parallel; at least 1 */
} txd_ctx;

/* Where an operation is called. */
typedef struct txd_op_site {
    int layer;                    /* -1 outside of layers */
    int point;                    /* the txd_point whose value it makes */
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

/* out (rows, width) = gain * (x - mean) / sqrt(var + eps) + bias over each row, or
 * without mean and bias when `root_mean_square`. bias may be NULL. */
struct txd_norm_args {
    txd_op_site at;
    void *out;
    const void *x, *gain, *bias;
    size_t rows, width;
    double eps;
    bool root_mean_square;
};

/* out = act(x); kind is a txd_activation of model/config.h. */
struct txd_activate_args {
    txd_op_site at;
    void *out;
    const void *x;
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

/* out = factor * x. One rounding of the factor, one of the product. */
struct txd_scale_args {
    txd_op_site at;
    void *out;
    const void *x;
    double factor;
    size_t count;
};

/* split: x (b, t, heads, width) to out (b, heads, t, width); merge: the reverse. Exact.
 */
struct txd_heads_args {
    txd_op_site at;
    void *out;
    const void *x;
    size_t batch, length, heads, width;
};

/* out, x (b, heads, t, width): the first rope_width lanes of each head turn in pairs by
 * position / base^(2i/rope_width) (Su et al. 2021); the rest pass. Angles are taken in
 * double. |error| <= 4 u (|x1| + |x2|) per pair. */
struct txd_rotate_args {
    txd_op_site at;
    void *out;
    const void *x;
    const int32_t *positions; /* (b, t) */
    size_t batch, heads, length, width, rope_width;
    double base;
    bool adjacent; /* pairs (2i, 2i+1); else (i, i + rope_width/2) */
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
 * width)^T. |error| <= gamma_{width+1}(u_acc) |scale| |q||k|^T, then one rounding to
 * store. */
struct txd_scores_args {
    txd_op_site at;
    void *out;
    const void *q, *k;
    size_t rows, keys, width, stride;
    double scale;
};

/* out = visible ? scores : fill; out may be scores. Exact. */
struct txd_mask_args {
    txd_op_site at;
    void *out;
    const void *scores;
    const uint8_t *visible; /* row stride = stride, too */
    size_t rows, keys, stride;
    double fill;
};

/* out = softmax of each row of masked, keys [begin, end) of it taking part; the other
 * computed cells come out as 0. A row whose largest value is -inf follows masked_row (a
 * txd_masked_row of model/config.h). out may be masked. */
struct txd_softmax_args {
    txd_op_site at;
    void *out;
    const void *masked;
    double *max, *lse; /* (rows): largest value; log-sum-exp. Rounded to the dtype */
    size_t rows, keys, stride, begin, end;
    int masked_row;
};

/* rows (rows, TXD_ROW_COUNT): the row statistics of weights; columns max and lse are
 * taken from the arguments of the same name. `hidden` holds a txd_hidden per cell by
 * the claimed mask; sums in double, then rounded to the dtype. Query row 0 stands at
 * place at.first_query, column 0 at place key_begin. */
struct txd_rows_args {
    txd_op_site at;
    double *rows;
    const void *weights;
    const double *max, *lse;
    const uint8_t *hidden; /* (rows, keys), row stride = stride */
    const int32_t *seen,
        *first_seen; /* (rows): seen keys, computed or not; the first */
    size_t row_count, keys, stride, key_begin; /* key_begin: of column 0 */
};

/* out (rows, width) = sum over keys with used != 0 of weights * v (keys, width): unused
 * keys are never multiplied (0 x NaN must not depend on tile edges).
 * |error| <= gamma_{keys}(u_acc) |weights||v|, then one rounding to store. */
struct txd_mix_args {
    txd_op_site at;
    void *out;
    const void *weights, *v;
    const uint8_t *used; /* (rows, keys), row stride = stride */
    size_t rows, keys, stride, width;
};

/* out (rows) = log-sum-exp(logits (rows, vocab)) - logits[target]; NaN for target < 0
 */
struct txd_loss_args {
    txd_op_site at;
    void *out;
    const void *logits;
    const int32_t *targets;
    size_t rows, vocab;
};

/* Statistics of a part of a value, to be merged in index order. */
struct txd_stats_part {
    double count, mean, deviation2; /* of the finite: sum of (x - mean)^2 */
    double low, high, nonfinite, first, first_value, finite;
};

/* part = statistics of x (rows, width), row stride `stride`. Rows with skip_row != 0
 * and cells with skip_cell != 0 are left out (either may be NULL). `first` counts from
 * flat_start, with flat_stride per row. */
struct txd_stats_args {
    txd_op_site at;
    struct txd_stats_part *part;
    const void *x;
    const uint8_t *skip_row, *skip_cell;
    size_t rows, width, stride;
    size_t flat_start, flat_stride;
};

/* TXD_OP(name, arguments): every entry of the table. */
#define TXD_OPS(TXD_OP)                                                                \
    TXD_OP(embed, embed)                                                               \
    TXD_OP(sinusoid, sinusoid)                                                         \
    TXD_OP(linear, linear)                                                             \
    TXD_OP(norm, norm)                                                                 \
    TXD_OP(activate, activate)                                                         \
    TXD_OP(multiply, pair)                                                             \
    TXD_OP(add, pair)                                                                  \
    TXD_OP(scale, scale)                                                               \
    TXD_OP(split_heads, heads)                                                         \
    TXD_OP(merge_heads, heads)                                                         \
    TXD_OP(rotate, rotate)                                                             \
    TXD_OP(visible, visible)                                                           \
    TXD_OP(scores, scores)                                                             \
    TXD_OP(mask, mask)                                                                 \
    TXD_OP(softmax, softmax)                                                           \
    TXD_OP(rows, rows)                                                                 \
    TXD_OP(mix, mix)                                                                   \
    TXD_OP(loss, loss)                                                                 \
    TXD_OP(stats, stats)

struct txd_ops {
#define TXD_OP(name, arguments)                                                        \
    txd_status (*name)(txd_ctx * ctx, const struct txd_##arguments##_args *args);
    TXD_OPS(TXD_OP)
#undef TXD_OP
};

typedef enum txd_op {
#define TXD_OP(name, arguments) TXD_OP_##name,
    TXD_OPS(TXD_OP)
#undef TXD_OP
        TXD_OP_COUNT
} txd_op;

struct txd_backend {
    const char *name, *sentence, *simd;
    txd_dtype dtype;
    double u_accumulate, u_store; /* roundoffs of accumulation and storage */
    struct txd_ops ops;           /* forward; always full */
    /* Memory where the operations run; alloc gives 64-byte aligned zeros, NULL with a
     * message when there is none. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    txd_status (*upload)(void *to, const void *from, size_t bytes);
    txd_status (*download)(void *to, const void *from, size_t bytes);
    txd_status (*sync)(txd_ctx *ctx);
    const char *(*blas)(void); /* names the BLAS and its core; "none" without one */
    void (*prepare)(void);     /* once, before the first operation; may be NULL */
};

/* Calls body(self, i, worker) for every i < count on the context's threads; worker <
 * ctx->threads is unique among those running at once. `operations` is about how many
 * arithmetic operations one call makes: little work in all runs on the calling thread,
 * since waking a team costs more (and spins, where cores are busy). Returns the failure
 * of the smallest failing i, with its message. Nested calls run serially. */
txd_status txd_parallel(txd_ctx *ctx, size_t count, double operations,
                        txd_status (*body)(void *self, size_t i, int worker),
                        void *self);

/* The threads that "all" means, 1 without OpenMP. */
int txd_threads_available(void);

/* Sum of parts in index order (Chan, Golub, LeVeque 1979); *to may be zeroed. */
void txd_stats_merge(struct txd_stats_part *to, const struct txd_stats_part *part);
/* The TXD_STAT_COUNT_OF statistics of a merged part. */
void txd_stats_final(double *out, const struct txd_stats_part *part);

#ifdef __cplusplus
}
#endif

#endif
