/* SPDX-License-Identifier: MIT
 *
 * The backward half gives the slope of what the forward half computes: along a
 * direction over all parameters, by central differences in float64. If it does not,
 * along directions over the parameters of one layer at a time, in the order of the way
 * back: the first that is off is where it goes wrong, what comes behind it has that
 * gradient.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/experiments/slopes.h"

/* Parameters that are judged together. */
typedef struct part {
    int layer;    /* or one of these */
    size_t only;  /* the parameter; SIZE_MAX: all of the layer */
    bool gathers; /* outside of layers: those that all layers give to */
} part;

/* Of those outside of layers: behind them. Others gather what all layers give them. */
static bool is_at_end(const txd_param *param)
{
    return strncmp(param->name, "final_norm", 10) == 0 ||
           strncmp(param->name, "head", 4) == 0;
}

static bool is_of(const void *self, const txd_param *param, size_t i)
{
    const part *p = self;

    if (p->only != SIZE_MAX)
        return i == p->only;
    if (param->layer != p->layer)
        return false;
    return param->layer >= 0 || is_at_end(param) != p->gathers;
}

typedef struct trial {
    txd_slopes slopes;
    txd_result *result;
    part at;
} trial;

static void say_slopes(txd_finding *finding, const txd_slope *slope)
{
    char claimed[32], found[32];

    txd_law_numbers(claimed, slope->claimed, found, slope->found);
    txd_law_say(finding, "the gradient says that the loss has a slope of %s, it has %s",
                claimed, found);
}

static void measure(txd_finding *finding, const txd_slope *slope)
{
    finding->measured = fabs(slope->found - slope->claimed);
    finding->allowed = slope->allowed;
}

/* Names those of the part that are off by themselves; *first is the first of them. */
static txd_status name_parameters(trial *t, char *names, size_t bytes, size_t *first)
{
    size_t named = 0, used = 0, off = 0, count = txd_params_bound(t->slopes.params);

    *first = SIZE_MAX;
    names[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const txd_param *param = txd_params_at(t->slopes.params, i);
        part one = {.only = i};
        txd_slope slope;

        if (!is_of(&t->at, param, i))
            continue;
        TXD_TRY(txd_slopes_along(&slope, &t->slopes, is_of, &one));
        if (!txd_slope_is_off(&slope))
            continue;
        off++;
        *first = *first == SIZE_MAX ? i : *first;
        if (named < 4 && used < bytes) {
            used += (size_t)snprintf(names + used, bytes - used, "%s%s",
                                     named ? ", " : "", param->name);
            named++;
        }
    }
    if (off > named && used < bytes)
        snprintf(names + used, bytes - used, " and %zu more", off - named);
    return TXD_OK;
}

/* The part that is off first, on the way back. */
static txd_status report(trial *t, const txd_slope *slope, bool is_part)
{
    const txd_law_place nowhere = TXD_LAW_NOWHERE;
    txd_finding finding = txd_law_finding(TXD_POINT_LOGITS, -1, &nowhere);
    char names[320] = "";
    size_t first = SIZE_MAX;

    finding.step = 0;
    measure(&finding, slope);
    if (is_part) {
        TXD_TRY(name_parameters(t, names, sizeof names, &first));
        finding.layer = t->at.layer;
    }
    if (first != SIZE_MAX)
        snprintf(finding.site, sizeof finding.site, "%s%s",
                 txd_params_at(t->slopes.params, first)->name, TXD_GRADIENT_SUFFIX);
    if (is_part && t->at.layer >= 0)
        txd_law_say(&finding, "along a direction over the parameters of layer %d ",
                    t->at.layer);
    else
        txd_law_say(&finding, "along a direction over %s ",
                    is_part ? "parameters outside of layers" : "all parameters");
    say_slopes(&finding, slope);
    if (first != SIZE_MAX)
        txd_law_say(&finding, "; off by themselves: %s", names);
    if (is_part)
        txd_law_say(&finding,
                    "; on the way back this is the first, and what comes behind it has "
                    "the gradient that it passes on");
    return txd_result_add(t->result, &finding);
}

/* From the end of the pass to its beginning. */
static part nth_part(const trial *t, int i)
{
    int layers = (int)t->slopes.e->setup->claimed->n_layers;
    part p = {.layer = i == 0 ? -1 : layers - i, .only = SIZE_MAX};

    p.gathers = p.layer < 0 && i > 0;
    return p;
}

static txd_status locate(trial *t, const txd_slope *all)
{
    int parts = (int)t->slopes.e->setup->claimed->n_layers + 2;

    for (int i = 0; i < parts; i++) {
        txd_slope slope;

        t->at = nth_part(t, i);
        TXD_TRY(txd_slopes_along(&slope, &t->slopes, is_of, &t->at));
        if (txd_slope_is_off(&slope))
            return report(t, &slope, true);
    }
    return report(t, all, false);
}

static txd_status judge(trial *t)
{
    txd_slope all;

    TXD_TRY(txd_slopes_along(&all, &t->slopes, NULL, NULL));
    if (!isfinite(all.claimed) || !isfinite(all.found)) {
        t->result->verdict = TXD_VERDICT_OPEN;
        snprintf(t->result->note, sizeof t->result->note,
                 "the loss or its gradient is not finite: see `finite`");
        return TXD_OK;
    }
    t->result->evaluated = all.elements;
    txd_law_raise(t->result, fabs(all.found - all.claimed), all.allowed);
    return txd_slope_is_off(&all) ? locate(t, &all) : TXD_OK;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    trial t = {.result = result};
    txd_status status = txd_slopes_begin(&t.slopes, e);

    if (status == TXD_OK && t.slopes.model)
        status = judge(&t);
    else if (status == TXD_OK)
        snprintf(result->note, sizeof result->note,
                 "no token has a next one to predict: there is no loss");
    if (status == TXD_ERR_LIMIT) {
        snprintf(result->note, sizeof result->note, "%s", txd_message());
        status = TXD_OK;
    }
    txd_slopes_finish(&t.slopes);
    return status;
}

const txd_check txd_check_gradcheck = {
    .name = "gradcheck",
    .law = "the gradient is the slope of the loss",
    .formula =
        "|sum g u - (L(p + h u) - L(p - h u)) / 2 h| <= 4 |difference of two steps| + "
        "2^10 2^-53 L / h in float64, u a random sign times the rms of each parameter, "
        "over all of them, then over those of a layer, then over each",
    .causes =
        "a sum that the way back leaves out: over the heads that share keys and "
        "values, over tokens, over uses of a tied matrix; a factor that is in one "
        "half alone, as that of dropout; a branch that is detached; a softmax "
        "without its mean",
    .look_next = "the backward half of the operations of the layer named, last one "
                 "first",
    .unit = "elements",
    .allowance = "the differences of two steps, and rounding in float64",
    .faults = (const char *const[]){"gradient_scale_wrong", "kv_gradient_not_summed",
                                    "grad_zeroed", "softmax_jacobian_wrong", NULL},
    .examine = examine,
};
