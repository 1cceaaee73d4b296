/* SPDX-License-Identifier: MIT
 *
 * The norms of a model: which value each reads by the claimed placement, its gain and
 * bias, and what its output can be instead. For the files of this folder only.
 */
#ifndef TXD_CHECKS_NORM_H
#define TXD_CHECKS_NORM_H

#include "checks/kept.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One norm, as claimed. gain and bias (width) are NULL where they are not known; a norm
 * without bias has zeros. The gain is the whole of it, with the offset. */
typedef struct txd_norm {
    txd_point out, in;
    txd_point in_elsewhere; /* what it reads with another placement; or COUNT */
    int layer;              /* -1: of no layer */
    size_t width, parts;    /* parts: of a token, each normalised alone: its heads */
    double eps, offset;     /* offset: what of the gain is no parameter */
    bool centred;           /* layernorm; else root mean square */
    double *gain, *bias;
} txd_norm;

/* All norms of the claimed configuration in order of execution: `each` of every layer,
 * then those of no layer. */
typedef struct txd_norms {
    txd_norm *list;
    size_t count, layers, each;
} txd_norms;

txd_status txd_norms_create(txd_norms *out, const txd_config *claimed);
void txd_norms_destroy(txd_norms *norms);
/* The norm whose output a point of a layer is; NULL if there is none. */
txd_norm *txd_norms_find(const txd_norms *norms, txd_point out, int layer);
/* The widest of all. */
size_t txd_norms_width(const txd_norms *norms);
/* How many tokens of a step are judged: a wrong norm acts on all of them. */
size_t txd_norms_tokens(const txd_config *claimed);
/* Keeps a gain or bias that a parameter site offers; others are passed over. */
txd_status txd_norms_take(txd_norms *norms, const txd_block *block);
/* True at the parameter sites that txd_norms_take keeps. */
bool txd_norms_wants(const txd_norms *norms, const txd_site *site);

/* out (width) = the norm of x as claimed, and allowed (width) = how far from it the
 * same in floating point can be (the bound of the operation, lib/ops/bounds.c). */
void txd_norm_expect(double *out, double *allowed, const txd_norm *norm,
                     const double *x, txd_roundoff u);

/* What a wrong output may be explained by. */
typedef struct txd_norm_evidence {
    const txd_norm *norm;
    const txd_kept_tokens *tokens;
    const txd_kept *in, *out;
    const txd_kept *points; /* (TXD_POINT_COUNT): what else the layer had */
    double u_store;
} txd_norm_evidence;

/* The explanation in words ("as if eps were 0.001 instead of 1e-05"), or "". */
txd_status txd_norm_explain(char *text, size_t bytes, const txd_norm_evidence *e);

#ifdef __cplusplus
}
#endif

#endif
