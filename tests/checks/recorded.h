/* SPDX-License-Identifier: MIT
 *
 * A law over the recording that a run of a test has left.
 */
#ifndef TXD_TESTS_CHECKS_RECORDED_H
#define TXD_TESTS_CHECKS_RECORDED_H

#include "live.h"

/* What the law says of what `l` has recorded; its first finding, or else its note, as
 * text. */
txd_verdict recorded_verdict(const live *l, const char *law, char *text, size_t bytes);

/* Runs and records `cfg` (its group `record` is in it), then judges both: fails unless
 * run and recording come to `verdict`, and each first finding has the words (NULL =
 * none). */
void recorded_expect(const char *cfg, const char *law, txd_verdict verdict,
                     const char *words);

#endif
