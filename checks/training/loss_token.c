/* SPDX-License-Identifier: MIT
 *
 * The loss of a token is the cross-entropy of its logits and the token after it.
 *
 * With z the logits in double, M their largest magnitude, V of them, l the loss of
 * predicting token y, u_a and u_s the roundoffs of accumulation and storage: exp, log
 * and the sum are off by gamma_{V+4}(u_a) and some roundoffs of the differences, so
 * |computed - l| <= e + u_s (|l| + e) + tiny, e = gamma_{V+4}(u_a) + u_a (8 M + 4 |l| +
 * 4), and the same again with 2^-53 for the law's own sum. Of a token a few numbers are
 * kept, never its logits. Of many tokens some are judged, as many as have LOGITS_READ
 * logits; that there is no loss where there is no pair, at all of them.
 */
#include "checks/training/loss.h"
#include "checks/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIBM 4 /* roundoffs of a library function */
/* Of a step; tokens at least. */
#define LOGITS_READ 65536
#define TOKENS_LEAST 4

typedef struct place {
    int step;
    size_t batch, token;
    double loss, expected, allowed;
    int32_t next;
} place;

typedef struct state {
    txd_loss_implied *tokens;
    size_t count, capacity; /* of the step at hand */
    uint64_t judged, broken, stray, steps;
    uint64_t lost; /* tokens whose logits are not finite */
    uint64_t matches[TXD_TARGETS], comparable[TXD_TARGETS];
    double ee, me, mm; /* sums over e expected and m measured */
    double pairs, cells;
    place worst, first_stray;
    double measured, allowed; /* of the worst */
    size_t batches;
    bool sees_ahead; /* the model sees the token that it is to predict */
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && (site->point == TXD_POINT_LOGITS ||
                                            site->point == TXD_POINT_LOSS_TOKEN)
               ? TXD_ASK_VALUE
               : 0;
}

/* ---- what the logits imply ---- */

static txd_status reserve(state *s, const txd_inputs *inputs, size_t vocab)
{
    size_t cells = inputs->batch * inputs->length, cell;
    txd_picks picks = txd_picks_of(inputs->valid, cells,
                                   txd_picks_wanted(LOGITS_READ, vocab, TOKENS_LEAST));
    txd_loss_implied *grown;

    if (cells > s->capacity) {
        grown = realloc(s->tokens, cells * sizeof *grown);
        if (!grown)
            return txd_fail(TXD_ERR_MEMORY, "loss_token: no memory for %zu tokens",
                            cells);
        s->tokens = grown;
        s->capacity = cells;
    }
    s->count = cells;
    memset(s->tokens, 0, cells * sizeof *s->tokens);
    while (txd_picks_next(&cell, &picks))
        s->tokens[cell].is_picked = true;
    return TXD_OK;
}

static void take_logits(state *s, const txd_block *block)
{
    const size_t *dims = block->value.dims;
    size_t length = block->pass->inputs->length;

    for (size_t i = 0; block->value.data && i < dims[0] * dims[1]; i++) {
        size_t row = block->start[0] + i / dims[1];
        size_t cell = row * length + block->start[1] + i % dims[1];

        if (s->tokens[cell].is_picked)
            txd_loss_imply(&s->tokens[cell], block, i, cell);
    }
}

/* ---- judging ---- */

static double bound(double loss, double largest, double vocab, txd_roundoff u)
{
    double e = txd_law_gamma(vocab + LIBM, u.accumulate) +
               u.accumulate * (8 * largest + LIBM * fabs(loss) + LIBM);

    return e + u.store * (fabs(loss) + e) + u.tiny;
}

static double allowed_for(const txd_pass *pass, double loss, double largest)
{
    double n = (double)pass->claimed->vocab;

    return bound(loss, largest, n, txd_roundoff_of_format(pass->format)) +
           bound(loss, largest, n, txd_roundoff_of_format(TXD_F64));
}

static void note_alternatives(state *s, const txd_pass *pass,
                              const txd_loss_implied *token, double loss)
{
    for (int t = 0; t < TXD_TARGETS; t++) {
        double expected = token->loss[t];

        if (isnan(expected))
            continue;
        s->comparable[t]++;
        s->matches[t] += txd_within(fabs(loss - expected),
                                    allowed_for(pass, expected, token->largest));
    }
}

static void judge(state *s, const txd_block *block, size_t cell, double loss)
{
    const txd_inputs *inputs = block->pass->inputs;
    const txd_loss_implied *token = &s->tokens[cell];
    double expected = token->loss[TXD_TARGET_NEXT];
    double measured = loss == expected ? 0 : fabs(loss - expected); /* Inf too */
    place here = {block->site->step,
                  cell / inputs->length,
                  cell % inputs->length,
                  loss,
                  expected,
                  0,
                  txd_loss_target_of(inputs, cell, TXD_TARGET_NEXT)};

    if (isnan(token->largest)) {
        s->lost++;
        return;
    }
    here.allowed = allowed_for(block->pass, expected, token->largest);
    s->judged++;
    s->broken += !txd_within(measured, here.allowed);
    if (isfinite(loss) && isfinite(expected)) {
        s->ee += expected * expected;
        s->me += loss * expected;
        s->mm += loss * loss;
    }
    if (s->judged > 1 && !txd_law_is_worse(txd_law_ratio(measured, here.allowed),
                                           txd_law_ratio(s->measured, s->allowed)))
        return;
    s->measured = measured;
    s->allowed = here.allowed;
    s->worst = here;
}

static void judge_all(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;

    s->steps++;
    for (size_t cell = 0; cell < s->count; cell++) {
        double loss = txd_tensor_get(&block->value, cell);
        bool is_pair = txd_loss_target_of(inputs, cell, TXD_TARGET_NEXT) >= 0;

        s->cells++;
        s->pairs += is_pair;
        if (s->tokens[cell].is_set)
            note_alternatives(s, block->pass, &s->tokens[cell], loss);
        if (is_pair && s->tokens[cell].is_set)
            judge(s, block, cell, loss);
        else if (!is_pair && !isnan(loss) && s->stray++ == 0)
            s->first_stray = (place){.step = block->site->step,
                                     .batch = cell / inputs->length,
                                     .token = cell % inputs->length,
                                     .loss = loss};
    }
    s->count = 0;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    s->batches = block->pass->inputs->batch;
    if (block->site->point == TXD_POINT_LOGITS) {
        if (s->count == 0)
            TXD_TRY(reserve(s, block->pass->inputs, block->dims[2]));
        take_logits(s, block);
    } else if (block->value.data && s->count > 0) {
        judge_all(s, block);
    }
    return TXD_OK;
}

/* ---- words ---- */

/* Losses that are all the same multiple of what they should be. */
static void say_factor(txd_finding *finding, const state *s)
{
    double factor = s->ee > 0 ? s->me / s->ee : 0;
    double rest = s->mm - factor * s->me, steps = (double)s->steps;
    const struct {
        double factor;
        const char *name;
    } known[] = {
        {s->pairs / s->cells,
         "1/all tokens instead of 1/pairs: tokens without a target were counted"},
        {steps / s->pairs, "divided by the number of pairs, which the mean does"},
        {steps / s->cells, "divided by the number of all tokens"},
        {-1, "the wrong sign: log-likelihood"},
        {1 / log(2), "in bits, not nats"},
    };

    if (s->judged < 2 || !(rest <= 1e-6 * s->mm) || !isfinite(factor))
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fabs(factor - known[i].factor) <= 1e-4 * fabs(known[i].factor) &&
            fabs(known[i].factor - 1) > 1e-4) {
            txd_law_say(finding, "; every loss is %.4g times what it should be: %s",
                        factor, known[i].name);
            return;
        }
    txd_law_say(finding, "; every loss is %.4g times what it should be", factor);
}

static bool is_target(const state *s, txd_loss_target t)
{
    return s->comparable[t] > 0 && s->matches[t] == s->comparable[t];
}

static void say_cause(txd_finding *finding, const state *s)
{
    if (is_target(s, TXD_TARGET_AFTER))
        txd_law_say(finding, "; where there is one, the loss is that of predicting the "
                             "token after the next: labels are shifted twice");
    else if (is_target(s, TXD_TARGET_SELF))
        txd_law_say(finding, "; it is the loss of predicting the token itself: labels "
                             "are not shifted");
    else
        say_factor(finding, s);
}

static txd_finding finding_at(const state *s, const place *p)
{
    const txd_law_place at = {p->step, (int64_t)p->batch, -1, (int64_t)p->token, -1};
    txd_finding finding = txd_law_finding(TXD_POINT_LOSS_TOKEN, -1, &at);

    txd_law_say_place(&finding, s->batches);
    return finding;
}

static txd_status add_broken(txd_result *result, const state *s)
{
    txd_finding finding = finding_at(s, &s->worst);
    char loss[32], expected[32];

    finding.measured = s->measured;
    finding.allowed = s->allowed;
    txd_law_numbers(loss, s->worst.loss, expected, s->worst.expected);
    txd_law_say(&finding,
                "the loss at token %zu is %s; its logits and the next token, %d, give "
                "%s; %llu of %llu tokens are off",
                s->worst.token, loss, (int)s->worst.next, expected,
                (unsigned long long)s->broken, (unsigned long long)s->judged);
    say_cause(&finding, s);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += s->broken - 1;
    return TXD_OK;
}

static txd_status add_stray(txd_result *result, const state *s)
{
    txd_finding finding = finding_at(s, &s->first_stray);
    char loss[32];

    finding.measured = s->first_stray.loss;
    finding.allowed = 0;
    txd_law_say(
        &finding,
        "token %zu has a loss of %s although it has nothing to predict: it, or "
        "the token after it, is padding or beyond the end; %llu such tokens are "
        "counted",
        s->first_stray.token, txd_law_number(loss, s->first_stray.loss),
        (unsigned long long)s->stray);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += s->stray - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    result->evaluated = s->judged;
    result->worst = s->measured;
    result->allowed = s->allowed;
    TXD_TRY(s->broken > 0 ? add_broken(result, s) : TXD_OK);
    TXD_TRY(s->stray > 0 ? add_stray(result, s) : TXD_OK);
    if (result->verdict == TXD_VERDICT_PASS && s->lost > 0 && s->judged == 0)
        return txd_fail(TXD_ERR_LIMIT, "the logits are not finite: see `finite`");
    if (s->judged == 0 && s->lost == 0 && s->stray == 0)
        strcpy(result->note, "no token has a real one after it: there is no loss");
    else if (s->sees_ahead)
        strcpy(result->note,
               "without a causal mask this model sees the token that it is "
               "to predict: only the arithmetic of the loss is judged");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tokens);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "loss_token: no memory");
    for (size_t l = 0; l < context->claimed->n_layers; l++)
        s->sees_ahead |= !context->claimed->layers[l].causal;
    *tap = (txd_tap){.name = "loss_token", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_loss_token = {
    .name = "loss_token",
    .law = "the loss of a token is the cross-entropy of its logits and the next token",
    .formula =
        "|loss[t] - (log sum exp z[t] - z[t, token[t+1]])| <= e + u_s (|l| + e), "
        "e = gamma_{V+4}(u_a) + u_a (8 max|z| + 4 |l| + 4); NaN where the token "
        "or the next one is no real token",
    .causes =
        "labels that are shifted by the data and by the loss again; labels that "
        "are not shifted; padding that is counted; a mean over all tokens instead "
        "of those that have a target; a softmax before a loss that takes logits",
    .look_next = "input.labels beside input.tokens: that of t must be token t + 1",
    .unit = "tokens",
    .exact = true,
    .faults = (const char *const[]){"labels_shifted_twice", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_LOGITS, TXD_ASK_VALUE},
                                             {TXD_POINT_LOSS_TOKEN, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
