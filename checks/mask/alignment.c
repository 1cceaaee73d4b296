/* SPDX-License-Identifier: MIT
 *
 * Masked scores say of every head which keys it sees. Weights say it less well: one
 * that is 0 may be a key far below the others, so that a key counts as hidden only if
 * no head of the layer gives it anything.
 */
#include "checks/mask/alignment.h"

#include <math.h>
#include <stdlib.h>

/* Cells of a layer and step that are counted besides the newest ones. */
#define CELL_BUDGET ((size_t)1 << 20)

txd_status txd_alignment_create(txd_alignment **out, const txd_config *claimed)
{
    txd_alignment *s = calloc(1, sizeof *s);

    if (s) {
        s->layers = calloc(claimed->n_layers, sizeof *s->layers);
        s->has_masked = calloc(claimed->n_layers, sizeof *s->has_masked);
    }
    if (!s || !s->layers || !s->has_masked) {
        txd_alignment_destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "causal_alignment: no memory");
    }
    s->claimed = claimed;
    *out = s;
    return TXD_OK;
}

void txd_alignment_destroy(txd_alignment *s)
{
    if (!s)
        return;
    free(s->layers);
    free(s->newest);
    free(s->has_masked);
    free(s);
}

/* ---- one row ---- */

/* What a query may see by the claimed mask, among the columns of a row. */
typedef struct row_view {
    const txd_alignment *s;
    const txd_block *block;
    txd_mask_view mask;
    size_t batch, head, query;
    size_t cell;           /* of its first column */
    size_t first, columns; /* the block's; other keys took no part */
    size_t keys;
} row_view;

typedef enum sight { HIDDEN, SEEN, UNKNOWN } sight;

static sight sees(const row_view *row, size_t key)
{
    const txd_layer_config *layer = &row->s->claimed->layers[row->block->site->layer];
    size_t column = key - row->first; /* wraps in front of it */
    double x;

    if (column >= row->columns)
        return HIDDEN;
    x = txd_tensor_get(&row->block->value, row->cell + column);
    if (isnan(x))
        return UNKNOWN;
    if (row->block->site->point == TXD_POINT_ATTN_WEIGHTS)
        return x == 0 ? HIDDEN : SEEN;
    return x == -INFINITY ||
                   (isfinite(layer->fill) &&
                    x <= layer->fill + row->block->pass->u_store * fabs(layer->fill))
               ? HIDDEN
               : SEEN;
}

static bool may_see(const row_view *row, size_t key)
{
    return txd_mask_hides(&row->mask, row->query, key) == TXD_SEEN;
}

/* The newest key that a query may see; -1 = none. */
static int64_t newest_allowed(const row_view *row)
{
    for (size_t key = row->keys; key-- > 0;)
        if (may_see(row, key))
            return (int64_t)key;
    return -1;
}

/* The newest of these that it sees. *unknown: NaN stands in the way. */
static int64_t newest_seen(const row_view *row, bool *unknown)
{
    for (size_t key = row->keys; key-- > 0;) {
        sight how = may_see(row, key) ? sees(row, key) : HIDDEN;

        if (how == UNKNOWN)
            *unknown = true;
        if (how != HIDDEN)
            return (int64_t)key;
    }
    return -1;
}

static void count_keys(const row_view *row, int64_t *seen, int64_t *may, bool *unknown)
{
    *seen = *may = 0;
    for (size_t key = 0; key < row->keys; key++) {
        sight how;

        if (!may_see(row, key))
            continue;
        how = sees(row, key);
        *unknown |= how == UNKNOWN;
        *seen += how == SEEN;
        ++*may;
    }
}

/* ---- a layer ---- */

/* What was found of a row. */
typedef struct verdict {
    int64_t newest, allowed; /* keys */
    int64_t seen, may;       /* how many; -1 = not counted */
} verdict;

static void note_pattern(txd_alignment_like *like, const row_view *row,
                         const verdict *v)
{
    int64_t past = (int64_t)row->block->pass->inputs->past;

    like->corner += v->newest == (int64_t)row->query;
    like->own += v->newest == past - 1;
    like->one += v->newest == v->allowed - 1;
}

static void add_row(txd_alignment_tally *t, const row_view *row, const verdict *v)
{
    bool is_short = v->newest != v->allowed;

    t->rows++;
    if (!is_short && v->seen == v->may)
        return;
    if (t->broken == 0 || (is_short && t->holed == t->broken)) {
        t->at = (txd_law_place){row->block->site->step, (int64_t)row->batch,
                                (int64_t)row->head, (int64_t)row->query, v->allowed};
        t->newest = v->newest;
        t->seen = v->seen;
        t->may = v->may;
    }
    t->broken++;
    t->holed += !is_short;
    if (is_short)
        note_pattern(&t->like, row, v);
}

static void look_at_masked(txd_alignment *s, txd_alignment_tally *t,
                           const row_view *row)
{
    bool unknown = false;
    verdict v = {.allowed = newest_allowed(row), .seen = -1, .may = -1};

    if (v.allowed < 0)
        return;
    v.newest = newest_seen(row, &unknown);
    if (s->counted < CELL_BUDGET) {
        count_keys(row, &v.seen, &v.may, &unknown);
        s->counted += row->keys;
    }
    s->rows += !unknown;
    s->unknown += unknown;
    if (!unknown)
        add_row(t, row, &v);
}

/* Of all heads of the layer together; judged when the last block is there. */
static void look_at_weights(txd_alignment *s, const row_view *row)
{
    int32_t *newest =
        &s->newest[row->batch * row->block->pass->inputs->length + row->query];
    bool unknown = false;
    int64_t seen = newest_seen(row, &unknown);

    if (unknown)
        *newest = INT32_MAX;
    else if (seen > *newest)
        *newest = (int32_t)seen;
}

static void judge_weights(txd_alignment *s, txd_alignment_tally *t,
                          const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;

    for (size_t i = 0; i < inputs->batch * inputs->length; i++) {
        row_view row = {.s = s,
                        .block = block,
                        .batch = i / inputs->length,
                        .head = 0,
                        .query = i % inputs->length,
                        .keys = block->dims[3]};
        verdict v = {.newest = s->newest[i], .seen = -1, .may = -1};

        if (!inputs->valid[i])
            continue;
        row.mask =
            txd_mask_of(&s->claimed->layers[block->site->layer], inputs, row.batch);
        v.allowed = newest_allowed(&row);
        if (v.allowed < 0)
            continue;
        s->unknown += v.newest == INT32_MAX;
        s->rows += v.newest != INT32_MAX;
        if (v.newest != INT32_MAX)
            add_row(t, &row, &v);
    }
    t->by_weights = true;
}

static txd_status begin_weights(txd_alignment *s, const txd_inputs *inputs)
{
    size_t rows = inputs->batch * inputs->length;

    if (rows > s->room) {
        int32_t *newest = realloc(s->newest, rows * sizeof *newest);

        if (!newest)
            return txd_fail(TXD_ERR_MEMORY, "causal_alignment: no memory");
        s->newest = newest;
        s->room = rows;
    }
    for (size_t i = 0; i < rows; i++)
        s->newest[i] = -1;
    return TXD_OK;
}

static bool is_first(const txd_block *block)
{
    return block->start[0] == 0 && block->start[1] == 0 && block->start[2] == 0;
}

/* Rows of a block, which may hold several heads and batch rows. */
static void look_at_rows(txd_alignment *s, txd_alignment_tally *t,
                         const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    const size_t *dims = block->value.dims;

    for (size_t r = 0; r < dims[0] * dims[1] * dims[2]; r++) {
        row_view row = {.s = s,
                        .block = block,
                        .batch = block->start[0] + r / dims[2] / dims[1],
                        .head = block->start[1] + r / dims[2] % dims[1],
                        .query = block->start[2] + r % dims[2],
                        .cell = r * dims[3],
                        .first = block->start[3],
                        .columns = dims[3],
                        .keys = block->dims[3]};

        if (!inputs->valid[row.batch * inputs->length + row.query])
            continue;
        row.mask =
            txd_mask_of(&s->claimed->layers[block->site->layer], inputs, row.batch);
        if (block->site->point == TXD_POINT_ATTN_MASKED)
            look_at_masked(s, t, &row);
        else
            look_at_weights(s, &row);
    }
}

txd_status txd_alignment_look(txd_alignment *s, const txd_block *block)
{
    size_t layer = (size_t)block->site->layer;
    bool is_weights = block->site->point == TXD_POINT_ATTN_WEIGHTS;

    s->batches = block->pass->inputs->batch;
    if (block->pass->inputs->past == 0)
        return TXD_OK;
    if (is_first(block)) {
        s->counted = 0;
        if (!is_weights)
            s->has_masked[layer] = false;
        else
            TXD_TRY(begin_weights(s, block->pass->inputs));
    }
    if (!is_weights && block->value.data)
        s->has_masked[layer] = true;
    if (is_weights && s->has_masked[layer])
        return TXD_OK;
    if (block->value.data)
        look_at_rows(s, &s->layers[layer], block);
    if (is_weights && block->last)
        judge_weights(s, &s->layers[layer], block);
    return TXD_OK;
}

void txd_alignment_step_end(txd_alignment *s, const txd_pass *pass)
{
    s->steps += pass->inputs->past > 0;
    for (size_t l = 0; l < s->claimed->n_layers; l++)
        s->has_masked[l] = false;
}
