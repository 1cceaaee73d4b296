/* SPDX-License-Identifier: MIT
 *
 * Fault: cosines and sines are laid out for the other pairing of lanes (a a b b where
 * it should be a b a b, or the other way round), so that the two lanes of a pair turn
 * by two angles.
 */
#include "faults/turn.h"

static void rule(double out[2], const txd_turn_pair *pair)
{
    bool adjacent = pair->lanes[1] == pair->lanes[0] + 1 && pair->pairs > 1;

    for (int side = 0; side < 2; side++) {
        size_t lane = pair->lanes[side];
        size_t other = adjacent ? lane % pair->pairs : lane / 2;

        out[side] = (double)pair->position * txd_turn_speed(pair, other);
    }
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_turn(plan, use, rule);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_turn_changes(scene, use, rule)
               ? NULL
               : "with one pair, or at position 0, both layouts are the same";
}

const txd_fault txd_fault_rope_table_mismatch = {
    .name = "rope_table_mismatch",
    .sentence = "cosines and sines are laid out for the other pairing of lanes",
    .symptom = "norms change and scores depend on where a pair of tokens stands, not "
               "only on their distance; text breaks down within a few tokens",
    .example =
        "wrong: cos = freqs.repeat_interleave(2, -1); x * cos + rotate_half(x) * sin\n"
        "right: cos = cat((freqs, freqs), -1);        x * cos + rotate_half(x) * sin",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_rotary,
    .idle = idle,
    .plant = plant,
};
