/* SPDX-License-Identifier: MIT
 *
 * Where an allowance comes from. The thresholds of a law are looked up when it is set
 * up, since the tree of a recorded configuration is gone when it ends.
 */
#include "checks/runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "checks.row_sum.atol", and where it was set if it is not the default. */
static const char *words_of(txd_threshold threshold, const char *law,
                            const txd_check_context *context, txd_arena *arena)
{
    const txd_setting *groups[] = {context->rules, context->settings};
    const char *key = txd_threshold_key(threshold);
    const txd_setting *set = NULL;
    char text[512];
    size_t used;

    for (size_t i = 0; i < 2 && !set; i++)
        set = groups[i] ? txd_setting_find(groups[i], key) : NULL;
    snprintf(text, sizeof text, "checks.%s.%s", law, key);
    used = strlen(text);
    if (set && set->file && set->line > 0)
        snprintf(text + used, sizeof text - used, " of %s:%d", set->file, set->line);
    else if (set)
        snprintf(text + used, sizeof text - used, " as it was set");
    return txd_arena_string(arena, text);
}

txd_status txd_allowances_read(txd_allowances *out, const char *law,
                               const txd_check_context *context, txd_arena *arena)
{
    size_t all = 0;

    *out = (txd_allowances){NULL, 0};
    for (int t = 0; t < TXD_THRESHOLD_COUNT; t++)
        all += strcmp(txd_threshold_law((txd_threshold)t), law) == 0;
    if (all == 0)
        return TXD_OK;
    out->items = txd_arena_alloc(arena, all, sizeof *out->items);
    if (!out->items)
        return TXD_ERR_MEMORY;
    for (int t = 0; t < TXD_THRESHOLD_COUNT; t++) {
        struct txd_allowance *item = &out->items[out->count];

        if (strcmp(txd_threshold_law((txd_threshold)t), law) != 0)
            continue;
        TXD_TRY(txd_threshold_read(&item->value, (txd_threshold)t, context));
        item->words = words_of((txd_threshold)t, law, context, arena);
        if (!item->words)
            return TXD_ERR_MEMORY;
        out->count++;
    }
    return TXD_OK;
}

const char *txd_allowance_of(const txd_allowances *allowances, const txd_check *check,
                             double allowed)
{
    for (size_t i = 0; i < allowances->count; i++)
        if (allowances->items[i].value == allowed)
            return allowances->items[i].words;
    if (check->allowance)
        return check->allowance;
    if (allowed == 0)
        return "exact";
    return isfinite(allowed) ? "a derived bound" : NULL;
}
