/* SPDX-License-Identifier: MIT
 *
 * Biases by distance, as the papers have them.
 */
#include "model/bias.h"

#include <math.h>

bool txd_has_bias(const txd_config *config, txd_attention_kind kind)
{
    return config->positions == TXD_POSITIONS_ALIBI && kind == TXD_ATTENTION_SELF;
}

double txd_alibi_slope(size_t head, size_t heads)
{
    size_t whole = 1;

    while (2 * whole <= heads)
        whole *= 2;
    if (head < whole)
        return pow(2, -8.0 * (double)(head + 1) / (double)whole);
    return pow(2, -4.0 * (double)(2 * (head - whole) + 1) / (double)whole);
}
