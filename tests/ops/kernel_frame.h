/* SPDX-License-Identifier: MIT
 *
 * Every kernel of every set that this CPU runs against the portable set, bit by bit:
 * all lengths over two blocks, rows that touch a page that cannot be touched at their
 * begin or their end, and special values in every place.
 */
#ifndef TXD_TESTS_KERNEL_FRAME_H
#define TXD_TESTS_KERNEL_FRAME_H

#include "ops/kernels.h"

#define KERNEL_LENGTHS 66 /* 0 to 65 */
#define KERNEL_NUMBERS 32

/* What a kernel reads and where it may write: `count` elements each. */
struct kernel_row {
    const float *x, *y;
    const uint8_t *bytes; /* 0 to 4 */
    float *out;
    double *numbers; /* KERNEL_NUMBERS, for what is no row */
    size_t count;
};

struct kernel_case {
    const char *name;
    void (*run)(const txd_kernels *kernels, const struct kernel_row *row);
    bool in_place; /* out may be x */
};

/* Runs all of it; fails the running test naming kernel, set, length and place. */
void kernel_cases_agree(const struct kernel_case *cases, size_t count);

/* Bits, but any NaN is like any other. */
bool kernel_same(float a, float b);
bool kernel_same_double(double a, double b);

#endif
