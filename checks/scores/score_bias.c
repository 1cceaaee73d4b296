/* SPDX-License-Identifier: MIT
 *
 * What is added to a score is what the claim says of the distance of query and key.
 * Alibi: minus the slope of the head times the distance, within 2 u_acc and a rounding
 * to store. Relative positions: the number that the table has for the distance's bucket
 * and the head, exactly; where the table is not at hand, as in recordings, the same
 * number wherever bucket and head are the same, in all layers, which share one table.
 *
 * What becomes of it in the masked scores is what mask_fill judges.
 */
#include "checks/scores/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The slope that explains all but this part of a head's bias is its slope. */
#define UNEXPLAINED 1e-6
/* How near a slope must be to have a name. */
#define NEAR 1e-3

/* One head of one layer: bias b against the distance d. */
typedef struct head {
    double dd, bd, bb;
} head;

typedef struct tally {
    uint64_t judged, broken, inherited;
    double measured, allowed, ratio, found, expected; /* of the worst */
    txd_law_place at;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* (layers) */
    head *heads;    /* (layers, heads) */
    double *table;  /* (buckets, heads); NaN where it is not known. NULL for alibi */
    size_t batches;
    bool has_table; /* from the parameter itself */
} state;

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (site->kind == TXD_SITE_PARAMETER)
        return s->table && site->layer < 0 &&
                       txd_law_param(site->name, -1) == TXD_PARAM_RELATIVE_WEIGHT
                   ? TXD_ASK_VALUE
                   : 0;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_BIAS
               ? TXD_ASK_VALUE
               : 0;
}

static void take_table(state *s, const txd_block *block)
{
    size_t count = s->claimed->relative_buckets * s->claimed->n_heads;

    if (!block->value.data || txd_tensor_count(&block->value) != count)
        return;
    for (size_t i = 0; i < count; i++)
        s->table[i] = txd_tensor_get(&block->value, i);
    s->has_table = true;
}

/* NaN where nothing is known yet, which then is. */
static double relative_at(state *s, int64_t distance, size_t at_head, double found)
{
    size_t bucket = (size_t)txd_relative_bucket(s->claimed, distance);
    double *cell = &s->table[bucket * s->claimed->n_heads + at_head];

    if (isnan(*cell) && !s->has_table)
        *cell = found;
    return *cell;
}

static void judge_cell(state *s, const txd_block *block, const txd_law_place *at,
                       double found)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t row = (size_t)at->batch * inputs->length + (size_t)at->query;
    size_t h = (size_t)at->head, layer = (size_t)block->site->layer;
    int64_t distance =
        txd_inputs_key_position(inputs, (size_t)at->batch, (size_t)at->key) -
        (int64_t)inputs->positions[row];
    double away = fabs((double)distance), u = block->pass->u_accumulate;
    head *line = &s->heads[layer * s->claimed->n_heads + h];
    tally *t = &s->tallies[layer];
    double expected, measured, allowed;

    if (s->table) {
        expected = relative_at(s, distance, h, found);
        allowed = s->has_table ? block->pass->u_store * fabs(expected) : 0;
    } else {
        expected = -txd_alibi_slope(h, s->claimed->n_heads) * away;
        allowed = (2 * u + block->pass->u_store) * fabs(expected);
    }
    allowed += block->pass->tiny;
    if (isnan(expected)) {
        t->inherited++;
        return;
    }
    measured = fabs(found - expected);
    line->dd += away * away;
    line->bd += found * away;
    line->bb += found * found;
    t->broken += !txd_within(measured, allowed);
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->found = found;
    t->expected = expected;
    t->at = *at;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    txd_cells cells;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER) {
        take_table(s, block);
        return TXD_OK;
    }
    s->batches = block->pass->inputs->batch;
    if (!block->value.data)
        return TXD_OK;
    cells = txd_cells_of(block);
    while (txd_cells_next(&cells))
        judge_cell(s, block, &cells.at, txd_tensor_get(&block->value, cells.flat));
    return TXD_OK;
}

/* ---- slopes that people take for those of the paper ---- */

static double one_series(size_t h, size_t heads)
{
    return pow(2, -8.0 * (double)(h + 1) / (double)heads);
}

static double from_zero(size_t h, size_t heads)
{
    return pow(2, -8.0 * (double)h / (double)heads);
}

static double mirrored(size_t h, size_t heads)
{
    return -txd_alibi_slope(h, heads);
}

static double reversed(size_t h, size_t heads)
{
    return txd_alibi_slope(heads - 1 - h, heads);
}

static double first_for_all(size_t h, size_t heads)
{
    (void)h;
    return txd_alibi_slope(0, heads);
}

static double none(size_t h, size_t heads)
{
    (void)h;
    (void)heads;
    return 0;
}

static const struct {
    double (*slope)(size_t h, size_t heads);
    const char *name;
} names[] = {
    {one_series, "one geometric series, 2^(-8 h / n), as only a power of two has it"},
    {from_zero, "2^(-8 h / n) with h from 0 instead of 1"},
    {mirrored, "the right slopes with the wrong sign"},
    {reversed, "the right slopes in the reverse order of the heads"},
    {first_for_all, "one slope for all heads"},
    {none, "0"},
};

/* Every head of a layer has a slope, and that of a rule. */
static bool follows(const state *s, const head *heads, size_t rule)
{
    size_t n = s->claimed->n_heads;

    for (size_t h = 0; h < n; h++) {
        double wanted = names[rule].slope(h, n);

        if (heads[h].dd > 0 &&
            !(fabs(-heads[h].bd / heads[h].dd - wanted) <= NEAR * fabs(wanted)))
            return false;
    }
    return true;
}

static void say_slopes(txd_finding *finding, const state *s, size_t layer, size_t h)
{
    const head *heads = &s->heads[layer * s->claimed->n_heads], *own = &heads[h];
    char found[32], expected[32];

    if (!(own->dd > 0) ||
        own->bb - own->bd * own->bd / own->dd > UNEXPLAINED * own->bb) {
        txd_law_say(finding, ": it is not proportional to the distance");
        return;
    }
    txd_law_numbers(found, -own->bd / own->dd, expected,
                    txd_alibi_slope(h, s->claimed->n_heads));
    txd_law_say(finding, ": the slope of the head is %s instead of %s", found,
                expected);
    for (size_t rule = 0; rule < sizeof names / sizeof *names; rule++)
        if (follows(s, heads, rule)) {
            txd_law_say(finding, "; the slopes are %s", names[rule].name);
            return;
        }
}

static txd_status add_layer(txd_result *result, const state *s, size_t layer)
{
    const tally *t = &s->tallies[layer];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(TXD_POINT_ATTN_BIAS, (int)layer, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "query %" PRId64 ", key %" PRId64 ": the bias is %s instead of %s; ",
                t->at.query, t->at.key, found, expected);
    txd_law_say(&finding, "%" PRIu64 " of %" PRIu64 " cells are off", t->broken,
                t->judged);
    if (!s->table)
        say_slopes(&finding, s, layer, (size_t)t->at.head);
    else if (!s->has_table)
        txd_law_say(&finding, ": the same bucket of distance has another number "
                              "elsewhere, so it does not depend on that alone");
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t l = 0; l < s->claimed->n_layers; l++) {
        inherited += s->tallies[l].inherited;
        TXD_TRY(add_layer(result, s, l));
    }
    if (inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " cells have a bias that is NaN in the table",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s->heads);
    free(s->table);
    free(s);
}

static const char *inapplicable(const txd_check_context *context)
{
    return txd_has_bias(context->claimed, TXD_ATTENTION_SELF)
               ? NULL
               : "nothing is added to scores for their distance";
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    bool is_relative = c->positions == TXD_POSITIONS_RELATIVE;
    size_t cells = is_relative ? c->relative_buckets * c->n_heads : 0;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(c->n_layers, sizeof *s->tallies);
        s->heads = calloc(c->n_layers * c->n_heads, sizeof *s->heads);
        s->table = is_relative ? malloc(cells * sizeof *s->table) : NULL;
    }
    if (!s || !s->tallies || !s->heads || (is_relative && !s->table)) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "score_bias: no memory");
    }
    for (size_t i = 0; i < cells; i++)
        s->table[i] = NAN;
    s->claimed = c;
    *tap = (txd_tap){.name = "score_bias", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_score_bias = {
    .name = "score_bias",
    .law = "what is added to a score is what the claim has for the distance of query "
           "and key",
    .formula =
        "alibi: |attn.bias + slope_h |k - q|| <= (2 u_acc + u_store) |bias|, slopes as "
        "Press et al. 2021 have them, also where n_heads is no power of two; relative: "
        "attn.bias = table[bucket(k - q), h] (in a recording: one number per bucket "
        "and "
        "head)",
    .causes = "slopes of one geometric series where the number of heads is no power of "
              "two; slopes that begin at 1; the wrong sign; heads in another order; "
              "buckets of another range, or of both directions in a causal stack",
    .look_next = "attn.bias of the named head over the distance; model.n_heads and the "
                 "formula of the slopes; model.relative_buckets and relative_distance",
    .unit = "cells",
    .exact = true,
    .faults = (const char *const[]){"alibi_slopes_wrong", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_BIAS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
