/* SPDX-License-Identifier: MIT
 *
 * The probe `norms`: how long the vectors are. Per step the L2 norms of the tokens'
 * vectors at the embedding and along the residual stream; once, the statistics and
 * the norm of every parameter. Padded tokens do not count.
 */
#include "probes/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char field_names[] = "vectors,mean,std,min,max,l2,nonfinite";
enum { VECTORS, MEAN, STD, MIN, MAX, L2, NONFINITE, FIELDS };

/* Norms of the vectors seen so far: their mean and squared deviations, so that parts
 * are joined without cancellation. All zero is the start. */
typedef struct moments {
    double count, mean, deviation, min, max, square, nonfinite;
} moments;

typedef struct norms {
    txd_arena *arena;
    const txd_probe_use *use;
    txd_series values, params;
    moments sum; /* of the blocks of one site so far */
} norms;

static bool takes(txd_site_kind kind, txd_point point)
{
    const char *axes;

    if (kind == TXD_SITE_PARAMETER)
        return true;
    axes = txd_point_get(point)->axes;
    return strchr("defmv", axes[strlen(axes) - 1]) != NULL;
}

static unsigned ask(void *self, const txd_site *site)
{
    const norms *state = self;

    if (!txd_probe_takes_site(&txd_probe_norms, state->use, site))
        return 0;
    return site->kind == TXD_SITE_PARAMETER ? TXD_ASK_STATS : TXD_ASK_VALUE;
}

/* Squares that overflow or vanish are taken again, scaled by the largest element. */
static double norm(const txd_tensor *value, size_t begin, size_t width)
{
    double sum = 0, largest = 0;

    for (size_t i = 0; i < width; i++) {
        double x = txd_tensor_get(value, begin + i);

        sum += x * x;
        largest = fmax(largest, fabs(x));
    }
    if (isnan(sum) || isinf(largest) || largest == 0)
        return isnan(sum) ? NAN : largest;
    if (isfinite(sum) && sum > 1e-280)
        return sqrt(sum);
    sum = 0;
    for (size_t i = 0; i < width; i++) {
        double x = txd_tensor_get(value, begin + i) / largest;

        sum += x * x;
    }
    return largest * sqrt(sum);
}

static void add(moments *to, double length)
{
    double step;

    if (!isfinite(length)) {
        to->nonfinite++;
        return;
    }
    to->min = to->count > 0 ? fmin(to->min, length) : length;
    to->max = to->count > 0 ? fmax(to->max, length) : length;
    to->count++;
    step = length - to->mean;
    to->mean += step / to->count;
    to->deviation += step * (length - to->mean);
    to->square += length * length;
}

static void join(moments *to, const moments *from)
{
    double count = to->count + from->count, gap = from->mean - to->mean;

    to->nonfinite += from->nonfinite;
    if (from->count <= 0)
        return;
    to->min = to->count > 0 ? fmin(to->min, from->min) : from->min;
    to->max = to->count > 0 ? fmax(to->max, from->max) : from->max;
    to->deviation += from->deviation + gap * gap * to->count * from->count / count;
    to->mean += gap * from->count / count;
    to->square += from->square;
    to->count = count;
}

/* Axes of a point with vectors: batch first, the token axis right before the last. */
static void add_vectors(moments *to, const txd_block *block)
{
    const txd_tensor *value = &block->value;
    size_t tokens = value->dims[value->rank - 2], width = value->dims[value->rank - 1];
    size_t rows = txd_block_rows(block);
    size_t per_batch = value->dims[0] ? rows / value->dims[0] : 0;

    for (size_t i = 0; i < rows; i++) {
        size_t batch = block->start[0] + i / per_batch;
        size_t token = block->start[value->rank - 2] + i % tokens;

        if (txd_block_is_valid(block, batch, token))
            add(to, norm(value, i * width, width));
    }
}

/* Parameters are offered too, for their statistics alone. */
static void reduce(void *slot, const void *self, const txd_block *block)
{
    (void)self;
    if (block->site->kind == TXD_SITE_VALUE && block->value.data)
        add_vectors(slot, block);
}

static void fill_row(double *row, const moments *sum)
{
    bool any = sum->count > 0;

    row[VECTORS] = sum->count;
    row[MEAN] = any ? sum->mean : NAN;
    row[STD] = any ? sqrt(sum->deviation / sum->count) : NAN;
    row[MIN] = any ? sum->min : NAN;
    row[MAX] = any ? sum->max : NAN;
    row[L2] = any ? sqrt(sum->square) : NAN;
    row[NONFINITE] = sum->nonfinite;
}

static void fill_param(double *row, const double *stats)
{
    memcpy(row, stats, TXD_STAT_COUNT_OF * sizeof *row);
    row[TXD_STAT_COUNT_OF] =
        stats[TXD_STAT_RMS] * sqrt(stats[TXD_STAT_COUNT] - stats[TXD_STAT_NONFINITE]);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    norms *state = self;
    double *row;

    if (block->site->kind == TXD_SITE_PARAMETER) {
        row = block->stats ? txd_series_row(&state->params, block->site) : NULL;
        if (row)
            fill_param(row, block->stats);
        return TXD_OK;
    }
    if (slot)
        join(&state->sum, slot);
    if (!block->last)
        return TXD_OK;
    row = txd_series_row(&state->values, block->site);
    if (row)
        fill_row(row, &state->sum);
    state->sum = (moments){.count = 0};
    return TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    norms *state = self;

    TXD_TRY(txd_series_write(&state->params, 0));
    return txd_series_write(&state->values, pass->step);
}

typedef struct layout {
    txd_series_spec values, params;
    txd_probe_sites value_sites, param_sites;
} layout;

static txd_status find(layout *out, txd_arena *arena, const txd_probe_context *context,
                       const txd_probe_use *use)
{
    out->values =
        (txd_series_spec){.name = "norms", .fields = field_names, .per_step = true};
    out->params = (txd_series_spec){.name = "param", .per_step = false};
    out->params.fields = txd_series_stat_fields(arena, ",l2");
    if (!out->params.fields)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_probe_sites_find(&out->value_sites, arena, &txd_probe_norms, use,
                                 context, TXD_SITE_VALUE));
    return txd_probe_sites_find(&out->param_sites, arena, &txd_probe_norms, use,
                                context, TXD_SITE_PARAMETER);
}

static txd_status plan(const txd_probe_context *context, const txd_probe_use *use,
                       txd_probe_add add_one, void *self)
{
    txd_arena *arena = NULL;
    layout found;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = find(&found, arena, context, use);
    if (status == TXD_OK)
        status =
            txd_series_plan(context, &found.values, &found.value_sites, add_one, self);
    if (status == TXD_OK)
        status =
            txd_series_plan(context, &found.params, &found.param_sites, add_one, self);
    txd_arena_destroy(arena);
    return status;
}

static void destroy(void *self)
{
    norms *state = self;

    if (state)
        txd_arena_destroy(state->arena);
    free(state);
}

static txd_status fill(norms *state, const txd_probe_context *context)
{
    layout found;

    TXD_TRY(txd_arena_create(&state->arena));
    TXD_TRY(find(&found, state->arena, context, state->use));
    TXD_TRY(txd_series_create(&state->values, state->arena, context, &found.values,
                              &found.value_sites));
    return txd_series_create(&state->params, state->arena, context, &found.params,
                             &found.param_sites);
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    norms *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("norms");
    state->use = use;
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "norms",
                     .self = state,
                     .ask = ask,
                     .slot_bytes = sizeof(moments),
                     .reduce = reduce,
                     .merge = merge,
                     .step_end = step_end};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_norms = {
    .name = "norms",
    .sentence = "L2 norms of embeddings, residuals (per token) and parameters",
    .points = "embed.tok,embed.pos,embed.out,layers.*.resid.*,*.weight,*.bias",
    .takes = takes,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
