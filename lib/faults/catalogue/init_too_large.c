/* SPDX-License-Identifier: MIT
 *
 * Fault: the attention's four matrices are drawn too large: far from any table of
 * initial standard deviations.
 */
#include "faults/fault.h"

static txd_status edit(const void *self, txd_params *params)
{
    const txd_fault_use *use = self;

    for (size_t i = 0; i < txd_params_count(params); i++) {
        txd_param *param = txd_params_at(params, i);
        bool attention =
            param->id == TXD_PARAM_Q_WEIGHT || param->id == TXD_PARAM_K_WEIGHT ||
            param->id == TXD_PARAM_V_WEIGHT || param->id == TXD_PARAM_QKV_WEIGHT ||
            param->id == TXD_PARAM_O_WEIGHT;

        if (attention && param->layer >= 0 && /* an encoder's have none */
            txd_range_has(&use->layers, (size_t)param->layer))
            txd_param_scale(param, use->strength);
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit(plan, edit, use);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->trained ? "needs drawn weights (weights.init): those of a checkpoint "
                            "are not initial"
                          : NULL;
}

const txd_fault txd_fault_init_too_large = {
    .name = "init_too_large",
    .sentence = "W_q, W_k, W_v and W_o are drawn strength (50) times too large",
    .symptom = "attention collapses to one key at the first step, scores overflow in "
               "half precision, the loss begins far above log(vocab)",
    .example = "wrong: W_q = randn(d, d)\n"
               "right: W_q = 0.02 * randn(d, d), or xavier_uniform_(empty(d, d))",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 50,
    .inapplicable = inapplicable,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
