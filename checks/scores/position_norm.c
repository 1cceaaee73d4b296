/* SPDX-License-Identifier: MIT
 *
 * Position embeddings that are added to token embeddings must be of their size: much
 * smaller ones are drowned (the model cannot tell order), much larger ones drown the
 * tokens. A matter of scale, so the allowance is a factor and not a bound.
 *
 * A sinusoidal table is fixed (its root mean square is sqrt(1/2)) and the tokens beside
 * it may be freshly drawn and small: there, large positions are told but not a failure.
 */
#include "checks/law.h"

#include <math.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    txd_point terms[TXD_EMBED_TERMS]; /* the first: what positions are added to */
    double factor;
    double token, position; /* root mean squares of this step; NaN = not offered */
    bool has_token, has_position;
    double worst, worst_ratio;
    int worst_step;
    uint64_t judged, broken;
} state;

static const char *inapplicable(const txd_check_context *context)
{
    switch (context->claimed->positions) {
    case TXD_POSITIONS_ROTARY:
        return "no addend: rotary positions turn queries and keys, nothing is added";
    case TXD_POSITIONS_ALIBI:
    case TXD_POSITIONS_RELATIVE:
        return "no addend: positions are a bias on the scores, nothing is added here";
    case TXD_POSITIONS_NONE:
        return "no addend: this model has no positions";
    default:
        return NULL;
    }
}

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (site->kind != TXD_SITE_VALUE)
        return 0;
    return site->point == s->terms[0] || site->point == TXD_POINT_EMBED_POS
               ? TXD_ASK_STATS
               : 0;
}

/* How many times too large or too small, whichever it is. */
static double size_factor(double ratio)
{
    return ratio < 1 ? 1 / ratio : ratio;
}

static void judge(state *s, int step)
{
    double ratio = s->position / s->token;
    double factor = size_factor(ratio);

    s->has_token = s->has_position = false;
    s->judged++;
    s->broken += !txd_within(factor, s->factor);
    if (s->judged > 1 && !txd_law_is_worse(factor, s->worst))
        return;
    s->worst = factor;
    s->worst_ratio = ratio;
    s->worst_step = step;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    if (!block->stats)
        return TXD_OK;
    if (block->site->point == s->terms[0]) {
        s->token = block->stats[TXD_STAT_RMS];
        s->has_token = true;
    } else {
        s->position = block->stats[TXD_STAT_RMS];
        s->has_position = true;
    }
    if (s->has_token && s->has_position)
        judge(s, block->site->step);
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;
    char ratio[32];

    result->evaluated = s->judged;
    result->worst = s->worst;
    result->allowed = s->factor;
    if (s->broken == 0)
        return TXD_OK;
    at.step = s->worst_step;
    finding = txd_law_finding(TXD_POINT_EMBED_POS, -1, &at);
    finding.measured = s->worst;
    finding.allowed = s->factor;
    if (s->claimed->positions == TXD_POSITIONS_SINUSOIDAL && s->worst_ratio > 1)
        finding.verdict = TXD_VERDICT_INFO;
    txd_law_say(&finding,
                "the position embeddings are %s times the size of the token embeddings "
                "(root mean square)",
                txd_law_number(ratio, s->worst_ratio));
    if (s->worst_ratio < 1)
        txd_law_say(&finding, ": positions are drowned; either they are too small or "
                              "the token embeddings too large");
    else if (s->worst_ratio > 1)
        txd_law_say(&finding, ": tokens are drowned; either the positions are too "
                              "large or the token embeddings too small");
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += s->broken - 1;
    return TXD_OK;
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "position_norm: no memory");
    status =
        txd_threshold_read(&s->factor, TXD_THRESHOLD_POSITION_NORM_FACTOR, context);
    if (status != TXD_OK) {
        free(s);
        return status;
    }
    s->claimed = context->claimed;
    (void)txd_embed_terms(s->terms, s->claimed);
    *tap = (txd_tap){.name = "position_norm", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_position_norm = {
    .name = "position_norm",
    .law = "position embeddings are of the size of the token embeddings",
    .formula = "1/factor <= rms(embed.pos) / rms(embed.tok) <= factor, factor = 10; "
               "embed.scaled or embed.in instead of embed.tok where there is one",
    .causes =
        "one of the two tables initialised with another scale (1 against 0.02), a "
        "multiplier sqrt(d_model) on the tokens that the positions lack, a table "
        "that was never trained",
    .look_next = "embed.tok and embed.pos, their stats; weights.init of the two tables",
    .unit = "steps",
    .faults = (const char *const[]){"embedding_too_large", "position_too_small", NULL},
    .keys = txd_keys_position_norm,
    .needs = (const struct txd_check_need[]){{TXD_POINT_EMBED_SCALED, TXD_ASK_STATS},
                                             {TXD_POINT_EMBED_POS, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_EMBED_IN, TXD_ASK_STATS},
                                             {TXD_POINT_EMBED_POS, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_EMBED_TOK, TXD_ASK_STATS},
                                             {TXD_POINT_EMBED_POS, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = free,
};
