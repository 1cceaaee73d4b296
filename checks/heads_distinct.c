/* SPDX-License-Identifier: MIT
 *
 * Heads are independent subspaces: no two of a layer attend alike in every cell, and no
 * two have the same query and key matrices. At initialisation all weights are near
 * equal, hence similar; only cells that the number of visible keys does not explain
 * tell anything, and a pair is judged by its weights only where enough of them do.
 *
 * Which queries and keys are kept stands in checks/head_pairs.h, what is one weight in
 * head_pairs.c. Recordings hold no parameters: there the weights alone are judged.
 */
#include "checks/head_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    double similar;
    txd_head_pairs pairs;
} state;

/* One attention of one layer. */
typedef struct tally {
    uint64_t judged, one, similar, not_finite;
    bool by_weights; /* what is one is so by its weights */
    size_t heads[2];
    double cosine, cells;
    double largest; /* cosine of any pair */
} tally;

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->n_heads > 1 ? NULL : "this model has one head per layer";
}

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;
    bool is_wanted = site->kind == TXD_SITE_VALUE &&
                     txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS;

    if (site->kind == TXD_SITE_PARAMETER)
        is_wanted = txd_head_pairs_wants(&s->pairs, site);
    return is_wanted ? TXD_ASK_VALUE : 0;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        txd_head_pairs_add_parameter(&s->pairs, block);
    else
        txd_head_pairs_add_weights(&s->pairs, block);
    return TXD_OK;
}

static void note_pair(tally *t, const txd_head_pair *pair, const size_t heads[2],
                      bool is_one)
{
    double cosine = txd_head_pair_cosine(pair);

    if (is_one ? t->one++ > 0 : (t->one > 0 || cosine <= t->cosine))
        return; /* what is one comes before what is similar */
    t->by_weights = txd_head_pair_is_one(pair);
    t->heads[0] = heads[0];
    t->heads[1] = heads[1];
    t->cosine = cosine;
    t->cells = (double)pair->telling;
}

static tally judge(const state *s, int part)
{
    bool has_matrices = txd_head_pairs_has_matrices(&s->pairs, part);
    tally t = {.cosine = -1};

    for (size_t i = 0; i < s->pairs.per_layer; i++) {
        size_t heads[2];
        const txd_head_pair *pair = txd_head_pairs_at(&s->pairs, part, i, heads);
        bool is_one =
            txd_head_pair_is_one(pair) || (has_matrices && !pair->has_other_rows);
        double cosine = txd_head_pair_cosine(pair);

        t.not_finite += pair->is_not_finite;
        if (pair->is_not_finite || !(has_matrices || txd_head_pair_tells(pair)))
            continue;
        t.judged++;
        t.largest = fmax(t.largest, txd_head_pair_tells(pair) ? cosine : 0);
        t.similar +=
            !is_one && txd_head_pair_tells(pair) && !txd_within(cosine, s->similar);
        if (is_one || (txd_head_pair_tells(pair) && !txd_within(cosine, s->similar)))
            note_pair(&t, pair, heads, is_one);
    }
    return t;
}

static void say(txd_finding *finding, const tally *t)
{
    char number[32];

    txd_law_say(finding, "heads %zu and %zu ", t->heads[0], t->heads[1]);
    if (t->one == 0)
        txd_law_say(finding,
                    "attend alike: cosine %s of what their weights are beyond equal "
                    "ones; %" PRIu64 " of %" PRIu64 " pairs of this layer are as "
                    "similar",
                    txd_law_number(number, t->cosine), t->similar, t->judged);
    else if (t->by_weights)
        txd_law_say(finding,
                    "are one: their weights agree in all of %.0f cells that tell heads "
                    "apart",
                    t->cells);
    else
        txd_law_say(finding, "are one: their query and key matrices are equal");
    if (t->one > 0)
        txd_law_say(finding, "; %" PRIu64 " of %" PRIu64 " pairs of this layer are",
                    t->one, t->judged);
}

static txd_status add_part(txd_result *result, const state *s, int part, const tally *t)
{
    txd_attention_kind kind = (txd_attention_kind)(part % 2);
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    at.head = (int64_t)t->heads[1];
    finding =
        txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS), part / 2, &at);
    finding.verdict = t->one > 0 ? TXD_VERDICT_FAIL : TXD_VERDICT_INFO;
    finding.measured = t->one > 0 ? 1 : t->cosine;
    finding.allowed = s->similar;
    say(&finding, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += (t->one > 0 ? t->one : t->similar) - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t not_finite = 0;

    result->allowed = s->similar;
    for (int part = 0; part < 2 * (int)s->claimed->n_layers; part++) {
        tally t = judge(s, part);

        result->evaluated += t.judged;
        not_finite += t.not_finite;
        result->worst = fmax(result->worst, t.one > 0 ? 1 : t.largest);
        if (t.one + t.similar > 0)
            TXD_TRY(add_part(result, s, part, &t));
    }
    if (result->verdict < TXD_VERDICT_FAIL && not_finite > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "the weights of %" PRIu64 " pairs of heads are not finite: "
                        "nothing shows that these differ",
                        not_finite);
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "the weights are too few, or no more than what the number of visible "
                 "keys explains, and the parameters are not at hand");
    else if (s->claimed->n_heads > s->pairs.heads)
        snprintf(result->note, sizeof result->note, "the first %zu heads were compared",
                 s->pairs.heads);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_head_pairs_finish(&s->pairs);
    free(s);
}

static txd_status prepare(state *s, const txd_check_context *context)
{
    double same;

    s->claimed = context->claimed;
    TXD_TRY(
        txd_threshold_read(&s->similar, TXD_THRESHOLD_HEADS_DISTINCT_SIMILAR, context));
    TXD_TRY(txd_threshold_read(&same, TXD_THRESHOLD_HEADS_DISTINCT_SAME, context));
    return txd_head_pairs_init(&s->pairs, s->claimed, same);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "heads_distinct: no memory");
    status = prepare(s, context);
    if (status != TXD_OK) {
        free(s);
        return status;
    }
    *tap = (txd_tap){.name = "heads_distinct", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_heads_distinct = {
    .name = "heads_distinct",
    .law = "no two heads of a layer are one",
    .formula =
        "not |w_a - w_b| <= same max(w_a, w_b), same = max(1e-4, 16 u_store), in "
        "99 of 100 cells that tell heads apart (not both 0 nor both 1, and 10 same "
        "away from 1 / visible keys; 12 at least); not W_q and W_k of the two equal; "
        "cosine of w - 1 / visible keys above similar = 0.99 is information",
    .causes = "one head's matrices used for all (a missing head index, a broadcast), "
              "heads initialised alike and never told apart, a checkpoint whose heads "
              "were tiled",
    .look_next = "the rows of attn.q.weight and attn.k.weight of the two heads; their "
                 "attn.weights side by side",
    .unit = "pairs",
    .faults = (const char *const[]){"heads_identical", NULL},
    .keys = txd_keys_heads_distinct,
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
