/* SPDX-License-Identifier: MIT
 *
 * Fault: the window of a layer is not applied: queries see all that is before them.
 */
#include "faults/window.h"

static size_t none(const txd_config *config, size_t layer, const txd_fault_use *use)
{
    (void)config;
    (void)layer;
    (void)use;
    return 0;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_window(plan, use, none);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_fault_idle_window(scene, use, none);
}

const txd_fault txd_fault_window_ignored = {
    .name = "window_ignored",
    .sentence = "the window is not applied: queries see every key before them",
    .symptom = "right up to the window's length, then slowly worse; memory grows",
    .example = "wrong: mask = i >= j\n"
               "right: mask = (i >= j) & (i - j < window)",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_window,
    .idle = idle,
    .plant = plant,
};
