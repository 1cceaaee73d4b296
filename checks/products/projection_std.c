/* SPDX-License-Identifier: MIT
 *
 * The spread of a projection against the second moments of its weights and its input,
 * from statistics alone, so that a recording answers it. With r the root mean square, d
 * the inputs and n the outputs of y = W x + b:
 *   r(y) <= (d r(W) r(x) + r(b)) (1 + rounding)
 * whatever W and x are (Cauchy and Schwarz; for one part of a fused matrix times the
 * root of all its outputs over n). If x is not correlated r(y)^2 is d r(W)^2 r(x)^2:
 * the ratio to that is told, and is no law.
 *
 * Before training W is drawn independently of x, and r(W) = s is what `weights.init`
 * states. Then r(y)^2 / (d s^2 r(x)^2) is the mean of n quadratic forms of the draws
 * whose expectation is 1, and whatever the correlations of x are it leaves the range of
 * the two f with f - 1 - log f = 2 t / n with a probability of e^-t on either side only
 * (Chernoff; x of rank one is the worst case); t = 21. A bias widens this by its own
 * size. r(W)^2 / s^2 is such a mean over all elements, which is sharper. Weights far
 * larger than the table (Xavier; for W_o divided by the root of the number of heads)
 * are a warning, for they are what was asked for.
 */
#include "checks/products/projection_spread.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
    txd_spread spread;
    double table; /* how many times larger than the table weights may be drawn */
    double low[TXD_SPREAD_MAPS], high[TXD_SPREAD_MAPS]; /* ratios to the prediction */
    double worst, allowed;
    txd_spread_finding *found; /* (layers, maps): the first that was broken */
    uint64_t judged, inherited, lost;
    int step, layer;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    return txd_spread_wants(&s->spread, site) ? TXD_ASK_STATS : 0;
}

/* ---- judging ---- */

static void judge(state *s, size_t m)
{
    size_t maps = s->spread.map_count;
    txd_spread_finding *kept = &s->found[(size_t)s->layer * maps + m], now = {0};
    double ratio;

    if (!txd_spread_judge(&now, &s->spread, s->layer, m)) {
        s->inherited += now.is_inherited;
        s->lost += now.is_lost;
        return;
    }
    now.step = s->step;
    s->judged++;
    ratio = now.measured / now.uncorrelated;
    if (isfinite(ratio)) {
        s->low[m] = s->low[m] > 0 ? fmin(s->low[m], ratio) : ratio;
        s->high[m] = fmax(s->high[m], ratio);
    }
    if (s->judged == 1 || txd_law_is_worse(txd_law_ratio(now.off, now.allowed),
                                           txd_law_ratio(s->worst, s->allowed))) {
        s->worst = now.off;
        s->allowed = now.allowed;
    }
    if (!now.is_broken || kept->is_broken)
        return;
    *kept = now;
}

static void close_layer(state *s)
{
    for (size_t m = 0; m < s->spread.map_count && s->layer >= 0; m++)
        judge(s, m);
    txd_spread_forget(&s->spread);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const txd_site *site = block->site;
    state *s = self;

    (void)slot;
    if (!block->stats)
        return TXD_OK;
    if (site->kind == TXD_SITE_VALUE &&
        (site->step != s->step || site->layer != s->layer)) {
        close_layer(s);
        s->step = site->step;
        s->layer = site->layer;
    }
    txd_spread_take(&s->spread, site, block->stats);
    s->spread.u_store = block->pass->u_store;
    s->spread.tiny = block->pass->tiny;
    s->spread.u_accumulate = block->pass->u_accumulate;
    return TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    state *s = self;

    (void)pass;
    close_layer(s);
    s->layer = -2;
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_map(txd_result *result, const state *s, int layer, size_t m)
{
    const txd_spread_map *map = &s->spread.maps[m];
    const txd_spread_finding *f = &s->found[(size_t)layer * s->spread.map_count + m];
    txd_law_place at = TXD_LAW_NOWHERE;
    char found[32], expected[32], input[32], times[32];
    txd_finding finding;

    if (!f->is_broken)
        return TXD_OK;
    at.step = f->step;
    finding = txd_law_finding(map->out, layer, &at);
    finding.measured = f->off;
    finding.allowed = f->allowed;
    txd_law_say(&finding, "the root mean square is %s, but ",
                txd_law_number(found, f->measured));
    if (f->is_drawn)
        txd_law_say(
            &finding,
            "weights.init (standard deviation %s) and the input %s (%s) predict "
            "%s",
            txd_law_number(times, f->weight), txd_point_get(map->in)->name,
            txd_law_number(input, f->input), txd_law_number(expected, f->predicted));
    else
        txd_law_say(&finding, "its weights (%s) and its input %s (%s) give at most %s",
                    txd_law_number(times, f->weight), txd_point_get(map->in)->name,
                    txd_law_number(input, f->input),
                    txd_law_number(expected, f->predicted));
    txd_spread_say_cause(&finding, &s->spread, f, layer, m);
    return txd_result_add(result, &finding);
}

/* What was asked for, against the table; one finding for all layers. */
static txd_status add_table(txd_result *result, const state *s, size_t m)
{
    const txd_spread_map *map = &s->spread.maps[m];
    txd_law_place at = TXD_LAW_NOWHERE;
    double worst = 0;
    int layer = -1;
    txd_finding finding;
    char times[32];

    for (int l = 0; l < (int)s->spread.claimed->n_layers; l++) {
        double factor = txd_spread_table_factor(&s->spread, l, m);

        if (factor > worst) {
            worst = factor;
            layer = l;
        }
    }
    if (!(worst > s->table) || s->judged == 0)
        return TXD_OK;
    finding = txd_law_finding(map->out, layer, &at);
    finding.verdict = TXD_VERDICT_WARN;
    finding.measured = worst;
    finding.allowed = s->table;
    txd_law_say(
        &finding,
        "weights.init draws %s %s times larger than the table (Xavier%s): scores "
        "and outputs grow with it",
        map->letter, txd_law_number(times, worst),
        map->is_output ? ", gain 1/sqrt(n_heads)" : "");
    return txd_result_add(result, &finding);
}

static void say_range(char *text, size_t bytes, const state *s, const char *name,
                      txd_point only)
{
    double low = INFINITY, high = 0;
    size_t used = 0;

    while (text[used])
        used++;
    for (size_t m = 0; m < s->spread.map_count; m++)
        if (s->high[m] > 0 &&
            (only == TXD_POINT_COUNT || s->spread.maps[m].out == only)) {
            low = fmin(low, s->low[m]);
            high = fmax(high, s->high[m]);
        }
    if (high > 0)
        snprintf(text + used, bytes - used, "%s%s %.3g to %.3g", used ? ", " : "", name,
                 low, high);
}

static void note(txd_result *result, const state *s)
{
    char ranges[160] = "";

    if (s->judged == 0) {
        snprintf(result->note, sizeof result->note,
                 s->inherited ? "no projection has weights and an input that are finite"
                 : s->lost
                     ? "all projections are 0, or too small for the format to "
                       "have a size"
                     : "not recorded: the statistics of a projection, of its input and "
                       "of its weights");
        return;
    }
    say_range(ranges, sizeof ranges, s, "k", TXD_POINT_ATTN_K_PROJ);
    say_range(ranges, sizeof ranges, s, "W_o(x)", TXD_POINT_ATTN_OUT);
    say_range(ranges, sizeof ranges, s, "all", TXD_POINT_COUNT);
    snprintf(result->note, sizeof result->note,
             "of sqrt(d) rms(W) rms(x) these are: %s", ranges);
}

static txd_status finish(void *self, txd_result *result)
{
    state *s = self;

    close_layer(s);
    s->layer = -2;
    result->evaluated = s->judged;
    result->worst = s->worst;
    result->allowed = s->allowed;
    for (int l = 0; l < (int)s->spread.claimed->n_layers; l++)
        for (size_t m = 0; m < s->spread.map_count; m++)
            TXD_TRY(add_map(result, s, l, m));
    for (size_t m = 0; m < s->spread.map_count && s->spread.is_drawn; m++)
        TXD_TRY(add_table(result, s, m));
    note(result, s);
    if (s->inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " projections have weights or inputs that are not "
                        "finite: which spread they should have cannot be said",
                        s->inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_spread_finish(&s->spread);
    free(s->found);
    free(s);
}

static txd_status fill(state *s, const txd_check_context *context)
{
    s->step = -1;
    s->layer = -2;
    TXD_TRY(txd_spread_init(&s->spread, context));
    s->found =
        calloc(context->claimed->n_layers * s->spread.map_count, sizeof *s->found);
    if (!s->found)
        return txd_fail(TXD_ERR_MEMORY, "projection_std: no memory");
    return txd_threshold_read(&s->table, TXD_THRESHOLD_PROJECTION_STD_TABLE, context);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "projection_std: no memory");
    status = fill(s, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "projection_std",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .step_end = step_end};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_projection_std = {
    .name = "projection_std",
    .law = "a projection's spread is one that its weights and its input can make",
    .formula =
        "rms(W x + b) <= (d rms(W) rms(x) + rms(b)) (1 + rounding); with drawn "
        "weights of standard deviation s: rms(W x)^2 / (d s^2 rms(x)^2) between the "
        "two f with f - 1 - log f = 2 t / n, t = 21, n outputs, and rms(W)^2 / s^2 "
        "likewise, n elements; warning if s is 10 times Xavier's (W_o: gain "
        "1/sqrt(n_heads))",
    .causes = "weights drawn with another gain than weights.init states (a missing "
              "1/sqrt(d), a fan taken of the wrong axis); a projection that is scaled "
              "after it was made; one that reads another value than it should",
    .look_next = "weights.init, and the standard deviation of the named weight in the "
                 "parameters' statistics (probe norms)",
    .unit = "projections",
    .faults = (const char *const[]){"init_too_large", NULL},
    .keys = txd_keys_projection_std,
    .needs = (const struct txd_check_need[]){{TXD_POINT_COUNT, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
