/* SPDX-License-Identifier: MIT
 *
 * Before training a model knows nothing: its loss is that of guessing, ln V, and what
 * the spread of its logits adds. A head that is drawn too large is sure of random
 * answers, and the first thousands of steps go into unlearning that. After training a
 * loss above ln V is worth a word: the model is worse than a guess.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/law.h"

/* Pairs of a step from which on a mean is one, and how many deviations of such a mean
 * chance is granted. */
#define FEWEST_PAIRS 4
#define CHANCE 4.0

typedef struct state {
    const txd_config *claimed;
    bool is_drawn;
    double above, far; /* what is allowed over ln V: a warning, a failure */
    double sum, pairs, spoilt;
    double worst;  /* the mean loss of a step that is farthest above ln V */
    double chance; /* of which so much may be chance */
    int step;
    uint64_t steps;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_LOSS_TOKEN
               ? TXD_ASK_STATS
               : 0;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const double *stats = block->stats;

    (void)slot;
    if (!stats || !(stats[TXD_STAT_COUNT] > 0))
        return TXD_OK;
    if (!(stats[TXD_STAT_NONFINITE] == 0)) {
        s->spoilt++;
        return TXD_OK;
    }
    if (stats[TXD_STAT_COUNT] < FEWEST_PAIRS)
        return TXD_OK;
    s->sum += stats[TXD_STAT_MEAN] * stats[TXD_STAT_COUNT];
    s->pairs += stats[TXD_STAT_COUNT];
    if (s->steps++ == 0 || stats[TXD_STAT_MEAN] > s->worst) {
        s->worst = stats[TXD_STAT_MEAN];
        s->chance = CHANCE * stats[TXD_STAT_STD] / sqrt(stats[TXD_STAT_COUNT]);
        s->step = block->site->step;
    }
    return TXD_OK;
}

static txd_status add(txd_result *result, const state *s, double guess)
{
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;
    char loss[32], expected[32];
    double over = s->worst - guess;

    at.step = s->step;
    finding = txd_law_finding(TXD_POINT_LOSS_TOKEN, -1, &at);
    finding.measured = s->worst;
    finding.allowed = guess + s->above + s->chance;
    if (!s->is_drawn) {
        finding.verdict = TXD_VERDICT_INFO;
        finding.allowed = guess;
    } else if (txd_within(over, s->far + s->chance)) {
        finding.verdict = TXD_VERDICT_WARN;
    }
    txd_law_say(&finding, "the mean loss is %s; guessing among %zu tokens gives %s",
                txd_law_number(loss, s->worst), s->claimed->vocab,
                txd_law_number(expected, guess));
    if (s->is_drawn)
        txd_law_say(&finding,
                    ": before training this model is sure of what it cannot know; "
                    "logits that scatter by about %.2g would do that",
                    sqrt(2 * over));
    else
        txd_law_say(&finding, ": on this text the model is worse than a guess");
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    double guess = log((double)s->claimed->vocab);
    double allowed = guess + (s->is_drawn ? s->above + s->chance : 0);

    result->evaluated = s->steps;
    result->worst = s->worst;
    result->allowed = allowed;
    if (s->spoilt > 0 && s->steps == 0)
        return txd_fail(TXD_ERR_LIMIT, "the losses are not finite: see `finite`");
    if (s->steps == 0) {
        snprintf(result->note, sizeof result->note,
                 "no step has %d tokens with a real one after them", FEWEST_PAIRS);
        return TXD_OK;
    }
    snprintf(result->note, sizeof result->note, "mean loss %.4g, ln V %.4g (%s)",
             s->sum / s->pairs, guess,
             s->is_drawn ? "before training" : "not known to be drawn");
    return txd_within(s->worst, allowed) ? TXD_OK : add(result, s, guess);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "initial_loss: no memory");
    s->claimed = context->claimed;
    s->is_drawn = context->is_drawn;
    status = txd_threshold_read(&s->above, TXD_THRESHOLD_INITIAL_LOSS_ABOVE, context);
    if (status == TXD_OK)
        status = txd_threshold_read(&s->far, TXD_THRESHOLD_INITIAL_LOSS_FAR, context);
    if (status != TXD_OK) {
        free(s);
        return status;
    }
    *tap = (txd_tap){.name = "initial_loss", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_initial_loss = {
    .name = "initial_loss",
    .law = "before training the loss is that of guessing, ln V",
    .formula =
        "mean loss of a step <= ln V + above + chance (a warning), <= ln V + far "
        "+ chance (a failure) where the parameters are drawn, chance = 4 "
        "deviations of the mean over the step's n pairs, std / sqrt(n); of "
        "trained ones a loss above ln V is information. Logits of deviation s "
        "add about s^2 / 2",
    .causes = "an output head (or a tied embedding table) drawn too large, a missing "
              "final norm, a logit scale that is missing; of a trained model a text in "
              "another language or a tokenizer that is not its own, parameters that "
              "were not loaded",
    .look_next =
        "the probe stats at logits and final.norm; weights.init of head.weight "
        "(embed.tok.weight if tied)",
    .unit = "steps",
    .allowance = "ln V, checks.initial_loss.above, and 4 deviations of the mean",
    .faults = (const char *const[]){"head_init_too_large", NULL},
    .keys = txd_keys_initial_loss,
    .needs = (const struct txd_check_need[]){{TXD_POINT_LOSS_TOKEN, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = free,
};
