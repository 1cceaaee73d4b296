/* SPDX-License-Identifier: MIT
 *
 * The probe `rows`: the row statistics of attention (lib/ops/rows.def), one dataset
 * per column with an axis for the layers, so that a picture of layers x heads is one
 * slice. The backends compute them in the softmax pass; workers turn a block of them
 * into columns, and a layer is written at its last block: few writes, and memory for
 * one layer.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "probes/common.h"

typedef struct rows {
    txd_probe_frame frame;
    size_t datasets[2][TXD_ROW_COUNT]; /* of the attention, of the cross-attention */
    size_t slot_rows;                  /* that fit a slot: (column, row) */
    /* (column, b, h, q) of the layer at hand, each column in its dtype. */
    txd_room values;
} rows;

/* What the file holds. */
static txd_dtype dtype_of(const rows *state, size_t column)
{
    return txd_row_get((txd_row)column)->is_key ? TXD_I32
                                                : txd_probe_real(state->frame.context);
}

/* Bytes that an element of a column has room for. */
static size_t room_of(const rows *state)
{
    return txd_dtype_bytes(txd_probe_real(state->frame.context));
}

static unsigned ask(txd_site_kind kind, txd_point point)
{
    bool takes =
        kind == TXD_SITE_VALUE && txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS;

    return takes ? TXD_ASK_ROWS : 0;
}

static txd_status make(rows *state, txd_attention_kind kind, txd_row column)
{
    const txd_probe_context *context = state->frame.context;
    const txd_config *config = context->claimed;
    const txd_row_info *info = txd_row_get(column);
    char path[64];
    txd_dataset_spec spec = {
        .path = path,
        .axes = "slbhq",
        .point = txd_point_get(txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS))->name,
        .unit = info->unit,
        .dtype = dtype_of(state, column),
        .per_step = true,
        .rank = 4,
        .dims = {config->n_layers, context->batch, config->n_heads, context->length},
        .steps = context->steps,
    };

    snprintf(path, sizeof path, "%srows/%s",
             kind == TXD_ATTENTION_CROSS ? "cross_" : "", info->name);
    txd_probe_grow(&spec, context, 3, context->length);
    return txd_probe_make_layers(&state->datasets[kind][column], &state->frame, &spec,
                                 kind);
}

static txd_status fill(void *self)
{
    rows *state = self;
    const txd_probe_context *context = state->frame.context;
    size_t longest =
        context->length > context->memory ? context->length : context->memory;

    state->slot_rows = txd_attention_tile_rows(longest);
    state->frame.tap.slot_bytes = state->slot_rows * TXD_ROW_COUNT * room_of(state);
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < TXD_ROW_COUNT &&
                        txd_probe_has_point(self, txd_point_in((txd_attention_kind)kind,
                                                               TXD_POINT_ATTN_WEIGHTS));
             i++)
            TXD_TRY(make(self, (txd_attention_kind)kind, (txd_row)i));
    return TXD_OK;
}

static size_t cells(const txd_block *block)
{
    return block->dims[0] * block->dims[1] * block->dims[2];
}

/* The place of an element in columns that have room for `stride` each. */
static void *place_in(void *columns, const rows *state, size_t column, size_t stride,
                      size_t at)
{
    size_t bytes = column * stride * room_of(state);

    return (char *)columns + bytes + at * txd_dtype_bytes(dtype_of(state, column));
}

static void put_keys(int32_t *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++, from += TXD_ROW_COUNT)
        to[i] = *from >= 0 ? (int32_t)*from : -1;
}

static void put_floats(float *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++, from += TXD_ROW_COUNT)
        to[i] = (float)*from;
}

static void put_doubles(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++, from += TXD_ROW_COUNT)
        to[i] = *from;
}

/* Row statistics, one row after the other, into columns. */
static void gather(void *columns, const rows *state, size_t stride, size_t at,
                   const double *from, size_t count)
{
    for (size_t c = 0; c < TXD_ROW_COUNT; c++) {
        void *to = place_in(columns, state, c, stride, at);

        if (dtype_of(state, c) == TXD_I32)
            put_keys(to, from + c, count);
        else if (dtype_of(state, c) == TXD_F32)
            put_floats(to, from + c, count);
        else
            put_doubles(to, from + c, count);
    }
}

/* Heads that are not selected keep what the file is filled with. */
static void leave_out(const rows *state, size_t stride, size_t at, size_t count)
{
    double nothing[TXD_ROW_COUNT];

    for (size_t c = 0; c < TXD_ROW_COUNT; c++)
        nothing[c] = dtype_of(state, c) == TXD_I32 ? -1 : (double)NAN;
    for (size_t i = 0; i < count; i++)
        gather(state->values.data, state, stride, at + i, nothing, 1);
}

static bool fits(const rows *state, const txd_block *block)
{
    return block->rows && txd_block_heads(block) == 1 &&
           block->value.dims[2] <= state->slot_rows;
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const rows *state = self;

    if (fits(state, block))
        gather(slot, state, state->slot_rows, 0, block->rows, block->value.dims[2]);
}

static txd_status begin(void *self, const txd_block *block)
{
    rows *state = self;

    return txd_probe_reserve(&state->values, &state->frame,
                             cells(block) * TXD_ROW_COUNT, room_of(state));
}

static void add_slot(const rows *state, size_t stride, size_t at, const void *slot,
                     size_t count)
{
    for (size_t c = 0; c < TXD_ROW_COUNT; c++)
        memcpy(place_in(state->values.data, state, c, stride, at),
               place_in((void *)slot, state, c, state->slot_rows, 0),
               count * txd_dtype_bytes(dtype_of(state, c)));
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    rows *state = self;
    size_t queries = block->value.dims[2], stride = cells(block);

    if (!block->rows && txd_block_rows(block) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: its row statistics were not formed",
                        block->site->name);
    for (size_t i = 0; block->rows && i < txd_block_heads(block); i++) {
        size_t at = txd_block_head(block, i) * block->dims[2] + block->start[2];

        if (!txd_probe_wants_head(&state->frame, block, i))
            leave_out(state, stride, at, queries);
        else if (slot && fits(state, block))
            add_slot(state, stride, at, slot, queries);
        else
            gather(state->values.data, state, stride, at,
                   block->rows + i * queries * TXD_ROW_COUNT, queries);
    }
    return TXD_OK;
}

static txd_status write_column(const rows *state, const txd_block *block, size_t i)
{
    const size_t start[4] = {(size_t)block->site->layer, 0, 0, 0};
    const size_t count[4] = {1, block->dims[0], block->dims[1], block->dims[2]};
    txd_attention_kind kind = txd_point_attention(block->site->point);

    return txd_recording_write(
        state->frame.context->recording, state->datasets[kind][i],
        (size_t)block->pass->step, start, count,
        place_in(state->values.data, state, i, cells(block), 0), dtype_of(state, i));
}

static txd_status end(void *self, const txd_block *block)
{
    for (size_t c = 0; cells(block) > 0 && c < TXD_ROW_COUNT; c++)
        TXD_TRY(write_column(self, block, c));
    return TXD_OK;
}

const txd_probe txd_probe_rows = {
    .name = "rows",
    .sentence = "sum, entropy, peak, leaks and more of every row of attention",
    .points = "layers.*.attn.weights,layers.*.cross.weights",
    .ask = ask,
    .by_head = true,
    .state_bytes = sizeof(rows),
    .fill = fill,
    .begin = begin,
    .reduce = reduce,
    .merge = merge,
    .end = end,
};
