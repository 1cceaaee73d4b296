/* SPDX-License-Identifier: MIT
 *
 * Two recordings of one model and the same tokens: whether they are that, and how far
 * apart their values are, point by point.
 */
#ifndef TXD_VIZ_COMPARED_H
#define TXD_VIZ_COMPARED_H

#include "viz/figures/figures.h"

#ifdef __cplusplus
extern "C" {
#endif

/* OK if nothing tells that models or tokens differ; else ERR_CONFIG naming what. */
txd_status txd_compared_same(const txd_trace *a, const txd_trace *b);

/* The same of the tokens, the memory, and what goes with them, alone. */
txd_status txd_compared_tokens(const txd_trace *a, const txd_trace *b);

/* What an error was measured by, best first. */
typedef enum txd_error_kind {
    TXD_ERROR_FULL,  /* values in full */
    TXD_ERROR_ROWS,  /* row statistics of attention */
    TXD_ERROR_STATS, /* the rms alone: two that are alike may still differ */
} txd_error_kind;

/* One value in one layer. */
typedef struct txd_error {
    const char *name; /* "layers.*.resid.pre", "rows/entropy", "logits" */
    int layer;        /* -1 = of no layer */
    txd_error_kind kind;
    /* |difference| / |reference| (L2, all steps, valid tokens, seen cells); NaN if
     * something is not finite, 0 if nothing differs. */
    double relative;
    double largest;             /* largest |difference| of two elements */
    size_t elements, nonfinite; /* compared; NaN or infinite in one of the two */
} txd_error;

typedef struct txd_compared {
    const txd_trace *reference, *measured; /* the finer format is the reference */
    bool swapped;                          /* the reference is the first recording */
    const char *formats[2];                /* of reference and measured */
    double roundoff;                       /* unit roundoff of the measured one */
    size_t steps[2], common;               /* steps recorded, and compared */
    size_t layers;                         /* one more than the largest layer */
    txd_error *errors; /* of a name in a row, layers ascending; order of execution */
    size_t count;
} txd_compared;

/* Compares what both have, in `arena`. ERR_CONFIG if they are not the same model and
 * tokens, or if both recorded nothing alike. */
txd_status txd_compared_measure(txd_compared *out, txd_arena *arena,
                                const txd_trace *first, const txd_trace *second);

/* The end of the errors from `begin` on that are of one name and kind. */
size_t txd_compared_end(const txd_compared *compared, size_t begin);

/* The chart of the best kind there is. */
txd_status txd_chart_errors(txd_chart *out, txd_arena *arena,
                            const txd_compared *compared);

/* True for the gradient of something. */
bool txd_error_is_gradient(const txd_error *error);

/* One value that both recorded. */
typedef struct txd_pair {
    txd_trace_info info; /* with the dims that both have */
    size_t entries[2];   /* of reference and measured */
    double scales[2];    /* by which their values are divided */
    int layer;           /* for the mask; -1 = there is none */
    int fixed_axis;      /* of which one place is taken; -1 = of none */
    size_t fixed;        /* that place */
    bool nan_is_nothing; /* NaN in both stands for "there is none" */
} txd_pair;

/* Adds the value's differences up (compared_sums.c). `claims` are of the steps. */
txd_status txd_pair_sum(txd_error *out, const txd_compared *compared,
                        const txd_pair *pair, const txd_claim *claims);

#ifdef __cplusplus
}
#endif

#endif
