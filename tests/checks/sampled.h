/* SPDX-License-Identifier: MIT
 *
 * Passes over an input beyond every budget of checks/: a sequence of few real tokens
 * beside a long one.
 */
#ifndef TXD_TESTS_CHECKS_SAMPLED_H
#define TXD_TESTS_CHECKS_SAMPLED_H

#include "live.h"

/* Tokens of the two rows of the batch, rows of the memory, and the model. */
enum {
    SAMPLED_LONG = 300,
    SAMPLED_SHORT = 7,
    SAMPLED_MEMORY = 200,
    SAMPLED_LAYERS = 2,
    SAMPLED_HEADS = 8
};

/* Cross-attention; rotation, a window and shared keys; slopes and sinks. */
enum { SAMPLED_MODELS = 4 };

typedef struct sampled {
    int model;
    const char *fault;     /* NULL = none */
    const char *selectors; /* of the fault; NULL = none */
    const char *only;      /* laws; NULL = all */
    int threads;           /* 0 = 1 */
} sampled;

void sampled_run(live *l, const sampled *s);

#endif
