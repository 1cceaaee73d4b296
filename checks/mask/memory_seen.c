/* SPDX-License-Identifier: MIT
 *
 * Cross-attention sees every real row of the memory: over the cells that the memory's
 * padding leaves, the masked scores are the scores. A causal mask, which belongs to the
 * tokens' own attention, breaks this.
 *
 * Both are compared by their statistics, which count those cells alone and are made the
 * same way of both: if the values are the same, so are all of these numbers, bit for
 * bit; and all of those cells are there, as a mask may keep them from being computed at
 * all. So any recording with the statistics of both can be judged; mask_fill looks at
 * the cells. Which mask it is that hides rows shows in the weights: under a causal one
 * query q has at most q + 1 of them, and an entropy of at most log(q + 1).
 */
#include "checks/law.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer_seen {
    double scores[TXD_STAT_COUNT_OF]; /* of the step at hand */
    bool has_scores;
    bool is_broken;
    double masked[TXD_STAT_COUNT_OF], were[TXD_STAT_COUNT_OF]; /* of the worst step */
    double cells, hidden; /* real rows, by value or never computed, of that step */
    size_t dims[4];
    int step;
} layer_seen;

/* Queries that do not see as many rows as they may, were the mask causal. */
typedef struct head_seen {
    uint64_t queries, narrow; /* narrow: with weights that such a mask could leave */
} head_seen;

typedef struct state {
    const txd_config *claimed;
    layer_seen *layers;
    head_seen *heads; /* (layers, heads) */
    uint64_t evaluated;
    size_t batches, empty; /* rows of the batch; those whose memory is all padding */
} state;

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->cross ? NULL : "this model has no cross-attention";
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind != TXD_SITE_VALUE)
        return 0;
    if (site->point == TXD_POINT_CROSS_WEIGHTS)
        return TXD_ASK_ROWS;
    /* Of scores and capped ones those count that come last. */
    return site->point == TXD_POINT_CROSS_SCORES ||
                   site->point == TXD_POINT_CROSS_CAPPED ||
                   site->point == TXD_POINT_CROSS_MASKED
               ? TXD_ASK_STATS
               : 0;
}

static bool is_same(const double *a, const double *b)
{
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static double hidden_by(const double *masked, const double *scores)
{
    return masked[TXD_STAT_NONFINITE] - scores[TXD_STAT_NONFINITE];
}

/* Real rows of the memory of a batch row. */
static double real_rows(const txd_inputs *inputs, size_t b)
{
    double rows = 0;

    for (size_t i = 0; i < inputs->memory_length; i++)
        rows += inputs->memory_valid[b * inputs->memory_length + i] != 0;
    return rows;
}

/* Cells of real queries and real rows of the memory. */
static double real_cells(const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    double sum = 0;

    for (size_t b = 0; b < inputs->batch; b++) {
        double queries = 0;

        for (size_t i = 0; i < inputs->length; i++)
            queries += inputs->valid[b * inputs->length + i] != 0;
        sum += queries * real_rows(inputs, b);
    }
    return sum * (double)block->dims[1];
}

/* Nothing is wrong with a memory of padding alone, but whoever marks padding with 1
 * makes one of every memory without padding. */
static void count_empty(state *s, const txd_inputs *inputs)
{
    size_t empty = 0;

    for (size_t b = 0; b < inputs->batch; b++)
        empty += real_rows(inputs, b) == 0;
    if (empty > s->empty)
        s->empty = empty;
}

static void compare(state *s, layer_seen *layer, const txd_block *block)
{
    double cells = real_cells(block);
    double missing = cells - block->stats[TXD_STAT_COUNT];
    double hidden = hidden_by(block->stats, layer->scores) + missing;

    if (!layer->has_scores)
        return;
    s->evaluated += (uint64_t)cells;
    if (is_same(block->stats, layer->scores) && missing == 0)
        return;
    if (layer->is_broken && !(hidden > layer->hidden))
        return;
    layer->is_broken = true;
    layer->hidden = hidden;
    layer->cells = cells;
    layer->step = block->site->step;
    memcpy(layer->masked, block->stats, sizeof layer->masked);
    memcpy(layer->were, layer->scores, sizeof layer->were);
    memcpy(layer->dims, block->dims, sizeof layer->dims);
}

static void look_at_rows(state *s, const txd_block *block)
{
    head_seen *heads = &s->heads[(size_t)block->site->layer * s->claimed->n_heads];
    txd_law_row row = {0};

    while (txd_law_row_next(&row, block)) {
        double most;

        if (!((double)row.query + 1 < row.column[TXD_ROW_SEEN]))
            continue;
        most = log((double)row.query + 1);
        heads[row.head].queries++;
        heads[row.head].narrow +=
            row.column[TXD_ROW_ENTROPY] <= most + 1e-5 * (1 + most);
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    layer_seen *layer = &s->layers[block->site->layer];

    (void)slot;
    s->batches = block->pass->inputs->batch;
    count_empty(s, block->pass->inputs);
    if (block->site->point == TXD_POINT_CROSS_WEIGHTS) {
        look_at_rows(s, block);
    } else if (block->stats && block->site->point == TXD_POINT_CROSS_MASKED) {
        compare(s, layer, block);
        layer->has_scores = false;
    } else if (block->stats) {
        memcpy(layer->scores, block->stats, sizeof layer->scores);
        layer->has_scores = true;
    }
    return TXD_OK;
}

/* Where the first hidden cell is: its flat place in (b, h, q, k). */
static txd_law_place place_of(const layer_seen *layer)
{
    txd_law_place at = TXD_LAW_NOWHERE;
    double first = layer->masked[TXD_STAT_FIRST];
    const size_t *dims = layer->dims;
    size_t flat;

    at.step = layer->step;
    if (!(first >= 0 && first < 0x1p53) || dims[1] * dims[2] * dims[3] == 0)
        return at;
    flat = (size_t)first;
    at.key = (int64_t)(flat % dims[3]);
    at.query = (int64_t)(flat / dims[3] % dims[2]);
    at.head = (int64_t)(flat / dims[3] / dims[2] % dims[1]);
    at.batch = (int64_t)(flat / dims[3] / dims[2] / dims[1]);
    return at;
}

static void say_mask(txd_finding *finding, const state *s, int layer)
{
    size_t heads = s->claimed->n_heads, causal = 0;

    for (size_t h = 0; h < heads; h++) {
        const head_seen *head = &s->heads[(size_t)layer * heads + h];

        causal += head->queries > 1 && head->narrow == head->queries;
    }
    if (causal > 0)
        txd_law_say(
            finding,
            ": in %zu of %zu head%s query q gives weight to q + 1 rows at most, "
            "as a causal mask leaves it; a memory has no order in common with "
            "the queries",
            causal, heads, heads == 1 ? "" : "s");
}

static txd_status add_layer(txd_result *result, const state *s, int layer)
{
    const layer_seen *l = &s->layers[layer];
    txd_law_place at = place_of(l);
    txd_finding finding = txd_law_finding(TXD_POINT_CROSS_MASKED, layer, &at);
    char low[32], was[32];

    if (!l->is_broken)
        return TXD_OK;
    txd_law_say_place(&finding, s->batches);
    if (l->hidden > 0) {
        if (at.query >= 0)
            txd_law_say(&finding,
                        "query %" PRId64 " does not see row %" PRId64
                        " of the memory; ",
                        at.query, at.key);
        txd_law_say(&finding,
                    "%.0f of %.0f cells of real rows are hidden in this layer",
                    l->hidden, l->cells);
        if (at.query < 0)
            txd_law_say(&finding, ": they were not even computed");
        finding.measured = l->hidden;
    } else {
        txd_law_say(&finding,
                    "the softmax does not read the scores of the real rows of the "
                    "memory: the lowest is %s, the lowest score %s",
                    txd_law_number(low, l->masked[TXD_STAT_MIN]),
                    txd_law_number(was, l->were[TXD_STAT_MIN]));
        finding.measured = l->were[TXD_STAT_MIN] - l->masked[TXD_STAT_MIN];
    }
    say_mask(&finding, s, layer);
    if (txd_law_is_worse(finding.measured, result->worst))
        result->worst = finding.measured;
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    result->evaluated = s->evaluated;
    for (size_t l = 0; l < s->claimed->n_layers; l++)
        TXD_TRY(add_layer(result, s, (int)l));
    if (s->empty > 0)
        snprintf(result->note, sizeof result->note,
                 "in %zu of %zu batch rows all of the memory is padding (of `valid` 1 "
                 "is a real row, 0 padding)",
                 s->empty, s->batches);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->layers);
    free(s->heads);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *claimed = context->claimed;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->layers = calloc(claimed->n_layers, sizeof *s->layers);
        s->heads = calloc(claimed->n_layers * claimed->n_heads, sizeof *s->heads);
    }
    if (!s || !s->layers || !s->heads) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "memory_seen: no memory");
    }
    s->claimed = claimed;
    *tap = (txd_tap){.name = "memory_seen", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_memory_seen = {
    .name = "memory_seen",
    .law = "cross-attention sees every real row of the memory",
    .formula =
        "cross.masked = cross.scores wherever the row of the memory is real: their "
        "statistics over these cells are the same numbers, all of them",
    .causes = "the decoder's causal mask given to the cross-attention as well; the "
              "padding mask of the tokens in place of that of the memory; masks joined "
              "by minimum where only one belongs",
    .look_next = "`txdiag plot` a head of cross.weights: no triangle may be empty; the "
                 "mask argument of the cross-attention",
    .unit = "cells",
    .faults = (const char *const[]){"cross_causal", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_CROSS_SCORES, TXD_ASK_STATS},
                                             {TXD_POINT_CROSS_CAPPED, TXD_ASK_STATS},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_STATS},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_STATS},
                                             {TXD_POINT_CROSS_CAPPED, TXD_ASK_STATS},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
