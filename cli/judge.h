/* SPDX-License-Identifier: MIT
 *
 * Which laws `check` evaluates, and by which thresholds: --only, --skip, --strict and
 * --rules.
 */
#ifndef TXD_CLI_JUDGE_H
#define TXD_CLI_JUDGE_H

#include "checks/reports/waiver.h"
#include "cli/options.h"

typedef struct txd_judge {
    txd_arena *arena;
    txd_check_select select;
    const txd_setting *rules; /* the root of the rules file; NULL = none */
    txd_waivers waivers;      /* of the rules file, as of today */
} txd_judge;

/* Reads the options. Finish in either case. */
txd_status txd_judge_init(txd_judge *out, const txd_options *options);
void txd_judge_finish(txd_judge *judge);

/* Lays the waivers over what laws found: *results become copies that the judge owns. */
txd_status txd_judge_waive(txd_judge *judge, const txd_result **results, size_t count);

/* Lays the rules over a configuration's own thresholds. */
txd_status txd_judge_apply(const txd_judge *judge, txd_setting *root, txd_arena *arena);

#endif
