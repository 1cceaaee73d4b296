/* SPDX-License-Identifier: MIT
 *
 * The probe `full`: values as the next operation reads them, one dataset per point
 * and layer. Attention weights are large and half empty: tiles whose bits are all +0
 * are left to the fill value. Where only some heads or steps are recorded the fill is
 * NaN instead, so that "not recorded" never reads as "zero".
 */
#include "probes/common.h"
#include "probes/full.h"

#include <stdlib.h>
#include <string.h>

typedef struct full {
    txd_arena *arena;
    const txd_probe_use *use;
    const txd_config *claimed;
    txd_recording *recording;
    txd_probe_sites sites;
    size_t *datasets;       /* one per site */
    bool *whole;            /* all heads and steps of it are wanted */
    unsigned char *scratch; /* a part of a block, dense */
    size_t scratch_bytes;
} full;

/* A piece of a block: one head of one batch row where there are heads, or all. */
typedef struct piece {
    size_t dataset, step, width; /* width of an element */
    int rank;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK];
    const unsigned char *data;
    txd_dtype dtype;
} piece;

static bool takes(txd_site_kind kind, txd_point point)
{
    (void)point;
    return kind == TXD_SITE_VALUE;
}

static unsigned ask(void *self, const txd_site *site)
{
    const full *state = self;

    if (!txd_probe_takes_site(&txd_probe_full, state->use, site))
        return 0;
    return TXD_ASK_VALUE |
           (site->point == TXD_POINT_ATTN_WEIGHTS ? TXD_ASK_HIDDEN : 0u);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static txd_status reserve(full *state, size_t bytes)
{
    unsigned char *grown;

    if (bytes <= state->scratch_bytes)
        return TXD_OK;
    grown = realloc(state->scratch, bytes);
    if (!grown)
        return txd_probe_no_memory("full");
    state->scratch = grown;
    state->scratch_bytes = bytes;
    return TXD_OK;
}

static txd_status write_piece(const full *state, const piece *part)
{
    return txd_recording_write(state->recording, part->dataset, part->step, part->start,
                               part->count, part->data, part->dtype);
}

/* The columns [from, to) of a matrix (the last two axes; those before have one). */
static txd_status write_columns(full *state, const piece *matrix, size_t from,
                                size_t to)
{
    piece part = *matrix;
    int last = matrix->rank - 1;
    size_t rows = matrix->count[last - 1], columns = matrix->count[last];
    size_t bytes = (to - from) * matrix->width;

    part.start[last] += from;
    part.count[last] = to - from;
    if (to - from < columns) {
        TXD_TRY(reserve(state, rows * bytes));
        for (size_t i = 0; i < rows; i++)
            memcpy(state->scratch + i * bytes,
                   matrix->data + (i * columns + from) * matrix->width, bytes);
        part.data = state->scratch;
    }
    return write_piece(state, &part);
}

/* Writes the runs of tiles that hold any bit, tile edges being those of the file. */
static txd_status write_sparse(full *state, const piece *matrix)
{
    int last = matrix->rank - 1;
    size_t rows = matrix->count[last - 1], columns = matrix->count[last];
    size_t first = matrix->start[last], run = 0;
    bool in_run = false;

    for (size_t from = 0, to; from < columns; from = to) {
        bool empty = true;

        to = (first + from) / TXD_FULL_TILE * TXD_FULL_TILE + TXD_FULL_TILE - first;
        if (to > columns)
            to = columns;
        for (size_t i = 0; i < rows && empty; i++)
            empty = is_zero(matrix->data + (i * columns + from) * matrix->width,
                            (to - from) * matrix->width);
        if (empty && in_run)
            TXD_TRY(write_columns(state, matrix, run, from));
        if (!empty && !in_run)
            run = from;
        in_run = !empty;
    }
    return in_run ? write_columns(state, matrix, run, columns) : TXD_OK;
}

/* Weights that were never computed are zero, but the fill is NaN: say so. */
static txd_status write_zeros(full *state, const piece *matrix, size_t from, size_t to)
{
    piece part = *matrix;
    int last = matrix->rank - 1;
    size_t bytes = matrix->count[last - 1] * (to - from) * matrix->width;

    if (from >= to)
        return TXD_OK;
    TXD_TRY(reserve(state, bytes));
    memset(state->scratch, 0, bytes);
    part.start[last] = from;
    part.count[last] = to - from;
    part.data = state->scratch;
    return write_piece(state, &part);
}

static txd_status write_weights(full *state, const piece *matrix, bool zero_fill,
                                size_t keys)
{
    int last = matrix->rank - 1;
    size_t first = matrix->start[last], end = first + matrix->count[last];

    if (zero_fill)
        return write_sparse(state, matrix);
    if (first < end)
        TXD_TRY(write_piece(state, matrix));
    TXD_TRY(write_zeros(state, matrix, 0, first));
    return write_zeros(state, matrix, end, keys);
}

/* A block with heads as its second axis, head by head. */
static txd_status write_heads(full *state, const txd_block *block, piece part,
                              bool zero_fill)
{
    const txd_tensor *value = &block->value;
    bool is_weights = block->site->point == TXD_POINT_ATTN_WEIGHTS;
    size_t bytes = part.width * value->dims[2] * value->dims[3];

    part.count[0] = part.count[1] = 1;
    for (size_t b = 0; b < value->dims[0]; b++) {
        for (size_t h = 0; h < value->dims[1]; h++, part.data += bytes) {
            if (!txd_full_wants(state->claimed, state->use, block->site,
                                block->start[1] + h))
                continue;
            part.start[0] = block->start[0] + b;
            part.start[1] = block->start[1] + h;
            TXD_TRY(is_weights ? write_weights(state, &part, zero_fill, block->dims[3])
                               : write_piece(state, &part));
        }
    }
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    full *state = self;
    size_t row = txd_probe_sites_index(&state->sites, block->site);
    const txd_tensor *value = &block->value;
    const char *axes = txd_point_get(block->site->point)->axes;
    piece part = {.step = (size_t)block->pass->step};

    (void)slot;
    if (row == state->sites.count)
        return TXD_OK;
    if (!value->data && txd_tensor_count(value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the value to be recorded was not formed",
                        block->site->name);
    part.dataset = state->datasets[row];
    part.rank = value->rank;
    part.data = value->data;
    part.dtype = value->dtype;
    part.width = txd_dtype_bytes(value->dtype);
    memcpy(part.start, block->start, sizeof part.start);
    memcpy(part.count, value->dims, sizeof part.count);
    if (block->site->point == TXD_POINT_ATTN_WEIGHTS ||
        (!state->whole[row] && (axes[1] == 'h' || axes[1] == 'g')))
        return write_heads(state, block, part, state->whole[row]);
    return txd_tensor_count(value) > 0 ? write_piece(state, &part) : TXD_OK;
}

static void destroy(void *self)
{
    full *state = self;

    if (!state)
        return;
    free(state->scratch);
    txd_arena_destroy(state->arena);
    free(state);
}

static txd_status fill(full *state, const txd_probe_context *context)
{
    size_t count;

    TXD_TRY(txd_arena_create(&state->arena));
    TXD_TRY(txd_probe_sites_find(&state->sites, state->arena, &txd_probe_full,
                                 state->use, context, TXD_SITE_VALUE));
    count = state->sites.count;
    state->datasets = txd_arena_alloc(state->arena, count, sizeof(size_t));
    state->whole = txd_arena_alloc(state->arena, count, sizeof(bool));
    if (!state->datasets || !state->whole)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const txd_site *site = &state->sites.list[i];
        txd_full_names names;
        txd_dataset_spec spec = txd_full_spec(&names, context, state->use, site);

        state->whole[i] = txd_probe_use_is_whole(&txd_probe_full, state->use,
                                                 site->name, site->layer);
        TXD_TRY(txd_recording_dataset(state->recording, &state->datasets[i], &spec));
    }
    return TXD_OK;
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    full *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("full");
    state->use = use;
    state->claimed = context->claimed;
    state->recording = context->recording;
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "full", .self = state, .ask = ask, .merge = merge};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_full = {
    .name = "full",
    .sentence = "values as the next operation reads them, one dataset per point",
    .points = "layers.*.attn.weights,logits",
    .takes = takes,
    .by_head = true,
    .plan = txd_full_plan,
    .create = create,
    .destroy = destroy,
};
