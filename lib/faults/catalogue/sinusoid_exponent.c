/* SPDX-License-Identifier: MIT
 *
 * Fault: the wavelengths of sinusoidal positions grow too fast: lane pair i turns by
 * position / 10000^(strength 2i / width). 2 is a 2i of a loop that already counts by
 * twos; near 0 is an integer division.
 */
#include <math.h>

#include "faults/wrap.h"

static txd_status sinusoid(txd_ctx *ctx, const struct txd_sinusoid_args *args)
{
    const txd_op_site *at = &args->at;
    double strength = txd_wrap_of(at)->use->strength, width = (double)args->width;

    (void)ctx;
    for (size_t i = 0; i < args->rows * args->width; i++) {
        size_t row = i / args->width, lane = i % args->width;
        double exponent = strength * (double)(lane - lane % 2) / width;
        double angle = (double)args->positions[row] / pow(10000, exponent);

        txd_wrap_set(at, args->out, i, lane % 2 == 0 ? sin(angle) : cos(angle));
    }
    return TXD_OK;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->positions == TXD_POSITIONS_SINUSOIDAL
               ? NULL
               : "needs positions = \"sinusoidal\"";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.sinusoid = sinusoid};

    return txd_plan_wrap_ends(plan, use, &mine, NULL);
}

const txd_fault txd_fault_sinusoid_exponent = {
    .name = "sinusoid_exponent",
    .sentence =
        "the exponents of sinusoidal positions are strength (2) times too large",
    .symptom =
        "most lanes barely change over a sequence: far positions look alike, and "
        "another implementation of the same checkpoint differs",
    .example = "wrong: for i in range(0, d, 2): pos / 10000 ** (2 * i / d)\n"
               "right: for i in range(0, d, 2): pos / 10000 ** (i / d)",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 2,
    .inapplicable = inapplicable,
    .idle = txd_fault_idle_at_one,
    .plant = plant,
};
