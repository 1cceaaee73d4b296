/* SPDX-License-Identifier: MIT
 *
 * What enters layer 0 is the token's embedding, scaled as claimed, plus those of its
 * position and its type: embed.scaled = scale x (embed.in or embed.tok), two roundings,
 * and embed.out = (token + position) + type, one rounding of each sum. What a recording
 * lacks of the scaled tokens is taken from those that are not.
 *
 * Of many tokens some are judged, as many as make up ELEMENTS_JUDGED elements: a term
 * that is missing is missing everywhere.
 */
#include "checks/ends/addends.h"
#include "checks/kept.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each of the two values, per step; tokens at least. */
#define ELEMENTS_JUDGED 8192
#define TOKENS_LEAST 8

enum { SCALED, SUM, VALUES };

typedef struct tally {
    uint64_t judged, broken, inherited;
    double measured, allowed, ratio, found, expected; /* of the worst */
    size_t channel;
    txd_law_place at;
    char cause[160];
} tally;

typedef struct state {
    const txd_config *claimed;
    txd_point terms[TXD_EMBED_TERMS];
    size_t term_count;
    txd_point unscaled; /* what embed.scaled is made from */
    txd_kept_tokens tokens;
    txd_kept kept[TXD_POINT_COUNT]; /* of this step */
    tally tallies[VALUES];
    int step;
    size_t batches;
} state;

static const txd_point outputs[VALUES] = {TXD_POINT_EMBED_SCALED, TXD_POINT_EMBED_OUT};

static bool is_operand(const state *s, txd_point point)
{
    bool is_term = point == TXD_POINT_EMBED_OUT || point == s->unscaled;

    for (size_t i = 0; i < s->term_count; i++)
        is_term |= s->terms[i] == point;
    return is_term;
}

static unsigned ask(void *self, const txd_site *site)
{
    return site->kind == TXD_SITE_VALUE && is_operand(self, site->point) ? TXD_ASK_VALUE
                                                                         : 0;
}

static bool is_scaled(const state *s)
{
    return s->terms[0] == TXD_POINT_EMBED_SCALED;
}

/* ---- one value ---- */

/* What the claim makes of row `row`: its terms, and their rounding before they are
 * added. A term that is at no point is the scaled token, made here. */
static txd_addends addends_of(const state *s, int value)
{
    txd_addends a = {.width = s->claimed->d_model, .rows = s->tokens.count};
    size_t count = value == SUM ? s->term_count : 1;

    for (size_t i = 0; i < count; i++) {
        txd_point point = s->terms[i];
        const txd_kept *kept = &s->kept[point];

        a.factor[i] = 1;
        if (i == 0 && is_scaled(s) && (value == SCALED || kept->count == 0)) {
            point = s->unscaled;
            kept = &s->kept[point];
            a.factor[0] = s->claimed->embed_scale;
        }
        if (kept->count == 0 || kept->width != a.width)
            return (txd_addends){.count = 0};
        a.names[i] = txd_point_get(point)->name;
        a.terms[i] = kept->rows;
        a.count = i + 1;
    }
    return a;
}

static void judge_element(tally *t, const state *s, const txd_addends *a, size_t i,
                          double found, txd_roundoff u)
{
    txd_addend_sum sum = txd_addends_sum(a, i, u);
    double measured = fabs(found - sum.exact);

    if (!isfinite(sum.exact) ||
        (isinf(found) && fabs(sum.exact) + sum.allowed > u.largest)) {
        t->inherited++;
        return;
    }
    t->broken += !txd_within(measured, sum.allowed);
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, sum.allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, sum.allowed);
    t->measured = measured;
    t->allowed = sum.allowed;
    t->found = found;
    t->expected = sum.exact;
    t->channel = i % a->width;
    t->at = (txd_law_place){
        s->step, (int64_t)(s->tokens.index[i / a->width] / s->tokens.length), -1,
        (int64_t)(s->tokens.index[i / a->width] % s->tokens.length), -1};
}

static void judge(state *s, int value, const txd_pass *pass)
{
    const txd_kept *out = &s->kept[outputs[value]];
    txd_addends a = addends_of(s, value);
    txd_roundoff u = txd_roundoff_of_format(pass->format);
    tally *t = &s->tallies[value];
    uint64_t broken = t->broken;

    if (a.count == 0 || out->count == 0 || (value == SCALED && !is_scaled(s)))
        return;
    for (size_t i = 0; i < out->count * a.width; i++)
        judge_element(t, s, &a, i, out->rows[i], u);
    /* The first step in which something is off says why. */
    if (broken == 0 && t->broken > 0)
        txd_addends_explain(t->cause, sizeof t->cause, &a, out->rows, u);
}

/* ---- steps ---- */

static txd_status begin_step(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t wanted =
        txd_picks_wanted(ELEMENTS_JUDGED, s->claimed->d_model, TOKENS_LEAST);

    s->step = block->site->step;
    s->batches = inputs->batch;
    for (int point = 0; point < TXD_POINT_COUNT; point++)
        s->kept[point].count = 0;
    return txd_kept_choose(&s->tokens, inputs->valid, inputs->batch, inputs->length,
                           wanted);
}

/* The sum comes last. */
static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    if (block->site->step != s->step)
        TXD_TRY(begin_step(s, block));
    TXD_TRY(txd_kept_take(&s->kept[block->site->point], block, &s->tokens));
    for (int value = 0; value < VALUES; value++)
        if (outputs[value] == block->site->point)
            judge(s, value, block->pass);
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_value(txd_result *result, const state *s, int value)
{
    const tally *t = &s->tallies[value];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0 &&
        txd_law_is_worse(txd_law_ratio(t->measured, t->allowed),
                         txd_law_ratio(result->worst, result->allowed))) {
        result->worst = t->measured;
        result->allowed = t->allowed;
    }
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(outputs[value], -1, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", channel %zu is %s, but %s is %s; %" PRIu64
                " of %" PRIu64 " elements are off",
                t->at.query, t->channel, found,
                value == SCALED ? "the scaled embedding" : "the sum of the embeddings",
                expected, t->broken, t->judged);
    if (t->cause[0])
        txd_law_say(&finding, ": %s", t->cause);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (int value = 0; value < VALUES; value++) {
        inherited += s->tallies[value].inherited;
        TXD_TRY(add_value(result, s, value));
    }
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " sums of embeddings are not finite: whether they "
                        "are right cannot be said",
                        inherited);
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "not recorded: embed.out with what it is the sum of");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    for (int point = 0; point < TXD_POINT_COUNT; point++)
        txd_kept_finish(&s->kept[point]);
    txd_kept_tokens_finish(&s->tokens);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "embedding_sum: no memory");
    s->claimed = context->claimed;
    s->step = -1;
    s->term_count = txd_embed_terms(s->terms, s->claimed);
    s->unscaled = txd_point_exists(s->claimed, TXD_POINT_EMBED_IN)
                      ? TXD_POINT_EMBED_IN
                      : TXD_POINT_EMBED_TOK;
    *tap = (txd_tap){.name = "embedding_sum", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_embedding_sum = {
    .name = "embedding_sum",
    .law =
        "what enters layer 0 is the token's embedding, scaled as claimed, plus those "
        "of its position and type",
    .formula =
        "|embed.scaled - scale tok| <= (2 u_acc + u_store) |scale tok|; |embed.out - "
        "(tok + pos + type)| <= one rounding u_store of each sum; tok is embed.scaled, "
        "embed.in or embed.tok, the last that the model has",
    .causes = "token embeddings that are not multiplied by sqrt(d_model), or twice, or "
              "by a factor that was rounded to bfloat16 first; positions that are not "
              "added, or are scaled too; token types that are left out",
    .look_next = "model.embed_scale, and where the forward pass multiplies by it: in "
                 "which format, before or after positions are added",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"embedding_scale_missing",
                                    "embedding_scale_rounded", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
