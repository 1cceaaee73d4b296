/* SPDX-License-Identifier: MIT
 *
 * Attention of one batch row, for tests of backends that make it without its matrix:
 * made up, and what the reference's operations make of it, one after the other, in
 * double; and how far from that float32 may be (ops/args_attend.h).
 */
#ifndef TXD_TESTS_ATTENDED_H
#define TXD_TESTS_ATTENDED_H

#include "base/arena.h"
#include "ops/ops.h"

struct attended_case {
    size_t queries, keys, width, value_width, heads, kv_heads;
    bool causal, claims_causal; /* the mask, and what is claimed of it */
    size_t window, padded;      /* padded: keys at the beginning */
    double fill;                /* 0: -inf */
    int masked_row;
    double cap;
    bool slopes, sink;
    float planted; /* other than 0: instead of lane 0 of the key in the middle */
    size_t cells;  /* of the heatmap, per side */
};

/* A result, and what each element may be off by. */
struct attended_part {
    double *value, *off;
    size_t count;
};

struct attended {
    struct attended_case is;
    txd_arena *arena;
    txd_roundoff u;
    double *q, *k, *v, *sinks, *d_out; /* as the format has them */
    uint32_t *kv_head;
    double *slopes;
    int32_t *positions, *valid;
    int32_t *visible[2], *used[2], *seen[2];
    struct txd_hidden_sides sides;
    uint8_t *padded; /* of queries */
    double scale;
    txd_dtype format;
    double *weights, *scores;           /* (heads, queries, keys) */
    double *max, *lse, *delta, *spread; /* (heads, queries); delta: of scores */
    struct attended_part out, rows, sums, tops, d_q, d_k, d_v, d_sink;
};

struct attended *attended_make(const struct attended_case *is, txd_dtype format);
void attended_free(struct attended *a);

/* What weights, and sums of a row, may be off by, relatively. */
double attended_relative(const struct attended *a, size_t head, size_t query);
/* The gradients (attended_back.c). */
void attended_backward(struct attended *a);
struct attended_part attended_part(struct attended *a, size_t count);

#endif
