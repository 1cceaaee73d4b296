/* SPDX-License-Identifier: MIT
 *
 * What a norm puts out is its input, normalised: over the features of each token, with
 * the claimed kind and eps, and the actual gain and bias. With y the same in double,
 * n the width, u_a and u_s the roundoffs of accumulation and storage, delta =
 * gamma_{n+8}(u_a) (mean|x| + max|x|) / sqrt(var + eps) (0 for an rmsnorm):
 *   |out - y| <= |gain| delta + |gain z| (gamma_{n+8}(u_a) + delta)
 *                + (8 u_a + 2 u_s) (|gain z| + |bias|) + underflow
 * which is the bound of the operation (lib/ops/bounds.c).
 *
 * Which value a norm reads follows from the claimed placement. The operands are kept
 * until the layer is complete, so that a pass which forms them in another order is
 * judged like its recording. Of many tokens some are judged (norm.c).
 */
#include "checks/stream/norm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    uint64_t judged, broken; /* tokens */
    double measured, allowed, ratio, out, expected;
    size_t channel; /* of the worst element */
    txd_law_place at;
    char cause[160];
} tally;

typedef struct state {
    const txd_config *claimed;
    txd_norms norms;
    tally *tallies; /* one per norm */
    txd_kept_tokens tokens;
    txd_kept kept[TXD_POINT_COUNT]; /* of this layer */
    int layers[TXD_POINT_COUNT];    /* of what is kept */
    txd_roundoff u;
    double *expected, *allowed; /* (width) */
    int step, layer;            /* of what is kept */
    size_t batches;
    uint64_t inherited;
    bool lacks_gain; /* a norm was offered whose gain or bias is not known */
} state;

/* What norms make and read, and what they could read instead. */
static bool is_operand(const state *s, txd_point point)
{
    if (txd_point_is_norm(point) || point == TXD_POINT_RESID_PRE ||
        point == TXD_POINT_RESID_MID || point == TXD_POINT_RESID_CROSS ||
        point == TXD_POINT_RESID_POST)
        return true;
    for (size_t i = 0; i < s->norms.count; i++)
        if (s->norms.list[i].in == point || s->norms.list[i].out == point)
            return true;
    return false;
}

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (site->kind == TXD_SITE_PARAMETER)
        return txd_norms_wants(&s->norms, site) ? TXD_ASK_VALUE | TXD_ASK_STATS : 0;
    return site->kind == TXD_SITE_VALUE && is_operand(s, site->point) ? TXD_ASK_VALUE
                                                                      : 0;
}

/* ---- one norm ---- */

static void keep_worst(tally *t, const state *s, const double *out, size_t token)
{
    const txd_norm *norm = &s->norms.list[t - s->tallies];

    for (size_t i = 0; i < norm->width; i++) {
        double measured = fabs(out[i] - s->expected[i]);

        if (t->allowed > 0 &&
            (!txd_law_may_be_worse(measured, s->allowed[i], t->ratio) ||
             !txd_law_is_worse(txd_law_ratio(measured, s->allowed[i]), t->ratio)))
            continue;
        t->ratio = txd_law_ratio(measured, s->allowed[i]);
        t->measured = measured;
        t->allowed = s->allowed[i];
        t->out = out[i];
        t->expected = s->expected[i];
        t->channel = i;
        t->at.step = s->step;
        t->at.batch = (int64_t)(s->tokens.index[token] / s->tokens.length);
        t->at.query = (int64_t)(s->tokens.index[token] % s->tokens.length);
    }
}

/* The law itself gives NaN or Inf, or what no number of the format can be: there
 * `finite` speaks. */
static bool is_unjudgeable(const state *s, const double *out, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (!isfinite(s->expected[i]) ||
            (isinf(out[i]) && fabs(s->expected[i]) + s->allowed[i] > s->u.largest))
            return true;
    return false;
}

static void judge_row(state *s, tally *t, const double *out, size_t token)
{
    size_t width = s->norms.list[t - s->tallies].width;
    bool is_broken = false;

    if (is_unjudgeable(s, out, width)) {
        s->inherited++;
        return;
    }
    for (size_t i = 0; i < width; i++)
        is_broken |= !(fabs(out[i] - s->expected[i]) <= s->allowed[i]);
    t->judged++;
    t->broken += is_broken;
    keep_worst(t, s, out, token);
}

/* The layer whose value a norm reads. */
static int layer_read(const state *s, const txd_norm *norm)
{
    if (norm->layer >= 0 || !txd_point_per_layer(norm->in))
        return norm->layer;
    return (int)s->claimed->n_layers - 1;
}

static txd_status judge_norm(state *s, const txd_norm *norm)
{
    const txd_kept *in = &s->kept[norm->in], *out = &s->kept[norm->out];
    tally *t = &s->tallies[norm - s->norms.list];
    size_t width = norm->width;
    uint64_t broken = t->broken;
    txd_norm_evidence evidence = {norm, &s->tokens, in, out, s->kept, s->u.store};

    if (in->count == 0 || out->count == 0 || s->layers[norm->in] != layer_read(s, norm))
        return TXD_OK;
    if (!norm->gain || !norm->bias) {
        s->lacks_gain = true;
        return TXD_OK;
    }
    for (size_t row = 0; row < out->count * norm->parts; row++) {
        txd_norm_expect(s->expected, s->allowed, norm, in->rows + row * width, s->u);
        judge_row(s, t, out->rows + row * width, row / norm->parts);
    }
    /* Of queries and keys there is nothing beside to be explained by. */
    if (broken == 0 && t->broken > 0 && !txd_point_is_qk_norm(norm->out))
        return txd_norm_explain(t->cause, sizeof t->cause, &evidence);
    return TXD_OK;
}

/* ---- layers ---- */

/* Judges the norms of what is kept, which is then all that there will be of it. */
static txd_status close_layer(state *s, int layer)
{
    for (size_t i = 0; i < s->norms.count; i++)
        if (s->norms.list[i].layer == layer)
            TXD_TRY(judge_norm(s, &s->norms.list[i]));
    return TXD_OK;
}

static void forget(state *s)
{
    for (int point = 0; point < TXD_POINT_COUNT; point++)
        s->kept[point].count = 0;
}

static txd_status close_step(state *s)
{
    TXD_TRY(close_layer(s, s->layer));
    forget(s);
    s->layer = -2;
    return TXD_OK;
}

/* The final norm reads what the last layer left: that stays (or what the last recorded
 * one left, which is nobody's input). */
static txd_status move_to(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;

    if (block->site->step != s->step) {
        TXD_TRY(close_step(s));
        s->step = block->site->step;
        s->batches = inputs->batch;
        s->u = txd_roundoff_of_format(block->pass->format);
        TXD_TRY(txd_kept_choose(&s->tokens, inputs->valid, inputs->batch,
                                inputs->length, txd_norms_tokens(s->claimed)));
    }
    if (block->site->layer == s->layer)
        return TXD_OK;
    TXD_TRY(close_layer(s, s->layer));
    if (block->site->layer >= 0)
        forget(s);
    s->layer = block->site->layer;
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_norms_take(&s->norms, block);
    TXD_TRY(move_to(s, block));
    s->layers[block->site->point] = block->site->layer;
    return txd_kept_take(&s->kept[block->site->point], block, &s->tokens);
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    (void)pass;
    return close_step(self);
}

/* ---- findings ---- */

static txd_status add_norm(txd_result *result, const state *s, size_t i)
{
    const txd_norm *norm = &s->norms.list[i];
    const tally *t = &s->tallies[i];
    char out[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(norm->out, norm->layer, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(out, t->out, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", channel %zu is %s, but the %s of %s is %s",
                t->at.query, t->channel, out, norm->centred ? "layernorm" : "rmsnorm",
                txd_point_get(norm->in)->name, expected);
    txd_law_say(&finding, "; %" PRIu64 " of %" PRIu64 " tokens are off", t->broken,
                t->judged);
    if (t->cause[0])
        txd_law_say(&finding, ": %s", t->cause);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static void note(txd_result *result, const state *s)
{
    size_t judged = 0;

    for (size_t i = 0; i < s->norms.count; i++)
        judged += s->tallies[i].judged > 0;
    if (judged == s->norms.count)
        return;
    if (judged > 0)
        snprintf(result->note, sizeof result->note,
                 "%zu of %zu norms were judged: of the others an operand is missing",
                 judged, s->norms.count);
    else if (s->lacks_gain)
        snprintf(result->note, sizeof result->note,
                 "the parameters are not at hand: a recording holds their statistics "
                 "alone, `run` judges this law");
    else
        snprintf(result->note, sizeof result->note,
                 "not recorded: a norm's output together with its input");
}

static txd_status finish(void *self, txd_result *result)
{
    state *s = self;

    TXD_TRY(close_step(s));
    for (size_t i = 0; i < s->norms.count; i++)
        TXD_TRY(add_norm(result, s, i));
    note(result, s);
    if (result->verdict != TXD_VERDICT_PASS)
        return TXD_OK;
    if (isinf(result->allowed))
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: the model is wider than the "
                                       "accumulation has digits (n u >= 1)");
    if (s->inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " tokens have inputs or parameters whose norm is "
                        "not finite: whether they are right cannot be said",
                        s->inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    for (int point = 0; point < TXD_POINT_COUNT; point++)
        txd_kept_finish(&s->kept[point]);
    txd_kept_tokens_finish(&s->tokens);
    txd_norms_destroy(&s->norms);
    free(s->tallies);
    free(s->expected);
    free(s);
}

static txd_status fill(state *s, const txd_config *claimed)
{
    s->claimed = claimed;
    s->step = -1;
    s->layer = -2;
    TXD_TRY(txd_norms_create(&s->norms, claimed));
    s->tallies = calloc(s->norms.count, sizeof *s->tallies);
    s->expected = calloc(txd_norms_width(&s->norms), 2 * sizeof *s->expected);
    if (!s->tallies || !s->expected)
        return txd_fail(TXD_ERR_MEMORY, "norm_output: no memory");
    s->allowed = s->expected + txd_norms_width(&s->norms);
    for (size_t i = 0; i < s->norms.count; i++)
        s->tallies[i].at = (txd_law_place)TXD_LAW_NOWHERE;
    return TXD_OK;
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "norm_output: no memory");
    status = fill(s, context->claimed);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "norm_output",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .step_end = step_end};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_norm_output = {
    .name = "norm_output",
    .law = "a norm puts out its input normalised as claimed, token by token",
    .formula =
        "|out - (gain (x - mean) / sqrt(var + eps) + bias)| <= |gain| delta + "
        "|gain z| (gamma_{n+8}(u_acc) + delta) + (8 u_acc + 2 u_store) (|gain z| + "
        "|bias|), delta = gamma_{n+8}(u_acc) (mean|x| + max|x|) / sqrt(var + eps); "
        "rmsnorm: mean = bias = delta = 0",
    .causes = "another eps than the configuration says, or eps outside of the root; "
              "normalising over tokens or over the batch; layernorm and rmsnorm taken "
              "for each other; a gain that was forgotten; the norm placed before "
              "instead of after the residual sum, or the other way round",
    .look_next = "model.norm, model.norm_eps and model.norm_placement of the claimed "
                 "configuration; the value that the norm reads",
    .unit = "tokens",
    .exact = true,
    .faults =
        (const char *const[]){"norm_axis_tokens", "norm_eps_huge", "norm_eps_tiny",
                              "post_ln", "qk_norm_missing", "norm_eps_outside",
                              "norm_unbiased", "norm_inverted", "norm_offset_missing",
                              "final_norm_missing", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
