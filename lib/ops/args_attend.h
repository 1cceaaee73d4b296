/* SPDX-License-Identifier: MIT
 *
 * The arguments of attention that is never formed: what the tile operations
 * (ops/args_tiles.h) make of some heads of one batch row, from q, k and v to the heads,
 * with what is told of their weights, and back. `void` is a value of the backend's
 * dtype in its memory; all other pointers are to the host's memory.
 *
 * Weights are those of the composed operations: s = scale q.k, cap tanh(s / cap), minus
 * slope times the distance, the fill where the query does not see the key, softmax over
 * the used keys, with the sink's logit in the sum. Nothing between q, k, v and the
 * results is rounded to a narrower format than float32.
 *
 * Bounds. The keys are taken in T <= keys / 32 + 1 blocks, and what was summed is
 * multiplied by exp(old maximum - new maximum) before each: L + 2 roundoffs (L of the
 * library's exp) and one of the difference. The maxima ascend, so that the differences
 * add up to no more than d, the largest difference to the row's maximum. With delta
 * what a score of the row may be off by (scores, softcap, bias, one after the other),
 * weights and row sums are off by e = gamma_{keys + (T + 2)(L + 2)}(u_acc) + 4 u_acc (d
 * + 1) + 2 delta, relatively, and heads by (e + gamma_keys(u_acc)) |weights||v|; then
 * one rounding to store. The log-sum-exp is off by e + delta + 2 u_acc |lse|, the
 * maximum by delta. Row statistics are taken in a second pass over the keys, whose
 * scores have the same bits, and whose weights are exp(s - maximum) / sum: one exp and
 * one quotient off. Sums over a row are in double: of the weights off by e sum w,
 * entropy by e (1 + H + log keys), distance by e sum w |distance|; then one rounding to
 * float32.
 */
#ifndef TXD_OPS_ARGS_ATTEND_H
#define TXD_OPS_ARGS_ATTEND_H

#include "ops/mask.h"
#include "ops/op_site.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_ATTEND_HEADS 64  /* at most, in one call */
#define TXD_ATTEND_WIDTH 256 /* at most, of a head and of its values */

/* What both passes read. */
struct txd_attend_heads {
    const void *q;    /* (heads, queries, width) */
    const void *k;    /* (kv heads, key_rows, width) */
    const void *v;    /* (kv heads, key_rows, value_width) */
    const void *sink; /* (heads), or NULL */
    size_t heads, queries, keys, key_rows, width, value_width;
    size_t kv_heads;
    const uint32_t *kv_head; /* (heads): which k and v it reads */
    const double *slopes;    /* (heads), or NULL: no bias */
    const int32_t *query_positions, *key_positions; /* read with slopes */
    txd_spans visible, used;                        /* (queries); first = 0 */
    double scale, cap, fill;                        /* cap 0: none */
    /* A txd_masked_row of model/config.h: what the used cells of a row get whose
     * largest value is -inf; of UNIFORM 1 / keys. */
    int masked_row;
};

/* A heatmap of each head: cell i of C covers the tokens floor(i*N/C) to
 * floor((i+1)*N/C) - 1, of queries and of keys. sums and tops (heads, query_cells,
 * key_cells): sum and maximum of the weights in a cell (0 if it has none), those of
 * padded queries left out; NaN where one is. */
struct txd_attend_pool {
    double *sums, *tops;
    size_t query_cells, key_cells; /* no more than there are queries and keys */
    const uint8_t *padded;         /* (queries) */
};

struct txd_attend_args {
    txd_op_site at; /* first_query: the place of query 0 among the keys */
    struct txd_attend_heads in;
    void *out; /* (heads, queries, value_width) */
    /* (heads, queries), rounded to the dtype; NULL where nobody asks. */
    double *max, *lse;
    /* (heads, queries, TXD_ROW_COUNT), or NULL: as the operation `rows` says them, of
     * the used cells: the others are not computed and not counted. */
    double *rows;
    txd_spans seen; /* of the claimed mask; read with rows */
    struct txd_hidden_sides sides;
    const struct txd_attend_pool *pool; /* or NULL */
    /* NULL, or told: every score, capped score and masked score of a cell that is
     * visible and used is finite, and so are all weights. */
    bool *finite;
};

/* d_q is written; d_k, d_v (kv heads, key_rows, width and value_width) and d_sink
 * (heads) are added to, the heads of a group in order, and each sum is rounded as
 * values are stored. */
struct txd_attend_back_args {
    txd_op_site at;
    struct txd_attend_heads in;
    const void *d_out;
    void *d_q, *d_k, *d_v, *d_sink; /* d_sink: NULL without a sink */
};

#ifdef __cplusplus
}
#endif

#endif
