/* SPDX-License-Identifier: MIT
 *
 * Attention that is never formed (ops/args_attend.h): what its kernels share. A block
 * of threads has ROWS rows of one side (queries, or keys on the way back to these) and
 * goes over the other side in blocks of TXD_ATTEND_BLOCK: 16 threads to 4 rows, thread
 * x of them with the columns x, x + 16, x + 32 and x + 48.
 *
 * Blocks begin at multiples of TXD_ATTEND_BLOCK whatever is asked for, and one in which
 * a row uses no key changes nothing of it: so the bits of a row depend on its own cells
 * alone.
 */
#ifndef TXD_CUDA_ATTEND_H
#define TXD_CUDA_ATTEND_H

#include "cuda/launch.h"
#include "ops/args_attend.h"

#ifdef __CUDACC__
#define ATTEND_UNROLL _Pragma("unroll")
#define ATTEND_UNROLL_4 _Pragma("unroll 4")
#else
#define ATTEND_UNROLL
#define ATTEND_UNROLL_4
#endif

#define TXD_ATTEND_BLOCK 64
#define TXD_ATTEND_COLUMNS (TXD_ATTEND_BLOCK + 4) /* of a row of weights */

txd_status txd_cuda32_attend(txd_ctx *ctx, const struct txd_attend_args *a);
txd_status txd_cudabf16_attend(txd_ctx *ctx, const struct txd_attend_args *a);
txd_status txd_cuda32_attend_back(txd_ctx *ctx, const struct txd_attend_back_args *a);
txd_status txd_cudabf16_attend_back(txd_ctx *ctx, const struct txd_attend_back_args *a);

/* Sizes for heads of up to WIDTH lanes. */
template <int WIDTH> struct attend_sizes {
    static constexpr int rows = WIDTH > 128 ? 32 : 64;
    static constexpr int threads = rows * 4;
    static constexpr int stride =
        WIDTH + 4; /* of a row in shared memory: no conflicts */
    static constexpr int lanes = WIDTH / 16; /* that a thread sums of each row */
    static constexpr int vector = WIDTH % 64 == 0 ? 4 : 2; /* of these, side by side */
};

/* Of the queries of one block: [from, to) has every key that some of them uses, and
 * [inner_from, inner_to) only such as all of them see and use. */
struct attend_hull {
    int32_t from, to, inner_from, inner_to;
};

/* txd_attend_heads on the device, passed by value. */
struct attend_view {
    const float *q, *k, *v, *sink;
    const uint32_t *kv_head;
    const double *slopes;
    const int32_t *query_positions, *key_positions;
    struct txd_cuda_spans visible, used;
    const struct attend_hull *hulls; /* one per block of queries */
    size_t queries, keys, key_rows, width, value_width;
    unsigned heads, kv_heads, blocks; /* blocks: of queries */
    float scale, cap, fill;
    float empty; /* weight of used cells in a row whose largest value is -inf */
    /* (heads, queries) each: the largest masked score; that or the sink if larger; the
     * sum of exp of the differences to it. */
    float *max, *base, *sum;
    int *strange; /* becomes 1 where something is not finite; or NULL */
};

/* Stages the arguments, and finds the hulls; `fill` rounded as values are stored. */
txd_status attend_stage(struct attend_view *out, const struct txd_attend_heads *in,
                        float fill);
/* Whether kernels for this width may have so many floats of shared memory. */
static inline txd_status attend_room(const void *kernel, size_t floats)
{
    return txd_cuda_shared_room(kernel, floats * sizeof(float));
}

/* Row statistics and heatmap, once `view` holds what the heads were made with
 * (attend_rows.cu). */
txd_status attend_measure(const struct attend_view *view,
                          const struct txd_attend_args *a);

/* Calls `function<WIDTH>(...)` for the narrowest that holds both widths. */
#define ATTEND_BY_WIDTH(function, view, ...)                                           \
    ((view).width > (view).value_width ? (view).width : (view).value_width) <= 32      \
        ? function<32>(__VA_ARGS__)                                                    \
    : ((view).width > (view).value_width ? (view).width : (view).value_width) <= 64    \
        ? function<64>(__VA_ARGS__)                                                    \
    : ((view).width > (view).value_width ? (view).width : (view).value_width) <= 96    \
        ? function<96>(__VA_ARGS__)                                                    \
    : ((view).width > (view).value_width ? (view).width : (view).value_width) <= 128   \
        ? function<128>(__VA_ARGS__)                                                   \
        : function<256>(__VA_ARGS__)

#endif
