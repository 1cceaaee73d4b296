/* SPDX-License-Identifier: MIT
 *
 * The weights of a query sum to 1.
 *
 * The bound. A row of n keys is e_j / S with e_j > 0, where the sum S of n terms is
 * accumulated in roundoff u_a: computed S = S (1 + t), |t| <= gamma_{n-1}(u_a). Each
 * weight is a quotient (one rounding u_a) that is stored (one rounding u_s). So each is
 * e_j/S times (1 + d), and as all e_j/S are positive and sum to 1, the largest |d|
 * bounds the relative error of their sum, too. A softmax that stores every step rounds
 * S as well: s = 2 roundings u_s instead of 1. A weight that underflows loses at most
 * `tiny`. This law's own sum is in double, and rounded once more: u_a. Together
 * |sum - 1| <= gamma_{n+2}(u_a) + gamma_s(u_s) + n tiny + gamma_n(2^-53). An error of
 * exp itself cancels: numerator and denominator hold the same e_j.
 *
 * Beside a sink of logit z they sum to 1 - exp(z - lse), lse as the row statistics have
 * it, which is off by a rounding of its size. Where the sink is not known, which is a
 * parameter, the sum must not be above 1.
 */
#include "checks/rows/sinks.h"

#include <math.h>
#include <stdlib.h>

/* Rows of fewer keys have a bound in every format. */
#define SURELY_BOUNDED 0x1p20

/* One attention of one layer, or one tile of it. */
typedef struct layer_worst {
    double measured, allowed; /* |sum - expected|; -1 if no row was judged */
    double ratio;             /* of the two */
    double sum, expected;
    uint64_t judged, broken;
    uint64_t low, empty;        /* of the broken: sum below 1; of 0 */
    uint64_t shut;              /* of those of 0: the softmax read nothing but -Inf */
    uint64_t full, full_broken; /* rows that see every key */
    bool is_unbounded;          /* a row so long that there is no bound */
    txd_law_place at;
} layer_worst;

typedef struct state {
    const txd_config *claimed;
    double atol;
    layer_worst *layers; /* (layers, 2): of attention, of cross-attention */
    txd_sinks sinks;
    size_t batches;
} state;

static const layer_worst nothing = {.measured = -1, .allowed = 1, .ratio = -1};

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (txd_sinks_wants(site))
        return TXD_ASK_VALUE | TXD_ASK_STATS;
    if (site->kind != TXD_SITE_VALUE ||
        txd_point_in_self(site->point) != TXD_POINT_ATTN_WEIGHTS)
        return 0;
    return TXD_ASK_ROWS;
}

static double allowed_for(const state *s, const txd_pass *pass, int layer, double keys)
{
    bool stepwise = s->claimed->layers[layer].softmax == TXD_SOFTMAX_SAME;
    double bound = txd_law_gamma(keys + 2, pass->u_accumulate) +
                   txd_law_gamma(stepwise ? 2 : 1, pass->u_store) + keys * pass->tiny +
                   txd_law_gamma(keys, 0x1p-53);

    return bound > s->atol ? bound : s->atol;
}

/* What the row must sum to; NaN if it is not judged. */
static double expected_sum(const state *s, int layer, const double *column)
{
    if (column[TXD_ROW_SEEN] != 0)
        return 1;
    switch (s->claimed->layers[layer].masked_row) {
    case TXD_MASKED_ROW_ZERO:
        return 0;
    case TXD_MASKED_ROW_UNIFORM:
        return 1;
    default:
        return NAN;
    }
}

static void count_row(layer_worst *worst, const txd_law_row *row, bool is_broken,
                      bool is_full)
{
    double sum = row->column[TXD_ROW_SUM];

    worst->judged++;
    worst->full += is_full;
    if (!is_broken)
        return;
    worst->broken++;
    worst->low += sum < 1;
    worst->empty += sum == 0;
    worst->shut += sum == 0 && row->column[TXD_ROW_MAX] == -INFINITY;
    worst->full_broken += is_full;
}

/* What the broken rows of a layer have in common, if it tells something. */
static void say_pattern(txd_finding *finding, const layer_worst *worst)
{
    if (isnan(worst->sum))
        txd_law_say(finding, ": see the law `finite`");
    else if (worst->empty == worst->broken && worst->shut == worst->empty)
        txd_law_say(finding, ": they give no key any weight, all keys were masked");
    else if (worst->empty == worst->broken && worst->shut == 0)
        txd_law_say(finding, ": they give no key any weight, although the largest "
                             "score is not -Inf: see the law `mask_sentinel`");
    else if (worst->low == worst->broken && worst->full > 0 && worst->full_broken == 0)
        txd_law_say(finding,
                    ", all below 1, and rows that see every key are right: the "
                    "mask was applied after the softmax");
}

/* Rows that are nearer than the worst by atol alone, which is never more than is
 * allowed, need no bound. */
static bool is_near(const state *s, const layer_worst *worst, double measured,
                    double keys)
{
    return keys < SURELY_BOUNDED && measured <= s->atol &&
           measured / s->atol <= worst->ratio;
}

/* Beside a sink the weights sum to what it leaves; where it is not known, to no more
 * than 1. *allowed: what the rounding of lse can do to that. */
static double left_by_sink(double *allowed, const state *s, const txd_block *block,
                           const txd_law_row *row)
{
    const double *sinks = s->sinks.of_layer[block->site->layer];
    double lse = row->column[TXD_ROW_LSE], share;
    bool stepwise = s->claimed->layers[block->site->layer].softmax == TXD_SOFTMAX_SAME;
    double u = stepwise ? block->pass->u_store : block->pass->u_accumulate;
    double sink;

    if (sinks == NULL || isnan(lse))
        return fmin(row->column[TXD_ROW_SUM], 1);
    sink = sinks[row->head];
    share = exp(sink - lse);
    *allowed += share * (2 * u * (fabs(lse) + fabs(sink) + 4));
    *allowed += share * expm1(block->pass->u_store * fabs(sink)); /* as a parameter */
    return 1 - share;
}

static void judge_row(const state *s, layer_worst *worst, const txd_block *block,
                      const txd_law_row *row)
{
    double sum = row->column[TXD_ROW_SUM], keys = row->column[TXD_ROW_SEEN];
    double expected = expected_sum(s, block->site->layer, row->column);
    double measured, allowed, more = 0;

    if (isnan(expected))
        return;
    if (expected == 1 && txd_sinks_are_in(s->claimed, block->site->point))
        expected = left_by_sink(&more, s, block, row);
    measured = fabs(sum - expected);
    if (is_near(s, worst, measured, keys)) {
        worst->judged++;
        worst->full += keys == (double)block->dims[3];
        return;
    }
    allowed = allowed_for(s, block->pass, block->site->layer, keys) + more;
    worst->is_unbounded |= isinf(allowed);
    count_row(worst, row, !txd_within(measured, allowed),
              keys == (double)block->dims[3]);
    if (!txd_law_is_worse(txd_law_ratio(measured, allowed), worst->ratio))
        return;
    worst->ratio = txd_law_ratio(measured, allowed);
    worst->measured = measured;
    worst->allowed = allowed;
    worst->sum = sum;
    worst->expected = expected;
    worst->at = (txd_law_place){block->site->step, (int64_t)row->batch,
                                (int64_t)row->head, (int64_t)row->query, -1};
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    layer_worst *worst = slot;
    txd_law_row row = {0};

    *worst = nothing;
    while (txd_law_row_next(&row, block))
        judge_row(self, worst, block, &row);
}

static void join(layer_worst *to, const layer_worst *part)
{
    to->judged += part->judged;
    to->broken += part->broken;
    to->low += part->low;
    to->empty += part->empty;
    to->shut += part->shut;
    to->full += part->full;
    to->full_broken += part->full_broken;
    to->is_unbounded |= part->is_unbounded;
    if (part->judged == 0 || !txd_law_is_worse(part->ratio, to->ratio))
        return;
    to->ratio = part->ratio;
    to->measured = part->measured;
    to->allowed = part->allowed;
    to->sum = part->sum;
    to->expected = part->expected;
    to->at = part->at;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_sinks_take(&s->sinks, block);
    s->batches = block->pass->inputs->batch;
    join(&s->layers[txd_law_part(block->site)], slot);
    return TXD_OK;
}

static txd_status add_part(txd_result *result, const state *s, size_t part)
{
    const layer_worst *worst = &s->layers[part];
    txd_point point =
        txd_point_in((txd_attention_kind)(part % 2), TXD_POINT_ATTN_WEIGHTS);
    char sum[32], expected[32], off[32];
    txd_finding finding;

    if (worst->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(point, (int)(part / 2), &worst->at);
    finding.measured = worst->measured;
    finding.allowed = worst->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(sum, worst->sum, expected, worst->expected);
    txd_law_say(&finding,
                "the weights of query %lld sum to %s instead of %s, off by %s",
                (long long)worst->at.query, sum, expected,
                txd_law_number(off, worst->measured));
    txd_law_say(&finding, "; %llu of %llu rows of this layer are off",
                (unsigned long long)worst->broken, (unsigned long long)worst->judged);
    say_pattern(&finding, worst);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += worst->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    bool is_unbounded = false;
    double worst_ratio = -1;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++) {
        const layer_worst *worst = &s->layers[part];
        double ratio = txd_law_ratio(worst->measured, worst->allowed);

        result->evaluated += worst->judged;
        is_unbounded |= worst->is_unbounded;
        if (worst->judged > 0 && txd_law_is_worse(ratio, worst_ratio)) {
            worst_ratio = ratio;
            result->worst = worst->measured;
            result->allowed = worst->allowed;
        }
        TXD_TRY(add_part(result, s, part));
    }
    if (is_unbounded && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: a row has more keys than the "
                                       "accumulation has digits (n u >= 1)");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_sinks_destroy(&s->sinks);
    free(s->layers);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "row_sum: no memory");
    s->layers = calloc(2 * context->claimed->n_layers, sizeof *s->layers);
    if (!s->layers) {
        destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "row_sum: no memory");
    }
    status = txd_threshold_read(&s->atol, TXD_THRESHOLD_ROW_SUM_ATOL, context);
    if (status == TXD_OK)
        status = txd_sinks_create(&s->sinks, context->claimed);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    s->claimed = context->claimed;
    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++)
        s->layers[part] = nothing;
    *tap = (txd_tap){.name = "row_sum",
                     .self = s,
                     .ask = ask,
                     .slot_bytes = sizeof(layer_worst),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_row_sum = {
    .name = "row_sum",
    .law = "the attention weights of every query sum to 1, or to what a sink leaves",
    .formula =
        "|sum_j w[q,j] - 1| <= max(atol, gamma_{n+2}(u_acc) + gamma_s(u_store) + "
        "n tiny + gamma_n(2^-53)), n = keys that the query sees, s = 1, or 2 with "
        "precision.softmax = \"same\"; beside a sink z instead of 1: 1 - exp(z - lse)",
    .causes = "a mask that is applied after the softmax (the sum is then what the mask "
              "left); a softmax over the wrong axis; a row whose keys are all hidden; "
              "weights recorded after dropout",
    .look_next =
        "attn.masked of the same query: what the softmax read, and whether the "
        "mask was in it",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"mask_after_softmax", "fully_masked_row",
                                    "softmax_bf16", "dropout_in_eval",
                                    "softmax_over_queries", "sinks_ignored", NULL},
    .keys = txd_keys_row_sum,
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
