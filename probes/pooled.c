/* SPDX-License-Identifier: MIT
 *
 * The probe `pooled`: every attention matrix at a size that can always be kept and
 * drawn, as the mean and the maximum over at most C x C cells. Workers pool a block
 * of query rows into their slot; blocks that do not fit one (whole matrices, formed
 * for an edit) are pooled in merge by the same code.
 */
#include <math.h>
#include <stdio.h>

#include "probes/common.h"
#include "probes/pool.h"

#define BLOCK_ROWS 256 /* of a usual block; only the size of slots depends on it */

typedef struct pooled {
    txd_probe_frame frame;  /* number: cells per side, at most */
    size_t slot_rows;       /* cell rows that fit a slot */
    size_t mean[2], max[2]; /* datasets: of attention, of cross-attention */
    txd_room cells;         /* sum, top and count (b, h, i, j) of the layer at hand */
    double *sum, *top, *count;
    txd_room written; /* in the file's dtype */
} pooled;

static unsigned ask(txd_site_kind kind, txd_point point)
{
    bool takes =
        kind == TXD_SITE_VALUE && txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS;

    return takes ? TXD_ASK_VALUE : 0;
}

/* What is attended to. */
static size_t keys_of(const txd_probe_context *context, txd_attention_kind kind)
{
    return kind == TXD_ATTENTION_CROSS ? context->memory : context->length;
}

static txd_status make(size_t *number, const pooled *state, txd_attention_kind kind,
                       const char *name)
{
    const txd_probe_context *context = state->frame.context;
    const txd_config *config = context->claimed;
    size_t queries = txd_pool_cells(state->frame.number, context->length).cells;
    size_t keys = txd_pool_cells(state->frame.number, keys_of(context, kind)).cells;
    char path[32];
    txd_dataset_spec spec = {
        .path = path,
        .axes = "slbhij",
        .point = txd_point_get(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS))->name,
        .unit = "1",
        .dtype = txd_probe_real(context),
        .per_step = true,
        .rank = 5,
        .dims = {config->n_layers, context->batch, config->n_heads, queries, keys},
        .steps = context->steps,
    };

    snprintf(path, sizeof path, "%spooled/%s",
             kind == TXD_ATTENTION_CROSS ? "cross_" : "", name);
    txd_probe_grow(&spec, context, 3, queries);
    txd_probe_grow(&spec, context, 4, keys);
    return txd_probe_make_layers(number, &state->frame, &spec, kind);
}

static txd_status describe_cells(const pooled *state)
{
    char text[240];

    snprintf(text, sizeof text,
             "with N tokens and C = min(%zu, N) cells per side, cell i covers the "
             "queries floor(i*N/C) to floor((i+1)*N/C) - 1, cell j the keys alike; "
             "padded queries do not count",
             state->frame.number);
    return txd_recording_meta(state->frame.context->recording, "pooled", text);
}

/* Elements of a slot: with C cells, R rows touch at most R*C/N + 2 rows of cells, and
 * no more than R; the shortest step has the most. */
static size_t slot_elements(pooled *state)
{
    const txd_probe_context *context = state->frame.context;
    size_t side = txd_pool_cells(state->frame.number, context->length).cells;
    size_t longest =
        context->memory > context->length ? context->memory : context->length;

    state->slot_rows = side;
    if (context->length > BLOCK_ROWS)
        state->slot_rows = BLOCK_ROWS * side / context->length + 2;
    state->slot_rows = state->slot_rows < side ? state->slot_rows : side;
    return 2 * state->slot_rows * txd_pool_cells(state->frame.number, longest).cells;
}

static txd_status fill(void *self)
{
    pooled *state = self;

    state->frame.tap.slot_bytes = slot_elements(state) * sizeof(double);
    for (int i = 0; i < 2; i++) {
        txd_attention_kind kind = (txd_attention_kind)i;

        if (!txd_probe_has_point(&state->frame,
                                 txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS)))
            continue;
        TXD_TRY(make(&state->mean[i], state, kind, "mean"));
        TXD_TRY(make(&state->max[i], state, kind, "max"));
    }
    return state->frame.context->recording ? describe_cells(state) : TXD_OK;
}

/* The cells of a whole head of the block. */
static txd_pool_grid grid_of(const pooled *state, const txd_block *block)
{
    return (txd_pool_grid){.queries =
                               txd_pool_cells(state->frame.number, block->dims[2]),
                           .keys = txd_pool_cells(state->frame.number, block->dims[3])};
}

/* A block fits a slot if it is one head and touches few enough rows of cells. */
static bool fits(const pooled *state, const txd_block *block)
{
    txd_pool_grid grid = grid_of(state, block);
    size_t first, last;

    if (txd_block_heads(block) != 1 || block->value.dims[2] == 0 || !block->value.data)
        return false;
    first = txd_pool_cell(block->start[2], grid.queries);
    last = txd_pool_cell(block->start[2] + block->value.dims[2] - 1, grid.queries);
    return last - first < state->slot_rows;
}

static txd_pool_grid slot_grid(const void *slot, const pooled *state,
                               const txd_block *block)
{
    txd_pool_grid to = grid_of(state, block);

    to.sum = (double *)slot;
    to.top = to.sum + state->slot_rows * to.keys.cells;
    to.first = txd_pool_cell(block->start[2], to.queries);
    return to;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const pooled *state = self;
    txd_pool_grid to;

    if (!fits(state, block))
        return;
    to = slot_grid(slot, state, block);
    for (size_t i = 0; i < state->slot_rows * to.keys.cells; i++)
        to.top[i] = -INFINITY;
    txd_pool_head(&to, block, 0);
}

static txd_status begin(void *self, const txd_block *block)
{
    pooled *state = self;
    txd_pool_grid grid = grid_of(state, block);
    size_t count =
        block->dims[0] * block->dims[1] * grid.queries.cells * grid.keys.cells;

    TXD_TRY(txd_probe_reserve(&state->cells, &state->frame, count, 3 * sizeof(double)));
    state->sum = state->cells.data;
    state->top = state->sum + count;
    state->count = state->top + count;
    for (size_t i = 0; i < count; i++) {
        state->sum[i] = state->count[i] = 0;
        state->top[i] = -INFINITY;
    }
    return TXD_OK;
}

/* `place` is where the cells of the block's only head begin in the layer. */
static void add_slot(pooled *state, size_t place, const txd_block *block,
                     const void *slot)
{
    txd_pool_grid from = slot_grid(slot, state, block);
    size_t last = block->start[2] + block->value.dims[2] - 1;
    size_t rows = txd_pool_cell(last, from.queries) - from.first + 1;

    place += from.first * from.keys.cells;
    for (size_t i = 0; i < rows * from.keys.cells; i++) {
        state->sum[place + i] += from.sum[i];
        state->top[place + i] = txd_pool_larger(from.top[i], state->top[place + i]);
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    pooled *state = self;
    txd_pool_grid to = grid_of(state, block);
    size_t cells = to.queries.cells * to.keys.cells;
    bool from_slot = slot && fits(state, block);
    double keys[TXD_POOL_MOST];

    if (!block->value.data && txd_tensor_count(&block->value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the weights were not formed",
                        block->site->name);
    txd_pool_keys(keys, &to, block);
    for (size_t i = 0; i < txd_block_heads(block); i++) {
        size_t place = txd_block_head(block, i) * cells;

        to.sum = state->sum + place;
        to.top = state->top + place;
        if (!txd_probe_wants_head(&state->frame, block, i))
            continue;
        txd_pool_count(state->count + place, &to, block, keys, i);
        if (from_slot)
            add_slot(state, place, block, slot);
        else
            txd_pool_head(&to, block, i);
    }
    return TXD_OK;
}

/* Cells that got nothing are NaN; `by` divides the others. */
static void fill_written(const pooled *state, size_t cells, const double *from,
                         const double *by)
{
    bool narrow = txd_probe_real(state->frame.context) == TXD_F32;
    double *wide = state->written.data;
    float *floats = state->written.data;

    for (size_t i = 0; i < cells; i++) {
        double value = state->count[i] > 0 ? (by ? from[i] / by[i] : from[i]) : NAN;

        if (narrow)
            floats[i] = (float)value;
        else
            wide[i] = value;
    }
}

static txd_status end(void *self, const txd_block *block)
{
    pooled *state = self;
    txd_recording *recording = state->frame.context->recording;
    txd_dtype dtype = txd_probe_real(state->frame.context);
    txd_attention_kind kind = txd_point_attention(block->site->point);
    txd_pool_grid grid = grid_of(state, block);
    size_t step = (size_t)block->pass->step;
    const size_t start[5] = {(size_t)block->site->layer, 0, 0, 0, 0};
    const size_t count[5] = {1, block->dims[0], block->dims[1], grid.queries.cells,
                             grid.keys.cells};
    size_t all = count[1] * count[2] * count[3] * count[4];

    if (all == 0)
        return TXD_OK;
    TXD_TRY(txd_probe_reserve(&state->written, &state->frame, all, sizeof(double)));
    fill_written(state, all, state->sum, state->count);
    TXD_TRY(txd_recording_write(recording, state->mean[kind], step, start, count,
                                state->written.data, dtype));
    fill_written(state, all, state->top, NULL);
    return txd_recording_write(recording, state->max[kind], step, start, count,
                               state->written.data, dtype);
}

const txd_probe txd_probe_pooled = {
    .name = "pooled",
    .sentence = "attention matrices of any length as at most 64 x 64 cells",
    .points = "layers.*.attn.weights,layers.*.cross.weights",
    .ask = ask,
    .by_head = true,
    .number = {"cells", 64, 1, TXD_POOL_MOST},
    .state_bytes = sizeof(pooled),
    .fill = fill,
    .begin = begin,
    .reduce = reduce,
    .merge = merge,
    .end = end,
};
