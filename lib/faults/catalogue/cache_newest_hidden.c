/* SPDX-License-Identifier: MIT
 *
 * Fault: how many keys of a cache are valid is read before those of the call are in it,
 * so that queries see those of earlier calls alone.
 */
#include "faults/fault.h"

static bool sight(const txd_mask_view *mask, size_t query, size_t key, size_t keys,
                  bool seen)
{
    (void)query;
    (void)keys;
    return seen && (mask->past == 0 || key < mask->past);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    return txd_plan_sight(plan, use, sight);
}

const txd_fault txd_fault_cache_newest_hidden = {
    .name = "cache_newest_hidden",
    .sentence = "the valid length of the cache is that before the call: its own keys, "
                "the newest, are hidden",
    .symptom = "each generated token is the one that would follow without the last: "
               "words are repeated or lost",
    .example = "wrong: n = cache.length; cache.append(k); k = cache.k[:n]\n"
               "right: cache.append(k); k = cache.k[:cache.length]",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = txd_fault_needs_cache,
    .plant = plant,
};
