/* SPDX-License-Identifier: MIT
 *
 * For faults of grouped attention: which KV head a query head reads.
 */
#ifndef TXD_FAULTS_KV_HEADS_H
#define TXD_FAULTS_KV_HEADS_H

#include "faults/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The KV head of a query head, by a rule that may be wrong. */
typedef size_t (*txd_kv_rule)(const txd_config *config, size_t head);

/* Lets the selected heads of the selected layers read keys and values by this rule. */
txd_status txd_plan_kv_heads(txd_plan *plan, const txd_fault_use *use,
                             txd_kv_rule rule);

/* True if the rule gives a selected head (use = NULL: any head) another KV head. */
bool txd_kv_rule_changes(const txd_config *config, const txd_fault_use *use,
                         txd_kv_rule rule);

#ifdef __cplusplus
}
#endif

#endif
