/* SPDX-License-Identifier: MIT
 *
 * The elements of a residual sum, one by one, and what a wrong sum is instead. For the
 * files of this folder only.
 */
#ifndef TXD_CHECKS_RESIDUAL_H
#define TXD_CHECKS_RESIDUAL_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One sum of one layer; also what a block adds to it. */
typedef struct txd_residual_tally {
    uint64_t judged, broken, inherited;
    uint64_t is_branch, is_input; /* of the broken ones, as these: */
    double bb, db, dd;            /* d = out - in against the branch */
    double ii, ei, ee;            /* e = out - branch against the input */
    double measured, allowed, ratio, out, expected;
    size_t batch, token, channel; /* of the worst */
    txd_status status;            /* of asking for the operands */
    int step;
} txd_residual_tally;

/* One element of a sum, and how far off its branch can be (0 of a single one). */
typedef struct txd_residual_element {
    double in, branch, out, slack;
} txd_residual_element;

/* Judges out = in + branch; true if this is the worst element so far: its place is the
 * caller's to set. */
bool txd_residual_add(txd_residual_tally *t, const txd_residual_element *element,
                      const txd_pass *pass);
void txd_residual_join(txd_residual_tally *to, const txd_residual_tally *t);

/* What explains all broken elements, if these are most; `in` and `branch` are names. */
void txd_residual_say_cause(txd_finding *finding, const txd_residual_tally *t,
                            const char *in, const char *branch);

#ifdef __cplusplus
}
#endif

#endif
