/* SPDX-License-Identifier: MIT
 *
 * Gain and bias divided out, what a norm puts out has the moments that it promises, per
 * token over the features: z = (out - bias) / gain has mean square var/(var + eps), so
 * at most 1, and after a layernorm mean 0. The input is not needed, so that this law
 * works where `norm_output` does not.
 *
 * How far rounding can move the mean depends on the input, which is not known here: by
 * gamma_n(u_acc) mean|x| / std(x). A hundredth is allowed, which rounding in float32
 * does not reach unless the mean of the input is hundreds of times its deviation; and
 * what the rounding of the output becomes when it is divided by the gain,
 * delta = mean of 8 u_store (|gain z| + |bias|) / |gain|. Tokens for which that is more
 * than a tenth (gains near 0) are not judged.
 *
 * The standard deviation of the whole output is information: training moves the gains.
 * Before training it says that eps is of the size of the variance, or that the input
 * collapsed, and is a warning from 0.5 down and from 2 up. An rmsnorm promises nothing
 * of means, which narrow or equal tokens do have: of its output the root mean square is
 * taken for that.
 */
#include "checks/stream/norm.h"
#include "checks/stream/norm_deviation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOO_UNCERTAIN 0.1

typedef struct tally {
    uint64_t judged, broken;
    double measured, allowed; /* of the worst: |mean|, or mean square - 1 */
    double mean, square;      /* of that token */
    bool is_mean;
    bool is_other_axis; /* the features have the moments over the tokens */
    txd_law_place at;
    txd_deviation deviation;
} tally;

typedef struct state {
    const txd_config *claimed;
    txd_norms norms;
    tally *tallies; /* one per norm */
    txd_kept_tokens tokens;
    txd_kept kept;
    double *squares, *means; /* (width): of each feature over the tokens */
    double atol;
    txd_deviation_limits limits;
    bool lacks_gain;
    uint64_t inherited, uncertain;
    size_t batches;
    int step;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (site->kind == TXD_SITE_PARAMETER)
        return txd_norms_wants(&s->norms, site) ? TXD_ASK_VALUE | TXD_ASK_STATS : 0;
    return site->kind == TXD_SITE_VALUE &&
                   txd_norms_find(&s->norms, site->point, site->layer)
               ? TXD_ASK_VALUE | TXD_ASK_STATS
               : 0;
}

/* ---- the tokens of one norm ---- */

typedef struct moments {
    double mean, square, delta;
} moments;

static moments moments_of(const txd_norm *norm, const double *out, double u)
{
    double n = (double)norm->width;
    moments m = {0, 0, 0};

    for (size_t i = 0; i < norm->width; i++) {
        double core = out[i] - norm->bias[i], inverse = 1 / norm->gain[i];
        double z = core * inverse;

        m.mean += z;
        m.square += z * z;
        m.delta += (fabs(core) + fabs(norm->bias[i])) * fabs(inverse);
    }
    return (moments){m.mean / n, m.square / n, 8 * u * m.delta / n};
}

static void keep_worst(tally *t, const state *s, const moments *m, bool is_mean,
                       size_t row)
{
    double measured = is_mean ? fabs(m->mean) : fmax(0, m->square - 1);
    double allowed = s->atol + (is_mean ? m->delta : 3 * m->delta);

    if (t->allowed > 0 && !txd_law_is_worse(txd_law_ratio(measured, allowed),
                                            txd_law_ratio(t->measured, t->allowed)))
        return;
    t->measured = measured;
    t->allowed = allowed;
    t->mean = m->mean;
    t->square = m->square;
    t->is_mean = is_mean;
    row = s->tokens.index[row / s->norms.list[t - s->tallies].parts];
    t->at = (txd_law_place){s->step, (int64_t)(row / s->tokens.length), -1,
                            (int64_t)(row % s->tokens.length), -1};
}

static void judge_token(state *s, const txd_norm *norm, size_t row, double u)
{
    tally *t = &s->tallies[norm - s->norms.list];
    moments m = moments_of(norm, s->kept.rows + row * norm->width, u);
    bool holds;

    /* NaN: a gain and a bias of exactly 0. */
    if (!txd_within(m.delta, TOO_UNCERTAIN)) {
        s->uncertain++;
        return;
    }
    holds = txd_within(m.square - 1, s->atol + 3 * m.delta) &&
            (!norm->centred || txd_within(fabs(m.mean), s->atol + m.delta));
    t->judged++;
    t->broken += !holds;
    keep_worst(t, s, &m, false, row);
    if (norm->centred)
        keep_worst(t, s, &m, true, row);
}

/* True if every feature has over the tokens, all of them, what every token should have
 * over the features. */
static bool is_other_axis(const state *s, const txd_norm *norm, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    double count = 0;

    for (size_t i = 0; i < norm->width; i++)
        s->means[i] = s->squares[i] = 0;
    for (size_t t = 0; t < inputs->batch * inputs->length; t++) {
        count += inputs->valid[t] != 0;
        for (size_t i = 0; inputs->valid[t] && i < norm->width; i++) {
            double out = txd_tensor_get(&block->value, t * norm->width + i);
            double z = (out - norm->bias[i]) / norm->gain[i];

            s->means[i] += z;
            s->squares[i] += z * z;
        }
    }
    for (size_t i = 0; i < norm->width; i++)
        if (!(fabs(s->squares[i] / count - 1) < 0.1) ||
            (norm->centred && !(fabs(s->means[i] / count) < 0.1)))
            return false;
    return count > 1;
}

static void judge_norm(state *s, const txd_norm *norm, const txd_block *block)
{
    double u = block->pass->u_store;
    tally *t = &s->tallies[norm - s->norms.list];
    uint64_t broken = t->broken;
    bool is_finite;

    if (!norm->gain || !norm->bias) {
        s->lacks_gain |= s->kept.count > 0;
        return;
    }
    is_finite = txd_kept_is_finite(norm->gain, norm->width) &&
                txd_kept_is_finite(norm->bias, norm->width);
    for (size_t row = 0; row < s->kept.count * norm->parts; row++) {
        if (is_finite &&
            txd_kept_is_finite(s->kept.rows + row * norm->width, norm->width))
            judge_token(s, norm, row, u);
        else
            s->inherited++;
    }
    if (broken == 0 && t->broken > 0 && !txd_point_is_qk_norm(norm->out))
        t->is_other_axis = is_other_axis(s, norm, block);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const txd_inputs *inputs = block->pass->inputs;
    state *s = self;
    const txd_norm *norm;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_norms_take(&s->norms, block);
    norm = txd_norms_find(&s->norms, block->site->point, block->site->layer);
    if (block->site->step != s->step) {
        s->step = block->site->step;
        s->batches = inputs->batch;
        TXD_TRY(txd_kept_choose(&s->tokens, inputs->valid, inputs->batch,
                                inputs->length, txd_norms_tokens(s->claimed)));
    }
    TXD_TRY(txd_kept_take(&s->kept, block, &s->tokens));
    judge_norm(s, norm, block);
    txd_deviation_keep(&s->tallies[norm - s->norms.list].deviation, block->stats,
                       norm->centred);
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_norm(txd_result *result, const state *s, size_t i)
{
    const txd_norm *norm = &s->norms.list[i];
    const tally *t = &s->tallies[i];
    char mean[32], square[32];
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
    txd_law_say(
        &finding,
        "token %" PRId64 ": without gain and bias the features have mean %s and "
        "mean square %s, but %s",
        t->at.query, txd_law_number(mean, t->mean), txd_law_number(square, t->square),
        t->is_mean ? "a layernorm gives mean 0" : "a norm gives at most mean square 1");
    txd_law_say(&finding, "; %" PRIu64 " of %" PRIu64 " tokens are off", t->broken,
                t->judged);
    if (t->is_other_axis)
        txd_law_say(&finding, ": it is normalised over the tokens instead of over the "
                              "features");
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

/* One finding for all norms: the one farthest from 1. */
static txd_status add_deviation(txd_result *result, const state *s)
{
    const txd_norm *worst = NULL;
    size_t outside = 0, all = 0;
    txd_finding finding;

    for (size_t i = 0; i < s->norms.count; i++) {
        const txd_deviation *d = &s->tallies[i].deviation;

        all += d->std > 0;
        outside += txd_deviation_is_outside(d, &s->limits);
        if (d->std > 0 &&
            (!worst ||
             txd_deviation_is_worse(d, &s->tallies[worst - s->norms.list].deviation,
                                    &s->limits)))
            worst = &s->norms.list[i];
    }
    if (outside == 0)
        return TXD_OK;
    finding =
        txd_law_finding(worst->out, worst->layer, &(txd_law_place)TXD_LAW_NOWHERE);
    txd_deviation_say(&finding, &s->tallies[worst - s->norms.list].deviation,
                      &s->limits, (size_t[2]){outside, all});
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    for (size_t i = 0; i < s->norms.count; i++)
        TXD_TRY(add_norm(result, s, i));
    if (result->evaluated == 0 && s->lacks_gain)
        snprintf(result->note, sizeof result->note,
                 "the parameters are not at hand: a recording holds their statistics "
                 "alone, `run` judges this law");
    else if (result->evaluated == 0 && s->uncertain + s->inherited == 0)
        snprintf(result->note, sizeof result->note,
                 "not recorded: the values of norm1.out, norm2.out, final.norm");
    if (s->uncertain > 0)
        snprintf(result->note, sizeof result->note,
                 "%" PRIu64
                 " tokens were not judged: gains near 0 cannot be divided out",
                 s->uncertain);
    if (s->inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " tokens or their gains are not finite: which "
                        "moments they have cannot be said",
                        s->inherited);
    return result->evaluated > 0 ? add_deviation(result, s) : TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_kept_finish(&s->kept);
    txd_kept_tokens_finish(&s->tokens);
    txd_norms_destroy(&s->norms);
    free(s->tallies);
    free(s->means);
    free(s);
}

static txd_status fill(state *s, const txd_check_context *context)
{
    size_t width;

    s->claimed = context->claimed;
    s->limits.is_drawn = context->is_drawn;
    s->step = -1;
    TXD_TRY(txd_norms_create(&s->norms, s->claimed));
    s->tallies = calloc(s->norms.count, sizeof *s->tallies);
    width = txd_norms_width(&s->norms);
    s->means = calloc(width, 2 * sizeof *s->means);
    if (!s->tallies || !s->means)
        return txd_fail(TXD_ERR_MEMORY, "norm_moments: no memory");
    s->squares = s->means + width;
    for (size_t i = 0; i < s->norms.count; i++)
        s->tallies[i] = (tally){.at = TXD_LAW_NOWHERE, .deviation = {NAN, NAN}};
    TXD_TRY(txd_threshold_read(&s->atol, TXD_THRESHOLD_NORM_MOMENTS_ATOL, context));
    TXD_TRY(
        txd_threshold_read(&s->limits.low, TXD_THRESHOLD_NORM_MOMENTS_LOW, context));
    TXD_TRY(
        txd_threshold_read(&s->limits.high, TXD_THRESHOLD_NORM_MOMENTS_HIGH, context));
    TXD_TRY(txd_threshold_read(&s->limits.alarm_low,
                               TXD_THRESHOLD_NORM_MOMENTS_ALARM_LOW, context));
    return txd_threshold_read(&s->limits.alarm_high,
                              TXD_THRESHOLD_NORM_MOMENTS_ALARM_HIGH, context);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "norm_moments: no memory");
    status = fill(s, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "norm_moments", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_norm_moments = {
    .name = "norm_moments",
    .law = "without gain and bias, a norm's output has the moments that it promises",
    .formula = "z = (out - bias) / gain, per token over the features: mean(z^2) - 1 <= "
               "atol + 3 delta; layernorm: |mean(z)| <= atol + delta; delta = mean(8 "
               "u_store (|gain z| + |bias|) / |gain|); the standard deviation of the "
               "output outside of 0.8 to 1.2 is information",
    .causes = "normalising over the tokens or over the batch instead of over the "
              "features; no norm at all; an rmsnorm where a layernorm is claimed; an "
              "eps of the size of the variance (standard deviation far below 1)",
    .look_next = "the axis of the norm; the law norm_output, which compares with the "
                 "input; model.norm_eps against the variance of the input",
    .unit = "tokens",
    .faults = (const char *const[]){"norm_axis_tokens", NULL},
    .keys = txd_keys_norm_moments,
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
