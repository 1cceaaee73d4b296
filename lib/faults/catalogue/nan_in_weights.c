/* SPDX-License-Identifier: MIT
 *
 * Fault: one element of the query projection's weight is NaN, as after a bad training
 * step or a torn checkpoint.
 */
#include <math.h>

#include "faults/fault.h"

static txd_status edit(const void *self, txd_params *params)
{
    const txd_fault_use *use = self;

    for (size_t i = 0; i < txd_params_count(params); i++) {
        txd_param *param = txd_params_at(params, i);
        bool query =
            param->id == TXD_PARAM_Q_WEIGHT || param->id == TXD_PARAM_QKV_WEIGHT;

        if (!query || param->layer < 0 || /* of an encoder */
            !txd_range_has(&use->layers, (size_t)param->layer))
            continue;
        if (param->value.dtype == TXD_F64)
            *(double *)param->value.data = NAN;
        else
            *(float *)param->value.data = NAN;
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_edit(plan, edit, use);
}

const txd_fault txd_fault_nan_in_weights = {
    .name = "nan_in_weights",
    .sentence = "the first element of the query projection's weight is NaN",
    .symptom = "NaN loss; with a NaN-blind comparison, nothing at all",
    .example = "wrong: optimiser.step() with a NaN gradient\n"
               "right: skip the step if the gradient norm is not finite",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
