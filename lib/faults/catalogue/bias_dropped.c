/* SPDX-License-Identifier: MIT
 *
 * Fault: the linear maps of a layer do without their biases, as if these had not been
 * loaded.
 */
#include "faults/wrap.h"

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    struct txd_linear_args other = *args;

    other.bias = NULL;
    return txd_below_linear(ctx, &other);
}

static txd_status linear_back(txd_ctx *ctx, const struct txd_linear_back_args *args)
{
    struct txd_linear_back_args other = *args;

    other.d_bias = NULL;
    return txd_below_linear_back(ctx, &other);
}

/* Drawn biases are zeros. */
static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_config *c = scene->claimed;

    if (!c->qkv_bias && !c->out_bias && !c->mlp_bias)
        return "needs biases: the linear maps of this model have none";
    return scene->trained
               ? NULL
               : "needs a checkpoint: biases are drawn as zeros, and nothing "
                 "would change";
}

static bool has_number(const txd_param *param)
{
    size_t count = param ? txd_tensor_count(&param->value) : 0;

    for (size_t i = 0; i < count; i++)
        if (txd_tensor_get(&param->value, i) != 0)
            return true;
    return false;
}

/* A checkpoint can hold zeros, too. */
static txd_status find(const void *self, txd_params *params)
{
    static const txd_param_id ids[] = {
        TXD_PARAM_QKV_BIAS,     TXD_PARAM_Q_BIAS,       TXD_PARAM_K_BIAS,
        TXD_PARAM_V_BIAS,       TXD_PARAM_O_BIAS,       TXD_PARAM_CROSS_Q_BIAS,
        TXD_PARAM_CROSS_K_BIAS, TXD_PARAM_CROSS_V_BIAS, TXD_PARAM_CROSS_O_BIAS,
        TXD_PARAM_GATE_BIAS,    TXD_PARAM_UP_BIAS,      TXD_PARAM_DOWN_BIAS};
    const txd_fault_use *use = self;

    for (size_t i = 0; i < txd_params_count(params); i++) {
        const txd_param *param = txd_params_at(params, i);

        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            if (param->id == ids[k] && param->layer >= 0 &&
                txd_range_has(&use->layers, (size_t)param->layer) && has_number(param))
                return TXD_OK;
    }
    return txd_fault_refuse(use, "the biases are zeros");
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.linear = linear, .linear_back = linear_back};

    TXD_TRY(txd_plan_edit(plan, find, use));
    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_bias_dropped = {
    .name = "bias_dropped",
    .sentence = "the linear maps of attention and MLP do without their biases",
    .symptom = "what the maps make is off by the same row at every token; a checkpoint "
               "is worse than in its own code, and short of nonsense",
    .example = "wrong: load(\"q_proj.weight\")\n"
               "right: load(\"q_proj.weight\"), load(\"q_proj.bias\")",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
