/* SPDX-License-Identifier: MIT
 *
 * Adds up how far two recorded values are apart, in memory bounded by a block. What
 * nobody reads does not count: padded tokens, and cells that the claimed mask hides.
 */
#include <math.h>
#include <string.h>

#include "viz/read/compared.h"

#define BLOCK ((size_t)1 << 20) /* elements that are read at once */

typedef struct sums {
    double difference, reference; /* of squares */
    double largest;
    size_t elements, nonfinite;
} sums;

/* Axes of a value by their meaning; -1 = it has none. `memory` is that of values that
 * have rows of the memory and no queries. */
typedef struct axes {
    int batch, token, key, memory;
} axes;

typedef struct walk {
    const txd_pair *pair;
    const txd_claim *claim;
    axes at;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK]; /* of the block that is read */
    size_t places;      /* of a block on the axis before those that it has whole */
    bool found, masked; /* of the mask of a batch row: was looked for, is known */
    size_t mask_batch;
    txd_mask_view mask;
} walk;

static axes find_axes(const txd_pair *pair)
{
    axes out = {.batch = txd_axis_of(&pair->info, 'b'),
                .token = txd_axis_of(&pair->info, 't'),
                .key = -1,
                .memory = -1};
    int key = txd_axis_of(&pair->info, 'k');

    if (out.token < 0)
        out.token = txd_axis_of(&pair->info, 'q');
    if (out.token >= 0)
        out.key = key;
    else if (txd_site_attention(pair->info.name) == TXD_ATTENTION_CROSS ||
             strncmp(pair->info.name, "input", 5) == 0)
        out.memory = key;
    else if (pair->layer >= 0)
        out.token = key;
    return out;
}

static bool is_padding(const int32_t *valid, size_t length, size_t batch, size_t place)
{
    return place >= length || !valid[batch * length + place];
}

/* Whether the claimed mask hides a cell; it is looked for once per batch row. */
static bool is_hidden(walk *w, size_t batch, size_t query, size_t key)
{
    const txd_trace_info *info = &w->pair->info;

    if (!w->found || w->mask_batch != batch) {
        const txd_claim_block block = {.kind = txd_site_attention(info->name),
                                       .layer = w->pair->layer,
                                       .batch = batch,
                                       .queries = info->dims[w->at.token],
                                       .keys = info->dims[w->at.key]};

        w->masked = txd_claim_mask(&w->mask, w->claim, &block);
        w->mask_batch = batch;
        w->found = true;
    }
    return w->masked && txd_mask_hides(&w->mask, query, key);
}

static bool is_read(walk *w, const size_t *place)
{
    const txd_inputs *inputs = &w->claim->inputs;
    size_t batch = w->at.batch < 0 ? 0 : place[w->at.batch];

    if (!w->claim->has_inputs)
        return true;
    if (w->at.memory >= 0)
        return batch < inputs->batch &&
               (!inputs->memory_valid ||
                !is_padding(inputs->memory_valid, inputs->memory_length, batch,
                            place[w->at.memory]));
    if (w->at.token < 0)
        return true;
    if (batch >= inputs->batch ||
        is_padding(inputs->valid, inputs->length, batch, place[w->at.token]))
        return false;
    return w->at.key < 0 || w->pair->layer < 0 ||
           !is_hidden(w, batch, place[w->at.token], place[w->at.key]);
}

static void add(sums *to, double reference, double measured, bool nan_is_nothing)
{
    double difference = measured - reference;

    if (nan_is_nothing && isnan(reference) && isnan(measured))
        return;
    to->elements++;
    if (reference == measured && isinf(reference))
        return;
    if (!isfinite(reference) || !isfinite(measured)) {
        to->nonfinite++;
        return;
    }
    to->largest = fmax(to->largest, fabs(difference));
    to->difference += difference * difference;
    to->reference += reference * reference;
}

static void add_block(sums *to, walk *w, double *const values[2])
{
    const txd_pair *pair = w->pair;
    int rank = pair->info.rank;
    size_t total = 1, place[TXD_MAX_RANK];

    for (int axis = 0; axis < rank; axis++)
        total *= w->count[axis];
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;

        for (int axis = rank - 1; axis >= 0; axis--) {
            place[axis] = w->start[axis] + rest % w->count[axis];
            rest /= w->count[axis];
        }
        if (is_read(w, place))
            add(to, values[0][i] / pair->scales[0], values[1][i] / pair->scales[1],
                pair->nan_is_nothing);
    }
}

/* The next block in order; false after the last. Blocks are whole from `whole` on, of
 * one place before, and of some places on the axis before `whole`. */
static bool next_block(walk *w, int whole)
{
    const size_t *dims = w->pair->info.dims;

    for (int axis = whole - 1; axis >= 1; axis--) {
        size_t most = axis == whole - 1 ? w->places : 1, left;

        if (axis == w->pair->fixed_axis)
            continue;
        w->start[axis] += w->count[axis];
        left = w->start[axis] < dims[axis] ? dims[axis] - w->start[axis] : 0;
        w->count[axis] = left == 0 || most < left ? most : left;
        if (left != 0)
            return true;
        w->start[axis] = 0;
    }
    return false;
}

/* The first block of a step; returns its first whole axis. */
static int first_block(walk *w, size_t step)
{
    const txd_trace_info *info = &w->pair->info;
    int whole = info->rank;
    size_t total = 1;

    for (int axis = info->rank - 1; axis >= 1; axis--) {
        size_t length = axis == w->pair->fixed_axis ? 1 : info->dims[axis];

        if (total > BLOCK / (length ? length : 1))
            break;
        total *= length;
        whole = axis;
    }
    for (int axis = 0; axis < info->rank; axis++) {
        w->start[axis] = axis == 0 ? step : 0;
        w->count[axis] = axis >= whole ? info->dims[axis] : 1;
    }
    if (whole > 1) {
        size_t length = info->dims[whole - 1];

        w->places = length < BLOCK / total ? length : BLOCK / total;
        w->count[whole - 1] = w->places;
    }
    if (w->pair->fixed_axis >= 0) {
        w->start[w->pair->fixed_axis] = w->pair->fixed;
        w->count[w->pair->fixed_axis] = 1;
    }
    return whole;
}

static txd_status sum_step(sums *to, walk *w, const txd_compared *compared, size_t step,
                           double *const values[2])
{
    const txd_trace *const both[2] = {compared->reference, compared->measured};
    int whole = first_block(w, step);

    do {
        for (int i = 0; i < 2; i++)
            TXD_TRY(txd_trace_read(both[i], values[i], w->pair->entries[i], w->start,
                                   w->count, TXD_F64));
        add_block(to, w, values);
    } while (next_block(w, whole));
    return TXD_OK;
}

static double relative_of(const sums *sum)
{
    if (sum->nonfinite != 0)
        return (double)NAN;
    if (sum->difference == 0)
        return 0;
    return sqrt(sum->difference) / sqrt(sum->reference);
}

/* Elements of the largest block of a pair. */
static size_t block_elements(const txd_pair *pair)
{
    size_t total = 1;

    for (int axis = 1; axis < pair->info.rank; axis++) {
        size_t length = axis == pair->fixed_axis ? 1 : pair->info.dims[axis];

        if (length != 0 && total > BLOCK / length)
            return BLOCK;
        total *= length;
    }
    return total;
}

txd_status txd_pair_sum(txd_error *out, const txd_compared *compared,
                        const txd_pair *pair, const txd_claim *claims)
{
    walk w = {.pair = pair, .at = find_axes(pair)};
    size_t most = block_elements(pair);
    double *values[2];
    txd_arena *arena;
    sums sum = {0};
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    for (int i = 0; i < 2; i++)
        values[i] = txd_arena_alloc(arena, most, sizeof **values);
    status = values[0] && values[1] ? TXD_OK : TXD_ERR_MEMORY;
    for (size_t step = 0; step < compared->common && status == TXD_OK; step++) {
        w.claim = &claims[step];
        w.found = false;
        status = sum_step(&sum, &w, compared, step, values);
    }
    txd_arena_destroy(arena);
    TXD_TRY(status);
    out->relative = relative_of(&sum);
    out->largest = sum.largest;
    out->elements = sum.elements;
    out->nonfinite = sum.nonfinite;
    return TXD_OK;
}
