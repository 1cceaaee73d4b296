/* SPDX-License-Identifier: MIT
 *
 * Sinks are parameters: at hand in a run, in a recording only if all are equal.
 */
#include "checks/rows/sinks.h"

#include <math.h>
#include <stdlib.h>

txd_status txd_sinks_create(txd_sinks *out, const txd_config *claimed)
{
    *out = (txd_sinks){.layers = claimed->n_layers, .heads = claimed->n_heads};
    out->of_layer = calloc(claimed->n_layers, sizeof *out->of_layer);
    return out->of_layer ? TXD_OK : txd_fail(TXD_ERR_MEMORY, "no memory for sinks");
}

void txd_sinks_destroy(txd_sinks *sinks)
{
    for (size_t i = 0; sinks->of_layer && i < sinks->layers; i++)
        free(sinks->of_layer[i]);
    free(sinks->of_layer);
    *sinks = (txd_sinks){0};
}

bool txd_sinks_are_in(const txd_config *claimed, txd_point point)
{
    return claimed->sinks && txd_point_attention(point) == TXD_ATTENTION_SELF;
}

bool txd_sinks_wants(const txd_site *site)
{
    return site->kind == TXD_SITE_PARAMETER && site->layer >= 0 &&
           txd_law_param(site->name, site->layer) == TXD_PARAM_SINK_WEIGHT;
}

txd_status txd_sinks_take(txd_sinks *sinks, const txd_block *block)
{
    return txd_law_vector(&sinks->of_layer[block->site->layer], block, sinks->heads);
}

double txd_sinks_share(const txd_config *claimed, const double *column)
{
    return claimed->sinks && column[TXD_ROW_SUM] > 0 ? column[TXD_ROW_SUM] : 1;
}

double txd_sinks_entropy(const txd_config *claimed, const double *column)
{
    double share = txd_sinks_share(claimed, column);

    return share == 1 ? column[TXD_ROW_ENTROPY]
                      : column[TXD_ROW_ENTROPY] / share + log(share);
}
