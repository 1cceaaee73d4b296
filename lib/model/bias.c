/* SPDX-License-Identifier: MIT
 *
 * Biases by distance, as the papers have them.
 */
#include "model/bias.h"

#include <math.h>

bool txd_has_bias(const txd_config *config, txd_attention_kind kind)
{
    return (config->positions == TXD_POSITIONS_ALIBI ||
            config->positions == TXD_POSITIONS_RELATIVE) &&
           kind == TXD_ATTENTION_SELF;
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

void txd_relative_resolve(txd_config *config)
{
    if (config->relative_buckets == 0)
        config->relative_buckets = 32;
    if (config->relative_distance == 0)
        config->relative_distance = 128;
}

int32_t txd_relative_bucket(const txd_config *config, int64_t distance)
{
    bool both = !config->layers[0].causal;
    size_t side = both ? config->relative_buckets / 2 : config->relative_buckets;
    int64_t first = both && distance > 0 ? (int64_t)side : 0, exact = (int64_t)side / 2;
    int64_t away = distance < 0 ? -distance : (both ? distance : 0), large;
    double range = log((double)config->relative_distance / (double)exact);

    if (away < exact)
        return (int32_t)(first + away);
    large = exact + (int64_t)(log((double)away / (double)exact) / range *
                              (double)((int64_t)side - exact));
    return (int32_t)(first + (large < (int64_t)side ? large : (int64_t)side - 1));
}
