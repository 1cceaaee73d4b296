/* SPDX-License-Identifier: MIT
 *
 * Verdicts for a report of a recording that carries none: one that other software
 * wrote, or whose run was cut short.
 */
#ifndef TXD_CLI_JUDGED_H
#define TXD_CLI_JUDGED_H

#include "checks/check.h"
#include "viz/read/verdicts.h"

typedef struct txd_fresh {
    txd_arena *arena;
    txd_checks *checks; /* owns what the verdicts point at */
    txd_verdicts verdicts;
} txd_fresh;

/* True if the recording has verdicts of its own. */
bool txd_fresh_is_idle(const txd_trace *recording);

/* Judges `recording` by the thresholds of its configuration. Finish in either case. */
txd_status txd_fresh_init(txd_fresh *out, const txd_trace *recording, int threads);
void txd_fresh_finish(txd_fresh *fresh);

#endif
