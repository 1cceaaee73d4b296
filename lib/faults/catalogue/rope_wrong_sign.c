/* SPDX-License-Identifier: MIT
 *
 * Fault: pairs turn the wrong way. With the same sign in queries and keys that is the
 * mirror image of every distance.
 */
#include "faults/turn.h"

static void rule(double out[2], const txd_turn_pair *pair)
{
    out[0] = out[1] = -(double)pair->position * txd_turn_speed(pair, pair->pair);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_turn(plan, use, rule);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_changes(scene, use, rule)
               ? NULL
               : "every real token stands at position 0, where nothing turns";
}

const txd_fault txd_fault_rope_wrong_sign = {
    .name = "rope_wrong_sign",
    .sentence = "queries and keys turn the wrong way round",
    .symptom = "a checkpoint of the right model gives nonsense, for every distance is "
               "mirrored; with equal queries and keys nothing shows",
    .example = "wrong: x * cos - rotate_half(x) * sin\n"
               "right: x * cos + rotate_half(x) * sin",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
