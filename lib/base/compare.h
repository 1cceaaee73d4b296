/* SPDX-License-Identifier: MIT
 *
 * The one comparator: a value fails unless it is proven close. NaN is close to
 * nothing (not even NaN), an infinity only to the same infinity.
 */
#ifndef TXD_BASE_COMPARE_H
#define TXD_BASE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True iff |value - expected| <= allowed is proven. A NaN or negative `allowed`
 * proves nothing. */
bool txd_close(double value, double expected, double allowed);

/* True iff `measured <= allowed` is proven: the form of every verdict. */
bool txd_within(double measured, double allowed);

typedef struct txd_comparison {
    size_t count;       /* elements compared */
    size_t failures;    /* elements not proven close */
    size_t first;       /* flat index of the first failure; count if none */
    size_t worst;       /* flat index of the largest error (a NaN beats all) */
    double worst_error; /* |value - expected| there; NaN or Inf possible */
    double worst_ratio; /* error / allowed there */
} txd_comparison;

/* Compares two tensors of equal shape (any dtypes) with allowed = atol + rtol *
 * |expected|. ERR_ARGUMENT if the shapes differ. Zero elements compare as count 0:
 * the caller must not take that for a pass. */
txd_status txd_compare(txd_comparison *out, const txd_tensor *value,
                       const txd_tensor *expected, double rtol, double atol);

#ifdef __cplusplus
}
#endif

#endif
