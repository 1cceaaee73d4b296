/* SPDX-License-Identifier: MIT
 *
 * Leaks, counted from the row statistics. These name the largest leak of a row, where
 * it is, and the sum of all; one leak alone is known by sum = largest. That suffices to
 * say "off by one", "inverted" or "missing" without reading a single weight.
 */
#include "checks/mask/leak.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

txd_status txd_leaks_create(txd_leaks **out, const txd_leak_kind *kind,
                            const txd_config *claimed)
{
    txd_leaks *leaks = calloc(1, sizeof *leaks);
    size_t tallies = 2 * claimed->n_layers * claimed->n_heads;

    if (leaks)
        leaks->tallies = calloc(tallies, sizeof *leaks->tallies);
    if (!leaks || !leaks->tallies) {
        free(leaks);
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", kind->name);
    }
    leaks->kind = kind;
    leaks->claimed = claimed;
    leaks->counted[0].step = leaks->counted[1].step = -1;
    for (size_t i = 0; i < tallies; i++)
        leaks->tallies[i].weight = -1;
    *out = leaks;
    return TXD_OK;
}

void txd_leaks_destroy(txd_leaks *leaks)
{
    if (!leaks)
        return;
    free(leaks->tallies);
    free(leaks->counted[0].keys);
    free(leaks->counted[1].keys);
    free(leaks);
}

static uint32_t count_hidden(const txd_leaks *leaks, const txd_mask_view *mask,
                             size_t query, size_t keys)
{
    uint32_t count = 0;

    for (size_t j = 0; j < keys; j++)
        count += txd_mask_hides(mask, query, j) == leaks->kind->hidden;
    return count;
}

/* Keys before `place` and in the range of the real ones. */
static int64_t real_before(const struct txd_hidden_sides *sides, int64_t place)
{
    if (place < sides->real_begin)
        place = sides->real_begin;
    return (place < sides->real_end ? place : sides->real_end) - sides->real_begin;
}

/* The same from a query's run of keys. */
static uint32_t hidden_around(const txd_leaks *leaks, const txd_law_spans *spans,
                              size_t i, size_t keys)
{
    const struct txd_hidden_sides *sides = &spans->sides;
    int64_t begin = spans->begin[i],
            end = spans->end[i] > begin ? spans->end[i] : begin;
    int64_t real = sides->real_end - sides->real_begin, count = 0;

    if (leaks->kind->hidden == TXD_HIDDEN_PADDING)
        return (uint32_t)((int64_t)keys - real);
    if (sides->before == leaks->kind->hidden)
        count += real_before(sides, begin);
    if (sides->after == leaks->kind->hidden)
        count += real - real_before(sides, end);
    return (uint32_t)count;
}

static void count_row(const txd_leaks *leaks, uint32_t *out, const txd_block *block,
                      size_t batch)
{
    size_t length = block->pass->inputs->length;
    txd_mask_view mask = txd_mask_of_attention(
        txd_point_attention(block->site->point),
        &leaks->claimed->layers[block->site->layer], block->pass->inputs, batch);
    txd_law_spans spans;

    for (size_t first = 0; first < length; first += TXD_LAW_SPANS) {
        size_t left = length - first;
        size_t count = left < TXD_LAW_SPANS ? left : TXD_LAW_SPANS;
        bool are_runs = txd_law_spans_of(&spans, block, batch, first, count);

        for (size_t i = 0; i < count; i++)
            out[first + i] =
                are_runs ? hidden_around(leaks, &spans, i, block->dims[3])
                         : count_hidden(leaks, &mask, first + i, block->dims[3]);
    }
}

/* Once per step: whether a key is later or padding is the same in every layer to which
 * the law applies. */
static txd_status count_step(txd_leaks *leaks, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    txd_attention_kind kind = txd_point_attention(block->site->point);
    struct txd_leak_count *counted = &leaks->counted[kind];
    size_t count = inputs->batch * inputs->length;
    uint32_t *keys;

    if (counted->step == block->site->step)
        return TXD_OK;
    if (count > counted->count) {
        keys = realloc(counted->keys, count * sizeof *keys);
        if (!keys)
            return txd_fail(TXD_ERR_MEMORY, "%s: no memory for %zu rows",
                            leaks->kind->name, count);
        counted->keys = keys;
        counted->count = count;
    }
    for (size_t b = 0; b < inputs->batch; b++)
        count_row(leaks, counted->keys + b * inputs->length, block, b);
    counted->step = block->site->step;
    return TXD_OK;
}

/* How far a key lies ahead of a query. */
static int64_t ahead(const txd_block *block, const txd_law_row *row, int64_t key)
{
    const txd_inputs *inputs = block->pass->inputs;

    return (int64_t)txd_inputs_key_position(inputs, row->batch, (size_t)key) -
           inputs->positions[row->batch * inputs->length + row->query];
}

/* A key that a damaged recording may hold: -1 if it is none of this input. */
static int64_t key_of(const txd_block *block, double key)
{
    return key >= 0 && key < (double)block->dims[3] ? (int64_t)key : -1;
}

static void widen(txd_leak_tally *t, int64_t query)
{
    if (t->leaking == 0 || query < t->query_low)
        t->query_low = query;
    if (t->leaking == 0 || query > t->query_high)
        t->query_high = query;
}

static void add_leak(txd_leak_tally *t, const txd_leak_kind *kind,
                     const txd_block *block, const txd_law_row *row)
{
    const double *column = row->column;
    double weight = column[kind->max], all = column[TXD_ROW_HIDDEN_SUM];
    double seen = column[TXD_ROW_SUM] - all;
    int64_t key = key_of(block, column[kind->key]), away = 0;

    if (key >= 0 && txd_point_attention(block->site->point) == TXD_ATTENTION_SELF)
        away = ahead(block, row, key);
    widen(t, (int64_t)row->query);
    t->leaking++;
    t->nan += isnan(weight);
    t->next_only += away == 1 && all <= weight * (1 + 4 * block->pass->u_store);
    t->blind += fabs(seen) <= 1e-6 * all;
    if (away > t->reach)
        t->reach = away;
    if (!txd_law_is_worse(weight, t->weight))
        return;
    t->weight = weight;
    t->at = (txd_law_place){block->site->step, (int64_t)row->batch, (int64_t)row->head,
                            (int64_t)row->query, key};
}

static bool has_cells(const txd_leak_kind *kind, const txd_law_row *row)
{
    return row->column[kind->count] > 0 && row->column[kind->count] < 0x1p53;
}

static bool hides_alone(const txd_leaks *leaks, const txd_block *block, size_t batch,
                        size_t query)
{
    return leaks->kind->alone && leaks->kind->alone(block, batch, query);
}

/* `heads`: the tallies of the attention that the row is of; `hidden`: its hidden keys.
 */
static void add_row(txd_leaks *leaks, txd_leak_tally *heads, const txd_block *block,
                    const txd_law_row *row, uint32_t hidden)
{
    const txd_leak_kind *kind = leaks->kind;
    txd_leak_tally *t = &heads[row->head];
    bool is_alone;

    leaks->hidden += hidden;
    if (!has_cells(kind, row))
        return;
    leaks->cells += (uint64_t)row->column[kind->count];
    t->rows++;
    if ((int64_t)hidden > t->farthest)
        t->farthest = hidden;
    if (t->weight < 0)
        t->weight = 0;
    is_alone = hides_alone(leaks, block, row->batch, row->query);
    t->alone += is_alone;
    if (row->column[kind->max] <= 0)
        return;
    t->alone_leaking += is_alone;
    add_leak(t, kind, block, row);
}

void txd_leaks_look(txd_leak_part *out, const txd_leak_kind *kind,
                    const txd_block *block)
{
    txd_law_row row = {0};

    while (txd_law_row_next(&row, block)) {
        out->queries++;
        if (!has_cells(kind, &row))
            continue;
        out->rows++;
        out->cells += (uint64_t)row.column[kind->count];
        out->leaks |= !(row.column[kind->max] <= 0);
    }
}

/* True if a part that has no leak is counted: from the hidden keys of its queries, of
 * which all have computed hidden cells, or none. */
static bool add_sound(txd_leaks *leaks, txd_leak_tally *heads, const txd_block *block,
                      const txd_leak_part *part)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t place = block->start[0] * inputs->length + block->start[2];
    size_t queries = block->value.dims[2];
    const uint32_t *keys = leaks->counted[txd_law_part(block->site) % 2].keys + place;
    txd_leak_tally *t = &heads[block->start[1]];
    uint32_t most = 0;

    if (part->queries == 0)
        return true;
    if (part->leaks || (part->rows > 0 && part->rows < part->queries) ||
        block->value.dims[0] != 1 || block->value.dims[1] != 1)
        return false;
    for (size_t q = 0; q < queries; q++)
        if (inputs->valid[place + q]) {
            leaks->hidden += keys[q];
            most = keys[q] > most ? keys[q] : most;
        }
    if (part->rows == 0)
        return true;
    leaks->cells += part->cells;
    t->rows += part->rows;
    /* Padding lies at an end: the first query or the last is nearest to it. */
    t->alone +=
        hides_alone(leaks, block, block->start[0], block->start[2]) ||
        hides_alone(leaks, block, block->start[0], block->start[2] + queries - 1);
    t->farthest = most > t->farthest ? (int64_t)most : t->farthest;
    t->weight = t->weight < 0 ? 0 : t->weight;
    return true;
}

txd_status txd_leaks_add(txd_leaks *leaks, const txd_block *block,
                         const txd_leak_part *part)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t place = txd_law_part(block->site);
    const struct txd_leak_count *counted = &leaks->counted[place % 2];
    txd_leak_tally *heads = &leaks->tallies[place * leaks->claimed->n_heads];
    txd_law_row row = {0};

    TXD_TRY(count_step(leaks, block));
    leaks->batches = inputs->batch;
    if (add_sound(leaks, heads, block, part))
        return TXD_OK;
    while (txd_law_row_next(&row, block))
        add_row(leaks, heads, block, &row,
                counted->keys[row.batch * inputs->length + row.query]);
    return TXD_OK;
}

static void join(txd_leak_tally *to, const txd_leak_tally *t)
{
    if (to->leaking == 0 || t->query_low < to->query_low)
        to->query_low = t->query_low;
    if (to->leaking == 0 || t->query_high > to->query_high)
        to->query_high = t->query_high;
    to->rows += t->rows;
    to->leaking += t->leaking;
    to->alone += t->alone;
    to->alone_leaking += t->alone_leaking;
    to->nan += t->nan;
    to->next_only += t->next_only;
    to->blind += t->blind;
    if (t->reach > to->reach)
        to->reach = t->reach;
    if (t->farthest > to->farthest)
        to->farthest = t->farthest;
    if (txd_law_is_worse(t->weight, to->weight)) {
        to->weight = t->weight;
        to->at = t->at;
    }
}

/* The heads of one attention of a layer taken together: only those that leak. `heads`
 * counts them, `all` the heads that had a hidden cell. */
static txd_leak_tally join_heads(const txd_leaks *leaks, size_t part, size_t *heads,
                                 size_t *all)
{
    txd_leak_tally sum = {.weight = -1, .at = TXD_LAW_NOWHERE};
    size_t n_heads = leaks->claimed->n_heads;

    *heads = *all = 0;
    for (size_t h = 0; h < n_heads; h++) {
        const txd_leak_tally *t = &leaks->tallies[part * n_heads + h];

        *all += t->rows > 0;
        if (t->leaking == 0)
            continue;
        ++*heads;
        join(&sum, t);
    }
    return sum;
}

static void say_leak(txd_finding *finding, const txd_leaks *leaks,
                     const txd_leak_tally *t)
{
    char weight[32];

    txd_law_say_place(finding, leaks->batches);
    if (isnan(t->weight))
        txd_law_say(finding,
                    "query %" PRId64 ": the weight of key %" PRId64
                    " is NaN; it is %s and its weight must be 0",
                    t->at.query, t->at.key, leaks->kind->what);
    else
        txd_law_say(finding,
                    "query %" PRId64 " sees key %" PRId64 " (weight %s), which is %s",
                    t->at.query, t->at.key, txd_law_number(weight, t->weight),
                    leaks->kind->what);
}

static void say_extent(txd_finding *finding, const txd_leak_tally *t, size_t heads,
                       size_t all)
{
    if (t->query_low == t->query_high)
        txd_law_say(finding, "; only query %" PRId64 " does", t->query_low);
    else
        txd_law_say(finding, "; %" PRIu64 " of %" PRIu64 " such rows do", t->leaking,
                    t->rows);
    if (t->alone > 0 && t->alone < t->rows)
        txd_law_say(finding,
                    " (%" PRIu64 " of %" PRIu64
                    " rows in which no other rule hides it)",
                    t->alone_leaking, t->alone);
    txd_law_say(finding, ", in %zu of %zu head%s", heads, all, all == 1 ? "" : "s");
}

static txd_status add_part(txd_result *result, const txd_leaks *leaks, size_t part,
                           void (*explain)(txd_finding *, const txd_leak_tally *))
{
    size_t heads, all;
    txd_attention_kind kind = (txd_attention_kind)(part % 2);
    txd_leak_tally t = join_heads(leaks, part, &heads, &all);
    txd_finding finding;

    if (heads == 0)
        return TXD_OK;
    finding = txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS),
                              (int)(part / 2), &t.at);
    finding.measured = t.weight;
    finding.allowed = 0;
    say_leak(&finding, leaks, &t);
    say_extent(&finding, &t, heads, all);
    explain(&finding, &t);
    if (txd_law_is_worse(t.weight, result->worst))
        result->worst = t.weight;
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t.leaking - 1;
    return TXD_OK;
}

txd_status txd_leaks_finish(txd_leaks *leaks, txd_result *result,
                            void (*explain)(txd_finding *finding,
                                            const txd_leak_tally *tally))
{
    result->evaluated = leaks->cells;
    result->not_computed =
        leaks->hidden > leaks->cells ? leaks->hidden - leaks->cells : 0;
    result->allowed = 0;
    for (size_t part = 0; part < 2 * leaks->claimed->n_layers; part++)
        TXD_TRY(add_part(result, leaks, part, explain));
    return TXD_OK;
}
