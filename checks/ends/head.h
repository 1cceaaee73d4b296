/* SPDX-License-Identifier: MIT
 *
 * The output head: one product of a row of its matrix and what it reads, and what
 * becomes of it until it is a logit. For the files of this folder only.
 */
#ifndef TXD_CHECKS_HEAD_H
#define TXD_CHECKS_HEAD_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value in double, and how far from it the same in floating point can be. */
typedef struct txd_head_value {
    double exact, allowed;
} txd_head_value;

/* row . x + bias over `count` lanes. The row is as the pass has it, in its format; or
 * the parameter from which that was rounded. */
typedef struct txd_head_product {
    const double *row, *x;
    size_t count;
    double bias;
    bool is_rounded; /* the pass rounded the row to its format */
} txd_head_product;

txd_head_value txd_head_multiply(const txd_head_product *product, txd_roundoff u);

/* Logits as the claim caps and scales them, from what the head makes: cap tanh(x /
 * cap), then times the scale, each where there is one. */
txd_head_value txd_head_logit(const txd_config *claimed, txd_head_value raw,
                              txd_roundoff u);

#ifdef __cplusplus
}
#endif

#endif
