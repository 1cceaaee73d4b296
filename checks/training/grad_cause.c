/* SPDX-License-Identifier: MIT
 *
 * Why gradients have the size that they have: only what the evidence of the step shows.
 */
#include "checks/training/grad_sums.h"

#include <math.h>
#include <string.h>

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

/* A memory of padding alone teaches nothing to those who read it. `least`: so many rows
 * of a memory that are no padding are enough. */
static bool is_memory_short(const txd_inputs *inputs, size_t least)
{
    for (size_t b = 0; b < inputs->batch; b++) {
        size_t real = 0;

        for (size_t i = 0; i < inputs->memory_length; i++)
            real += inputs->memory_valid[b * inputs->memory_length + i] != 0;
        if (real >= least)
            return false;
    }
    return true;
}

static bool may_be_zero(const txd_pass *pass, txd_grad_part part)
{
    return part == TXD_GRAD_CROSS ? is_memory_short(pass->inputs, 1)
                                  : part == TXD_GRAD_NORMS;
}

/* True if some query whose token has a loss has a choice of keys in some layer. */
static bool has_choice(const txd_pass *pass)
{
    const txd_inputs *inputs = pass->inputs;

    for (size_t l = 0; l < pass->claimed->n_layers; l++)
        for (size_t b = 0; b < inputs->batch; b++) {
            txd_mask_view mask = txd_mask_of(&pass->claimed->layers[l], inputs, b);

            for (size_t t = 0; t < inputs->length; t++) {
                size_t keys = 0;

                if (!txd_inputs_is_pair(inputs, b * inputs->length + t))
                    continue;
                for (size_t k = 0; k < inputs->past + inputs->length && keys < 2; k++)
                    keys += txd_mask_hides(&mask, t, k) == TXD_SEEN;
                if (keys == 2)
                    return true;
            }
        }
    return false;
}

/* What is added to scores moves nothing where a query sees one key, or none. */
bool txd_grad_may_be_zero(const txd_pass *pass, const char *name)
{
    bool is_bias = strstr(name, "attn.relative.") != NULL;

    if (strncmp(name, "encoder.", strlen("encoder.")) == 0)
        return is_memory_short(pass->inputs, is_bias ? 2 : 1);
    return is_bias && !has_choice(pass);
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
