/* SPDX-License-Identifier: MIT
 *
 * Why gradients have the size that they have: only what the evidence of the step shows.
 */
#include "checks/grad_sums.h"

#include <math.h>

/* Shares below this are none: where the stream is added they are near 1. */
#define NOTHING 0.1
/* Relative distance of two norms that would be one. */
#define CHANGED 1e-5
/* Layers from which on a stack counts as deep. */
#define DEEP 12

/* Between layers the stream is one value; if its gradient changes, something stands
 * there. */
static bool is_norm_between(const txd_grad_sums *sums)
{
    for (size_t l = 0; l + 1 < sums->claimed->n_layers; l++) {
        double below = sums->layers[l].into, above = sums->layers[l + 1].out;

        if (isfinite(below) && isfinite(above) &&
            fabs(below - above) > CHANGED * fmax(below, above))
            return true;
    }
    return false;
}

void txd_grad_say_causes(txd_finding *finding, const txd_grad_sums *sums, size_t layer)
{
    const txd_config *c = sums->claimed;
    bool is_post = c->norm_placement == TXD_PLACEMENT_POST;
    double kept = sums->layers[layer].kept;
    char text[32];

    if (kept < NOTHING)
        txd_law_say(finding,
                    "; of the stream's gradient only %s passes a residual sum of this "
                    "layer: the stream is not added",
                    txd_law_number(text, kept));
    else if (!is_post && is_norm_between(sums))
        txd_law_say(finding,
                    "; the stream's gradient changes between layers, so norms "
                    "stand after the sums, not %s the branches as claimed",
                    c->norm_placement == TXD_PLACEMENT_BRANCH ? "over" : "before");
    else if (is_post && c->n_layers >= DEEP)
        txd_law_say(finding,
                    "; norms stand after the sums (norm_placement = \"post\") in %zu "
                    "layers: deep stacks train with norms before the branches",
                    c->n_layers);
}

void txd_grad_say_scale(txd_finding *finding, const txd_pass *pass, bool is_lost)
{
    char text[32];

    if (pass->format != TXD_F16)
        return;
    txd_law_number(text, pass->loss_scale);
    if (is_lost)
        txd_law_say(finding,
                    "; float16 has nothing between 0 and 6e-08, and "
                    "precision.loss_scale is %s: a larger one keeps small gradients",
                    text);
    else if (pass->loss_scale > 1)
        txd_law_say(finding,
                    "; gradients are multiplied by precision.loss_scale = %s and "
                    "float16 ends at 65504: a smaller one keeps them finite",
                    text);
}

/* True if the layer has such a part, and all of its gradient is exactly 0. */
static bool is_zero(const txd_grad_sums *sums, size_t layer, txd_grad_part part)
{
    const txd_grad_sum *sum = &sums->layers[layer].part[part];

    return sums->expected[part] > 0 && sum->seen == sums->expected[part] &&
           sum->square == 0 && sum->nonfinite == 0;
}

/* A memory of padding alone teaches nothing to those who read it. */
static bool may_be_zero(const txd_pass *pass, txd_grad_part part)
{
    const txd_inputs *inputs = pass->inputs;

    if (part != TXD_GRAD_CROSS)
        return part == TXD_GRAD_NORMS;
    for (size_t i = 0; i < inputs->batch * inputs->memory_length; i++)
        if (inputs->memory_valid[i])
            return false;
    return true;
}

bool txd_grad_is_cut(const txd_grad_sums *sums, const txd_pass *pass, size_t layer)
{
    for (int p = 0; p < TXD_GRAD_PARTS; p++)
        if (is_zero(sums, layer, (txd_grad_part)p) &&
            !may_be_zero(pass, (txd_grad_part)p))
            return true;
    return false;
}

void txd_grad_say_zero(txd_finding *finding, const txd_grad_sums *sums, size_t layer)
{
    static const char *const names[TXD_GRAD_PARTS] = {
        [TXD_GRAD_ATTENTION] = "the attention",
        [TXD_GRAD_CROSS] = "the cross-attention",
        [TXD_GRAD_MLP] = "the MLP",
        [TXD_GRAD_NORMS] = "the norms",
    };
    const char *separator = "the gradient of all parameters of ";
    double into = sums->layers[layer].into;
    char text[32];

    for (int p = 0; p < TXD_GRAD_PARTS; p++)
        if (is_zero(sums, layer, (txd_grad_part)p)) {
            txd_law_say(finding, "%s%s", separator, names[p]);
            separator = " and ";
        }
    txd_law_say(finding, " is exactly 0");
    if (into > 0)
        txd_law_say(finding,
                    ", while one of norm %s comes down the residual stream: the branch "
                    "is cut off from it (detached, or multiplied by 0)",
                    txd_law_number(text, into));
    else if (into == 0)
        txd_law_say(finding,
                    ": none comes down the residual stream, it ends above layer %zu",
                    layer);
}
