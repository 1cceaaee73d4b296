/* SPDX-License-Identifier: MIT
 *
 * Rotary positions beyond the length of the training: pairs of lanes that turn slowly,
 * and so have not shown all of their angles, are slowed down; those that turn often may
 * stay as they are. The scalings differ in where they draw the line.
 */
#include "model/rope.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925286766559

static double or_else(double value, double fallback)
{
    return value == 0 ? fallback : value;
}

void txd_rope_resolve(txd_layer_config *layer)
{
    double attention = 1;

    layer->rope_factor = or_else(layer->rope_factor, 1);
    layer->rope_low = or_else(layer->rope_low, 1);
    layer->rope_high = or_else(layer->rope_high, 4);
    layer->rope_beta_fast = or_else(layer->rope_beta_fast, 32);
    layer->rope_beta_slow = or_else(layer->rope_beta_slow, 1);
    if (layer->rope_scaling == TXD_ROPE_YARN && layer->rope_factor > 1)
        attention = 1 + log(layer->rope_factor) / 10;
    layer->rope_attention_factor = or_else(layer->rope_attention_factor, attention);
}

bool txd_rope_is_scaled(const txd_layer_config *layer)
{
    return layer->rope_scaling != TXD_ROPE_PLAIN || layer->rope_attention_factor != 1;
}

static double plain(const txd_layer_config *layer, size_t pair)
{
    return pow(layer->rope_base, -2.0 * (double)pair / (double)layer->rope_width);
}

/* Between rope_low and rope_high turns over the original length, a mean of the slow and
 * the plain speed, by the turns. */
static double llama3(const txd_layer_config *layer, size_t pair)
{
    double speed = plain(layer, pair);
    double turns = (double)layer->rope_original_length * speed / TWO_PI;
    double share = (turns - layer->rope_low) / (layer->rope_high - layer->rope_low);

    share = fmin(fmax(share, 0), 1);
    return (1 - share) * speed / layer->rope_factor + share * speed;
}

/* The pair, as a real number, that turns this often over the original length. */
static double pair_of_turns(const txd_layer_config *layer, double turns)
{
    return (double)layer->rope_width *
           log((double)layer->rope_original_length / (turns * TWO_PI)) /
           (2 * log(layer->rope_base));
}

/* The slow and the plain speed mixed, by a ramp from the pair of rope_beta_fast turns
 * to that of rope_beta_slow. */
static double yarn(const txd_layer_config *layer, size_t pair)
{
    double speed = plain(layer, pair), share;
    double first = pair_of_turns(layer, layer->rope_beta_fast);
    double last = pair_of_turns(layer, layer->rope_beta_slow);

    if (!layer->rope_exact) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, (double)layer->rope_width - 1);
    if (first == last)
        last += 0.001; /* a step */
    share = fmin(fmax(((double)pair - first) / (last - first), 0), 1);
    return share * speed / layer->rope_factor + (1 - share) * speed;
}

void txd_rope_speeds(double *out, const txd_layer_config *layer)
{
    for (size_t pair = 0; pair < layer->rope_width / 2; pair++) {
        switch (layer->rope_scaling) {
        case TXD_ROPE_LINEAR:
            out[pair] = plain(layer, pair) / layer->rope_factor;
            break;
        case TXD_ROPE_LLAMA3:
            out[pair] = llama3(layer, pair);
            break;
        case TXD_ROPE_YARN:
            out[pair] = yarn(layer, pair);
            break;
        case TXD_ROPE_PLAIN:
        default:
            out[pair] = plain(layer, pair);
        }
    }
}
