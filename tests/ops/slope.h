/* SPDX-License-Identifier: MIT
 *
 * Backward entries of ref64 against finite differences of its forward entries, along
 * random directions: with f = sum of d_out * op(x), the slope of f along v must be the
 * sum of d_x * v.
 *
 * The tolerance is an argument, not a trial. Central differences D(h) have errors in
 * even powers of h; R(h) = (4 D(h/2) - D(h)) / 3 is free of h^2, and (16 R(h/2) - R(h))
 * / 15 of h^4 too, so that its error is far below |R(h/2) - R(h)|, which is allowed. To
 * it come what rounding does to f (the operation's own bound, over h), and to the
 * backward entry (its bound). Inputs and directions lie on grids so coarse that x + h v
 * is exact. A tolerance beyond one roundoff of float32, relative to the terms of the
 * slope, would prove nothing, and fails.
 */
#ifndef TXD_TESTS_SLOPE_H
#define TXD_TESTS_SLOPE_H

#include "trial.h"

/* What f is differentiated by. */
struct slope_input {
    const char *name;
    double *x, *d_x, *allowed;
    const double *before;       /* what d_x was added to; NULL: it is written */
    size_t count, keys, stride; /* of rows of tiles, or 0 */
};

struct slope {
    const char *name;
    void (*forward)(void *args); /* fills out from the inputs */
    void *args;
    double *out, *d_out, *allowed; /* allowed: of out; zeros for copies */
    size_t outputs, inputs;
    struct slope_input input[3];
};

/* True: one element of every d_x is changed by one in ten thousand before it is judged.
 */
extern bool slope_harmed;

/* Numbers of about 1 on a grid of 2^-20. */
double *slope_numbers(struct trial *t, const char *name, size_t count);
/* Makes out, d_out and allowed; f.out etc. are the caller's to set. */
void slope_outputs(struct trial *t, struct slope *s, size_t count);
/* One input more; its d_x begins as NaN, or as numbers if it is added to, and is what
 * *slot becomes. */
void slope_input(struct trial *t, struct slope *s, struct slope_input input,
                 void **slot, bool added);
/* Judges every input; failures and comparisons are counted in the trial. */
void slope_check(struct trial *t, struct slope *s);

/* One function per backward entry. */
#define TXD_OP(name, arguments) void slope_##name(struct trial *t);
TXD_BACKWARD_OPS(TXD_OP)
#undef TXD_OP

/* forward_NAME calls an entry of ref64. */
#define SLOPE_FORWARD(name)                                                            \
    static void forward_##name(void *args)                                             \
    {                                                                                  \
        txd_ctx ctx = {1};                                                             \
                                                                                       \
        (void)txd_ref64_##name(&ctx, args);                                            \
    }

#endif
