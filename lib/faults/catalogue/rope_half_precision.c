/* SPDX-License-Identifier: MIT
 *
 * Fault: the angles are formed in bfloat16: position, frequency and product have 8
 * bits each.
 */
#include "faults/turn.h"

static double rounded(double value)
{
    return txd_wrap_round(value, TXD_BF16);
}

static void rule(double out[2], const txd_turn_pair *pair)
{
    out[0] = out[1] = rounded(rounded((double)pair->position) *
                              rounded(txd_turn_speed(pair, pair->pair)));
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_turn(plan, use, rule);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_changes(scene, use, rule)
               ? NULL
               : "all angles are numbers of bfloat16 as they are";
}

const txd_fault txd_fault_rope_half_precision = {
    .name = "rope_half_precision",
    .sentence = "rotary angles are formed in bfloat16",
    .symptom = "right for short texts; from position 256 on neighbours share a "
               "position, and long texts fall apart",
    .example =
        "wrong: inv_freq = inv_freq.to(x.dtype)      # model.bfloat16() did it, too\n"
        "right: angles = positions.float()[:, None] * inv_freq.float()",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
