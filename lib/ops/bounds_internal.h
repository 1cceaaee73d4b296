/* SPDX-License-Identifier: MIT
 *
 * What the bounds of both passes are made of.
 */
#ifndef TXD_OPS_BOUNDS_INTERNAL_H
#define TXD_OPS_BOUNDS_INTERNAL_H

#include "ops/bounds.h"

/* A library function (exp, log, erf, tanh, cosh, sin) is taken to be within so many
 * roundoffs of its result. */
#define TXD_LIBM 4

/* An error before the result `out` is stored, and that of storing it. */
double txd_stored_bound(double error, double out, txd_roundoff u);

/* |error| of a product of length n with magnitude sum |a||b| = size and value c. */
double txd_product_bound(double n, double size, double c, txd_roundoff u);

#endif
