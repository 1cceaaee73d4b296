/* SPDX-License-Identifier: MIT
 *
 * The probe `pooled`: every attention matrix at a size that can always be kept and
 * drawn, as the mean and the maximum over at most C x C cells. Workers pool a block
 * of query rows into their slot; blocks that do not fit one (whole matrices, formed
 * for an edit) are pooled in merge by the same code.
 */
#include "probes/common.h"
#include "probes/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CELLS 64
#define MOST_CELLS 256
#define BLOCK_ROWS 256 /* of a usual block; only the size of slots depends on it */

typedef struct pooled {
    const txd_probe_use *use;
    txd_recording *recording;
    size_t cells;      /* per side, at most */
    size_t slot_rows;  /* cell rows that fit a slot */
    size_t mean, max;  /* datasets */
    double *sum, *top; /* (b, h, i, j) of the layer at hand */
    double *count;
    size_t capacity, dims[3]; /* b, h, tokens */
    bool is_pooling;
} pooled;

static bool takes(txd_site_kind kind, txd_point point)
{
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS;
}

static unsigned ask(void *self, const txd_site *site)
{
    const pooled *state = self;

    if (!txd_probe_takes_site(&txd_probe_pooled, state->use, site))
        return 0;
    return TXD_ASK_VALUE;
}

/* A block fits a slot if it is one head and touches few enough rows of cells. */
static bool fits(const pooled *state, const txd_block *block)
{
    size_t side = txd_pool_side(state->cells, block->dims[3]);
    size_t first, last;

    if (block->value.dims[0] != 1 || block->value.dims[1] != 1 ||
        block->value.dims[2] == 0 || !block->value.data)
        return false;
    first = txd_pool_cell(block->start[2], side, block->dims[2]);
    last =
        txd_pool_cell(block->start[2] + block->value.dims[2] - 1, side, block->dims[2]);
    return last - first < state->slot_rows;
}

static txd_pool_grid slot_grid(const void *slot, const pooled *state,
                               const txd_block *block)
{
    txd_pool_grid to = {.sum = (double *)slot, .tokens = block->dims[2]};

    to.side = txd_pool_side(state->cells, to.tokens);
    to.top = to.sum + state->slot_rows * to.side;
    to.first = txd_pool_cell(block->start[2], to.side, to.tokens);
    return to;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const pooled *state = self;
    txd_pool_grid to;

    if (!fits(state, block))
        return;
    to = slot_grid(slot, state, block);
    for (size_t i = 0; i < state->slot_rows * to.side; i++)
        to.top[i] = -INFINITY;
    txd_pool_head(&to, block, 0);
}

static txd_status start_layer(pooled *state, const txd_block *block)
{
    size_t side = txd_pool_side(state->cells, block->dims[2]);
    size_t count = block->dims[0] * block->dims[1] * side * side;

    memcpy(state->dims, block->dims, sizeof state->dims);
    if (count > state->capacity) {
        double *grown = realloc(state->sum, 3 * count * sizeof *grown);

        if (!grown)
            return txd_probe_no_memory("pooled");
        state->sum = grown;
        state->capacity = count;
    }
    state->top = state->sum + count;
    state->count = state->top + count;
    for (size_t i = 0; i < count; i++) {
        state->sum[i] = state->count[i] = 0;
        state->top[i] = -INFINITY;
    }
    state->is_pooling = true;
    return TXD_OK;
}

/* Where the cells of a block's head number `index` begin in the layer. */
static size_t head_place(const pooled *state, const txd_block *block, size_t index)
{
    size_t side = txd_pool_side(state->cells, state->dims[2]);
    size_t batch = block->start[0] + index / block->value.dims[1];
    size_t head = block->start[1] + index % block->value.dims[1];

    return (batch * state->dims[1] + head) * side * side;
}

static void count_head(pooled *state, const txd_block *block, size_t index)
{
    txd_pool_count(state->count + head_place(state, block, index),
                   txd_pool_side(state->cells, state->dims[2]), block, index);
}

static void add_slot(pooled *state, const txd_block *block, const void *slot)
{
    txd_pool_grid from = slot_grid(slot, state, block);
    size_t rows = txd_pool_cell(block->start[2] + block->value.dims[2] - 1, from.side,
                                from.tokens) -
                  from.first + 1;
    size_t place = head_place(state, block, 0) + from.first * from.side;

    for (size_t i = 0; i < rows * from.side; i++) {
        state->sum[place + i] += from.sum[i];
        state->top[place + i] = txd_pool_larger(from.top[i], state->top[place + i]);
    }
}

static void pool_directly(pooled *state, const txd_block *block, size_t index)
{
    size_t place = head_place(state, block, index);
    txd_pool_grid to = {
        .sum = state->sum + place, .top = state->top + place, .tokens = state->dims[2]};

    to.side = txd_pool_side(state->cells, to.tokens);
    txd_pool_head(&to, block, index);
}

/* Turns sums into means in place; cells that got nothing are NaN. */
static txd_status write_layer(pooled *state, const txd_block *block)
{
    size_t side = txd_pool_side(state->cells, state->dims[2]);
    size_t all = state->dims[0] * state->dims[1] * side * side;
    size_t step = (size_t)block->pass->step;
    const size_t start[5] = {(size_t)block->site->layer, 0, 0, 0, 0};
    const size_t count[5] = {1, state->dims[0], state->dims[1], side, side};

    state->is_pooling = false;
    for (size_t i = 0; i < all; i++) {
        bool any = state->count[i] > 0;

        state->sum[i] = any ? state->sum[i] / state->count[i] : NAN;
        state->top[i] = any ? state->top[i] : NAN;
    }
    if (all == 0)
        return TXD_OK;
    TXD_TRY(txd_recording_write(state->recording, state->mean, step, start, count,
                                state->sum, TXD_F64));
    return txd_recording_write(state->recording, state->max, step, start, count,
                               state->top, TXD_F64);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    pooled *state = self;
    size_t heads = block->value.dims[0] * block->value.dims[1];
    bool from_slot = slot && fits(state, block);

    if (!block->value.data && txd_tensor_count(&block->value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the weights were not formed",
                        block->site->name);
    if (!state->is_pooling)
        TXD_TRY(start_layer(state, block));
    for (size_t i = 0; i < heads; i++) {
        size_t head = block->start[1] + i % block->value.dims[1];

        if (!txd_probe_use_selects_head(&txd_probe_pooled, state->use, block->site,
                                        head))
            continue;
        count_head(state, block, i);
        if (from_slot)
            add_slot(state, block, slot);
        else
            pool_directly(state, block, i);
    }
    return block->last ? write_layer(state, block) : TXD_OK;
}

static txd_dataset_spec describe(const char *path, const txd_probe_context *context,
                                 size_t cells)
{
    const txd_config *config = context->claimed;
    size_t side = txd_pool_side(cells, context->length);
    txd_dataset_spec spec = {
        .path = path,
        .axes = "slbhij",
        .point = "attn.weights",
        .unit = "1",
        .dtype = context->dtype,
        .per_step = true,
        .rank = 5,
        .dims = {config->n_layers, context->batch, config->n_heads, side, side},
        .steps = context->steps,
    };

    txd_probe_grow(&spec, context, 3, side);
    txd_probe_grow(&spec, context, 4, side);
    return spec;
}

static txd_status read_cells(size_t *out, const txd_probe_use *use)
{
    *out = DEFAULT_CELLS;
    return txd_probe_use_size(out, use, "cells", 1, MOST_CELLS);
}

static txd_status plan(const txd_probe_context *context, const txd_probe_use *use,
                       txd_probe_add add, void *self)
{
    txd_probe_dataset dataset = {.name = "attn.weights"};
    size_t all = context->claimed->n_layers * context->steps;
    size_t selected = txd_probe_layer_steps(&txd_probe_pooled, use, context), cells;

    TXD_TRY(read_cells(&cells, use));
    dataset.spec = describe("pooled/mean", context, cells);
    dataset.left_out = txd_probe_left_out(&dataset.spec, selected, all);
    TXD_TRY(add(self, &dataset));
    dataset.spec = describe("pooled/max", context, cells);
    return add(self, &dataset);
}

static void destroy(void *self)
{
    pooled *state = self;

    if (state)
        free(state->sum);
    free(state);
}

static txd_status describe_cells(const pooled *state)
{
    char text[240];

    snprintf(text, sizeof text,
             "with N tokens and C = min(%zu, N) cells per side, cell i covers the "
             "queries floor(i*N/C) to floor((i+1)*N/C) - 1, cell j the keys alike; "
             "padded queries do not count",
             state->cells);
    return txd_recording_meta(state->recording, "pooled", text);
}

static txd_status fill(pooled *state, const txd_probe_context *context)
{
    txd_dataset_spec spec;
    size_t side;

    TXD_TRY(read_cells(&state->cells, state->use));
    /* With C cells, R rows touch at most R*C/N + 2 rows of cells, and no more than R;
     * the shortest step has the most. */
    side = txd_pool_side(state->cells, context->length);
    state->slot_rows = side;
    if (context->length > BLOCK_ROWS)
        state->slot_rows = BLOCK_ROWS * side / context->length + 2;
    state->slot_rows = state->slot_rows < side ? state->slot_rows : side;
    spec = describe("pooled/mean", context, state->cells);
    TXD_TRY(txd_recording_dataset(state->recording, &state->mean, &spec));
    spec.path = "pooled/max";
    TXD_TRY(txd_recording_dataset(state->recording, &state->max, &spec));
    return describe_cells(state);
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    pooled *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("pooled");
    state->use = use;
    state->recording = context->recording;
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "pooled", .self = state, .ask = ask};
    tap->slot_bytes = 2 * state->slot_rows *
                      txd_pool_side(state->cells, context->length) * sizeof(double);
    tap->reduce = reduce;
    tap->merge = merge;
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_pooled = {
    .name = "pooled",
    .sentence = "attention matrices of any length as at most 64 x 64 cells",
    .points = "layers.*.attn.weights",
    .takes = takes,
    .by_head = true,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
