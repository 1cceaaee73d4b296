/* SPDX-License-Identifier: MIT
 *
 * The table of operations that a backend provides (their arguments: ops/args.h), and
 * the one loop over threads. No operation allocates.
 */
#ifndef TXD_OPS_OPS_H
#define TXD_OPS_OPS_H

#include "ops/args.h"
#include "ops/args_attend.h"
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

/* TXD_OP(name, arguments): every entry of the table; those of the backward pass after
 * all others. */
#define TXD_FORWARD_OPS(TXD_OP)                                                        \
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
    TXD_OP(softcap, softcap)                                                           \
    TXD_OP(bias, bias)                                                                 \
    TXD_OP(mask, mask)                                                                 \
    TXD_OP(softmax, softmax)                                                           \
    TXD_OP(rows, rows)                                                                 \
    TXD_OP(mix, mix)                                                                   \
    TXD_OP(loss, loss)                                                                 \
    TXD_OP(stats, stats)

#define TXD_BACKWARD_OPS(TXD_OP)                                                       \
    TXD_OP(embed_back, embed_back)                                                     \
    TXD_OP(linear_back, linear_back)                                                   \
    TXD_OP(norm_back, norm_back)                                                       \
    TXD_OP(activate_back, activate_back)                                               \
    TXD_OP(multiply_back, pair_back)                                                   \
    TXD_OP(add_back, pair_back)                                                        \
    TXD_OP(scale_back, scale)                                                          \
    TXD_OP(split_heads_back, heads)                                                    \
    TXD_OP(merge_heads_back, heads)                                                    \
    TXD_OP(rotate_back, rotate)                                                        \
    TXD_OP(scores_back, scores_back)                                                   \
    TXD_OP(softcap_back, softcap_back)                                                 \
    TXD_OP(bias_back, bias_back)                                                       \
    TXD_OP(mask_back, mask_back)                                                       \
    TXD_OP(softmax_back, softmax_back)                                                 \
    TXD_OP(sink_back, sink_back)                                                       \
    TXD_OP(mix_back, mix_back)                                                         \
    TXD_OP(loss_back, loss_back)

#define TXD_OPS(TXD_OP) TXD_FORWARD_OPS(TXD_OP) TXD_BACKWARD_OPS(TXD_OP)

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
    const char *name, *sentence;
    const char *simd; /* NULL: that of ops/kernels.h */
    txd_dtype dtype;  /* in memory: TXD_F64 or TXD_F32 */
    txd_dtype format; /* to which stored values are rounded: dtype, TXD_BF16, TXD_F16 */
    struct txd_ops ops; /* always full */
    /* Attention without its matrix; both NULL where there is none. */
    txd_status (*attend)(txd_ctx *ctx, const struct txd_attend_args *args);
    txd_status (*attend_back)(txd_ctx *ctx, const struct txd_attend_back_args *args);
    /* NULL: its memory is the host's. Else the backend that does the same there; what
     * `void` pointers of arguments point to is then in the memory of the device, and
     * all else (integers, bytes, spans, doubles, parts of statistics) in the host's. */
    const txd_backend *host;
    /* Memory where the operations run; alloc gives 64-byte aligned zeros, NULL with a
     * message when there is none. copy and zero work within it (copy: parts that do
     * not overlap), upload and download between it and the host's. All of these and
     * the operations run in the order in which they are called, whatever thread calls;
     * they may return before they are done, but not before what they write to the
     * host's memory is there. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    txd_status (*upload)(void *to, const void *from, size_t bytes);
    txd_status (*download)(void *to, const void *from, size_t bytes);
    txd_status (*copy)(void *to, const void *from, size_t bytes);
    txd_status (*zero)(void *to, size_t bytes);
    txd_status (*sync)(txd_ctx *ctx);
    /* Of a backend with a `host`; NULL of the others. In its dtype, not rounded to its
     * format: to += from; values /= divisor; *out, in the host's memory, is the sum of
     * the squares, added in double in an order that depends on `count` alone. */
    txd_status (*accumulate)(void *to, const void *from, size_t count);
    txd_status (*divide)(void *values, double divisor, size_t count);
    txd_status (*squares)(double *out, const void *values, size_t count);
    const char *(*blas)(void); /* names the BLAS and its core; "none" without one */
    const char *(*blas_slow)(void); /* txd_backend_blas_slow; may be NULL */
    void (*prepare)(void);          /* once, before the first operation; may be NULL */
};

/* The alloc and free of backends on the host: alloc's zeros, or NULL with a message;
 * txd_memory_give (base/memory.h) frees. */
void *txd_host_take(size_t bytes);

/* Calls body(self, i, worker) for every i < count on the context's threads; worker <
 * ctx->threads is unique among those running at once. `operations` is about how many
 * arithmetic operations one call makes: little work in all runs on the calling thread,
 * since waking a team costs more (and spins, where cores are busy). Returns the failure
 * of the smallest failing i, with its message. Nested calls run serially. */
txd_status txd_parallel(txd_ctx *ctx, size_t count, double operations,
                        txd_status (*body)(void *self, size_t i, int worker),
                        void *self);

/* Tasks whose results are taken in order. */
struct txd_in_order {
    size_t count;
    size_t room;       /* results that may wait, or be in the making; at least 1 */
    bool *made;        /* (room), to work in */
    double operations; /* of one task, as above */
    txd_status (*make)(void *self, size_t i, int worker); /* as above */
    txd_status (*merge)(void *self, size_t i);
    void *self;
};

/* Calls make for every i < count, and merge for every i in index order, one at a time,
 * on any of the threads, while others make what follows. Task i is made after result i
 * - room was merged: memory i % room is nobody else's. Loops within merge
 * (txd_parallel) are run together with the threads that wait. After a failure nothing
 * that comes later is merged; the smallest failing i is told, as above. */
txd_status txd_parallel_in_order(txd_ctx *ctx, const struct txd_in_order *tasks);

/* The threads that "all" means, 1 without OpenMP. */
int txd_threads_available(void);
/* As many as were asked for; 0 = all. */
int txd_threads_of(int asked);

/* Sum of parts in index order (Chan, Golub, LeVeque 1979); *to may be zeroed. */
void txd_stats_merge(struct txd_stats_part *to, const struct txd_stats_part *part);
/* The TXD_STAT_COUNT_OF statistics of a merged part. */
void txd_stats_final(double *out, const struct txd_stats_part *part);

#ifdef __cplusplus
}
#endif

#endif
