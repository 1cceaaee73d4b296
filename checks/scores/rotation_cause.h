/* SPDX-License-Identifier: MIT
 *
 * By what queries or keys turned where they did not turn as claimed: other rules, each
 * held against every broken row. For the files of this folder only.
 */
#ifndef TXD_CHECKS_ROTATION_CAUSE_H
#define TXD_CHECKS_ROTATION_CAUSE_H

#include "checks/scores/rotation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_TURN_RULES = 15 };

/* Of the queries or the keys of one layer; all zero = nothing broken. */
typedef struct txd_turn_causes {
    uint64_t tried;                /* broken rows */
    uint64_t fits[TXD_TURN_RULES]; /* of these, as a rule says */
    int64_t offset;                /* of positions, once one was found; else 0 */
    double base, base_angle;       /* likewise; how far the slowest pair turned there */
    uint64_t base_tried;           /* rows looked at since the base was found */
} txd_turn_causes;

/* By how much a row may be off the rule, angles included: every element. */
bool txd_turning_fits(const txd_turning *turning, const txd_pass *pass,
                      const txd_turned *walk, double *work);
/* What is allowed at an element of a pair: the turn, and an angle in float32. */
double txd_turning_allows_angle(const txd_turning *turning, const txd_pass *pass,
                                const txd_turned *walk, size_t pair);

/* Looks at a broken row. `work` has room for 2 head_dim. */
void txd_turn_causes_add(txd_turn_causes *causes, const txd_turned *walk,
                         const txd_block *block, double *work);

/* Appends ": positions are 3 too large", ...; what explains all broken rows. */
void txd_turn_causes_say(txd_finding *finding, const txd_turn_causes *causes,
                         const txd_layer_config *layer);

#ifdef __cplusplus
}
#endif

#endif
