/* SPDX-License-Identifier: MIT
 *
 * The probe `rows`: the row statistics of attention (lib/ops/rows.def), one dataset
 * per column with an axis for the layers, so that a picture of layers x heads is one
 * slice. The backends compute them in the softmax pass; here a layer is gathered and
 * written at its last block: few writes, and memory for one layer.
 */
#include <math.h>
#include <stdio.h>

#include "probes/common.h"

typedef struct rows {
    txd_probe_frame frame;
    size_t datasets[2][TXD_ROW_COUNT]; /* of the attention, of the cross-attention */
    /* (column, b, h, q) of the layer at hand, each column in its dtype. */
    txd_room values;
} rows;

/* What the file holds. */
static txd_dtype dtype_of(const rows *state, size_t column)
{
    return txd_row_get((txd_row)column)->is_key ? TXD_I32
                                                : txd_probe_real(state->frame.context);
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

/* One column; all have the room of doubles. */
typedef struct column {
    txd_dtype dtype;
    void *values;
} column;

static column column_of(const rows *state, const txd_block *block, size_t i)
{
    double *values = state->values.data;

    return (column){dtype_of(state, i), values + i * cells(block)};
}

static void put(const column *to, size_t at, double value)
{
    if (to->dtype == TXD_I32)
        ((int32_t *)to->values)[at] = value >= 0 ? (int32_t)value : -1;
    else if (to->dtype == TXD_F64)
        ((double *)to->values)[at] = value;
    else
        ((float *)to->values)[at] = (float)value;
}

/* Heads that are not selected keep what the file is filled with. */
static txd_status begin(void *self, const txd_block *block)
{
    rows *state = self;
    size_t count = cells(block) * TXD_ROW_COUNT;

    TXD_TRY(txd_probe_reserve(&state->values, &state->frame, count, sizeof(double)));
    for (size_t i = 0; i < TXD_ROW_COUNT; i++) {
        column to = column_of(state, block, i);

        for (size_t at = 0; at < cells(block); at++)
            put(&to, at, NAN);
    }
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    rows *state = self;
    size_t queries = block->value.dims[2];

    (void)slot;
    if (!block->rows && txd_block_rows(block) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: its row statistics were not formed",
                        block->site->name);
    for (size_t i = 0; block->rows && i < txd_block_heads(block); i++) {
        const double *from = block->rows + i * queries * TXD_ROW_COUNT;
        size_t place = txd_block_head(block, i) * block->dims[2] + block->start[2];

        if (!txd_probe_wants_head(&state->frame, block, i))
            continue;
        for (size_t c = 0; c < TXD_ROW_COUNT; c++) {
            column to = column_of(state, block, c);

            for (size_t q = 0; q < queries; q++)
                put(&to, place + q, from[q * TXD_ROW_COUNT + c]);
        }
    }
    return TXD_OK;
}

static txd_status write_column(const rows *state, const txd_block *block, size_t i)
{
    column from = column_of(state, block, i);
    const size_t start[4] = {(size_t)block->site->layer, 0, 0, 0};
    const size_t count[4] = {1, block->dims[0], block->dims[1], block->dims[2]};
    txd_attention_kind kind = txd_point_attention(block->site->point);

    return txd_recording_write(state->frame.context->recording,
                               state->datasets[kind][i], (size_t)block->pass->step,
                               start, count, from.values, from.dtype);
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
    .merge = merge,
    .end = end,
};
