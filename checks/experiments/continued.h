/* SPDX-License-Identifier: MIT
 *
 * A sequence in several calls with a cache against the same sequence in one. For the
 * laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_CONTINUED_H
#define TXD_CHECKS_EXPERIMENTS_CONTINUED_H

#include "checks/experiments/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reason to skip, or NULL. */
const char *txd_continued_inapplicable(const txd_check_context *context);

/* How tokens are divided, and the beginning of the sentence of a finding. */
typedef struct txd_continued {
    void (*divide)(txd_calls *calls, size_t length);
    const char *how;
} txd_continued;

/* For an experiment's examine. */
txd_status txd_continued_examine(txd_experiment *experiment, txd_result *result,
                                 const txd_continued *continued);

#ifdef __cplusplus
}
#endif

#endif
