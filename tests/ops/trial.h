/* SPDX-License-Identifier: MIT
 *
 * One trial of one operation: a backend against ref64 on the same inputs, within the
 * derived bound. Outputs begin as NaN, so that a skipped write shows; guards around
 * them show a stray one.
 */
#ifndef TXD_TESTS_TRIAL_H
#define TXD_TESTS_TRIAL_H

#include "ops/bounds.h"

/* How inputs are filled; every value is a float32 number. */
enum fill {
    FILL_NORMAL,
    FILL_TINY,
    FILL_HUGE,
    FILL_EQUAL,
    FILL_ONE_HOT,
    FILL_ZEROS,
    FILL_MASKED_ROW,
    FILLS
};

struct trial {
    const struct txd_ops *ops;  /* under test */
    const txd_backend *backend; /* gives dtype and roundoffs */
    enum fill fill;
    size_t size; /* which of the shapes */
    txd_ctx ctx;
    size_t compared, failures;
    char first[200];  /* what failed first */
    void *memory[64]; /* freed by trial_finish */
    size_t allocations;
};

#define TRIAL_SIZES 6

/* Runs one operation on the shapes and fills of the trial. */
void trial_run(struct trial *trial, txd_op op);
void trial_finish(struct trial *trial);

#endif
