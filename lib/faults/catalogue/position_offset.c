/* SPDX-License-Identifier: MIT
 *
 * Fault: queries turn by positions that are too large, keys by the right ones: a
 * counter that was added twice, or one cache position for rows of other lengths.
 */
#include "faults/turn.h"

static void rule(double out[2], const txd_turn_pair *pair)
{
    double position = (double)pair->position + (pair->is_query ? pair->strength : 0);

    out[0] = out[1] = position * txd_turn_speed(pair, pair->pair);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_turn(plan, use, rule);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_changes(scene, use, rule) ? NULL : "an offset of 0 changes nothing";
}

const txd_fault txd_fault_position_offset = {
    .name = "position_offset",
    .sentence = "queries turn by positions that are strength (3) too large, keys by "
                "the right ones",
    .symptom = "every distance is off by as much: text degenerates once keys come from "
               "a cache, while training is fine",
    .example =
        "wrong: cos, sin = rope(cache_len + prompt_len)   # counts the prompt twice\n"
        "right: cos, sin = rope(cache_len)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 3,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
