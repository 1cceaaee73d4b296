/* SPDX-License-Identifier: MIT
 *
 * One row of masked scores as its softmax has it in double. For the files of this
 * folder only.
 */
#ifndef TXD_CHECKS_SOFTMAX_ROW_H
#define TXD_CHECKS_SOFTMAX_ROW_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exponentials of a row that are not taken twice. */
#define TXD_POWERS_KEPT 1024

typedef struct txd_softmax_row {
    const txd_tensor *weights, *masked;
    size_t first, keys; /* flat index of its first cell in both */
    double max, sum, spread;
    double sink;    /* a logit more in the sum; -Inf if there is none */
    bool by_weight; /* there is one that is not known: the largest weight is taken to be
                       right, and tells the sum */
    double power[TXD_POWERS_KEPT]; /* exp of the first cells, less the largest */
} txd_softmax_row;

/* exp(-below). */
double txd_softmax_power(double below);
/* Fills max, sum, spread and the powers; `lost` is what an underflow can lose where exp
 * is accumulated. False if the row has no finite largest score, which others judge, or
 * no weight that tells of its sum. */
bool txd_softmax_measure(txd_softmax_row *r, double lost);

#ifdef __cplusplus
}
#endif

#endif
