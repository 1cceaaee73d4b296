/* SPDX-License-Identifier: MIT
 *
 * Fault: one channel of what the MLP adds is far too large: its row of the down
 * projection.
 */
#include "faults/fault.h"

/* Enough for a branch that is a thousandth of the stream. */
#define FACTOR 1e6

/* Multiplies the middle row: the first channels and the last are others' favourites. */
static void grow(txd_param *param)
{
    size_t rows = param->value.dims[0], width = txd_tensor_count(&param->value) / rows;

    for (size_t i = rows / 2 * width; i < (rows / 2 + 1) * width; i++)
        if (param->value.dtype == TXD_F64)
            ((double *)param->value.data)[i] *= FACTOR;
        else
            ((float *)param->value.data)[i] *= (float)FACTOR;
}

static txd_status edit(const void *self, txd_params *params)
{
    const txd_fault_use *use = self;

    for (size_t i = 0; i < txd_params_count(params); i++) {
        txd_param *param = txd_params_at(params, i);
        bool is_down =
            param->id == TXD_PARAM_DOWN_WEIGHT || param->id == TXD_PARAM_DOWN_BIAS;

        if (is_down && param->layer >= 0 &&
            txd_range_has(&use->layers, (size_t)param->layer))
            grow(param);
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit(plan, edit, use);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    switch (scene->claimed->norm_placement) {
    case TXD_PLACEMENT_SANDWICH:
    case TXD_PLACEMENT_BRANCH:
        return "needs branches that are added as they are: here a norm over them keeps "
               "every channel small";
    default:
        return NULL;
    }
}

const txd_fault txd_fault_massive_channel = {
    .name = "massive_channel",
    .sentence = "one channel of what the MLP adds to the stream is a million times too "
                "large",
    .symptom = "the stream is one channel: norms flatten all others, a quantised model "
               "loses them",
    .example = "wrong: scale[c] read as fp32 where it was stored as its exponent\n"
               "right: one convention for scales on both sides",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
