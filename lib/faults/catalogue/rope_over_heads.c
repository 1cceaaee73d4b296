/* SPDX-License-Identifier: MIT
 *
 * Fault: angles go by the number of the head instead of the position: the axes of a
 * (b, t, h, e) and a (b, h, t, e) value were mixed up.
 */
#include "faults/turn.h"

static void rule(double out[2], const txd_turn_pair *pair)
{
    out[0] = out[1] = (double)pair->head * txd_turn_speed(pair, pair->pair);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_turn(plan, use, rule);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_changes(scene, use, rule)
               ? NULL
               : "every real token stands at the position that is the number of the "
                 "head";
}

const txd_fault txd_fault_rope_over_heads = {
    .name = "rope_over_heads",
    .sentence = "rotary angles go by the number of the head instead of the position",
    .symptom = "scores do not depend on distance at all; small models train, and never "
               "learn order",
    .example = "wrong: rope(q)                    # (b, t, h, e), rotates over axis "
               "-3: heads\n"
               "right: rope(q.transpose(1, 2))    # (b, h, t, e)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
