/* SPDX-License-Identifier: MIT
 *
 * Capped scores are cap tanh(score / cap), cell by cell, over cells that the claimed
 * mask shows. The bound: tanh of a library, the two products, and the same here in
 * double; u is the larger of the roundoffs of accumulation and storage, for in bfloat16
 * many programs store every step.
 */
#include "checks/scores/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Roundings: of tanh in a library, of its argument and of the product. */
#define ROUNDINGS 10

/* What it may be instead; each must hold of all broken cells. */
typedef enum wrong {
    WRONG_NONE,      /* the score itself */
    WRONG_CLIPPED,   /* cut off at the cap */
    WRONG_UNDIVIDED, /* cap tanh(score) */
    WRONG_TWICE,     /* capped twice */
    WRONG_COUNT
} wrong;

static const char *const words[WRONG_COUNT] = {
    [WRONG_NONE] = "the cap is left out",
    [WRONG_CLIPPED] = "scores are cut off at the cap instead of bent towards it",
    [WRONG_UNDIVIDED] = "it is cap tanh(score), the score is not divided by the cap",
    [WRONG_TWICE] = "scores are capped twice"};

/* One attention of one layer, or one tile of it. */
typedef struct tally {
    uint64_t judged, broken, inherited, fits[WRONG_COUNT];
    double measured, allowed, ratio, found, expected, score; /* of the worst */
    double cap;
    txd_law_place at;
    txd_status status;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* (layers, 2) */
    size_t batches;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_CAPPED &&
                   s->claimed->layers[site->layer].score_softcap != 0
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point scores[2][2] = {{TXD_POINT_ATTN_SCORES, TXD_POINT_COUNT},
                                           {TXD_POINT_CROSS_SCORES, TXD_POINT_COUNT}};

    (void)self;
    return txd_point_in_self(point) == TXD_POINT_ATTN_CAPPED
               ? scores[txd_point_attention(point)]
               : NULL;
}

static double allowed_at(const txd_pass *pass, double y)
{
    txd_roundoff u = txd_roundoff_of_format(pass->format);
    double error =
        ROUNDINGS * (fmax(u.accumulate, u.store) + 0x1p-53) * fabs(y) + 4 * u.lost;

    return error + u.store * (fabs(y) + error) + u.tiny;
}

static double wrong_value(wrong which, double score, double cap)
{
    switch (which) {
    case WRONG_NONE:
        return score;
    case WRONG_CLIPPED:
        return fmin(fmax(score, -cap), cap);
    case WRONG_UNDIVIDED:
        return cap * tanh(score);
    default:
        return cap * tanh(tanh(score / cap));
    }
}

static void judge_cell(tally *t, const txd_pass *pass, const txd_law_place *at,
                       double score, double found)
{
    double expected = t->cap * tanh(score / t->cap), measured = fabs(found - expected);
    double allowed = allowed_at(pass, expected);

    if (isnan(score)) {
        t->inherited++;
        return;
    }
    if (!txd_within(measured, allowed)) {
        t->broken++;
        for (int i = 0; i < WRONG_COUNT; i++) {
            double other = wrong_value((wrong)i, score, t->cap);

            t->fits[i] += txd_within(fabs(found - other), allowed_at(pass, other)) ||
                          found == other;
        }
    }
    if (t->judged++ > 0 &&
        (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
         !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
        return;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->found = found;
    t->expected = expected;
    t->score = score;
    t->at = *at;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const state *s = self;
    tally *t = slot;
    txd_cells cells = txd_cells_of(block);
    txd_tensor scores;

    t->cap = s->claimed->layers[block->site->layer].score_softcap;
    t->status = txd_block_earlier(
        &scores, block,
        txd_point_in(txd_point_attention(block->site->point), TXD_POINT_ATTN_SCORES));
    if (t->status != TXD_OK || !block->value.data || !scores.data)
        return;
    while (txd_cells_next(&cells))
        judge_cell(t, block->pass, &cells.at, txd_tensor_get(&scores, cells.flat),
                   txd_tensor_get(&block->value, cells.flat));
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const tally *t = slot;
    tally *to = &s->tallies[txd_law_part(block->site)];
    bool is_worse =
        t->judged > 0 && (to->judged == 0 || txd_law_is_worse(t->ratio, to->ratio));
    tally sum = is_worse ? *t : *to;

    s->batches = block->pass->inputs->batch;
    if (t->status == TXD_ERR_MISSING)
        return TXD_OK; /* not recorded in this layer */
    TXD_TRY(t->status);
    sum.judged = to->judged + t->judged;
    sum.broken = to->broken + t->broken;
    sum.inherited = to->inherited + t->inherited;
    for (int i = 0; i < WRONG_COUNT; i++)
        sum.fits[i] = to->fits[i] + t->fits[i];
    *to = sum;
    return TXD_OK;
}

/* The cap that makes `found` of a score; 0 if none does. */
static double fitted_cap(double score, double found)
{
    double low = fabs(found), high = 1e6 * (fabs(score) + 1);

    if (!(fabs(found) < fabs(score)) || score * found <= 0)
        return 0;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;

        if (middle * tanh(fabs(score) / middle) < fabs(found))
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void say_cause(txd_finding *finding, const tally *t, double cap)
{
    double other = fitted_cap(t->score, t->found);
    char text[32];

    for (int i = 0; i < WRONG_COUNT; i++)
        if (t->fits[i] == t->broken) {
            txd_law_say(finding, ": %s", words[i]);
            return;
        }
    if (other > 0 && fabs(other - cap) > 1e-3 * cap)
        txd_law_say(finding, ": as a cap of %s has it", txd_law_number(text, other));
}

static txd_status add_part(txd_result *result, const state *s, size_t part)
{
    const tally *t = &s->tallies[part];
    double cap = s->claimed->layers[part / 2].score_softcap;
    char score[32], found[32], expected[32], text[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(
        txd_point_in((txd_attention_kind)(part % 2), TXD_POINT_ATTN_CAPPED),
        (int)(part / 2), &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "query %" PRId64 ", key %" PRId64 ": the score %s becomes %s, ",
                t->at.query, t->at.key, txd_law_number(score, t->score), found);
    txd_law_say(&finding,
                "with a cap of %s it is %s; %" PRIu64 " of %" PRIu64 " cells are off",
                txd_law_number(text, cap), expected, t->broken, t->judged);
    say_cause(&finding, t, cap);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++) {
        inherited += s->tallies[part].inherited;
        TXD_TRY(add_part(result, s, part));
    }
    if (inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " scores are NaN: whether they are capped rightly "
                        "cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s);
}

static const char *inapplicable(const txd_check_context *context)
{
    for (size_t l = 0; l < context->claimed->n_layers; l++)
        if (context->claimed->layers[l].score_softcap != 0)
            return NULL;
    return "no layer caps its scores";
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies = calloc(2 * context->claimed->n_layers, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "score_cap: no memory");
    }
    s->claimed = context->claimed;
    *tap = (txd_tap){.name = "score_cap",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_score_cap = {
    .name = "score_cap",
    .law = "capped scores are cap tanh(score / cap)",
    .formula =
        "|attn.capped - cap tanh(attn.scores / cap)| <= E + u_store (|y| + E), E "
        "= 10 (u + 2^-53) |y|, u the larger of u_acc and u_store; cross.* alike",
    .causes = "a cap that a fast kernel does not know and drops; scores that are cut "
              "off instead; a score that is not divided by the cap; the cap of another "
              "model, or that of the logits",
    .look_next = "model.score_softcap of the claimed configuration; whether the kernel "
                 "that computes attention takes a cap at all",
    .unit = "cells",
    .exact = true,
    .faults = (const char *const[]){"softcap_missing", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_CAPPED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_CAPPED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_CAPPED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
