/* SPDX-License-Identifier: MIT
 *
 * Heads are independent subspaces: no two of a layer attend alike in every cell, and no
 * two have the same query and key matrices. At initialisation all weights are near
 * equal, hence similar; only cells that the number of visible keys does not explain
 * tell anything, and a pair is judged by its weights only where enough of them do.
 *
 * Heads that attend alike without being one are information, of all layers together.
 * Most trained heads rest on the first key, and what all heads of a layer do is no
 * likeness of two: both are taken off before a pair is compared.
 *
 * Which queries and keys are kept stands in checks/products/head_pairs.h, what is one
 * weight in head_pairs.c. Recordings hold no parameters: there the weights alone are
 * judged.
 */
#include "checks/products/head_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    double similar;
    txd_head_pairs pairs;
} state;

/* One attention of one layer. What parameters tell is counted apart: a recording,
 * which has none, says the same of the weights. */
typedef struct tally {
    uint64_t judged, not_finite;
    uint64_t one, by_matrices; /* pairs that are so by their weights; by them alone */
    uint64_t told, similar; /* pairs that their weights tell apart, of these similar */
    size_t heads[2];        /* first pair that is one, or the most similar */
    double cosine, cells;   /* of these */
    double lowest;          /* cosine beyond equal weights of any pair */
    bool is_all;            /* all heads attend alike */
} tally;

/* Layers in which heads attend alike. */
typedef struct likes {
    uint64_t layers, pairs, of;
    tally worst;
    int part; /* of it */
} likes;

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

static void note_heads(tally *t, const size_t heads[2])
{
    t->heads[0] = heads[0];
    t->heads[1] = heads[1];
}

static void note_one(tally *t, const txd_head_pair *pair, const size_t heads[2])
{
    if (txd_head_pair_is_one(pair) ? t->one++ > 0 : t->by_matrices++ > 0 || t->one > 0)
        return; /* weights come before matrices */
    note_heads(t, heads);
    t->cells = (double)pair->telling;
}

static void note_like(tally *t, const state *s, const txd_head_pair *pair,
                      const size_t heads[2])
{
    double beyond_equal = txd_head_pair_cosine(pair, &pair->beyond_equal);
    double cosine = s->pairs.heads > 2 ? txd_head_pair_cosine(pair, &pair->beyond_usual)
                                       : beyond_equal;

    t->lowest = t->told++ == 0 ? beyond_equal : fmin(t->lowest, beyond_equal);
    t->similar += !txd_within(cosine, s->similar);
    if (cosine <= t->cosine)
        return;
    t->cosine = cosine;
    if (t->one + t->by_matrices == 0)
        note_heads(t, heads);
}

static tally judge(const state *s, int part)
{
    bool has_matrices = txd_head_pairs_has_matrices(&s->pairs, part);
    tally t = {.cosine = 0};

    for (size_t i = 0; i < s->pairs.per_layer; i++) {
        size_t heads[2];
        const txd_head_pair *pair = txd_head_pairs_at(&s->pairs, part, i, heads);
        bool tells = txd_head_pair_tells(pair);

        t.not_finite += pair->is_not_finite;
        if (pair->is_not_finite || !(has_matrices || tells))
            continue;
        t.judged++;
        if (txd_head_pair_is_one(pair) || (has_matrices && !pair->has_other_rows))
            note_one(&t, pair, heads);
        else if (tells)
            note_like(&t, s, pair, heads);
    }
    t.is_all = s->pairs.heads > 2 && t.told == s->pairs.per_layer &&
               !txd_within(t.lowest, s->similar);
    return t;
}

static txd_finding start(int part, size_t head, double allowed)
{
    txd_attention_kind kind = (txd_attention_kind)(part % 2);
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    at.head = (int64_t)head;
    finding =
        txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS), part / 2, &at);
    finding.allowed = allowed;
    return finding;
}

static txd_status add_one(txd_result *result, const state *s, int part, const tally *t)
{
    txd_finding finding = start(part, t->heads[1], s->similar);

    finding.verdict = TXD_VERDICT_FAIL;
    finding.measured = 1;
    txd_law_say(&finding, "heads %zu and %zu are one: their ", t->heads[0],
                t->heads[1]);
    if (t->one > 0)
        txd_law_say(&finding,
                    "weights agree in all of %.0f cells that tell heads apart; %" PRIu64
                    " of %zu pairs of this layer are",
                    t->cells, t->one, s->pairs.per_layer);
    if (t->one > 0 && t->by_matrices > 0)
        txd_law_say(&finding, ", and %" PRIu64 " more by their matrices",
                    t->by_matrices);
    if (t->one == 0)
        txd_law_say(&finding,
                    "query and key matrices are equal; %" PRIu64
                    " of %zu pairs of this layer are",
                    t->by_matrices, s->pairs.per_layer);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->one + t->by_matrices - 1;
    return TXD_OK;
}

static void note_layer(likes *l, const tally *t, int part, size_t pairs)
{
    double cosine = t->is_all ? t->lowest : t->cosine;

    l->of += pairs;
    if (t->is_all ? 0 : t->similar == 0)
        return;
    l->layers++;
    l->pairs += t->is_all ? pairs : t->similar;
    if (l->layers > 1 && cosine <= (t->is_all ? l->worst.lowest : l->worst.cosine))
        return;
    l->worst = *t;
    l->part = part;
}

/* One finding for all layers. */
static txd_status add_likes(txd_result *result, const state *s, const likes *l)
{
    const tally *t = &l->worst;
    txd_finding finding = start(l->part, t->heads[1], s->similar);
    char number[32];

    if (l->layers == 0)
        return TXD_OK;
    finding.verdict = TXD_VERDICT_INFO;
    finding.measured = t->is_all ? t->lowest : t->cosine;
    txd_law_number(number, finding.measured);
    if (t->is_all)
        txd_law_say(
            &finding,
            "all %zu heads attend alike: cosine %s or more of what they give to "
            "keys behind the first, beyond equal shares",
            s->pairs.heads, number);
    else
        txd_law_say(&finding,
                    "heads %zu and %zu attend alike: cosine %s of what they give to "
                    "keys behind the first, beyond %s; %" PRIu64 " of %" PRIu64
                    " pairs are as similar",
                    t->heads[0], t->heads[1], number,
                    s->pairs.heads > 2 ? "what all heads do" : "equal shares", l->pairs,
                    l->of);
    txd_law_say(&finding, ", in %" PRIu64 " of %zu %s", l->layers,
                s->claimed->n_layers * (s->claimed->cross ? 2 : 1),
                s->claimed->cross ? "attentions" : "layers");
    return txd_result_add(result, &finding);
}

/* What fails comes first. */
static txd_status add_findings(txd_result *result, const state *s, uint64_t *not_finite)
{
    likes alike[2] = {{0}}; /* pairs; all heads of a layer */

    for (int part = 0; part < 2 * (int)s->claimed->n_layers; part++) {
        tally t = judge(s, part);
        bool is_one = t.one + t.by_matrices > 0;

        result->evaluated += t.judged;
        *not_finite += t.not_finite;
        result->worst = fmax(result->worst, is_one     ? 1
                                            : t.is_all ? t.lowest
                                                       : t.cosine);
        if (is_one)
            TXD_TRY(add_one(result, s, part, &t));
        else if (t.told > 0)
            note_layer(&alike[t.is_all], &t, part, s->pairs.per_layer);
    }
    TXD_TRY(add_likes(result, s, &alike[1]));
    return add_likes(result, s, &alike[0]);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t not_finite = 0;

    result->allowed = s->similar;
    TXD_TRY(add_findings(result, s, &not_finite));
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
        "cosine of what two heads give to the keys behind the first, beyond what all "
        "heads of the layer do, above similar = 0.99 is information",
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
