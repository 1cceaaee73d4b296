/* SPDX-License-Identifier: MIT */
/*
 * worst.h: the larger of two errors, where NaN is the largest of all and stays: fmax()
 * forgets it, and so does `if (!(error <= worst)) worst = error` with the next error.
 */
#ifndef TXD_TESTS_WORST_H
#define TXD_TESTS_WORST_H

#include <math.h>

static inline double worst_of(double worst, double error)
{
    return isnan(worst) || worst >= error ? worst : error;
}

#endif
