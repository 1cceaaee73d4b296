/* SPDX-License-Identifier: MIT
 *
 * How much the output of a norm varies: information, and before training a warning
 * where it is far from 1. For norm_moments.c.
 */
#ifndef TXD_CHECKS_NORM_DEVIATION_H
#define TXD_CHECKS_NORM_DEVIATION_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the whole output of a norm, each the one farthest from 1; NaN = not offered. */
typedef struct txd_deviation {
    double std;
    double size; /* what the norm promises: of an rmsnorm the root mean square */
} txd_deviation;

typedef struct txd_deviation_limits {
    double low, high, alarm_low, alarm_high;
    bool is_drawn; /* alarms are for weights before training */
} txd_deviation_limits;

/* Takes the statistics of a step; NULL is allowed. `centred`: of a layernorm. */
void txd_deviation_keep(txd_deviation *d, const double *stats, bool centred);

bool txd_deviation_is_outside(const txd_deviation *d,
                              const txd_deviation_limits *limits);
/* What is alarming is worse than what is not, and else what is farther from 1. */
bool txd_deviation_is_worse(const txd_deviation *d, const txd_deviation *than,
                            const txd_deviation_limits *limits);

/* Verdict, measure and message; `counts`: norms outside of the limits, all norms. */
void txd_deviation_say(txd_finding *finding, const txd_deviation *d,
                       const txd_deviation_limits *limits, const size_t counts[2]);

#ifdef __cplusplus
}
#endif

#endif
