/* SPDX-License-Identifier: MIT
 *
 * A batch of several rows, whatever the inputs were. For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_COMPANY_H
#define TXD_CHECKS_EXPERIMENTS_COMPANY_H

#include "checks/experiments/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The experiment's inputs; if they are one row, with a second one of other tokens. */
txd_status txd_company_make(txd_inputs *out, const txd_experiment *experiment);

/* The same with other tokens in all rows but `kept`. */
txd_status txd_company_change(txd_inputs *out, const txd_experiment *experiment,
                              const txd_inputs *company, size_t kept);

#ifdef __cplusplus
}
#endif

#endif
