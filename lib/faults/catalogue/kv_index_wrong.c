/* SPDX-License-Identifier: MIT
 *
 * Fault: the KV head is taken as head / n_kv_heads, where it is head / (n_heads /
 * n_kv_heads): without groups all heads read KV head 0, with few the last KV heads are
 * never read, or the index runs beyond them (here, as most kernels have it, to the
 * last).
 */
#include "faults/kv_heads.h"

static size_t rule(const txd_config *config, size_t head)
{
    size_t index = head / config->n_kv_heads;

    return index < config->n_kv_heads ? index : config->n_kv_heads - 1;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_kv_heads(plan, use, rule);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return txd_kv_rule_changes(scene->claimed, NULL, rule)
               ? NULL
               : "needs n_kv_heads other than 1 and than n_heads / n_kv_heads, which "
                 "hides it";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_kv_rule_changes(scene->claimed, use, rule)
               ? NULL
               : "these heads read their own KV head either way";
}

const txd_fault txd_fault_kv_index_wrong = {
    .name = "kv_index_wrong",
    .sentence = "the KV head of a query head is taken as head / n_kv_heads",
    .symptom = "without groups all heads read the first KV head; some KV heads are "
               "never read; a model with as many groups as heads in each is right",
    .example = "wrong: kv = head / n_kv_heads\n"
               "right: kv = head / (n_heads / n_kv_heads)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
