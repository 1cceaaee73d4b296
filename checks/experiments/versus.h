/* SPDX-License-Identifier: MIT
 *
 * One pass against variants of it: the same tokens in other company, which must have
 * what they had, by the bit or within the noise of rounding. For the laws of this
 * folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_VERSUS_H
#define TXD_CHECKS_EXPERIMENTS_VERSUS_H

#include "checks/experiments/noise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_versus {
    txd_experiment *e;
    txd_result *result;
    const txd_inputs *inputs; /* of the plain pass */
    const size_t *origin; /* of its tokens in the experiment's inputs; NULL = same */
    txd_capture plain;
    txd_noise noise;
    txd_token_pair
        *pairs; /* tokens of the plain pass, and what they are in a variant */
    size_t count;
    const char *how; /* of the variant, begins the sentence: "with padding ..." */
    /* Ends the sentence: why a point is the first that moved. */
    const char *(*cause)(txd_point point, bool is_exact);
} txd_versus;

/* The plain pass over `inputs`, and if `has_noise` the noisy one. Pairs are its real
 * tokens, each with itself. Finish in either case. */
txd_status txd_versus_begin(txd_versus *versus, const txd_inputs *inputs,
                            bool has_noise);
void txd_versus_finish(txd_versus *versus);

/* Compares a pass, by its pairs, and adds the finding if they part. */
txd_status txd_versus_judge(const txd_versus *versus, const txd_capture *variant,
                            bool is_exact);
/* The same of two passes of variants, where the pairs' second tokens are in both. */
txd_status txd_versus_judge_both(const txd_versus *versus, const txd_capture *one,
                                 const txd_capture *another);

/* Makes the pass over the variant's inputs, and compares it. */
txd_status txd_versus_try(const txd_versus *versus, const txd_inputs *variant,
                          bool is_exact);

#ifdef __cplusplus
}
#endif

#endif
