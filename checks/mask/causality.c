/* SPDX-License-Identifier: MIT
 *
 * No query gives weight to a later key: exactly 0, over the whole matrix of every head.
 * Looking at one query, or at the mean over heads, would miss a leak at another query
 * or in one head. Hidden cells that the pass never computed are counted, not judged.
 */
#include "checks/mask/leak.h"

#include <inttypes.h>
#include <stdio.h>

static const txd_leak_kind kind = {
    .name = "causality",
    .count = TXD_ROW_FUTURE_COUNT,
    .max = TXD_ROW_FUTURE_MAX,
    .key = TXD_ROW_FUTURE_KEY,
    .hidden = TXD_HIDDEN_FUTURE,
    .what = "a later key",
};

static const char *inapplicable(const txd_check_context *context)
{
    for (size_t l = 0; l < context->claimed->n_layers; l++)
        if (context->claimed->layers[l].causal)
            return NULL;
    return "the claimed mask is not causal (mask.causal = false)";
}

static unsigned ask(void *self, const txd_site *site)
{
    const txd_leaks *leaks = self;

    if (site->kind != TXD_SITE_VALUE || site->point != TXD_POINT_ATTN_WEIGHTS ||
        !leaks->claimed->layers[site->layer].causal)
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
    else if (t->next_only == t->leaking)
        txd_law_say(finding,
                    ", each at the next position alone: the mask is off by one");
    else if (t->leaking == t->rows && t->blind == t->leaking)
        txd_law_say(finding, ", and the keys that they may see get nothing: the mask "
                             "is inverted");
    else if (t->leaking == t->rows && t->query_high > t->query_low &&
             2 * t->reach >= t->farthest)
        txd_law_say(finding, ", up to %" PRId64 " positions ahead: the mask is missing",
                    t->reach);
    else
        txd_law_say(finding, ", up to %" PRId64 " position%s ahead", t->reach,
                    t->reach == 1 ? "" : "s");
}

static txd_status finish(void *self, txd_result *result)
{
    txd_leaks *leaks = self;

    TXD_TRY(txd_leaks_finish(leaks, result, explain));
    if (leaks->hidden == 0)
        snprintf(result->note, sizeof result->note,
                 "no query of this input has a later key");
    else if (leaks->cells == 0)
        snprintf(result->note, sizeof result->note,
                 "not computed by this path: none of %" PRIu64
                 " cells with a later key (mask.evaluate_hidden = \"always\" computes "
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

const txd_check txd_check_causality = {
    .name = "causality",
    .law = "no query gives weight to a key of a later position",
    .formula = "w[q,j] = 0 exactly for every j whose position is after that of q, over "
               "the whole matrix of every head",
    .causes =
        "a mask that is missing on one code path, starts its diagonal one too late "
        "(triu with diagonal 2, tril with 1), has its polarity inverted, or is "
        "added after the softmax; a mask aligned to the wrong corner when there "
        "are more keys than queries",
    .look_next = "attn.masked of the same query: a hidden cell must read -inf there; "
                 "`txdiag plot` the head",
    .unit = "cells",
    .faults = (const char *const[]){"mask_missing", "mask_off_by_one", "mask_inverted",
                                    "mask_fill_too_weak", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
