/* SPDX-License-Identifier: MIT
 *
 * For faults of rotary positions: turns by other angles, forward and backward.
 */
#ifndef TXD_FAULTS_TURN_H
#define TXD_FAULTS_TURN_H

#include "faults/wrap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one pair of lanes goes by. */
typedef struct txd_turn_pair {
    const double *speed; /* (pairs) radians per position; NULL: those of the base */
    double base;
    size_t pairs, pair, lanes[2];
    size_t head;
    int64_t position;
    bool is_query;
    double strength;
} txd_turn_pair;

/* The angles of a pair's first and second lane. */
typedef void (*txd_turn_rule)(double out[2], const txd_turn_pair *pair);

/* How fast another pair of the same head turns. */
double txd_turn_speed(const txd_turn_pair *pair, size_t other);

/* Replaces the rotation of the selected layers by one of this rule. */
txd_status txd_plan_turn(txd_plan *plan, const txd_fault_use *use, txd_turn_rule rule);

/* Why a fault cannot act: "needs rotary positions ...", or NULL. */
const char *txd_fault_needs_rotary(const txd_fault_scene *scene);

/* True if a real token of a selected layer turns by another angle. */
bool txd_turn_changes(const txd_fault_scene *scene, const txd_fault_use *use,
                      txd_turn_rule rule);
/* The rule that the model goes by. */
void txd_turn_as_claimed(double out[2], const txd_turn_pair *pair);

/* For faults that change the configuration of layers that turn: why it would change
 * nothing where `same` says so of all selected layers, or no real token has a position
 * other than 0; NULL if it does. */
const char *txd_turn_idle(const txd_fault_scene *scene, const txd_fault_use *use,
                          bool (*same)(const txd_config *config, size_t layer,
                                       const txd_fault_use *use),
                          const char *reason);

#ifdef __cplusplus
}
#endif

#endif
