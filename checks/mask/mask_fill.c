/* SPDX-License-Identifier: MIT
 *
 * The mask sets: every score that the claimed mask shows stays what it is, exactly
 * (with a bias its sum with it, to one rounding), and every score that it hides becomes
 * the claimed fill (one rounding allowed, where the format has no such number). A
 * finite fill must also be low enough: what the row's masked scores give a hidden key,
 * exp(fill) / sum exp(masked), taken here in double, must be below half of the format's
 * smallest number, so that the weight comes out as 0. Else hidden keys leak, which
 * `causality` and `padding` see as weights; this law says why.
 *
 * A fill that is low enough for this input but not below the lowest visible score by
 * log(hidden keys / u_store) is a warning: a row that sees such keys alone would leak.
 *
 * Another low number than the claimed one is for information, where it is as far below
 * every visible score and no query has to do without keys: all weights are the same.
 *
 * Of many queries some of every head are judged (mask_cells.c). Hidden cells that the
 * pass never computed are not.
 */
#include "checks/mask/mask_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    txd_mask_tally *tallies; /* (layers, 2): self- and cross-attention */
    txd_point reads[2][3];   /* by txd_attention_kind; ended by TXD_POINT_COUNT */
    size_t batches;
    bool lacks_scores;
} state;

static bool is_masked(txd_point point)
{
    return txd_point_in_self(point) == TXD_POINT_ATTN_MASKED;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && is_masked(site->point) ? TXD_ASK_VALUE : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    return is_masked(point) ? s->reads[txd_point_attention(point)] : NULL;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    (void)self;
    txd_mask_judge(slot, block);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_mask_tally *tally = slot;

    s->batches = block->pass->inputs->batch;
    if (tally->status == TXD_ERR_MISSING) {
        s->lacks_scores = true;
        return TXD_OK;
    }
    if (tally->status != TXD_OK)
        return txd_fail(tally->status, "mask_fill: %s: the scores cannot be read",
                        block->site->name);
    txd_mask_join(&s->tallies[txd_law_part(block->site)], tally);
    return TXD_OK;
}

/* ---- findings ---- */

static void say_cell(txd_finding *finding, const txd_mask_tally *t,
                     txd_mask_wrong wrong, double fill)
{
    const txd_mask_cell *cell = &t->cells[wrong];
    char found[32], expected[32], score[32];

    txd_law_numbers(score, cell->score, found, cell->masked);
    txd_law_say(finding, "query %" PRId64 ", key %" PRId64, cell->at.query,
                cell->at.key);
    if (wrong == TXD_MASK_FILLED || wrong == TXD_MASK_CHANGED)
        txd_law_say(finding, " is visible, but its score %s became %s", score, found);
    else
        txd_law_say(finding, " is hidden, but its score %s became %s instead of %s",
                    txd_law_number(score, cell->score),
                    txd_law_number(found, cell->masked),
                    txd_law_number(expected, fill));
    txd_law_say(
        finding, "; %" PRIu64 " of %" PRIu64 " %s cells of this layer are so",
        t->count[wrong],
        wrong == TXD_MASK_FILLED || wrong == TXD_MASK_CHANGED ? t->visible : t->hidden,
        wrong == TXD_MASK_FILLED || wrong == TXD_MASK_CHANGED ? "visible" : "hidden");
}

static void say_cause(txd_finding *finding, const txd_mask_tally *t,
                      txd_mask_wrong wrong)
{
    char text[32];

    if (t->count[TXD_MASK_FILLED] == t->visible && t->visible > 0 &&
        t->count[TXD_MASK_KEPT] == t->hidden) {
        txd_law_say(finding, ": the mask is inverted");
        return;
    }
    switch (wrong) {
    case TXD_MASK_FILLED:
        txd_law_say(finding, ": it is hidden although the claimed mask shows it");
        break;
    case TXD_MASK_KEPT:
        txd_law_say(finding, ": it is not masked");
        break;
    case TXD_MASK_ADDED:
        txd_law_say(finding, ": the fill is added to the score instead of set");
        break;
    case TXD_MASK_OVERFLOWED:
        txd_law_say(finding, ": the format has no such number, the fill overflowed");
        break;
    case TXD_MASK_OTHER:
        if (t->low == t->high)
            txd_law_say(finding, ": the fill is %s", txd_law_number(text, t->low));
        break;
    default:
        break;
    }
}

/* Where the fill makes no difference: what it would make one of. */
static void say_equal(txd_finding *finding, double claimed)
{
    txd_law_say(finding, "; no weight differs for it, but a query that sees no key %s",
                isinf(claimed) ? "would attend to all keys alike"
                               : "would have an empty row instead of all keys alike");
}

static void say_weight(txd_finding *finding, const txd_mask_tally *t, bool alone)
{
    char fill[32], score[32], weight[32];

    if (alone)
        txd_law_say(finding,
                    "query %" PRId64 ": hidden keys hold %s beside a largest visible "
                    "score of %s: too weak",
                    t->weight_at.query, txd_law_number(fill, t->weight_fill),
                    txd_law_number(score, t->weight_score));
    txd_law_say(finding, "%s a hidden key would get the weight %s", alone ? "," : ";",
                txd_law_number(weight, t->weight));
    if (alone)
        txd_law_say(finding, "; so in %" PRIu64 " of %" PRIu64 " rows of this layer",
                    t->weak, t->rows);
}

/* The kind of wrong cell that there is most of. */
static txd_mask_wrong most(const txd_mask_tally *t)
{
    txd_mask_wrong most = TXD_MASK_FILLED;

    for (int wrong = 0; wrong < TXD_MASK_WRONGS; wrong++)
        if (t->count[wrong] > t->count[most])
            most = (txd_mask_wrong)wrong;
    return most;
}

static uint64_t count_wrong(const txd_mask_tally *t)
{
    uint64_t sum = 0;

    for (int wrong = 0; wrong < TXD_MASK_WRONGS; wrong++)
        sum += t->count[wrong];
    return sum;
}

/* Nothing is wrong but that another number hides, which gives no hidden key weight. */
static bool hides_otherwise(const txd_mask_tally *t)
{
    uint64_t fills = t->count[TXD_MASK_ADDED] + t->count[TXD_MASK_OVERFLOWED] +
                     t->count[TXD_MASK_OTHER];

    return fills > 0 && fills == count_wrong(t) && t->no_fill == 0 && t->weak == 0;
}

/* And it is far below the visible scores, and no row is without them. */
static bool is_equal(const txd_mask_tally *t)
{
    return hides_otherwise(t) && t->near == 0 && t->empty == 0;
}

static txd_status add_near(txd_result *result, const state *s, txd_finding *finding,
                           const txd_mask_tally *t)
{
    char fill[32], score[32];

    finding->verdict = TXD_VERDICT_WARN;
    finding->measured = t->near_score - t->near_fill;
    finding->allowed = t->near_gap;
    txd_law_say_place(finding, s->batches);
    txd_law_say(finding,
                "query %" PRId64 ": the fill %s is not far below the lowest visible "
                "score %s; a row that sees such keys alone would give hidden keys "
                "weight",
                t->near_at.query, txd_law_number(fill, t->near_fill),
                txd_law_number(score, t->near_score));
    TXD_TRY(txd_result_add(result, finding));
    result->finding_total += t->near - 1;
    return TXD_OK;
}

static void say_finding(txd_finding *finding, const state *s, const txd_mask_tally *t,
                        int layer)
{
    double fill = s->claimed->layers[layer].fill;
    bool alone = count_wrong(t) == 0;
    char score[32];

    txd_law_say_place(finding, s->batches);
    if (!alone) {
        say_cell(finding, t, most(t), fill);
        say_cause(finding, t, most(t));
    }
    if (is_equal(t))
        say_equal(finding, fill);
    else if (hides_otherwise(t) && t->near)
        txd_law_say(finding, "; in query %" PRId64 " not far below the score %s",
                    t->near_at.query, txd_law_number(score, t->near_score));
    else if (t->empty)
        txd_law_say(finding,
                    "; %" PRIu64 " of %" PRIu64
                    " rows see no key, and their weights are others for it",
                    t->empty, t->rows);
    if (t->weak)
        say_weight(finding, t, alone);
}

static txd_status add_attention(txd_result *result, const state *s, int layer,
                                txd_attention_kind kind)
{
    const txd_mask_tally *t = &s->tallies[layer * 2 + (kind == TXD_ATTENTION_CROSS)];
    txd_point point = txd_point_in(kind, TXD_POINT_ATTN_MASKED);
    uint64_t wrong = count_wrong(t);
    const txd_law_place *at = wrong     ? &t->cells[most(t)].at
                              : t->weak ? &t->weight_at
                                        : &t->near_at;
    txd_finding finding = txd_law_finding(point, layer, at);

    result->evaluated += t->visible + t->hidden;
    if (result->verdict != TXD_VERDICT_FAIL && t->rows > 0)
        result->allowed = t->smallest;
    if (wrong == 0 && t->weak == 0)
        return t->near ? add_near(result, s, &finding, t) : TXD_OK;
    finding.measured = wrong ? t->cells[most(t)].off : t->weight;
    finding.allowed = wrong ? t->cells[most(t)].allowed : t->smallest;
    say_finding(&finding, s, t, layer);
    if (is_equal(t)) {
        finding.verdict = TXD_VERDICT_INFO;
    } else if (result->verdict != TXD_VERDICT_FAIL ||
               txd_law_is_worse(finding.measured, result->worst)) {
        result->worst = finding.measured;
        result->allowed = finding.allowed;
    }
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += (wrong ? wrong : t->weak) - 1;
    return TXD_OK;
}

static txd_status add_findings(txd_result *result, const state *s, bool equal)
{
    for (size_t i = 0; i < 2 * s->claimed->n_layers; i++)
        if (is_equal(&s->tallies[i]) == equal)
            TXD_TRY(add_attention(result, s, (int)(i / 2),
                                  i % 2 ? TXD_ATTENTION_CROSS : TXD_ATTENTION_SELF));
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0, cross = 0;

    /* What is for information comes last. */
    TXD_TRY(add_findings(result, s, false));
    TXD_TRY(add_findings(result, s, true));
    for (size_t l = 0; l < s->claimed->n_layers; l++) {
        inherited += s->tallies[2 * l].inherited + s->tallies[2 * l + 1].inherited;
        cross += s->tallies[2 * l + 1].rows;
    }
    if (s->claimed->cross && cross == 0)
        snprintf(result->note, sizeof result->note,
                 "cross-attention was not judged: its scores are not recorded");
    if (s->lacks_scores)
        snprintf(result->note, sizeof result->note,
                 "not judged where the scores are not recorded");
    if (result->verdict <= TXD_VERDICT_INFO && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " visible scores are NaN: whether the mask keeps "
                        "them cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies = calloc(context->claimed->n_layers * 2, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "mask_fill: no memory");
    }
    s->claimed = context->claimed;
    for (int kind = 0; kind < 2; kind++)
        s->reads[kind][txd_mask_reads(s->reads[kind], s->claimed,
                                      (txd_attention_kind)kind)] = TXD_POINT_COUNT;
    *tap = (txd_tap){.name = "mask_fill",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(txd_mask_tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_mask_fill = {
    .name = "mask_fill",
    .law = "visible scores stay what they are, hidden ones become a fill that is low "
           "enough",
    .formula =
        "masked = score where the claimed mask shows the key, exactly; where the "
        "claim says so cap tanh(score / cap), plus the bias of the distance, "
        "within the roundings of these; masked = "
        "fill where it hides it, within u_store |fill|; exp(fill) / sum "
        "exp(masked) < half of the format's smallest number; warning unless "
        "fill <= lowest visible score - log(hidden keys / u_store); for information "
        "where another number hides that satisfies all this, and every query sees a "
        "key",
    .causes =
        "another cap, or none, or one after the mask; slopes of ALiBi for another "
        "number of heads; a fill like -10 or -1e4 that large scores come near; -1e9 in "
        "float16, "
        "where it is -Inf; a mask that is added to the score instead of set, or "
        "added as True and False; a mask of the opposite convention (True = keep "
        "against True = hide); a mask applied after the softmax",
    .look_next = "mask.fill of the claimed configuration; attn.scores and attn.masked "
                 "at the named cell",
    .unit = "cells",
    .exact = true,
    .faults =
        (const char *const[]){"mask_fill_finite", "mask_fill_too_weak", "mask_inverted",
                              "mask_missing", "mask_off_by_one", "mask_after_softmax",
                              "fully_masked_row", "padding_ignored",
                              "memory_padding_ignored", "cross_causal", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_BIAS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_BIAS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
