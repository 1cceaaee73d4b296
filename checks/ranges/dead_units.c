/* SPDX-License-Identifier: MIT
 *
 * Units of the MLP that are never active: exactly 0 at every real token, so that
 * nothing passes them, forward or back, and their weights have a gradient of exactly 0.
 * All of a layer: the MLP adds nothing but its bias. Many of them, over enough tokens
 * to tell "seldom" from "never": a warning. A unit that was active once is no longer
 * looked at, so that most of the values are never read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/law.h"

/* A unit is dead if it is active at less than one token in a hundred: fewer tokens say
 * nothing of a few units. */
#define ENOUGH_TOKENS 100

typedef struct layer {
    size_t *silent; /* (width): units that were never active, ascending */
    size_t count;
    uint64_t tokens, spoilt;
    int step;
} layer;

typedef struct state {
    size_t layers, width;
    double share;
    layer *at;
    size_t *units; /* of all layers */
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_MLP_ACT
               ? TXD_ASK_VALUE
               : 0;
}

/* Drops those units that are active at the token; of a NaN nothing is known. */
static void look_at(layer *l, const txd_tensor *value, size_t first)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        double x = txd_tensor_get(value, first + l->silent[i]);

        l->spoilt += !isfinite(x);
        if (x == 0 || !isfinite(x))
            l->silent[kept++] = l->silent[i];
    }
    l->count = kept;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const int32_t *valid = block->pass->inputs->valid;
    size_t tokens = block->dims[0] * block->dims[1], width = block->dims[2];
    state *s = self;
    layer *l = &s->at[block->site->layer];

    (void)slot;
    if (!block->value.data)
        return TXD_OK;
    l->step = block->site->step;
    for (size_t t = 0; t < tokens; t++)
        if (valid[t]) {
            l->tokens++;
            if (l->count > 0)
                look_at(l, &block->value, t * width);
        }
    return TXD_OK;
}

static txd_status add(txd_result *result, const state *s, int number)
{
    const layer *l = &s->at[number];
    txd_law_place at = TXD_LAW_NOWHERE;
    bool is_whole = l->count == s->width;
    txd_finding finding;

    at.step = l->step;
    finding = txd_law_finding(TXD_POINT_MLP_ACT, number, &at);
    finding.verdict = is_whole ? TXD_VERDICT_FAIL : TXD_VERDICT_WARN;
    finding.measured = (double)l->count / (double)s->width;
    finding.allowed = s->share;
    txd_law_say(
        &finding,
        "%zu of %zu units are exactly 0 at all of %llu tokens, first unit %zu: ",
        l->count, s->width, (unsigned long long)l->tokens, l->silent[0]);
    if (is_whole)
        txd_law_say(&finding, "the MLP adds nothing but its bias, and the gradient of "
                              "its weights is 0");
    else
        txd_law_say(&finding, "nothing passes them, and they cannot learn");
    return txd_result_add(result, &finding);
}

static txd_status judge(txd_result *result, const state *s, int number)
{
    const layer *l = &s->at[number];
    double share = (double)l->count / (double)s->width;

    if (l->tokens == 0)
        return TXD_OK;
    result->evaluated += s->width;
    result->worst = fmax(result->worst, share);
    if (l->count == s->width ||
        (l->tokens >= ENOUGH_TOKENS && !txd_within(share, s->share)))
        return add(result, s, number);
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t spoilt = 0, silent = 0;

    result->allowed = s->share;
    for (size_t i = 0; i < s->layers; i++)
        spoilt += s->at[i].spoilt;
    if (spoilt > 0)
        return txd_fail(TXD_ERR_LIMIT, "mlp.act is not finite: see the law `finite`");
    for (size_t i = 0; i < s->layers; i++) {
        TXD_TRY(judge(result, s, (int)i));
        silent += s->at[i].tokens > 0 ? s->at[i].count : 0;
    }
    if (silent > 0 && result->finding_count == 0)
        snprintf(result->note, sizeof result->note,
                 "%llu units of all layers were not active on this input",
                 (unsigned long long)silent);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->at);
    free(s->units);
    free(s);
}

static txd_status fill(state *s, const txd_check_context *context)
{
    s->layers = context->claimed->n_layers;
    s->width = context->claimed->d_ff;
    s->at = calloc(s->layers, sizeof *s->at);
    s->units = calloc(s->layers * s->width, sizeof *s->units);
    if (!s->at || !s->units)
        return txd_fail(TXD_ERR_MEMORY, "dead_units: no memory");
    for (size_t i = 0; i < s->layers; i++) {
        s->at[i].silent = s->units + i * s->width;
        s->at[i].count = s->width;
        for (size_t u = 0; u < s->width; u++)
            s->at[i].silent[u] = u;
    }
    return txd_threshold_read(&s->share, TXD_THRESHOLD_DEAD_UNITS_SHARE, context);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "dead_units: no memory");
    status = fill(s, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "dead_units",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .independent = true};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_dead_units = {
    .name = "dead_units",
    .law = "the units of every MLP are active at some token",
    .formula = "a unit is dead if mlp.act is exactly 0 at every real token; all of a "
               "layer fail; over 100 tokens and more, more than `share` of them are a "
               "warning",
    .causes =
        "biases that a large step has pushed below what a ReLU lets through, rows "
        "of the up projection that are 0 (pruned, or never loaded), a gate that "
        "is 0, an input that is all 0",
    .look_next = "mlp.up and mlp.gate before the activation; the gradients of the "
                 "layer's MLP",
    .unit = "units",
    .faults = (const char *const[]){"units_dead", NULL},
    .keys = txd_keys_dead_units,
    .needs = (const struct txd_check_need[]){{TXD_POINT_MLP_ACT, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
