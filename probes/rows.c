/* SPDX-License-Identifier: MIT
 *
 * The probe `rows`: the row statistics of attention (lib/ops/rows.def), one dataset
 * per column with an axis for the layers, so that a picture of layers x heads is one
 * slice. The backends compute them in the softmax pass; here a layer is gathered and
 * written at its last block: few writes, and memory for one layer.
 */
#include "probes/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rows {
    const txd_probe_use *use;
    txd_recording *recording;
    size_t datasets[TXD_ROW_COUNT];
    double *values;  /* (column, b, h, q) of the layer at hand */
    int32_t *keys;   /* one column of keys, as the file holds them */
    size_t capacity; /* in cells of (b, h, q) */
    size_t dims[3];  /* b, h, q of the layer at hand */
    bool is_gathering;
} rows;

static bool takes(txd_site_kind kind, txd_point point)
{
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS;
}

static unsigned ask(void *self, const txd_site *site)
{
    const rows *state = self;

    return txd_probe_takes_site(&txd_probe_rows, state->use, site) ? TXD_ASK_ROWS : 0;
}

static size_t cells(const rows *state)
{
    return state->dims[0] * state->dims[1] * state->dims[2];
}

/* Heads that are not selected keep NaN: the fill. */
static txd_status start_layer(rows *state, const txd_block *block)
{
    size_t count;

    memcpy(state->dims, block->dims, sizeof state->dims);
    count = cells(state);
    if (count > state->capacity) {
        double *values = realloc(state->values, count * TXD_ROW_COUNT * sizeof *values);
        int32_t *keys;

        if (!values)
            return txd_probe_no_memory("rows");
        state->values = values;
        keys = realloc(state->keys, count * sizeof *keys);
        if (!keys)
            return txd_probe_no_memory("rows");
        state->keys = keys;
        state->capacity = count;
    }
    for (size_t i = 0; i < count * TXD_ROW_COUNT; i++)
        state->values[i] = NAN;
    state->is_gathering = true;
    return TXD_OK;
}

static void gather(rows *state, const txd_block *block)
{
    size_t queries = block->value.dims[2], all = cells(state);
    const double *from = block->rows;

    for (size_t b = 0; b < block->value.dims[0]; b++) {
        for (size_t h = 0; h < block->value.dims[1]; h++) {
            size_t head = block->start[1] + h;
            size_t place =
                ((block->start[0] + b) * state->dims[1] + head) * state->dims[2] +
                block->start[2];

            if (txd_probe_use_selects_head(&txd_probe_rows, state->use, block->site,
                                           head))
                for (size_t q = 0; q < queries; q++)
                    for (size_t c = 0; c < TXD_ROW_COUNT; c++)
                        state->values[c * all + place + q] =
                            from[q * TXD_ROW_COUNT + c];
            from += queries * TXD_ROW_COUNT;
        }
    }
}

static txd_status write_column(rows *state, const txd_block *block, size_t column)
{
    size_t all = cells(state);
    const double *values = state->values + column * all;
    const size_t start[4] = {(size_t)block->site->layer, 0, 0, 0};
    const size_t count[4] = {1, state->dims[0], state->dims[1], state->dims[2]};
    bool is_key = txd_row_get((txd_row)column)->is_key;

    for (size_t i = 0; is_key && i < all; i++)
        state->keys[i] = values[i] >= 0 ? (int32_t)values[i] : -1;
    return txd_recording_write(
        state->recording, state->datasets[column], (size_t)block->pass->step, start,
        count, is_key ? (const void *)state->keys : values, is_key ? TXD_I32 : TXD_F64);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    rows *state = self;

    (void)slot;
    if (!block->rows && txd_block_rows(block) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: its row statistics were not formed",
                        block->site->name);
    if (!state->is_gathering)
        TXD_TRY(start_layer(state, block));
    if (block->rows)
        gather(state, block);
    if (!block->last)
        return TXD_OK;
    state->is_gathering = false;
    for (size_t c = 0; cells(state) > 0 && c < TXD_ROW_COUNT; c++)
        TXD_TRY(write_column(state, block, c));
    return TXD_OK;
}

static txd_dataset_spec describe(char path[64], const txd_probe_context *context,
                                 txd_row column)
{
    const txd_row_info *info = txd_row_get(column);
    const txd_config *config = context->claimed;
    txd_dataset_spec spec = {
        .path = path,
        .axes = "slbhq",
        .point = "attn.weights",
        .unit = info->unit,
        .dtype = info->is_key ? TXD_I32 : context->dtype,
        .per_step = true,
        .rank = 4,
        .dims = {config->n_layers, context->batch, config->n_heads, context->length},
        .steps = context->steps,
    };

    snprintf(path, 64, "rows/%s", info->name);
    txd_probe_grow(&spec, context, 3, context->length);
    return spec;
}

static txd_status plan(const txd_probe_context *context, const txd_probe_use *use,
                       txd_probe_add add, void *self)
{
    size_t all = context->claimed->n_layers * context->steps;
    size_t selected = txd_probe_layer_steps(&txd_probe_rows, use, context);

    for (int i = 0; i < TXD_ROW_COUNT; i++) {
        char path[64];
        txd_probe_dataset dataset = {.name = "attn.weights"};

        dataset.spec = describe(path, context, (txd_row)i);
        dataset.left_out = txd_probe_left_out(&dataset.spec, selected, all);
        TXD_TRY(add(self, &dataset));
    }
    return TXD_OK;
}

static void destroy(void *self)
{
    rows *state = self;

    if (!state)
        return;
    free(state->values);
    free(state->keys);
    free(state);
}

static txd_status fill(rows *state, const txd_probe_context *context)
{
    for (int i = 0; i < TXD_ROW_COUNT; i++) {
        char path[64];
        txd_dataset_spec spec = describe(path, context, (txd_row)i);

        TXD_TRY(txd_recording_dataset(state->recording, &state->datasets[i], &spec));
    }
    return TXD_OK;
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    rows *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("rows");
    state->use = use;
    state->recording = context->recording;
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "rows", .self = state, .ask = ask, .merge = merge};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_rows = {
    .name = "rows",
    .sentence = "sum, entropy, peak, leaks and more of every row of attention",
    .points = "layers.*.attn.weights",
    .takes = takes,
    .by_head = true,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
