/* SPDX-License-Identifier: MIT
 *
 * The gradient of every layer's parameters has a size that training can work with: not
 * 0, not NaN, not beyond any bound. A layer's norm is that of all its parameters
 * together. Exactly 0, of a layer or of its attention or MLP alone, and above `explode`
 * are failures; outside `low` to `high` is a warning, for in trained models, and on
 * texts that they do not know, it is a matter of training state.
 */
#include "checks/training/grad_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In the order of thresholds.def. */
enum { LOW, HIGH, EXPLODE, VANISH_RATIO, VANISH_FIRST, EXPLODE_RATIO, LIMITS };

/* Layers outside `low` to `high`, over all steps. */
typedef struct outliers {
    int first, last, step; /* layers; the step of the farthest */
    size_t count;
    double least, most;
} outliers;

typedef struct state {
    double limit[LIMITS];
    txd_grad_sums sums;
    bool is_open;       /* a step has begun that was not judged */
    txd_finding *fails; /* the first of each layer, then outside of the layers */
    bool *is_failed;
    txd_finding depth;
    bool is_deep; /* `depth` is set */
    outliers small, large;
    uint64_t judged, broken, without_loss;
    double worst, ratio;
} state;

static bool is_stream(txd_point point)
{
    return point == TXD_POINT_RESID_PRE || point == TXD_POINT_RESID_MID ||
           point == TXD_POINT_RESID_CROSS || point == TXD_POINT_RESID_POST;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind == TXD_SITE_PARAMETER_GRADIENT)
        return TXD_ASK_STATS;
    return site->kind == TXD_SITE_GRADIENT && is_stream(site->point)
               ? TXD_ASK_STATS | TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    return txd_grad_needs(s->sums.claimed, point);
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    (void)self;
    if (block->site->kind == TXD_SITE_GRADIENT)
        txd_grad_share_of(slot, block);
}

/* ---- one layer of a step ---- */

static txd_finding start(const state *s, int layer, double measured, double allowed)
{
    txd_finding finding = {.verdict = TXD_VERDICT_FAIL,
                           .step = s->sums.step,
                           .layer = layer,
                           .batch = -1,
                           .head = -1,
                           .query = -1,
                           .key = -1,
                           .measured = measured,
                           .allowed = allowed};

    snprintf(finding.site, sizeof finding.site, "layers.%d" TXD_GRADIENT_SUFFIX, layer);
    return finding;
}

static void keep(state *s, size_t place, const txd_finding *finding)
{
    s->broken++;
    if (s->is_failed[place])
        return;
    s->is_failed[place] = true;
    s->fails[place] = *finding;
}

static bool judge_zero(state *s, const txd_pass *pass, size_t layer)
{
    txd_finding finding = start(s, (int)layer, 0, s->limit[LOW]);

    if (!txd_grad_is_cut(&s->sums, pass, layer))
        return false;
    txd_grad_say_zero(&finding, &s->sums, layer);
    txd_grad_say_scale(&finding, pass, true);
    keep(s, layer, &finding);
    return true;
}

static void add_outlier(outliers *to, int layer, int step, double norm)
{
    if (to->count++ == 0)
        *to = (outliers){layer, layer, step, 1, norm, norm};
    to->first = layer < to->first ? layer : to->first;
    to->last = layer > to->last ? layer : to->last;
    to->least = fmin(to->least, norm);
    to->most = fmax(to->most, norm);
}

static void judge_layer(state *s, const txd_pass *pass, size_t layer)
{
    const txd_grad_layer *at = &s->sums.layers[layer];
    double norm = txd_grad_norm(at), bad = txd_grad_nonfinite(at);
    txd_finding finding = start(s, (int)layer, norm, s->limit[EXPLODE]);
    char text[32];

    s->judged++;
    if (bad > 0) {
        finding.measured = (double)NAN;
        txd_law_say(
            &finding,
            "%.0f elements of the gradient of the layer's parameters are NaN or "
            "infinite: see the law `finite`",
            bad);
        txd_grad_say_scale(&finding, pass, false);
        keep(s, layer, &finding);
        s->worst = (double)NAN;
    } else if (judge_zero(s, pass, layer)) {
        return;
    } else if (!txd_within(norm, s->limit[EXPLODE])) {
        txd_law_say(
            &finding,
            "the gradient of the layer's parameters has the norm %s, most of it "
            "in %s",
            txd_law_number(text, norm), at->largest);
        txd_grad_say_causes(&finding, &s->sums, layer);
        txd_grad_say_scale(&finding, pass, false);
        keep(s, layer, &finding);
    } else if (norm > s->limit[HIGH]) {
        add_outlier(&s->large, (int)layer, s->sums.step, norm);
    } else if (norm < s->limit[LOW]) {
        add_outlier(&s->small, (int)layer, s->sums.step, norm);
    }
    if (txd_law_is_worse(norm, s->worst))
        s->worst = norm;
}

/* ---- a step ---- */

static void judge_outside(state *s, const txd_pass *pass)
{
    size_t place = s->sums.claimed->n_layers;
    char text[32];

    for (size_t i = 0; i < s->sums.outside_count; i++) {
        const txd_grad_outside *at = &s->sums.outside[i];
        double norm = sqrt(at->square);
        txd_finding finding = start(s, -1, norm, s->limit[EXPLODE]);

        snprintf(finding.site, sizeof finding.site, "%s", at->name);
        if (at->nonfinite > 0)
            txd_law_say(&finding,
                        "%.0f elements are NaN or infinite: see the law "
                        "`finite`",
                        at->nonfinite);
        else if (norm == 0 && !txd_grad_may_be_zero(pass, at->name))
            txd_law_say(&finding, "the gradient is exactly 0");
        else if (!txd_within(norm, s->limit[EXPLODE]))
            txd_law_say(&finding, "the gradient has the norm %s",
                        txd_law_number(text, norm));
        if (at->nonfinite > 0)
            finding.measured = s->worst = (double)NAN;
        if (finding.message[0])
            keep(s, place, &finding);
    }
}

static void judge_depth(state *s)
{
    size_t last = s->sums.claimed->n_layers - 1;
    double first = txd_grad_norm(&s->sums.layers[0]);
    double ratio = first / txd_grad_norm(&s->sums.layers[last]);
    bool vanishes = ratio < s->limit[VANISH_RATIO] && first < s->limit[VANISH_FIRST];
    txd_finding finding = start(s, 0, ratio, s->limit[EXPLODE_RATIO]);
    char text[32];

    /* Of a layer that is not finite the norm is that of the finite elements. */
    if (txd_grad_nonfinite(&s->sums.layers[0]) > 0 ||
        txd_grad_nonfinite(&s->sums.layers[last]) > 0)
        return;
    if (last == 0 || !isfinite(ratio) || !txd_grad_is_whole(&s->sums, 0) ||
        !txd_grad_is_whole(&s->sums, last))
        return;
    s->ratio = ratio;
    if (s->is_deep || !(vanishes || ratio > s->limit[EXPLODE_RATIO]))
        return;
    finding.verdict = TXD_VERDICT_WARN;
    finding.allowed = vanishes ? s->limit[VANISH_RATIO] : s->limit[EXPLODE_RATIO];
    txd_law_say(&finding,
                "the gradient %s towards the first layer: its norm there is %s "
                "times that in layer %zu",
                vanishes ? "vanishes" : "explodes", txd_law_number(text, ratio), last);
    txd_grad_say_causes(&finding, &s->sums, 0);
    s->depth = finding;
    s->is_deep = true;
}

static void judge_step(state *s, const txd_pass *pass)
{
    s->is_open = false;
    if (!s->sums.has_loss) {
        s->without_loss++;
        return;
    }
    for (size_t l = 0; l < s->sums.claimed->n_layers; l++)
        if (txd_grad_is_whole(&s->sums, l))
            judge_layer(s, pass, l);
    judge_outside(s, pass);
    judge_depth(s);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const txd_site *site = block->site;
    state *s = self;

    if (!s->is_open)
        txd_grad_sums_begin(&s->sums, block->pass);
    s->is_open = true;
    if (block->stats)
        txd_grad_sums_take(&s->sums, block);
    if (slot && site->kind == TXD_SITE_GRADIENT)
        txd_grad_sums_share(&s->sums, site, slot);
    return TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    state *s = self;

    if (s->is_open)
        judge_step(s, pass);
    return TXD_OK;
}

/* ---- the verdict ---- */

static txd_status add_outliers(txd_result *result, const state *s, bool are_large)
{
    const outliers *o = are_large ? &s->large : &s->small;
    char least[32], most[32], low[32], high[32];
    txd_finding finding;

    if (o->count == 0)
        return TXD_OK;
    finding = start(s, o->first, are_large ? o->most : o->least,
                    s->limit[are_large ? HIGH : LOW]);
    finding.verdict = TXD_VERDICT_WARN;
    finding.step = o->step;
    txd_law_say(&finding, "the gradient is %s in layers %d to %d: norms from %s to %s",
                are_large ? "large" : "small", o->first, o->last,
                txd_law_number(least, o->least), txd_law_number(most, o->most));
    txd_law_say(&finding,
                "; %s to %s is usual when training begins, later it is a "
                "matter of training state and of the text",
                txd_law_number(low, s->limit[LOW]),
                txd_law_number(high, s->limit[HIGH]));
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += o->count - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t listed = 0;
    char ratio[32];

    result->evaluated = s->judged;
    result->worst = s->worst;
    result->allowed = s->limit[EXPLODE];
    for (size_t i = 0; i <= s->sums.claimed->n_layers; i++)
        if (s->is_failed[i]) {
            TXD_TRY(txd_result_add(result, &s->fails[i]));
            listed++;
        }
    result->finding_total += s->broken - listed;
    TXD_TRY(add_outliers(result, s, true));
    TXD_TRY(add_outliers(result, s, false));
    if (s->is_deep)
        TXD_TRY(txd_result_add(result, &s->depth));
    if (s->judged == 0)
        snprintf(result->note, sizeof result->note, "%s",
                 s->without_loss > 0
                     ? "no token predicts another: there is no loss, and no gradient"
                     : "of no layer are the gradients of all parameters recorded");
    else if (s->ratio > 0)
        snprintf(result->note, sizeof result->note,
                 "norm of the first layer to that of the last: %s",
                 txd_law_number(ratio, s->ratio));
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_grad_sums_finish(&s->sums);
    free(s->fails);
    free(s->is_failed);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    size_t places = context->claimed->n_layers + 1;
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "grad_range: no memory");
    s->fails = calloc(places, sizeof *s->fails);
    s->is_failed = calloc(places, sizeof *s->is_failed);
    status = s->fails && s->is_failed
                 ? txd_grad_sums_create(&s->sums, context->claimed)
                 : txd_fail(TXD_ERR_MEMORY, "grad_range: no memory");
    for (int i = 0; i < LIMITS && status == TXD_OK; i++)
        status = txd_threshold_read(
            &s->limit[i], (txd_threshold)(TXD_THRESHOLD_GRAD_RANGE_LOW + i), context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "grad_range",
                     .self = s,
                     .gradients = true,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(txd_grad_share),
                     .reduce = reduce,
                     .merge = merge,
                     .step_end = step_end};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_grad_range = {
    .name = "grad_range",
    .law = "the gradient of every layer's parameters is neither 0 nor beyond bounds",
    .formula =
        "0 < |g| <= explode, g of all parameters of the layer, and not exactly 0 "
        "over its attention or its MLP; a warning outside low to high, and where "
        "|g| of the first layer / |g| of the last is below vanish_ratio (with |g| "
        "of the first below vanish_first) or above explode_ratio",
    .causes = "a branch that is detached from the loss, or multiplied by 0; a residual "
              "stream that is not added; norms after the sums in deep stacks; weights "
              "that are drawn too large; float16 without a loss scale, or with one too "
              "large. (A learning rate that is too high shows here after a step, not "
              "before.)",
    .look_next = "`txdiag plot` 'layers.*.resid.pre@grad', from layer to layer "
                 "(/series/grad_norm), and the parameters of the named layer",
    .unit = "layers",
    .faults = (const char *const[]){"grad_zeroed", NULL},
    .keys = txd_keys_grad_range,
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_PRE, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_MID, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_CROSS, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_POST, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_COUNT, 0},
            {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_PRE, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_MID, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_POST, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_COUNT, 0},
            {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_PRE, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_POST, TXD_ASK_STATS | TXD_ASK_VALUE | TXD_NEED_GRADIENT},
            {TXD_POINT_COUNT, 0},
            {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_PRE, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_RESID_POST, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_COUNT, 0},
            {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
            {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
