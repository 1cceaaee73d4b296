/* SPDX-License-Identifier: MIT
 *
 * The cells and rows of a tile of masked scores, judged by the claimed mask.
 */
#include "checks/mask/mask_cells.h"
#include "checks/sample.h"

#include <math.h>
#include <string.h>

/* Cells of a layer that are judged per step; queries of a head at least. */
#define CELLS_JUDGED 65536
#define QUERIES_LEAST 2

/* What all rows of a block have in common. */
typedef struct job {
    const txd_block *block;
    txd_mask_scores before;
    double fill, u;
    bool lacks_hidden; /* some of them may not have been computed */
} job;

/* A row's scores as its softmax reads them. */
typedef struct row_range {
    double largest; /* of all cells */
    double visible_low, visible_high, hidden_high;
    size_t visible, hidden; /* cells that are numbers */
} row_range;

static void add_wrong(txd_mask_tally *t, txd_mask_wrong wrong,
                      const txd_mask_cell *cell)
{
    if (t->count[wrong]++ == 0)
        t->cells[wrong] = *cell;
}

/* A pass that leaves hidden cells out offers none of them; in its recording, which has
 * whole matrices, they are NaN before and behind the mask. */
static bool was_computed(const job *j, double score, double masked)
{
    return !j->lacks_hidden || !isnan(score) || !isnan(masked);
}

bool txd_mask_lacks_hidden(const txd_block *block)
{
    switch (block->pass->claimed->evaluate_hidden) {
    case TXD_HIDDEN_ALWAYS:
        return false;
    case TXD_HIDDEN_NEVER:
        return true;
    default:
        return block->dims[3] > TXD_SHORT_LENGTH;
    }
}

double txd_mask_score(double *allowed, const txd_mask_scores *s, size_t cell,
                      const txd_law_place *at)
{
    const txd_pass *pass = s->block->pass;
    const txd_inputs *inputs = pass->inputs;
    double score = txd_tensor_get(&s->scores, cell), bias = 0, u = pass->u_store;
    size_t row = (size_t)at->batch * inputs->length;

    *allowed = 0;
    if (s->cap != 0) {
        score = s->cap * tanh(score / s->cap);
        *allowed = (10 * pass->u_accumulate + u) * fabs(score) + pass->tiny;
    }
    if (s->bias.data)
        bias = txd_tensor_get(&s->bias, cell);
    else if (s->has_slopes)
        bias = -txd_alibi_slope((size_t)at->head, pass->claimed->n_heads) *
               fabs((double)inputs->positions[row + (size_t)at->query] -
                    (double)inputs->positions[row + (size_t)at->key]);
    else
        return score;
    if (s->has_slopes)
        *allowed += (2 * pass->u_accumulate + u) * fabs(bias) + pass->tiny;
    *allowed += u * (fabs(score + bias) + *allowed) + pass->tiny;
    return score + bias;
}

static void judge_visible(txd_mask_tally *t, const job *j, txd_mask_cell *cell)
{
    if (isnan(cell->score) && isnan(cell->masked)) {
        t->inherited++;
        return;
    }
    t->visible++;
    if (cell->masked == cell->score)
        return;
    cell->off = fabs(cell->masked - cell->score);
    if (txd_within(cell->off, cell->allowed))
        return;
    add_wrong(t, cell->masked == j->fill ? TXD_MASK_FILLED : TXD_MASK_CHANGED, cell);
}

static txd_mask_wrong wrong_of(const job *j, const txd_mask_cell *cell)
{
    double sum = cell->score + j->fill;

    if (cell->masked == cell->score)
        return TXD_MASK_KEPT;
    if (isinf(cell->masked) && cell->masked < 0 && isfinite(j->fill))
        return TXD_MASK_OVERFLOWED;
    if (isfinite(sum) &&
        fabs(cell->masked - sum) <= 2 * j->u * (fabs(cell->score) + fabs(j->fill)))
        return TXD_MASK_ADDED;
    return TXD_MASK_OTHER;
}

/* False if it is wrong. */
static bool judge_hidden(txd_mask_tally *t, const job *j, txd_mask_cell *cell)
{
    txd_mask_wrong wrong;

    if (!was_computed(j, cell->score, cell->masked))
        return true;
    t->hidden++;
    cell->allowed = isfinite(j->fill) ? j->u * fabs(j->fill) : 0;
    if (cell->masked == j->fill)
        return true;
    cell->off = fabs(cell->masked - j->fill);
    if (txd_within(cell->off, cell->allowed))
        return true;
    wrong = wrong_of(j, cell);
    t->no_fill += !(cell->masked < INFINITY);
    if (wrong == TXD_MASK_OTHER) {
        bool first = t->count[wrong] == 0;

        t->low = first || cell->masked < t->low ? cell->masked : t->low;
        t->high = first || !(cell->masked <= t->high) ? cell->masked : t->high;
    }
    add_wrong(t, wrong, cell);
    return false;
}

static void widen(row_range *range, double masked, bool is_visible)
{
    if (isnan(masked))
        return;
    range->largest = fmax(range->largest, masked);
    if (!is_visible) {
        range->hidden_high = fmax(range->hidden_high, masked);
        range->hidden++;
        return;
    }
    range->visible++;
    range->visible_low = fmin(range->visible_low, masked);
    range->visible_high = fmax(range->visible_high, masked);
}

/* log(exp(hidden) / sum of exp over the row). */
static double log_weight(const job *j, size_t row, const row_range *range)
{
    size_t keys = j->block->value.dims[3];
    double sum = 0;

    for (size_t c = 0; c < keys; c++) {
        double masked = txd_tensor_get(&j->block->value, row * keys + c);

        if (was_computed(j, txd_tensor_get(&j->before.scores, row * keys + c), masked))
            sum += exp(masked - range->largest);
    }
    return range->hidden_high - range->largest - log(sum);
}

static void judge_range(txd_mask_tally *t, const job *j, size_t row,
                        const row_range *range, const txd_law_place *at)
{
    double gap = log((double)range->hidden / j->u);
    double zero = log(t->smallest) - log(2), exponent, weight; /* half rounds to 0 */

    t->rows++;
    if (range->visible == 0 || range->hidden == 0 || !isfinite(range->hidden_high) ||
        !isfinite(range->largest))
        return;
    exponent = range->hidden_high - range->largest;
    if (exponent >= zero)
        exponent = log_weight(j, row, range);
    t->weak += exponent >= zero;
    weight = exponent >= zero ? exp(exponent) : 0;
    if (weight > t->weight) {
        t->weight = weight;
        t->weight_fill = range->hidden_high;
        t->weight_score = range->visible_high;
        t->weight_at = *at;
    }
    if (!(range->hidden_high > range->visible_low - gap))
        return;
    if (t->near++ == 0) {
        t->near_fill = range->hidden_high;
        t->near_score = range->visible_low;
        t->near_gap = gap;
        t->near_at = *at;
    }
}

/* Whether each of some cells of a row of floats is the fill: the first is, and each is
 * the next. */
static bool are_filled(const float *x, size_t count, double fill)
{
    return count == 0 ||
           ((double)x[0] == fill && memcmp(x, x + 1, (count - 1) * sizeof *x) == 0);
}

/* The column of a key in a block of `keys` from `first` on, or the nearest end. */
static size_t in_block(size_t key, size_t first, size_t keys)
{
    if (key < first)
        return 0;
    return key - first < keys ? key - first : keys;
}

/* True if nothing of a row can be wrong: its visible scores are kept, to the bit and
 * finite, and its hidden ones are -Inf, as claimed, which gives them no weight. */
static bool is_as_claimed(txd_mask_tally *t, const job *j, size_t row,
                          const txd_law_place *at)
{
    const txd_block *block = j->block;
    size_t keys = block->value.dims[3], first = block->start[3];
    const float *masked, *scores;
    txd_span seen;

    if (block->value.dtype != TXD_F32 || j->before.scores.dtype != TXD_F32 ||
        j->fill != -INFINITY || j->before.bias.data || j->before.has_slopes ||
        j->before.cap != 0 ||
        !txd_law_run_of(&seen, block, (size_t)at->batch, (size_t)at->query))
        return false;
    seen.begin = in_block(seen.begin, first, keys);
    seen.end = in_block(seen.end, first, keys);
    masked = (const float *)block->value.data + row * keys;
    scores = (const float *)j->before.scores.data + row * keys;
    if (!are_filled(masked, seen.begin, j->fill) ||
        !are_filled(masked + seen.end, keys - seen.end, j->fill) ||
        memcmp(masked + seen.begin, scores + seen.begin,
               (seen.end - seen.begin) * sizeof *masked) != 0 ||
        !txd_kernels_here()->finite(scores + seen.begin, seen.end - seen.begin))
        return false;
    t->visible += seen.end - seen.begin;
    t->hidden += keys - (seen.end - seen.begin);
    t->rows++;
    return true;
}

/* Row `row` of the block, a query whose place is in `at`. */
static void judge_row(txd_mask_tally *t, const job *j, size_t row,
                      const txd_law_place *at)
{
    const txd_pass *pass = j->block->pass;
    txd_attention_kind kind = txd_point_attention(j->block->site->point);
    txd_mask_view mask =
        txd_mask_of_attention(kind, &pass->claimed->layers[j->block->site->layer],
                              pass->inputs, (size_t)at->batch);
    size_t keys = j->block->value.dims[3];
    row_range range = {-INFINITY, INFINITY, -INFINITY, -INFINITY, 0, 0};
    size_t seen = 0, wrong = 0;

    for (size_t c = 0; c < keys; c++) {
        size_t key = j->block->start[3] + c;
        bool is_visible = txd_mask_hides(&mask, (size_t)at->query, key) == TXD_SEEN;
        txd_mask_cell cell = {
            .at = *at, .masked = txd_tensor_get(&j->block->value, row * keys + c)};

        cell.at.key = (int64_t)key;
        cell.score =
            txd_mask_score(&cell.allowed, &j->before, row * keys + c, &cell.at);
        widen(&range, cell.masked, is_visible);
        seen += is_visible;
        if (is_visible)
            judge_visible(t, j, &cell);
        else
            wrong += !judge_hidden(t, j, &cell);
    }
    t->empty += wrong > 0 &&
                (seen == 0 || (range.visible > 0 && range.visible_high == -INFINITY));
    judge_range(t, j, row, &range, at);
}

size_t txd_mask_reads(txd_point out[2], const txd_config *config,
                      txd_attention_kind kind)
{
    txd_point bias = txd_point_in(kind, TXD_POINT_ATTN_BIAS);

    out[0] = txd_point_in(kind, TXD_POINT_ATTN_SCORES);
    out[1] = bias;
    return config->positions != TXD_POSITIONS_ALIBI && txd_point_exists(config, bias)
               ? 2
               : 1;
}

txd_status txd_mask_scores_of(txd_mask_scores *out, const txd_block *block)
{
    const txd_config *claimed = block->pass->claimed;
    txd_attention_kind kind = txd_point_attention(block->site->point);
    txd_point reads[2];
    size_t count = txd_mask_reads(reads, claimed, kind);

    *out = (txd_mask_scores){.block = block,
                             .cap = claimed->layers[block->site->layer].score_softcap,
                             .has_slopes = claimed->positions == TXD_POSITIONS_ALIBI &&
                                           kind == TXD_ATTENTION_SELF};
    TXD_TRY(txd_block_earlier(&out->scores, block, reads[0]));
    return count < 2 ? TXD_OK : txd_block_earlier(&out->bias, block, reads[1]);
}

void txd_mask_judge(txd_mask_tally *tally, const txd_block *block)
{
    const txd_pass *pass = block->pass;
    const size_t *dims = block->value.dims;
    size_t wanted = txd_picks_queries(block, CELLS_JUDGED, QUERIES_LEAST);
    job j = {.block = block,
             .fill = pass->claimed->layers[block->site->layer].fill,
             .u = pass->u_store,
             .lacks_hidden = txd_mask_lacks_hidden(block)};

    tally->smallest = pass->tiny;
    tally->status = txd_mask_scores_of(&j.before, block);
    if (tally->status != TXD_OK || !block->value.data)
        return;
    for (size_t i = 0; i < dims[0] * dims[1]; i++) {
        size_t batch = i / dims[1], head = i % dims[1], query;
        txd_picks picks = txd_picks_of_head(block, batch, head, wanted);

        while (txd_picks_next(&query, &picks)) {
            txd_law_place at = {block->site->step, (int64_t)(block->start[0] + batch),
                                (int64_t)(block->start[1] + head), (int64_t)query, -1};
            size_t row = i * dims[2] + query - block->start[2];

            if (!is_as_claimed(tally, &j, row, &at))
                judge_row(tally, &j, row, &at);
        }
    }
}

void txd_mask_join(txd_mask_tally *to, const txd_mask_tally *t)
{
    bool had_other = to->count[TXD_MASK_OTHER] > 0;

    if (t->count[TXD_MASK_OTHER] > 0) {
        to->low = !had_other || t->low < to->low ? t->low : to->low;
        to->high = !had_other || !(t->high <= to->high) ? t->high : to->high;
    }
    for (int wrong = 0; wrong < TXD_MASK_WRONGS; wrong++) {
        if (to->count[wrong] == 0)
            to->cells[wrong] = t->cells[wrong];
        to->count[wrong] += t->count[wrong];
    }
    if (t->weight > to->weight) {
        to->weight = t->weight;
        to->weight_fill = t->weight_fill;
        to->weight_score = t->weight_score;
        to->weight_at = t->weight_at;
    }
    if (to->near == 0) {
        to->near_fill = t->near_fill;
        to->near_score = t->near_score;
        to->near_gap = t->near_gap;
        to->near_at = t->near_at;
    }
    to->smallest = t->smallest;
    to->visible += t->visible;
    to->hidden += t->hidden;
    to->rows += t->rows;
    to->inherited += t->inherited;
    to->no_fill += t->no_fill;
    to->empty += t->empty;
    to->weak += t->weak;
    to->near += t->near;
}
