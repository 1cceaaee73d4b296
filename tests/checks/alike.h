/* SPDX-License-Identifier: MIT
 *
 * The verdict of a run beside that of its recording.
 */
#ifndef TXD_TESTS_CHECKS_ALIKE_H
#define TXD_TESTS_CHECKS_ALIKE_H

#include "live.h"

/* Laws that judge values by the parameters, which no recording holds. */
bool alike_by_parameters(const char *law);

/* Fails unless the recording (b) says in every number what the run (a) did, finding by
 * finding. */
void alike_expect_numbers(const txd_result *a, const txd_result *b);

/* The same as far as the recording holds the evidence: a law by the parameters is
 * skipped with the reason. */
void alike_expect(const txd_result *a, const txd_result *b);

#endif
