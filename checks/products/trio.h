/* SPDX-License-Identifier: MIT
 *
 * The matrices of queries, keys and values compared head by head, and the values that
 * they give: what the law qkv_distinct judges. For the files of this folder only.
 */
#ifndef TXD_CHECKS_TRIO_H
#define TXD_CHECKS_TRIO_H

#include "checks/kept.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of fewer lanes tell nothing: in two dimensions every thirtieth pair of
 * directions is alike to 0.999 by chance. */
#define TXD_TRIO_LANES 4
/* Matrices of fewer elements are alike by chance, too; if they are equal, they are one.
 */
#define TXD_TRIO_ELEMENTS 8

typedef enum txd_role { TXD_ROLE_Q, TXD_ROLE_K, TXD_ROLE_V, TXD_ROLE_COUNT } txd_role;

/* Query and key, query and value, key and value. */
#define TXD_TRIO_PAIRS 3
extern const txd_role txd_trio_pairs[TXD_TRIO_PAIRS][2];

/* Sums over the elements of two matrices, or of two values. */
typedef struct txd_trio_sums {
    double xx, yy, xy;
    bool is_judged;
} txd_trio_sums;

/* A part is the self-attention of a layer, 2 layer, or its cross-attention, 2 layer
 * + 1.
 */
typedef struct txd_trio {
    const txd_config *claimed;
    size_t groups, share; /* KV heads, query heads of each */
    size_t pair_count;    /* those of equal widths */
    size_t width;         /* the larger of the two head widths */
    /* The matrices of one layer, (groups, rows, d_model): floats as such, others as
     * doubles; which are there, and the memory that they have. */
    txd_tensor copies[TXD_ROLE_COUNT];
    bool has[TXD_ROLE_COUNT];
    size_t room[TXD_ROLE_COUNT];
    txd_trio_sums *parameters; /* (parts, groups, pairs) */
    txd_trio_sums *values;     /* the same */
    double *lanes;             /* (parts, groups, roles, width): sums of values */
    double *heads;             /* (roles, width): of one token */
    uint64_t *tokens;          /* (parts) */
} txd_trio;

/* On failure nothing is left to be finished. */
txd_status txd_trio_init(txd_trio *trio, const txd_config *claimed);
void txd_trio_finish(txd_trio *trio);

/* True for the parameters that are compared. */
bool txd_trio_wants(const txd_site *parameter);
txd_status txd_trio_add_parameter(txd_trio *trio, const txd_block *block);
/* A block of attn.v (cross.v); the queries and keys are asked for as earlier values. */
txd_status txd_trio_add_values(txd_trio *trio, const txd_block *block);

/* The larger |cosine| of the two comparisons of a pair; NaN if either holds what is
 * not finite. False if there is nothing to compare. */
bool txd_trio_cosine(double *out, const txd_trio *trio, size_t part, size_t group,
                     size_t pair);

#ifdef __cplusplus
}
#endif

#endif
