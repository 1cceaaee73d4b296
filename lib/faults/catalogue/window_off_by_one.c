/* SPDX-License-Identifier: MIT
 *
 * Fault: the window has another number of positions than is claimed: one more, where it
 * is counted without the query's own; one less, the other way.
 */
#include "faults/window.h"

/* A window of one position has none to lose. */
static size_t other(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    size_t window = config->layers[layer].window;
    double changed = (double)window + use->strength;

    return window == 0 || !(changed >= 1 && changed <= INT32_MAX) ? window
                                                                  : (size_t)changed;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_window(plan, use, other);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_fault_idle_window(scene, use, other);
}

const txd_fault txd_fault_window_off_by_one = {
    .name = "window_off_by_one",
    .sentence = "the window has strength (1) more positions than is claimed",
    .symptom =
        "two implementations agree up to the window's length, then differ a little "
        "in every token",
    .example = "wrong: window_size=(window, 0)        # the query's own key besides\n"
               "right: window_size=(window - 1, 0)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1,
    .inapplicable = txd_fault_needs_window,
    .idle = idle,
    .plant = plant,
};
