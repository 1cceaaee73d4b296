/* SPDX-License-Identifier: MIT
 *
 * Two passes side by side: a capture keeps the values of one, and the difference of two
 * says where they part, first in order of execution. For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_CAPTURE_H
#define TXD_CHECKS_EXPERIMENTS_CAPTURE_H

#include "checks/experiments/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to keep (bits). Never what follows from inputs and memory alone, nor the loss,
 * which reads the token after its own. */
enum {
    TXD_CAPTURE_VALUES = 1,  /* every value with a row per token: embeddings to head */
    TXD_CAPTURE_WEIGHTS = 2, /* the weights of attention */
    TXD_CAPTURE_LOGITS = 4,
    TXD_CAPTURE_GRADIENTS = 8, /* of the values, in a pass with a backward half */
    TXD_CAPTURE_ALL = 7,
};

/* One value, whole. */
typedef struct txd_captured {
    txd_site site; /* its name stays */
    txd_tensor value;
} txd_captured;

typedef struct txd_capture {
    const txd_config *claimed;
    unsigned what;
    int step; /* the one that is kept; -1 (every) unless set before the pass */
    txd_arena *arena;
    txd_tap tap;
    txd_tap *taps[1];    /* the same, to hand over */
    txd_captured *sites; /* in order of execution, gradients from the last on */
    size_t count, capacity;
    size_t batch, length;
    size_t bytes, left_out; /* values beyond the limit are not kept */
} txd_capture;

/* Of one pass: hand out->taps to it. Finish in either case. */
txd_status txd_capture_init(txd_capture *out, const txd_experiment *experiment,
                            unsigned what);
void txd_capture_finish(txd_capture *capture);

/* A pass as `how` says (its taps first) under the capture. */
txd_status txd_capture_pass(txd_capture *capture, const txd_experiment *experiment,
                            const txd_experiment_how *how, const txd_inputs *inputs);

/* The value of a site; NULL if it was not kept. */
const txd_captured *txd_capture_at(const txd_capture *capture, const txd_site *site);

/* A token of one pass and what it is in the other: b * length + t of each. */
typedef struct txd_token_pair {
    size_t a, b;
} txd_token_pair;

typedef struct txd_capture_match {
    const txd_capture *a, *b;
    const txd_token_pair *pairs;
    size_t count;
    int layers; /* only embeddings and layers before this one; 0 = all */
    /* How far the row of a token may be off, as a share of its Euclidean norm; NULL =
     * not by a bit. */
    double (*allowed)(const void *self, const txd_captured *site);
    const void *self;
} txd_capture_match;

/* Where they part: the first site, of it the first pair, the first head, and of that
 * row the first element (exactly) or the worst one. */
typedef struct txd_difference {
    bool is_found;
    const txd_captured *site;
    size_t pair, lane;
    int64_t head;                /* -1: the value has none */
    double a, b;                 /* the element */
    double measured, allowed;    /* of the row; exactly: |a - b| and 0 */
    uint64_t rows;               /* compared */
    uint64_t not_finite;         /* of them */
    double worst, worst_allowed; /* the one nearest to, or farthest beyond, it */
} txd_difference;

/* Weights are compared where rows of both have as many keys and the pair's tokens stand
 * at the same place of theirs. */
txd_status txd_capture_compare(txd_difference *out, const txd_capture_match *match);

/* Pairs (i, i) of the real tokens of `inputs` before token `end` of each row, in
 * `arena`. */
txd_status txd_pairs_before(txd_token_pair **out, size_t *count, txd_arena *arena,
                            const txd_inputs *inputs, size_t end);

/* Adds to a result what a comparison came to; OPEN where values are not finite. */
void txd_difference_count(txd_result *result, const txd_difference *difference);

/* "0.25 became 0.75": appended to a finding. */
void txd_difference_say(txd_finding *finding, const txd_difference *difference);

#ifdef __cplusplus
}
#endif

#endif
