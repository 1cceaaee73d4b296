/* SPDX-License-Identifier: MIT
 *
 * Query heads that read the keys and values of another group.
 */
#include "faults/kv_heads.h"

txd_status txd_plan_kv_heads(txd_plan *plan, const txd_fault_use *use, txd_kv_rule rule)
{
    txd_config *c = &plan->config;

    for (size_t l = 0; l < c->n_layers; l++) {
        const uint32_t *before = c->layers[l].kv_heads;
        uint32_t *order;

        if (!txd_range_has(&use->layers, l))
            continue;
        order = txd_arena_alloc(plan->arena, c->n_heads, sizeof *order);
        if (order == NULL)
            return TXD_ERR_MEMORY;
        for (size_t h = 0; h < c->n_heads; h++) {
            order[h] = before != NULL ? before[h] : (uint32_t)txd_kv_head_of(c, h);
            if (txd_range_has(&use->heads, h))
                order[h] = (uint32_t)rule(c, h);
        }
        c->layers[l].kv_heads = order;
    }
    return TXD_OK;
}

bool txd_kv_rule_changes(const txd_config *config, const txd_fault_use *use,
                         txd_kv_rule rule)
{
    for (size_t h = 0; h < config->n_heads; h++)
        if ((use == NULL || txd_range_has(&use->heads, h)) &&
            rule(config, h) != txd_kv_head_of(config, h))
            return true;
    return false;
}
