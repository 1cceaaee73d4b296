/* SPDX-License-Identifier: MIT
 *
 * The probe `full`: values as the next operation reads them, and gradients as the next
 * operation on the way back does, one dataset per point and layer. Attention weights
 * are large and half empty: their fill is +0, and chunks whose bits are all +0 are left
 * out of the file. Where only some heads or steps are recorded the fill is NaN instead,
 * so that "not recorded" never reads as "zero".
 */
#include <string.h>

#include "probes/full.h"

typedef struct full {
    txd_probe_frame frame;
    size_t *datasets[TXD_SITE_KINDS]; /* one per site */
    txd_room scratch;                 /* a part of a block, dense */
} full;

/* A piece of a block: one head of one batch row where there are heads, or all. */
typedef struct piece {
    size_t dataset, step, width; /* width of an element */
    int rank;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK];
    const unsigned char *data;
    txd_dtype dtype;
} piece;

static unsigned ask(txd_site_kind kind, txd_point point)
{
    if (kind == TXD_SITE_PARAMETER)
        return 0;
    if (kind == TXD_SITE_VALUE && txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS)
        return TXD_ASK_VALUE | TXD_ASK_HIDDEN;
    return TXD_ASK_VALUE;
}

static txd_status fill(void *self)
{
    full *state = self;

    for (int kind = 0; kind < TXD_SITE_KINDS; kind++) {
        const txd_probe_sites *sites = &state->frame.sites[kind];
        size_t *datasets =
            txd_arena_alloc(state->frame.arena, sites->count, sizeof *datasets);

        if (!datasets)
            return TXD_ERR_MEMORY;
        for (size_t i = 0; i < sites->count; i++)
            TXD_TRY(txd_full_make(&datasets[i], &state->frame, &sites->list[i]));
        state->datasets[kind] = datasets;
    }
    return TXD_OK;
}

static txd_status write_piece(const full *state, const piece *part)
{
    return txd_recording_write(state->frame.context->recording, part->dataset,
                               part->step, part->start, part->count, part->data,
                               part->dtype);
}

/* Zeros that were not computed are there all the same: the dataset reaches their end.
 */
static txd_status reach(const full *state, const piece *matrix, size_t keys)
{
    piece end = *matrix;

    for (int axis = 0; axis < matrix->rank; axis++) {
        end.start[axis] += matrix->count[axis];
        end.count[axis] = 0;
    }
    end.start[matrix->rank - 1] = keys;
    return write_piece(state, &end);
}

/* Weights that were never computed are zero, but the fill is NaN: say so. */
static txd_status write_zeros(full *state, const piece *matrix, size_t from, size_t to)
{
    piece part = *matrix;
    int last = matrix->rank - 1;
    size_t bytes = matrix->count[last - 1] * (to - from) * matrix->width;

    if (from >= to)
        return TXD_OK;
    TXD_TRY(txd_probe_reserve(&state->scratch, &state->frame, bytes, 1));
    memset(state->scratch.data, 0, bytes);
    part.start[last] = from;
    part.count[last] = to - from;
    part.data = state->scratch.data;
    return write_piece(state, &part);
}

static txd_status write_weights(full *state, const piece *matrix, bool zero_fill,
                                size_t keys)
{
    int last = matrix->rank - 1;
    size_t first = matrix->start[last], end = first + matrix->count[last];

    if (zero_fill)
        TXD_TRY(reach(state, matrix, keys));
    if (first < end)
        TXD_TRY(write_piece(state, matrix));
    if (zero_fill)
        return TXD_OK;
    TXD_TRY(write_zeros(state, matrix, 0, first));
    return write_zeros(state, matrix, end, keys);
}

/* A block with heads as its second axis, head by head. */
static txd_status write_heads(full *state, const txd_block *block, piece part,
                              bool zero_fill)
{
    const txd_tensor *value = &block->value;
    bool is_weights = txd_full_is_weights(block->site);
    size_t bytes = part.width * value->dims[2] * value->dims[3];

    part.count[0] = part.count[1] = 1;
    for (size_t b = 0; b < value->dims[0]; b++) {
        for (size_t h = 0; h < value->dims[1]; h++, part.data += bytes) {
            if (!txd_full_wants(&state->frame, block->site, block->start[1] + h))
                continue;
            part.start[0] = block->start[0] + b;
            part.start[1] = block->start[1] + h;
            TXD_TRY(is_weights ? write_weights(state, &part, zero_fill, block->dims[3])
                               : write_piece(state, &part));
        }
    }
    return TXD_OK;
}

static bool has_heads(const txd_site *site)
{
    const char *axes;

    if (txd_site_is_parameter(site->kind))
        return false;
    axes = txd_point_get(site->point)->axes;
    return axes[1] == 'h' || axes[1] == 'g';
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    full *state = self;
    size_t row = txd_probe_row(&state->frame, block->site);
    bool is_whole = txd_probe_is_whole(&state->frame, block->site);
    const txd_tensor *value = &block->value;
    piece part = {.step = (size_t)block->pass->step};

    (void)slot;
    if (!value->data && txd_tensor_count(value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the value to be recorded was not formed",
                        block->site->name);
    part.dataset = state->datasets[block->site->kind][row];
    part.rank = value->rank;
    part.data = value->data;
    part.dtype = value->dtype;
    part.width = txd_dtype_bytes(value->dtype);
    memcpy(part.start, block->start, sizeof part.start);
    memcpy(part.count, value->dims, sizeof part.count);
    if (txd_full_is_weights(block->site) || (!is_whole && has_heads(block->site)))
        return write_heads(state, block, part, is_whole);
    return txd_tensor_count(value) > 0 ? write_piece(state, &part) : TXD_OK;
}

const txd_probe txd_probe_full = {
    .name = "full",
    .sentence = "values as the next operation reads them, one dataset per point",
    .points = "layers.*.attn.weights,layers.*.cross.weights,logits",
    .ask = ask,
    .by_head = true,
    .state_bytes = sizeof(full),
    .fill = fill,
    .merge = merge,
};
