/* SPDX-License-Identifier: MIT
 *
 * No query gives weight to padding: exactly 0, per head and per row. A mean over heads
 * or a sum over queries would dilute a leak in one head until nobody sees it.
 */
#include "checks/mask/leak.h"

#include <inttypes.h>
#include <stdio.h>

/* True if a padding key would be seen were it a token: by its place, as the positions
 * of padding say nothing. */
static bool hides_alone(const txd_block *block, size_t batch, size_t query)
{
    const txd_pass *pass = block->pass;
    size_t keys = block->dims[3], own = query + keys - pass->inputs->length;
    txd_mask_view mask = txd_mask_of_attention(
        txd_point_attention(block->site->point),
        &pass->claimed->layers[block->site->layer], pass->inputs, batch);

    for (size_t key = 0; key < keys; key++) {
        size_t away = key > own ? key - own : own - key;

        if (!mask.key_valid[key] && !(mask.causal && key > own) &&
            (mask.window == 0 || away < mask.window) &&
            (!mask.key_document ||
             mask.key_document[key] == mask.query_document[query]))
            return true;
    }
    return false;
}

static const txd_leak_kind kind = {
    .name = "padding",
    .count = TXD_ROW_PADDING_COUNT,
    .max = TXD_ROW_PADDING_MAX,
    .key = TXD_ROW_PADDING_KEY,
    .hidden = TXD_HIDDEN_PADDING,
    .what = "padding",
    .alone = hides_alone,
};

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind != TXD_SITE_VALUE ||
        txd_point_in_self(site->point) != TXD_POINT_ATTN_WEIGHTS)
        return 0;
    return TXD_ASK_ROWS;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    (void)self;
    txd_leaks_look(slot, &kind, block);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    return txd_leaks_add(self, block, slot);
}

static void explain(txd_finding *finding, const txd_leak_tally *t)
{
    if (t->nan > 0)
        txd_law_say(finding, ": see the law `finite`");
    else if (t->leaking == t->rows && t->blind == t->leaking)
        txd_law_say(finding, ", and the keys that they may see get nothing: the mask "
                             "is inverted");
    else if (t->leaking == t->rows ||
             (t->leaking == t->alone && t->leaking == t->alone_leaking))
        txd_law_say(finding, ": padding is not masked");
}

static txd_status finish(void *self, txd_result *result)
{
    txd_leaks *leaks = self;

    TXD_TRY(txd_leaks_finish(leaks, result, explain));
    if (leaks->hidden == 0)
        snprintf(result->note, sizeof result->note, "no padding in the input");
    else if (leaks->cells == 0)
        snprintf(
            result->note, sizeof result->note,
            "not computed by this path: none of %" PRIu64
            " cells with a padding key (mask.evaluate_hidden = \"always\" computes "
            "them)",
            leaks->hidden);
    return TXD_OK;
}

static void destroy(void *self)
{
    txd_leaks_destroy(self);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    txd_leaks *leaks;

    TXD_TRY(txd_leaks_create(&leaks, &kind, context->claimed));
    *tap = (txd_tap){.name = kind.name,
                     .self = leaks,
                     .ask = ask,
                     .slot_bytes = sizeof(txd_leak_part),
                     .reduce = reduce,
                     .merge = merge};
    *out = leaks;
    return TXD_OK;
}

const txd_check txd_check_padding = {
    .name = "padding",
    .law = "no query gives weight to a padding key",
    .formula = "w[q,j] = 0 exactly for every padding key j, per head and row; of "
               "cross-attention for every padding row j of the memory; rows of padded "
               "queries are not judged",
    .causes =
        "a padding mask that is not passed on, has the opposite convention (True = "
        "hide against True = keep), is broadcast over the wrong axis, or holds a "
        "value too weak to hide (-1e4 with large scores)",
    .look_next = "attn.masked in the columns of padding keys; the same tokens without "
                 "padding must give the same rows",
    .unit = "cells",
    .faults = (const char *const[]){"padding_ignored", "mask_on_queries",
                                    "memory_padding_ignored", "mask_inverted",
                                    "mask_fill_too_weak", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
