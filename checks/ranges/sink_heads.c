/* SPDX-License-Identifier: MIT
 *
 * Heads that rest on the first key: many trained models have them, and need them; who
 * cuts the first tokens off a cache, or moves weights to other formats, should know. So
 * this is information. Short rows give the first key much by equal shares alone; what
 * counts is what it gets beyond that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/law.h"

/* Rows from which on a mean is one. */
#define FEWEST_ROWS 4

typedef struct head {
    double sum; /* of the first key's weight beyond equal shares */
    uint64_t rows;
    int step;
} head;

typedef struct state {
    const txd_config *claimed;
    double share;
    head *heads; /* (layers, heads) */
    uint64_t spoilt;
} state;

/* What a block adds to the one head that it is of. */
typedef struct tile {
    double sum;
    uint64_t rows, spoilt;
} tile;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_ROWS
               : 0;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    txd_law_row row = {0};
    tile *t = slot;

    (void)self;
    while (txd_law_row_next(&row, block)) {
        double equal = 1 / row.column[TXD_ROW_SEEN], first = row.column[TXD_ROW_FIRST];

        if (!(row.column[TXD_ROW_SEEN] >= 2))
            continue;
        if (!isfinite(first)) {
            t->spoilt++;
            continue;
        }
        t->sum += (first - equal) / (1 - equal);
        t->rows++;
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const tile *t = slot;
    state *s = self;
    size_t place = (size_t)block->site->layer * s->claimed->n_heads + block->start[1];

    s->heads[place].sum += t->sum;
    s->heads[place].rows += t->rows;
    s->heads[place].step = block->site->step;
    s->spoilt += t->spoilt;
    return TXD_OK;
}

static double mean_of(const head *h)
{
    return h->rows < FEWEST_ROWS ? (double)NAN : h->sum / (double)h->rows;
}

/* What the heads of some layers are. */
typedef struct tally {
    size_t heads, sinks, layers; /* layers that have one */
    size_t worst;                /* place of the strongest */
} tally;

static tally count(const state *s, size_t first, size_t layers)
{
    size_t heads = s->claimed->n_heads;
    tally out = {.worst = first * heads};

    for (size_t l = first; l < first + layers; l++) {
        size_t before = out.sinks;

        for (size_t i = l * heads; i < (l + 1) * heads; i++) {
            double mean = mean_of(&s->heads[i]);

            out.heads += !isnan(mean);
            out.sinks += mean > s->share;
            if (txd_law_is_worse(mean, mean_of(&s->heads[out.worst])) ||
                isnan(mean_of(&s->heads[out.worst])))
                out.worst = i;
        }
        out.layers += out.sinks > before;
    }
    return out;
}

static txd_status add(txd_result *result, const state *s, const tally *t,
                      const char *where)
{
    const head *worst = &s->heads[t->worst];
    size_t heads = s->claimed->n_heads;
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    at.step = worst->step;
    at.head = (int64_t)(t->worst % heads);
    finding = txd_law_finding(TXD_POINT_ATTN_WEIGHTS, (int)(t->worst / heads), &at);
    finding.verdict = TXD_VERDICT_INFO;
    finding.measured = mean_of(worst);
    finding.allowed = s->share;
    txd_law_say(
        &finding,
        "%zu of the %zu heads of %s rest on the first key; most of all head %zu, "
        "which gives it %.0f %% of its weight beyond equal shares",
        t->sinks, t->heads, where, t->worst % heads, 100 * finding.measured);
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    size_t layers = s->claimed->n_layers;
    tally all = count(s, 0, layers);
    double share = all.heads ? (double)all.sinks / (double)all.heads : 0;

    for (size_t i = 0; i < layers * s->claimed->n_heads; i++)
        result->evaluated += s->heads[i].rows;
    result->allowed = s->share;
    result->worst = all.heads ? mean_of(&s->heads[all.worst]) : 0;
    if (all.heads == 0) {
        result->evaluated = 0;
        snprintf(result->note, sizeof result->note,
                 "no head has %d rows that see more than one key", FEWEST_ROWS);
    } else {
        snprintf(result->note, sizeof result->note,
                 "%zu of %zu heads rest on the first key (%.0f %%)%s", all.sinks,
                 all.heads, 100 * share,
                 share > 0.6 ? ": long contexts may suffer"
                             : (share > 0.3 ? ": marked" : ""));
    }
    if (s->spoilt > 0)
        return txd_fail(TXD_ERR_LIMIT, "attn.weights is not finite: see `finite`");
    if (layers > 1 && 2 * all.layers > layers)
        return add(result, s, &all, "all layers");
    for (size_t l = 0; l < layers; l++) {
        tally t = count(s, l, 1);

        if (t.sinks > 0)
            TXD_TRY(add(result, s, &t, "this layer"));
    }
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->heads);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "sink_heads: no memory");
    s->claimed = context->claimed;
    s->heads = calloc(s->claimed->n_layers * s->claimed->n_heads, sizeof *s->heads);
    status = s->heads ? txd_threshold_read(&s->share, TXD_THRESHOLD_SINK_HEADS_SHARE,
                                           context)
                      : txd_fail(TXD_ERR_MEMORY, "sink_heads: no memory");
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "sink_heads",
                     .self = s,
                     .ask = ask,
                     .slot_bytes = sizeof(tile),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_sink_heads = {
    .name = "sink_heads",
    .law = "how many heads rest on the first key (information)",
    .formula = "a head rests there if the mean over its rows that see n >= 2 keys of "
               "(w_first - 1/n) / (1 - 1/n) is above share = 0.3",
    .causes = "training: a head that has nothing to say puts its weight where it does "
              "no harm, on the first key, whose value is small; a first key of a far "
              "larger norm",
    .look_next = "the column first of the probe rows; the norm of the first key and "
                 "value",
    .unit = "rows",
    .informs = true,
    .faults = (const char *const[]){"sink_head", NULL},
    .keys = txd_keys_sink_heads,
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
