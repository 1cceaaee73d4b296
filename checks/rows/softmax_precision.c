/* SPDX-License-Identifier: MIT
 *
 * The weights are the softmax of the scores that were read, as precisely as the claimed
 * format and `precision.softmax` allow: each is held against a softmax in float64 of
 * the same masked scores, and the distance is told in units in the last place.
 *
 * The bound, for a row of n keys whose scores lie up to d below the largest: the
 * difference is off by one roundoff of its size, which exp turns into a relative error
 * of that amount, numerator and sum alike; the sum of n terms by gamma_n. With
 * precision.softmax = "float32" these are roundoffs of accumulation and the result is
 * rounded once; with "same" every step is rounded as values are stored. An exp that
 * underflows loses up to the smallest number beside a sum of at least 1. A sink is
 * rounded to the format of the values before it takes its share of the sum.
 */
#include "checks/sample.h"
#include "checks/rows/sinks.h"
#include "checks/rows/softmax_axis.h"
#include "checks/rows/softmax_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Roundings of exp in a library. */
#define LIBRARY 4
/* Cells of a layer that are judged per step; queries of a head at least. */
#define CELLS_JUDGED 16384
#define QUERIES_LEAST 2

/* Rows of one attention of one layer; all zero = nothing seen. */
typedef struct tally {
    uint64_t cells, broken, rows, broken_rows;
    /* Cells of broken rows that are not 0 or 1, and numbers of these formats. */
    uint64_t inside, bf16, f16;
    double measured, allowed, weight, expected; /* of the worst */
    double ratio;                               /* measured / allowed */
    double relative;                            /* largest relative error */
    txd_law_place at;
    txd_softmax_axis axis;
    txd_status status;
} tally;

typedef struct state {
    const txd_config *claimed;
    txd_roundoff roundoff;
    double ulp;     /* relative distance of neighbouring numbers of the format */
    tally *tallies; /* two per layer */
    txd_sinks sinks;
    size_t batches;
    size_t queries; /* of a head that were judged, if not all */
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (txd_sinks_wants(site))
        return TXD_ASK_VALUE | TXD_ASK_STATS;
    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point own[] = {TXD_POINT_ATTN_MASKED, TXD_POINT_COUNT};
    static const txd_point cross[] = {TXD_POINT_CROSS_MASKED, TXD_POINT_COUNT};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_WEIGHTS)
        return NULL;
    return txd_point_attention(point) == TXD_ATTENTION_CROSS ? cross : own;
}

/* ---- one row ---- */

static double relative_bound(const state *s, int layer, const txd_softmax_row *r)
{
    txd_roundoff u = s->roundoff;
    double sum = txd_law_gamma((double)r->keys + 2 * LIBRARY + 2, u.accumulate), step;
    double own = txd_law_gamma((double)r->keys + 2 * LIBRARY + 2, 0x1p-53) +
                 2 * 0x1p-53 * (r->spread + 1);

    if (s->claimed->layers[layer].softmax != TXD_SOFTMAX_SAME ||
        u.store <= u.accumulate)
        return sum + 2 * u.accumulate * (r->spread + 1) + own;
    step = exp((u.store + u.accumulate) * r->spread) * (1 + u.store);
    return step * step * (1 + u.store) / (1 - u.store) * (1 + sum) - 1 + own;
}

/* By how much of itself the rounded sink changes the sum. */
static double sink_bound(const state *s, const txd_softmax_row *r)
{
    double part;

    if (!isfinite(r->sink))
        return 0;
    part = txd_softmax_power(r->max - r->sink) / r->sum *
           expm1(s->roundoff.store * fabs(r->sink));
    return part < 1 ? part / (1 - part) : INFINITY;
}

/* Of a broken row. */
static void note_formats(tally *t, const txd_softmax_row *r)
{
    t->broken_rows++;
    for (size_t j = 0; j < r->keys; j++) {
        double weight = txd_tensor_get(r->weights, r->first + j);

        if (weight == 0 || weight == 1)
            continue;
        t->inside++;
        t->bf16 += (double)txd_bf16_to_f32(txd_f64_to_bf16(weight)) == weight;
        t->f16 += (double)txd_f16_to_f32(txd_f64_to_f16(weight)) == weight;
    }
}

static void judge_row(tally *t, const state *s, const txd_block *block,
                      const txd_softmax_row *r, const txd_law_place *at)
{
    txd_roundoff u = s->roundoff;
    bool same = s->claimed->layers[block->site->layer].softmax == TXD_SOFTMAX_SAME;
    double lost = same ? u.tiny : u.lost, n = (double)r->keys;
    double relative = relative_bound(s, block->site->layer, r) + sink_bound(s, r);
    uint64_t before = t->broken;

    if (r->by_weight) /* which is off itself */
        relative = 2 * relative + u.store;

    for (size_t j = 0; j < r->keys; j++) {
        double weight = txd_tensor_get(r->weights, r->first + j);
        double power =
            j < TXD_POWERS_KEPT
                ? r->power[j]
                : txd_softmax_power(r->max - txd_tensor_get(r->masked, r->first + j));
        double expected = power / r->sum;
        double error = relative * expected, measured = fabs(weight - expected), allowed;

        error += (n + 2) * lost;
        allowed = error + u.store * (expected + error) + u.tiny;
        t->cells++;
        t->broken += !txd_within(measured, allowed);
        if (expected > 1e-6 && measured / expected > t->relative)
            t->relative = measured / expected;
        if (t->cells > 1 &&
            (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
             !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
            continue;
        t->ratio = txd_law_ratio(measured, allowed);
        t->measured = measured;
        t->allowed = allowed;
        t->weight = weight;
        t->expected = expected;
        t->at = *at;
        t->at.key = (int64_t)(block->start[3] + j);
    }
    t->rows++;
    if (t->broken > before)
        note_formats(t, r);
}

static void judge_block(tally *t, const state *s, const txd_block *block)
{
    txd_attention_kind kind = txd_point_attention(block->site->point);
    const size_t *dims = block->value.dims, *start = block->start;
    size_t wanted = txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    bool has_sinks = txd_sinks_are_in(s->claimed, block->site->point);
    const double *sinks = s->sinks.of_layer[block->site->layer];
    txd_tensor masked;
    txd_softmax_row r;

    t->status =
        txd_block_earlier(&masked, block, txd_point_in(kind, TXD_POINT_ATTN_MASKED));
    if (t->status != TXD_OK)
        return;
    r.weights = &block->value;
    r.masked = &masked;
    r.keys = dims[3];
    r.by_weight = has_sinks && sinks == NULL;
    for (size_t i = 0; i < dims[0] * dims[1]; i++) {
        size_t b = i / dims[1], h = i % dims[1], q;
        txd_picks picks = txd_picks_of_head(block, b, h, wanted);

        while (txd_picks_next(&q, &picks)) {
            const txd_law_place place = {block->site->step, (int64_t)(start[0] + b),
                                         (int64_t)(start[1] + h), (int64_t)q, -1};

            r.first = (i * dims[2] + q - start[2]) * r.keys;
            r.sink = r.by_weight || !has_sinks ? -INFINITY : sinks[start[1] + h];
            if (txd_softmax_measure(&r, s->roundoff.lost))
                judge_row(t, s, block, &r, &place);
        }
    }
    txd_softmax_axis_look(&t->axis, block, t->broken > 0);
}

static void join(tally *to, const tally *from)
{
    bool is_worse = to->cells == 0 || txd_law_is_worse(from->ratio, to->ratio);

    if (from->cells == 0)
        return;
    if (is_worse) {
        to->ratio = from->ratio;
        to->measured = from->measured;
        to->allowed = from->allowed;
        to->weight = from->weight;
        to->expected = from->expected;
        to->at = from->at;
    }
    txd_softmax_axis_join(&to->axis, &from->axis);
    to->relative = fmax(to->relative, from->relative);
    to->cells += from->cells;
    to->broken += from->broken;
    to->rows += from->rows;
    to->broken_rows += from->broken_rows;
    to->bf16 += from->bf16;
    to->f16 += from->f16;
    to->inside += from->inside;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    if (block->value.data && block->site->kind == TXD_SITE_VALUE)
        judge_block(slot, self, block);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const tally *part = slot;
    size_t wanted;

    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_sinks_take(&s->sinks, block);
    wanted = txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    s->batches = block->pass->inputs->batch;
    if (wanted < block->dims[2])
        s->queries = wanted;
    if (part->status != TXD_OK)
        return txd_fail(part->status,
                        "softmax_precision: %s: the masked scores cannot be read",
                        block->site->name);
    join(&s->tallies[txd_law_part(block->site)], part);
    return TXD_OK;
}

/* ---- the verdict ---- */

static double in_ulp(const state *s, const tally *t, double distance)
{
    return distance / fmax(s->ulp * fabs(t->expected), s->roundoff.tiny);
}

static void say_format(txd_finding *finding, const state *s, const tally *t)
{
    if (isnan(t->measured))
        txd_law_say(finding, ": see the law `finite`");
    else if (t->inside > 0 && t->bf16 == t->inside && s->roundoff.store < 0x1p-8)
        txd_law_say(finding, ": every weight is a bfloat16 number, so the softmax ran "
                             "in bfloat16");
    else if (t->inside > 0 && t->f16 == t->inside && s->roundoff.store < 0x1p-11)
        txd_law_say(finding, ": every weight is a float16 number, so the softmax ran "
                             "in float16");
}

static txd_status add_attention(txd_result *result, const state *s, size_t i)
{
    txd_attention_kind kind = i % 2 ? TXD_ATTENTION_CROSS : TXD_ATTENTION_SELF;
    const tally *t = &s->tallies[i];
    char weight[32], expected[32], ulp[32], error[32];
    txd_finding finding;

    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS), (int)(i / 2),
                              &t->at);
    finding.measured = in_ulp(s, t, t->measured);
    finding.allowed = in_ulp(s, t, t->allowed);
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(weight, t->weight, expected, t->expected);
    txd_law_say(&finding,
                "query %lld, key %lld has the weight %s, the float64 softmax of its "
                "masked scores is %s",
                (long long)t->at.query, (long long)t->at.key, weight, expected);
    txd_law_say(&finding, ": %s ULP apart", txd_law_number(ulp, finding.measured));
    if (!txd_softmax_axis_say(&finding, &t->axis, s->claimed->n_heads))
        say_format(&finding, s, t);
    txd_law_say(&finding,
                "; largest relative error %s, %llu of %llu judged rows are off",
                txd_law_number(error, t->relative), (unsigned long long)t->broken_rows,
                (unsigned long long)t->rows);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    double worst = -1;

    for (size_t i = 0; i < 2 * s->claimed->n_layers; i++) {
        const tally *t = &s->tallies[i];
        double ratio = txd_law_ratio(t->measured, t->allowed);

        result->evaluated += t->cells;
        if (t->cells > 0 && txd_law_is_worse(ratio, worst)) {
            worst = ratio;
            result->worst = in_ulp(s, t, t->measured);
            result->allowed = in_ulp(s, t, t->allowed);
        }
        TXD_TRY(add_attention(result, s, i));
    }
    if (s->queries > 0 && result->evaluated > 0)
        snprintf(result->note, sizeof result->note,
                 "%zu queries of each head were judged; worst and allowed are ULP",
                 s->queries);
    else if (result->evaluated > 0)
        snprintf(result->note, sizeof result->note, "worst and allowed are ULP");
    if (isinf(result->allowed) && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: a row has more keys than the "
                                       "accumulation has digits (n u >= 1)");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_sinks_destroy(&s->sinks);
    free(s->tallies);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies = calloc(2 * context->claimed->n_layers, sizeof *s->tallies);
    if (!s || !s->tallies || txd_sinks_create(&s->sinks, context->claimed) != TXD_OK) {
        free(s ? s->tallies : NULL);
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "softmax_precision: no memory");
    }
    s->claimed = context->claimed;
    s->roundoff = txd_roundoff_of_format(context->format);
    s->ulp = 2 * s->roundoff.store;
    *tap = (txd_tap){.name = "softmax_precision",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_softmax_precision = {
    .name = "softmax_precision",
    .law =
        "attention weights are the softmax of the masked scores, as precise as claimed",
    .formula =
        "|w - softmax64(masked)| <= (gamma_{n+10}(u) + 2 u (d + 1)) w, then one "
        "rounding to store; n keys, d the spread of the row's scores, u = u_acc; "
        "with precision.softmax = \"same\" every step is rounded by u_store. In "
        "units in the last place of the format. A sink is one key more, without a "
        "weight",
    .causes = "a softmax in bfloat16 or float16 where float32 is claimed (autocast, a "
              "missing .float()); an approximate exp; weights that were changed after "
              "the softmax (a mask, dropout)",
    .look_next = "precision.softmax of the configuration; attn.masked of the same row",
    .unit = "cells",
    .exact = true,
    .softmax_rows = true,
    .faults = (const char *const[]){"softmax_bf16", "mask_after_softmax", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
