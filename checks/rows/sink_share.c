/* SPDX-License-Identifier: MIT
 *
 * A row leaves its sink exactly the sink's share: with z the sink's logit and l the
 * log-sum-exp of the masked scores that the query sees, taken here in double, the
 * weights sum to 1 - 1 / (1 + exp(l - z)). Where the sink is not at hand, as in most
 * recordings, the first row that tells of it does, and all other rows of the head must
 * agree: it is one number per head.
 *
 * The bound: every weight is off by what a softmax may be (gamma_{n+14}(u) + 2 u (d +
 * 1), d the distance of the lowest from the largest logit, u = u_acc, or u_store with
 * precision.softmax = "same", and one rounding to store); a sink that is known is
 * rounded as a parameter, one that is told by a row is as sure as that row.
 */
#include "checks/sample.h"
#include "checks/rows/sinks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Cells of a layer that are judged per step; queries of a head at least. */
#define CELLS_JUDGED 16384
#define QUERIES_LEAST 2
/* Roundings of a softmax beside those of its sum. */
#define ROUNDINGS 14

/* One head of one layer. */
typedef struct head {
    bool is_told;      /* z is known */
    double z, z_error; /* the logit of its sink */
    uint64_t full;     /* rows whose sum leaves nothing */
    uint64_t judged, broken, broken_full;
    double low, high; /* sinks that broken rows tell of */
} head;

typedef struct tally {
    uint64_t judged, broken;
    double measured, allowed, ratio, sum, expected; /* of the worst */
    txd_law_place at;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* (layers) */
    head *heads;    /* (layers, heads) */
    txd_sinks sinks;
    size_t batches;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (txd_sinks_wants(site))
        return TXD_ASK_VALUE | TXD_ASK_STATS;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point masked[] = {TXD_POINT_ATTN_MASKED, TXD_POINT_COUNT};

    (void)self;
    return point == TXD_POINT_ATTN_WEIGHTS ? masked : NULL;
}

/* One row: what its keys come to. */
typedef struct row {
    double sum, lse, max, low;
    size_t keys;
} row;

static bool read_row(row *out, const txd_block *block, const txd_tensor *masked,
                     const txd_law_place *at, size_t first)
{
    txd_mask_view mask = txd_mask_of(&block->pass->claimed->layers[block->site->layer],
                                     block->pass->inputs, (size_t)at->batch);
    double power = 0;

    *out = (row){.max = -INFINITY, .low = INFINITY};
    for (int turn = 0; turn < 2; turn++)
        for (size_t c = 0; c < block->value.dims[3]; c++) {
            double score = txd_tensor_get(masked, first + c);

            if (turn == 0)
                out->sum += txd_tensor_get(&block->value, first + c);
            if (txd_mask_hides(&mask, (size_t)at->query, block->start[3] + c) !=
                TXD_SEEN)
                continue;
            if (turn == 1) {
                power += exp(score - out->max);
                continue;
            }
            out->keys++;
            out->max = score > out->max || isnan(score) ? score : out->max;
            out->low = score < out->low ? score : out->low;
        }
    out->lse = out->max + log(power);
    return isfinite(out->lse);
}

static double softmax_error(const state *s, const txd_block *block, const row *r,
                            double sink)
{
    bool stepwise = s->claimed->layers[block->site->layer].softmax == TXD_SOFTMAX_SAME;
    double store = block->pass->u_store, n = (double)r->keys;
    double u = stepwise ? store : block->pass->u_accumulate;
    double spread = fmax(r->max, sink) - fmin(r->low, sink);

    return txd_law_gamma(n + ROUNDINGS, u) + 2 * u * (fmin(spread, 1000) + 1) + store +
           txd_law_gamma(n, 0x1p-53) + n * block->pass->tiny;
}

/* The sink of a head, from the parameter or from a row that tells of it. */
static void learn(head *h, const state *s, const txd_block *block, const row *r,
                  size_t number)
{
    const double *known = s->sinks.of_layer[block->site->layer];
    double error;

    if (h->is_told)
        return;
    if (known) {
        *h = (head){.is_told = true, .z = known[number]};
        h->z_error = block->pass->u_store * fabs(h->z);
        return;
    }
    error = softmax_error(s, block, r, r->lse);
    if (!(r->sum > 0) || !(1 - r->sum > 2 * error)) {
        h->full += r->sum > 0;
        return;
    }
    h->is_told = true;
    h->z = r->lse + log((1 - r->sum) / r->sum);
    h->z_error = 2 * error / (r->sum * (1 - r->sum));
}

static void count_broken(head *h, const row *r, double error)
{
    double z = r->lse + log((1 - r->sum) / r->sum);

    if (h->broken++ == 0) {
        h->low = INFINITY;
        h->high = -INFINITY;
    }
    h->broken_full += fabs(1 - r->sum) <= error;
    h->low = fmin(h->low, z);
    h->high = fmax(h->high, z);
}

static void judge_row(state *s, const txd_block *block, const row *r,
                      const txd_law_place *at)
{
    size_t layer = (size_t)block->site->layer;
    head *h = &s->heads[layer * s->claimed->n_heads + (size_t)at->head];
    tally *t = &s->tallies[layer];
    double share, expected, measured, allowed, error;

    learn(h, s, block, r, (size_t)at->head);
    if (!h->is_told || !isfinite(h->z))
        return;
    share = 1 / (1 + exp(r->lse - h->z));
    expected = 1 - share;
    measured = fabs(r->sum - expected);
    error = softmax_error(s, block, r, h->z);
    allowed = error + share * (1 - share) * h->z_error;
    t->judged++;
    h->judged++;
    if (!txd_within(measured, allowed)) {
        t->broken++;
        count_broken(h, r, error);
    }
    if (t->judged > 1 && !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->sum = r->sum;
    t->expected = expected;
    t->at = *at;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const size_t *dims = block->value.dims;
    size_t wanted, query;
    txd_tensor masked;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_sinks_take(&s->sinks, block);
    s->batches = block->pass->inputs->batch;
    if (!block->value.data ||
        txd_block_earlier(&masked, block, TXD_POINT_ATTN_MASKED) != TXD_OK ||
        !masked.data)
        return TXD_OK; /* not recorded in this layer */
    wanted = txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    for (size_t i = 0; i < dims[0] * dims[1]; i++) {
        txd_picks picks = txd_picks_of_head(block, i / dims[1], i % dims[1], wanted);

        while (txd_picks_next(&query, &picks)) {
            const txd_law_place at = {
                block->site->step, (int64_t)(block->start[0] + i / dims[1]),
                (int64_t)(block->start[1] + i % dims[1]), (int64_t)query, -1};
            row r;

            if (read_row(&r, block, &masked, &at,
                         (i * dims[2] + query - block->start[2]) * dims[3]))
                judge_row(s, block, &r, &at);
        }
    }
    return TXD_OK;
}

static void say_cause(txd_finding *finding, const head *h)
{
    char found[32], expected[32];

    if (h->broken_full == h->broken) {
        txd_law_say(finding, ": the rows sum to 1, the sink has no share");
    } else if (h->high - h->low <= 1e-2 * (1 + fabs(h->high))) {
        txd_law_numbers(found, (h->low + h->high) / 2, expected, h->z);
        txd_law_say(finding, ": as a sink of %s has it, that of the head is %s", found,
                    expected);
    } else {
        txd_law_say(finding, ": no single sink explains the rows of the head");
    }
}

/* Rows of unknown sinks that leave nothing to any. */
static txd_status add_full(txd_result *result, const state *s, size_t layer)
{
    const head *heads = &s->heads[layer * s->claimed->n_heads];
    const txd_law_place nowhere = TXD_LAW_NOWHERE;
    txd_finding finding;

    for (size_t h = 0; h < s->claimed->n_heads; h++)
        if (heads[h].is_told || heads[h].full == 0)
            return TXD_OK;
    finding = txd_law_finding(TXD_POINT_ATTN_WEIGHTS, (int)layer, &nowhere);
    finding.verdict = TXD_VERDICT_WARN;
    txd_law_say(&finding,
                "the rows of all %zu heads sum to 1: no sink has a share that "
                "this format could show",
                s->claimed->n_heads);
    return txd_result_add(result, &finding);
}

static txd_status add_layer(txd_result *result, const state *s, size_t layer)
{
    const tally *t = &s->tallies[layer];
    char sum[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    TXD_TRY(add_full(result, s, layer));
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(TXD_POINT_ATTN_WEIGHTS, (int)layer, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(sum, t->sum, expected, t->expected);
    txd_law_say(&finding,
                "the weights of query %" PRId64 " sum to %s, the sink leaves them %s; "
                "%" PRIu64 " of %" PRIu64 " rows are off",
                t->at.query, sum, expected, t->broken, t->judged);
    say_cause(&finding, &s->heads[layer * s->claimed->n_heads + (size_t)t->at.head]);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    for (size_t l = 0; l < s->claimed->n_layers; l++)
        TXD_TRY(add_layer(result, s, l));
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_sinks_destroy(&s->sinks);
    free(s->tallies);
    free(s->heads);
    free(s);
}

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->sinks ? NULL : "the model has no sinks";
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(c->n_layers, sizeof *s->tallies);
        s->heads = calloc(c->n_layers * c->n_heads, sizeof *s->heads);
    }
    if (!s || !s->tallies || !s->heads || txd_sinks_create(&s->sinks, c) != TXD_OK) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "sink_share: no memory");
    }
    s->claimed = c;
    *tap = (txd_tap){
        .name = "sink_share", .self = s, .ask = ask, .needs = needs, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_sink_share = {
    .name = "sink_share",
    .law =
        "a row leaves its sink the share of one logit, the same in all rows of a head",
    .formula =
        "sum_j w[q,j] = 1 - 1 / (1 + exp(lse(masked[q]) - z)), within gamma_{n+14}(u) "
        "+ "
        "2 u (d + 1) + u_store, u = u_acc (u_store with precision.softmax = \"same\"); "
        "z "
        "is the head's parameter, or what the first row tells that leaves something",
    .causes =
        "sinks that are left out (rows sum to 1), added to every score, counted "
        "among the keys or taken of another head; a sink that is scaled or masked "
        "as scores are",
    .look_next =
        "attn.sink.weight of the named head, and whether the kernel takes sinks",
    .unit = "rows",
    .exact = true,
    .softmax_rows = true,
    .faults = (const char *const[]){"sinks_ignored", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
