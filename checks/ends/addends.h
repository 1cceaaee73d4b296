/* SPDX-License-Identifier: MIT
 *
 * Sums of a few terms, each times a factor of the claim, over rows that were kept, and
 * which factor explains another result. For the files of this folder only.
 */
#ifndef TXD_CHECKS_ADDENDS_H
#define TXD_CHECKS_ADDENDS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_ADDENDS = 3 };

typedef struct txd_addends {
    const double *terms[TXD_ADDENDS]; /* (rows, width) */
    const char *names[TXD_ADDENDS];
    double factor[TXD_ADDENDS]; /* 1: the term as it is, without a rounding */
    size_t count, rows, width;
} txd_addends;

typedef struct txd_addend_sum {
    double exact, allowed;
} txd_addend_sum;

/* The sum of element i, added in order, and how far off one in floating point can be.
 */
txd_addend_sum txd_addends_sum(const txd_addends *a, size_t i, txd_roundoff u);

/* Says which other factor of one term explains `out`, or leaves the text empty. */
void txd_addends_explain(char *text, size_t bytes, const txd_addends *a,
                         const double *out, txd_roundoff u);

#ifdef __cplusplus
}
#endif

#endif
