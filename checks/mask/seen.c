/* SPDX-License-Identifier: MIT
 *
 * Rows of attention, read for the laws about the mask. A key counts as seen if it gets
 * weight. Whether one without weight is hidden, or only low, is told by what the
 * softmax reads: -Inf, the claimed fill, or what stands in a hidden key's place that
 * has no weight either. Without that value a weight of 0 tells it in formats where no
 * score loses its weight by itself.
 */
#include "checks/mask/seen.h"
#include "checks/sample.h"

#include <stdio.h>
#include <stdlib.h>

/* Cells of an attention that are looked at per step; queries of a head at least. */
#define CELLS_JUDGED 16384
#define QUERIES_LEAST 2
/* In formats whose smallest number is below this, a weight of 0 means a score 70 below
 * the others. */
#define SURELY_HIDDEN 1e-30

typedef struct state {
    const txd_seen_law *law;
    const txd_config *claimed;
    txd_seen_tally *tallies; /* (layers, 2, heads) */
    txd_pass pass;           /* formats of the values: its inputs are gone at the end */
    size_t batches;
    txd_point reads[2][3]; /* earlier points, by txd_attention_kind */
} state;

/* ---- cells ---- */

static bool is_fill(const txd_seen_row *row, double masked)
{
    if (isinf(masked))
        return masked < 0;
    return fabs(masked - row->fill) <= row->slack || masked == row->other;
}

txd_seen txd_seen_state(const txd_seen_row *row, size_t key)
{
    double weight, masked;

    if (key < row->begin || key >= row->end)
        return TXD_SEEN_SHUT;
    weight = txd_seen_weight(row, key);
    if (weight != 0 && !isnan(weight))
        return TXD_SEEN_OPEN;
    masked = txd_seen_masked(row, key);
    if (isnan(weight) && isnan(masked) && row->lacks_hidden &&
        txd_seen_claim(row, key) != TXD_SEEN)
        return TXD_SEEN_SHUT;
    if (row->masked.data && is_fill(row, masked))
        return TXD_SEEN_SHUT;
    return isnan(weight) ? TXD_SEEN_NAN : TXD_SEEN_SILENT;
}

bool txd_seen_is_hidden(const txd_seen_row *row, size_t key)
{
    txd_seen seen = txd_seen_state(row, key);

    if (seen != TXD_SEEN_SILENT || row->masked.data)
        return seen == TXD_SEEN_SHUT;
    return row->block->pass->tiny < SURELY_HIDDEN;
}

/* ---- rows ---- */

static bool hides(const txd_seen_row *row, size_t key)
{
    return txd_seen_claim(row, key) != TXD_SEEN && txd_seen_weight(row, key) == 0;
}

/* What hides keys of this row beside -Inf and the claimed fill: it stands at the ends,
 * or (if `anywhere`) between. */
static double find_other(const txd_seen_row *row, bool anywhere)
{
    if (!row->masked.data || row->begin == row->end)
        return NAN;
    if (hides(row, row->end - 1))
        return txd_seen_masked(row, row->end - 1);
    if (hides(row, row->begin))
        return txd_seen_masked(row, row->begin);
    for (size_t key = row->begin; anywhere && key < row->end; key++)
        if (hides(row, key))
            return txd_seen_masked(row, key);
    return NAN;
}

/* What all rows of a block share: most of them are only glanced at. */
static txd_seen_row row_of(const txd_block *block)
{
    const txd_pass *pass = block->pass;
    const txd_layer_config *layer = &pass->claimed->layers[block->site->layer];
    txd_seen_row row = {.block = block,
                        .batch = block->start[0],
                        .head = block->start[1],
                        .keys = block->dims[3],
                        .fill = layer->fill,
                        .other = NAN};

    row.mask = txd_mask_of_attention(txd_point_attention(block->site->point), layer,
                                     pass->inputs, row.batch);
    row.slack = isfinite(row.fill) ? pass->u_store * fabs(row.fill) : 0;
    return row;
}

static void go_to(txd_seen_row *row, size_t index)
{
    const txd_block *block = row->block;

    row->query = block->start[2] + index;
    row->own = row->query + row->keys - block->pass->inputs->length;
    if (block->rows)
        row->column = block->rows + index * TXD_ROW_COUNT;
}

/* What stands beside the values of a block. */
typedef struct beside {
    txd_tensor masked;
    txd_mask_scores before;
} beside;

/* Gives a row its values. */
static void read_row(txd_seen_row *row, const txd_seen_law *law, const beside *b)
{
    const txd_block *block = row->block;

    row->begin = block->start[3];
    row->end = row->begin + block->value.dims[3];
    row->first = (row->query - block->start[2]) * block->value.dims[3];
    row->lacks_hidden = txd_mask_lacks_hidden(block);
    row->masked = law->of_masked ? block->value : b->masked;
    row->before = &b->before;
    if (!law->of_masked)
        row->other = find_other(row, !law->every_row);
}

/* Blocks are tiles of one head. A law that does not glance goes from one pick to the
 * next. */
static void judge_rows(txd_seen_tally *tally, const txd_seen_law *law,
                       const txd_block *block, const beside *b)
{
    const txd_inputs *inputs = block->pass->inputs;
    const int32_t *valid = inputs->valid + block->start[0] * inputs->length;
    size_t wanted = law->every_row
                        ? SIZE_MAX
                        : txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    txd_picks picks = txd_picks_of_head(block, 0, 0, wanted);
    const txd_seen_row blank = row_of(block);
    txd_seen_row row = blank;
    size_t picked = 0;
    bool some = law->look && block->value.data && txd_picks_next(&picked, &picks);

    bool glances = law->glance && block->rows;

    for (size_t i = 0; i < block->value.dims[2] && (glances || some); i++) {
        if (some && !glances)
            i = picked - block->start[2];
        if (!valid[block->start[2] + i])
            continue;
        go_to(&row, i);
        if (some && row.query == picked) {
            read_row(&row, law, b);
            law->look(tally, &row);
            some = txd_picks_next(&picked, &picks);
            row = blank;
        } else if (glances) {
            law->glance(tally, &row);
        }
    }
}

/* ---- tallies ---- */

static const txd_seen_tally nothing = {
    .low = INT64_MAX, .high = INT64_MIN, .worst = -1, .at = TXD_LAW_NOWHERE};

void txd_seen_widen(txd_seen_tally *tally, int64_t value)
{
    tally->low = value < tally->low ? value : tally->low;
    tally->high = value > tally->high ? value : tally->high;
}

void txd_seen_add_broken(txd_seen_tally *tally, const txd_seen_row *row,
                         const txd_seen_break *what)
{
    tally->broken++;
    if (!txd_law_is_worse(what->measured, tally->worst))
        return;
    tally->worst = what->measured;
    tally->allowed = what->allowed;
    tally->found = what->found;
    tally->expected = what->expected;
    tally->at = (txd_law_place){row->block->site->step, (int64_t)row->batch,
                                (int64_t)row->head, (int64_t)row->query, what->key};
}

void txd_seen_join(txd_seen_tally *to, const txd_seen_tally *from)
{
    to->rows += from->rows;
    to->broken += from->broken;
    to->unknown += from->unknown;
    for (int kind = 0; kind < TXD_SEEN_KINDS; kind++)
        to->of[kind] += from->of[kind];
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
    if (!txd_law_is_worse(from->worst, to->worst))
        return;
    to->worst = from->worst;
    to->allowed = from->allowed;
    to->found = from->found;
    to->expected = from->expected;
    to->at = from->at;
}

/* ---- the tap ---- */

static txd_point point_of(const txd_seen_law *law)
{
    return law->of_masked ? TXD_POINT_ATTN_MASKED : TXD_POINT_ATTN_WEIGHTS;
}

static bool is_meant(const state *s, txd_point point, int layer)
{
    if (txd_point_in_self(point) != point_of(s->law) ||
        (txd_point_attention(point) == TXD_ATTENTION_CROSS && !s->law->judges_cross))
        return false;
    return !s->law->applies || s->law->applies(s->claimed, layer);
}

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (site->kind != TXD_SITE_VALUE || !is_meant(s, site->point, site->layer))
        return 0;
    return (s->law->look ? TXD_ASK_VALUE : 0) | (s->law->of_masked ? 0 : TXD_ASK_ROWS);
}

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    if (!s->law->look || txd_point_in_self(point) != point_of(s->law))
        return NULL;
    return s->reads[txd_point_attention(point)];
}

/* Which earlier points a law reads. */
static void set_reads(state *s)
{
    for (int kind = 0; kind < 2; kind++) {
        size_t count = 1;

        s->reads[kind][0] =
            txd_point_in((txd_attention_kind)kind, TXD_POINT_ATTN_MASKED);
        if (s->law->of_masked)
            count =
                txd_mask_reads(s->reads[kind], s->claimed, (txd_attention_kind)kind);
        s->reads[kind][count] = TXD_POINT_COUNT;
    }
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const state *s = self;
    const txd_seen_law *law = s->law;
    txd_seen_tally *tally = slot;
    beside b = {0};

    *tally = nothing;
    if (law->of_masked && txd_mask_scores_of(&b.before, block) != TXD_OK)
        return;
    if (!law->of_masked && law->look &&
        txd_block_earlier(&b.masked, block,
                          s->reads[txd_point_attention(block->site->point)][0]) !=
            TXD_OK)
        b.masked.data = NULL;
    judge_rows(tally, law, block, &b);
}

static txd_seen_tally *heads_of(const state *s, size_t part)
{
    return &s->tallies[part * s->claimed->n_heads];
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    s->batches = block->pass->inputs->batch;
    s->pass = *block->pass;
    txd_seen_join(heads_of(s, txd_law_part(block->site)) + block->start[1], slot);
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_part(txd_result *result, const state *s, size_t part)
{
    txd_point point = txd_point_in((txd_attention_kind)(part % 2), point_of(s->law));
    txd_seen_tally *heads = heads_of(s, part), all = nothing;
    txd_finding finding;

    if (s->law->settle)
        s->law->settle(heads, s->claimed->n_heads, &s->pass);
    for (size_t h = 0; h < s->claimed->n_heads; h++)
        txd_seen_join(&all, &heads[h]);
    result->evaluated += all.rows;
    if (all.broken == 0)
        return TXD_OK;
    finding = txd_law_finding(point, (int)(part / 2), &all.at);
    finding.measured = all.worst;
    finding.allowed = all.allowed;
    txd_law_say_place(&finding, s->batches);
    s->law->explain(&finding, &all, s->claimed, (int)(part / 2));
    if (txd_law_is_worse(all.worst, result->worst)) {
        result->worst = all.worst;
        result->allowed = all.allowed;
    }
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += all.broken - 1;
    return TXD_OK;
}

txd_status txd_seen_finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t unknown = 0;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++)
        TXD_TRY(add_part(result, s, part));
    for (size_t i = 0; i < 2 * s->claimed->n_layers * s->claimed->n_heads; i++)
        unknown += s->tallies[i].unknown;
    if (result->verdict == TXD_VERDICT_PASS && unknown > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%llu rows hold NaN: what they see cannot be said; see the "
                        "law `finite`",
                        (unsigned long long)unknown);
    if (result->evaluated == 0 && s->law->nothing)
        snprintf(result->note, sizeof result->note, "%s", s->law->nothing);
    return TXD_OK;
}

void txd_seen_destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s);
}

txd_status txd_seen_create(void **out, txd_tap *tap, const txd_seen_law *law,
                           const txd_config *claimed)
{
    state *s = calloc(1, sizeof *s);
    size_t count = 2 * claimed->n_layers * claimed->n_heads;

    if (s)
        s->tallies = calloc(count, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", law->name);
    }
    s->law = law;
    s->claimed = claimed;
    set_reads(s);
    for (size_t i = 0; i < count; i++)
        s->tallies[i] = nothing;
    *tap = (txd_tap){.name = law->name,
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(txd_seen_tally),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const struct txd_check_need txd_seen_needs[] = {
    {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE | TXD_ASK_ROWS},
    {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
    {TXD_POINT_COUNT, 0},
    {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE | TXD_ASK_ROWS},
    {TXD_POINT_COUNT, 0},
    {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
    {TXD_POINT_COUNT, 1}};
