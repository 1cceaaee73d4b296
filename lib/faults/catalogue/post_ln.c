/* SPDX-License-Identifier: MIT
 *
 * Fault: the norms stand after the residual sums, in a model that claims them before
 * its branches. Every parameter stays what and where it is, the final norm too.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    (void)use;
    plan->config.norm_placement = TXD_PLACEMENT_POST;
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    if (scene->claimed->parallel)
        return "needs a residual sum of each branch: parallel blocks have one for both";
    switch (scene->claimed->norm_placement) {
    case TXD_PLACEMENT_PRE:
        return NULL;
    case TXD_PLACEMENT_POST:
        return "needs norm_placement = \"pre\": the norms are after the sums already";
    default:
        return "needs norm_placement = \"pre\": norms over the branches cannot stand "
               "after the sums, too";
    }
}

const txd_fault txd_fault_post_ln = {
    .name = "post_ln",
    .sentence = "norms stand after the residual sums instead of before the branches",
    .symptom = "deep stacks need warm-up or do not train: gradients vanish towards the "
               "first layers; a pre-norm checkpoint gives nonsense",
    .example = "wrong: x = norm(x + attn(x))\n"
               "right: x = x + attn(norm(x))",
    .inapplicable = inapplicable,
    .plant = plant,
};
