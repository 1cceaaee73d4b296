/* SPDX-License-Identifier: MIT
 *
 * Fault: what attention and MLP add is scaled up, so that the stream outgrows the
 * format in which it is stored.
 */
#include "faults/fault.h"

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            plan->config.layers[l].residual_scale *= use->strength;
    return TXD_OK;
}

const txd_fault txd_fault_stream_overflows = {
    .name = "stream_overflows",
    .sentence = "the branches are strength (1e9) times as large when they are added",
    .symptom = "in float16 infinities in the stream and NaN in the next norm; in wider "
               "formats nothing, but the layers before are drowned",
    .example =
        "wrong: x = x + branch * 2**30  # a fixed-point scale that is not undone\n"
        "right: x = x + branch",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_STRENGTH,
    .strength = 1e9,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
