/* SPDX-License-Identifier: MIT
 *
 * The attention map is all grey, or one column: nearly all queries of a head spread
 * their weight evenly over what they see (entropy >= (1 - uniform) log n, n the visible
 * keys), or nearly all give it to one and the same key. Before training the first is
 * what small weights give, so both are information; after training they are a warning.
 * The first visible key is left out of the second: many trained heads rest there.
 *
 * Rows with a single visible key say nothing, and sequences of fewer than 4 others too
 * little. "Nearly all" is `share` of a sequence's rows, in every sequence.
 */
#include "checks/rows/sinks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_ROWS 4

/* One head over one sequence, while its rows arrive. */
typedef struct sequence {
    int step;
    size_t part, batch, head; /* part: txd_law_part */
    uint64_t rows, uniform;
    uint64_t single; /* rows that give nearly all to the key that most do so to */
    size_t key;      /* that key */
} sequence;

typedef enum collapse { UNIFORM, SINGLE, COLLAPSES } collapse;

/* One head, over all its sequences. */
typedef struct head {
    uint64_t sequences;
    double share[COLLAPSES]; /* of rows that are so, the smallest of its sequences */
    size_t key;              /* of SINGLE, in the last sequence */
    int step;
} head;

typedef struct state {
    const txd_config *claimed;
    double uniform, peak, share;
    bool is_drawn;
    bool has_cross;    /* a sequence of cross-attention was judged */
    head *heads;       /* (attentions, heads) */
    size_t attentions; /* 2 layers */
    sequence now;
    uint64_t *votes; /* (keys): rows of this sequence that give nearly all to each */
    size_t keys, capacity;
    uint64_t rows, inherited;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_ROWS
               : 0;
}

/* ---- measuring ---- */

static void close_sequence(state *s)
{
    sequence *q = &s->now;
    double rows = (double)q->rows;
    double share[COLLAPSES] = {(double)q->uniform / rows, (double)q->single / rows};
    head *h;

    if (q->rows < FEWEST_ROWS)
        return;
    h = &s->heads[q->part * s->claimed->n_heads + q->head];
    s->rows += q->rows;
    s->has_cross |= q->part % 2 == 1;
    for (int k = 0; k < COLLAPSES; k++)
        h->share[k] = h->sequences ? fmin(share[k], h->share[k]) : share[k];
    h->key = q->key;
    h->step = q->step;
    h->sequences++;
}

/* A row that gives nearly everything to one key, which is not the first that it sees,
 * votes for that key. */
static bool votes(const state *s, const double *column)
{
    double peak = s->peak * txd_sinks_share(s->claimed, column);

    return column[TXD_ROW_PEAK] >= peak && !(column[TXD_ROW_FIRST] >= peak);
}

static void vote(state *s, const double *column)
{
    double key = column[TXD_ROW_PEAK_KEY];
    size_t place;

    if (!(key >= 0 && key < (double)s->keys))
        return;
    place = (size_t)key;
    if (++s->votes[place] <= s->now.single)
        return;
    s->now.single = s->votes[place];
    s->now.key = place;
}

/* Closes the sequence at hand if the block is not of it. */
static void turn_to(state *s, const txd_block *block)
{
    sequence next = {.step = block->site->step,
                     .part = txd_law_part(block->site),
                     .batch = block->start[0],
                     .head = block->start[1]};

    if (s->now.step == next.step && s->now.part == next.part &&
        s->now.batch == next.batch && s->now.head == next.head)
        return;
    close_sequence(s);
    s->now = next;
    memset(s->votes, 0, s->keys * sizeof *s->votes);
}

/* A tile, which is of one head. */
typedef struct tile {
    bool has_queries; /* that are no padding */
    uint64_t rows, uniform, inherited, votes;
} tile;

static bool is_judged(const double *column)
{
    return column[TXD_ROW_SEEN] >= 2 && isfinite(column[TXD_ROW_ENTROPY]);
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const state *s = self;
    txd_law_row row = {0};
    tile *t = slot;

    while (txd_law_row_next(&row, block)) {
        const double *column = row.column;

        t->has_queries = true;
        t->inherited += column[TXD_ROW_SEEN] >= 2 && !isfinite(column[TXD_ROW_ENTROPY]);
        if (!is_judged(column))
            continue;
        t->rows++;
        t->uniform += txd_sinks_entropy(s->claimed, column) >=
                      (1 - s->uniform) * log(column[TXD_ROW_SEEN]);
        t->votes += votes(s, column);
    }
}

/* Room for the votes: a block of another attention or step may have more keys. */
static txd_status reserve(state *s, size_t keys)
{
    uint64_t *votes;

    s->keys = keys;
    if (keys < s->capacity)
        return TXD_OK;
    votes = realloc(s->votes, (keys + 1) * sizeof *votes);
    if (!votes)
        return txd_fail(TXD_ERR_MEMORY, "attention_collapse: no memory for %zu keys",
                        keys);
    s->votes = votes;
    s->capacity = keys + 1;
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const tile *t = slot;
    txd_law_row row = {0};

    TXD_TRY(reserve(s, block->dims[3]));
    if (!t->has_queries)
        return TXD_OK;
    turn_to(s, block);
    s->now.rows += t->rows;
    s->now.uniform += t->uniform;
    s->inherited += t->inherited;
    while (t->votes > 0 && txd_law_row_next(&row, block))
        if (is_judged(row.column) && votes(s, row.column))
            vote(s, row.column);
    return TXD_OK;
}

/* ---- findings ---- */

static bool is_collapsed(const state *s, size_t i, collapse kind)
{
    return s->heads[i].sequences > 0 && s->heads[i].share[kind] >= s->share;
}

/* All heads of an attention, which is no longer the habit of one of them. */
static bool is_whole(const state *s, size_t attention, collapse kind)
{
    size_t heads = s->claimed->n_heads, found = 0;

    for (size_t h = 0; h < heads; h++)
        found += is_collapsed(s, attention * heads + h, kind);
    return found == heads;
}

static void say_what(txd_finding *finding, const state *s, collapse kind,
                     const head *first)
{
    if (kind == UNIFORM)
        txd_law_say(
            finding,
            "give all visible keys nearly the same weight (entropy within %g %% "
            "of log n in %g %% of the rows or more)",
            100 * s->uniform, 100 * s->share);
    else
        txd_law_say(
            finding,
            "give nearly all weight to one key (key %zu in %g %% of the rows or "
            "more), which is not the first",
            first->key, 100 * s->share);
}

static txd_finding start(const state *s, size_t i, collapse kind)
{
    size_t heads = s->claimed->n_heads;
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    at.step = s->heads[i].step;
    at.head = (int64_t)(i % heads);
    finding = txd_law_finding(i / heads % 2 ? TXD_POINT_CROSS_WEIGHTS
                                            : TXD_POINT_ATTN_WEIGHTS,
                              (int)(i / heads / 2), &at);
    finding.measured = s->heads[i].share[kind];
    finding.allowed = s->share;
    return finding;
}

static txd_status add_whole(txd_result *result, const state *s, size_t attention,
                            collapse kind)
{
    size_t heads = s->claimed->n_heads;
    txd_finding finding = start(s, attention * heads, kind);

    finding.verdict = TXD_VERDICT_WARN;
    txd_law_say(&finding, "all %zu heads of this layer ", heads);
    say_what(&finding, s, kind, &s->heads[attention * heads]);
    return txd_result_add(result, &finding);
}

/* Nearly all heads of all layers are uniform: nothing that went wrong in one layer. */
static bool is_everywhere(const state *s)
{
    size_t heads = s->claimed->n_heads, all = 0, found = 0, whole = 0;

    for (size_t i = 0; i < s->attentions * heads; i++) {
        all += s->heads[i].sequences > 0;
        found += is_collapsed(s, i, UNIFORM);
        whole += is_whole(s, i / heads, UNIFORM);
    }
    return whole > 0 && (double)found >= s->share * (double)all;
}

/* One finding for all others: heads of layers in which not all have collapsed; or
 * `together` all heads of all. */
static txd_status add_rest(txd_result *result, const state *s, collapse kind,
                           bool together)
{
    size_t heads = s->claimed->n_heads, all = 0, found = 0, first = 0;
    txd_finding finding;

    for (size_t i = 0; i < s->attentions * heads; i++) {
        all += s->heads[i].sequences > 0;
        if (is_collapsed(s, i, kind) && (together || !is_whole(s, i / heads, kind)))
            first = found++ == 0 ? i : first;
    }
    if (found == 0)
        return TXD_OK;
    finding = start(s, first, kind);
    finding.verdict = together && !s->is_drawn ? TXD_VERDICT_WARN : TXD_VERDICT_INFO;
    txd_law_say(&finding,
                "%zu of the %zu heads of all layers, first head %zu of this, ", found,
                all, first % heads);
    say_what(&finding, s, kind, &s->heads[first]);
    txd_law_say(&finding, "%s",
                !together         ? ": single heads may"
                : !s->is_drawn    ? ": so does an untrained model; is this one trained?"
                : kind == UNIFORM ? ": usual before training"
                                  : ": the weights are drawn too large for training");
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    state *s = self;
    size_t all = s->attentions * s->claimed->n_heads;

    close_sequence(s);
    s->now = (sequence){.step = -1};
    result->evaluated = s->rows;
    result->allowed = s->share;
    for (size_t i = 0; i < all; i++)
        result->worst = fmax(
            result->worst, fmax(s->heads[i].share[UNIFORM], s->heads[i].share[SINGLE]));
    for (int kind = 0; kind < COLLAPSES; kind++) {
        bool together = s->is_drawn || (kind == UNIFORM && is_everywhere(s));

        for (size_t a = 0; a < s->attentions && !together; a++)
            if (is_whole(s, a, (collapse)kind))
                TXD_TRY(add_whole(result, s, a, (collapse)kind));
        TXD_TRY(add_rest(result, s, (collapse)kind, together));
    }
    if (s->claimed->cross && !s->has_cross)
        snprintf(
            result->note, sizeof result->note,
            "cross-attention was not judged: its rows are not recorded, or too few");
    if (s->rows == 0)
        snprintf(result->note, sizeof result->note,
                 "no sequence has %d queries that see more than one key", FEWEST_ROWS);
    if (s->inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64
                        " rows have no entropy, their weights are not finite",
                        s->inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->heads);
    free(s->votes);
    free(s);
}

static txd_status fill(state *s, const txd_check_context *context)
{
    s->claimed = context->claimed;
    s->is_drawn = context->is_drawn;
    s->now.step = -1;
    s->attentions = 2 * s->claimed->n_layers;
    s->heads = calloc(s->attentions * s->claimed->n_heads, sizeof *s->heads);
    if (!s->heads)
        return txd_fail(TXD_ERR_MEMORY, "attention_collapse: no memory");
    TXD_TRY(txd_threshold_read(&s->uniform, TXD_THRESHOLD_COLLAPSE_UNIFORM, context));
    TXD_TRY(txd_threshold_read(&s->peak, TXD_THRESHOLD_COLLAPSE_PEAK, context));
    return txd_threshold_read(&s->share, TXD_THRESHOLD_COLLAPSE_SHARE, context);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "attention_collapse: no memory");
    status = fill(s, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "attention_collapse",
                     .self = s,
                     .ask = ask,
                     .slot_bytes = sizeof(tile),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_attention_collapse = {
    .name = "attention_collapse",
    .law = "the weights of a head have neither gone uniform nor to one key",
    .formula =
        "a head has collapsed if, in every sequence, `share` of the queries "
        "that see n >= 2 keys have entropy >= (1 - uniform) log n, or weight >= "
        "peak on one and the same key that is not the first; before training "
        "that is information, after it a warning where all heads of a layer have",
    .causes = "scores near 0 (a scale of 1/d instead of 1/sqrt(d), projections never "
              "trained or all one matrix, inputs that are all alike); scores so large "
              "that one key takes all (an initialisation that is too large, a missing "
              "scale, a key of a far larger norm)",
    .look_next = "maximum and spread of attn.scores in the named head; the score scale",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"scores_vanish", NULL},
    .warns = true,
    .keys = txd_keys_attention_collapse,
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
