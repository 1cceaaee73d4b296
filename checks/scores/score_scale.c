/* SPDX-License-Identifier: MIT
 *
 * Scores are the claimed scale times q.k, cell by cell, over the cells that the claimed
 * mask shows. With e the head width, u_a and u_s the roundoffs of accumulation and
 * storage, r = q.k taken here in double from the q and k that the scores read, and
 * |q|.|k| the sum of the absolute products:
 *   |s - scale r| <= E + u_s (|scale r| + E) + tiny + e lost,
 *   E = (gamma_{e+3}(u_a) + gamma_{e+1}(2^-53)) |scale| |q|.|k|
 * (products and sums of e terms, the scale as one rounding wherever it is applied, one
 * rounding to store, and underflow of what is stored and of products). The slope of
 * scores on q.k then says which scale was used instead.
 *
 * Of many cells some of every head are judged (score.c): a wrong scale acts on all of
 * them.
 */
#include "checks/scores/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    txd_score_tally *tallies; /* (layers, 2, heads): attention, cross-attention */
    size_t batches;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_SCORES
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point operands[2][3] = {
        {TXD_POINT_ATTN_Q, TXD_POINT_ATTN_K, TXD_POINT_COUNT},
        {TXD_POINT_CROSS_Q, TXD_POINT_CROSS_K, TXD_POINT_COUNT}};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_SCORES)
        return NULL;
    return operands[txd_point_attention(point)];
}

/* Tiles are of one head; only then does a slot suffice. */
static bool is_one_head(const txd_block *block)
{
    return block->value.dims[1] == 1;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    (void)self;
    if (is_one_head(block))
        txd_score_judge(slot, block, 0);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    size_t heads = s->claimed->n_heads;
    txd_score_tally *layer = &s->tallies[txd_law_part(block->site) * heads];

    s->batches = block->pass->inputs->batch;
    for (size_t h = 0; h < block->value.dims[1]; h++) {
        txd_score_tally one = {0};
        const txd_score_tally *tally = slot;

        if (!is_one_head(block)) {
            txd_score_judge(&one, block, h);
            tally = &one;
        }
        if (tally->status != TXD_OK)
            return txd_fail(tally->status,
                            "score_scale: %s: its queries or keys cannot be read",
                            block->site->name);
        txd_score_join(&layer[block->start[1] + h], tally);
    }
    return TXD_OK;
}

static void say_head(txd_finding *finding, const state *s, int layer,
                     const txd_score_tally *t)
{
    double scale = s->claimed->layers[layer].score_scale, slope = t->sr / t->rr;
    char claimed[32], found[32], score[32], expected[32];

    txd_law_numbers(score, t->score, expected, t->expected);
    txd_law_say_place(finding, s->batches);
    txd_law_number(claimed, scale);
    if (!txd_score_is_line(t)) {
        txd_law_say(finding,
                    "query %" PRId64 ", key %" PRId64 ": the score is %s, %s x q.k is ",
                    t->at.query, t->at.key, score, claimed);
        txd_law_say(finding, "%s; ", expected);
        if (txd_score_source(t) >= 0)
            txd_law_say(finding, "it is that of the keys of KV head %d, not %zu",
                        txd_score_source(t),
                        txd_kv_head_of(s->claimed, (size_t)t->at.head));
        else
            txd_law_say(finding, "no single scale explains this head");
    } else if (fabs(slope - scale) <= 1e-4 * fabs(scale)) {
        txd_law_say(finding,
                    "query %" PRId64 ", key %" PRId64 ": the score is %s, %s x q.k is ",
                    t->at.query, t->at.key, score, claimed);
        txd_law_say(finding, "%s; the scale of the head is right", expected);
    } else {
        txd_law_say(finding, "scores are %s x q.k instead of %s x q.k",
                    txd_law_number(found, slope), claimed);
        if (slope > 0 && scale > 0)
            txd_law_say(finding, ", so that the softmax is %s",
                        slope < scale ? "flatter" : "more peaked");
        txd_score_name(finding, s->claimed, scale, slope);
    }
}

static txd_status add_part(txd_result *result, const state *s, size_t part)
{
    int layer = (int)(part / 2);
    size_t heads = s->claimed->n_heads, broken = 0, all = 0;
    const txd_score_tally *worst = NULL;
    uint64_t cells = 0;
    txd_finding finding;

    for (size_t h = 0; h < heads; h++) {
        const txd_score_tally *t = &s->tallies[part * heads + h];

        all += t->judged > 0;
        result->evaluated += t->judged;
        if (t->judged > 0)
            txd_law_raise(result, t->measured, t->allowed);
        cells += t->broken;
        broken += t->broken > 0;
        if (t->broken > 0 &&
            (!worst || txd_law_is_worse(txd_score_ratio(t), txd_score_ratio(worst))))
            worst = t;
    }
    if (!worst)
        return TXD_OK;
    finding = txd_law_finding(
        txd_point_in((txd_attention_kind)(part % 2), TXD_POINT_ATTN_SCORES), layer,
        &worst->at);
    finding.measured = worst->measured;
    finding.allowed = worst->allowed;
    say_head(&finding, s, layer, worst);
    txd_law_say(&finding, "; %zu of %zu head%s of this layer %s off", broken, all,
                all == 1 ? "" : "s", broken == 1 ? "is" : "are");
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += cells - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++)
        TXD_TRY(add_part(result, s, part));
    if (result->verdict == TXD_VERDICT_PASS && isinf(result->allowed))
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: heads are wider than the "
                                       "accumulation has digits (n u >= 1)");
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
    const txd_config *claimed = context->claimed;
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies =
            calloc(2 * claimed->n_layers * claimed->n_heads, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "score_scale: no memory");
    }
    s->claimed = claimed;
    *tap = (txd_tap){.name = "score_scale",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(txd_score_tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_score_scale = {
    .name = "score_scale",
    .law = "attention scores are the claimed scale times q.k, one slope per head",
    .formula =
        "|s - scale q.k| <= E + u_store (|scale q.k| + E), E = (gamma_{e+3}(u_acc) "
        "+ gamma_{e+1}(2^-53)) |scale| |q|.|k|, e = head width; the slope of s on "
        "q.k names the scale that was used",
    .causes =
        "1/sqrt(head_dim) forgotten, applied twice, or taken of d_model or of the "
        "number of heads; a scale folded into q as well as into the scores; a "
        "softcap or a bias that the configuration does not know",
    .look_next = "model.score_scale of the claimed configuration; attn.q and attn.k of "
                 "the named head",
    .unit = "cells",
    .exact = true,
    .faults = (const char *const[]){"scale_missing", "scale_by_model_width",
                                    "scale_twice", "scores_vanish", "fp16_scores",
                                    "kv_heads_tiled", "kv_index_wrong", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_Q, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_Q, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_K, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_Q, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_Q, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_K, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
