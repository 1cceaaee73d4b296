/* SPDX-License-Identifier: MIT
 *
 * Slopes of the loss by finite differences, for tests of the backward half: along a
 * random direction in a parameter, or in the value at a point.
 *
 * Differences are central and of fourth order: (8 (f(h) - f(-h)) - f(2h) + f(-2h)) /
 * 12h. With h = 2^-10 along a direction of length 1 the error of a smooth loss near 3
 * is about 1e-12 (rounding) + 3e-14 times its fifth derivative.
 */
#ifndef TXD_TESTS_SLOPES_H
#define TXD_TESTS_SLOPES_H

#include "observe.h"

/* The step; one for losses that bend more; and one for those with kinks (relu), which
 * it hardly ever crosses. */
#define SLOPE_STEP 0x1p-10
#define SLOPE_STEP_BENT 0x1p-12
#define SLOPE_STEP_KINKS 0x1p-17

/* A model in double, of a cfg, every parameter drawn so that nothing is small or
 * symmetric: gains near 1, biases near 0.1, embeddings and matrices of use. */
void slopes_model(observed *o, const char *cfg);

/* Fills u with a random direction of length 1. */
void slopes_direction(double *u, size_t count, const char *name);

/* The loss's slope along u in the i-th parameter. */
double slopes_of_parameter(observed *o, size_t i, const double *u, double step);
/* In the value at a point; `layer` as of a stop. */
double slopes_of_point(observed *o, txd_stop stop, const double *u, double step);

/* Fails the test unless the gradient of the i-th parameter has the loss's slope. What
 * differences may be off by is a part of the gradient's length, and the rounding of
 * four losses. A wrong or missing term is of the order of the gradient divided by the
 * root of the number of elements. */
struct slope_bound {
    const char *name; /* of the case, for messages */
    double step;
};
void slopes_check_parameter(observed *o, size_t i, const struct slope_bound *bound);
double slopes_allowed(const struct slope_bound *bound, double length);

/* A tap that adds step * u to the value at a stop: an edit whose slope is 1. */
struct nudge {
    txd_stop stop;
    const double *u; /* NULL: 0 */
    double step;
    size_t edits;
};
txd_tap nudge_tap(struct nudge *nudge);

/* Sum of a[i] b[i], and length of a. */
double slopes_dot(const double *a, const double *b, size_t count);
double slopes_length(const double *a, size_t count);

#endif
