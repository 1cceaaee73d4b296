/* SPDX-License-Identifier: MIT
 *
 * Fault: the output head is drawn too large, so that a model that knows nothing is sure
 * of its answers.
 */
#include "faults/fault.h"

static const char *inapplicable(const txd_fault_scene *scene)
{
    if (scene->trained)
        return "needs drawn weights (weights.init): those of a checkpoint are not "
               "initial";
    return scene->claimed->tie_embeddings
               ? "needs an output head of its own (model.tie_embeddings = false)"
               : NULL;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_scale(plan, use, TXD_PARAM_HEAD_WEIGHT);
}

const txd_fault txd_fault_head_init_too_large = {
    .name = "head_init_too_large",
    .sentence = "the output head is drawn strength (100) times larger",
    .symptom = "the first loss is many times ln V; training begins by unlearning it",
    .example = "wrong: nn.init.normal_(head.weight)\n"
               "right: nn.init.normal_(head.weight, std=0.02)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 100,
    .inapplicable = inapplicable,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
