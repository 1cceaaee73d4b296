/* SPDX-License-Identifier: MIT
 *
 * Fault: the KV heads are tiled over the query heads (0 1 0 1) where each should be
 * repeated (0 0 1 1).
 */
#include "faults/kv_heads.h"

static size_t rule(const txd_config *config, size_t head)
{
    return head % config->n_kv_heads;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_kv_heads(plan, use, rule);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return txd_kv_rule_changes(scene->claimed, NULL, rule)
               ? NULL
               : "needs several query heads on each of several KV heads (n_kv_heads "
                 "neither 1 nor n_heads)";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_kv_rule_changes(scene->claimed, use, rule)
               ? NULL
               : "these heads read their own KV head either way";
}

const txd_fault txd_fault_kv_heads_tiled = {
    .name = "kv_heads_tiled",
    .sentence = "the KV heads are tiled over the query heads instead of repeated",
    .symptom = "most heads attend with the keys and values of another group; a "
               "checkpoint of the right model gives nonsense; with n_kv_heads 1 or "
               "n_heads nothing is wrong",
    .example = "wrong: k.repeat(1, n_heads // n_kv_heads, 1, 1)      # 0 1 0 1\n"
               "right: k.repeat_interleave(n_heads // n_kv_heads, 1)  # 0 0 1 1",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
