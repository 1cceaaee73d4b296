/* SPDX-License-Identifier: MIT
 *
 * The probe `norms`: how long the vectors are. Per step the L2 norms of the tokens'
 * vectors at the embedding and along the residual stream; once, the statistics and
 * the norm of every parameter. Gradients too, of both, where they are asked for.
 * Padded tokens do not count.
 */
#include "probes/common.h"

#include <math.h>
#include <string.h>

static const char field_names[] = "vectors,mean,std,min,max,l2,nonfinite";
enum { VECTORS, MEAN, STD, MIN, MAX, L2, NONFINITE, FIELDS };

/* Norms of the vectors seen so far: their mean and squared deviations, so that parts
 * are joined without cancellation. All zero is the start. */
typedef struct moments {
    double count, mean, deviation, min, max, square, nonfinite;
} moments;

typedef struct norms {
    txd_probe_frame frame;
    txd_series values, params, gradients; /* gradients: of parameters */
    moments sum;                          /* of the blocks of one site so far */
} norms;

static unsigned ask(txd_site_kind kind, txd_point point)
{
    const char *axes;

    if (txd_site_is_parameter(kind))
        return TXD_ASK_STATS;
    axes = txd_point_get(point)->axes;
    return strchr("defmv", axes[strlen(axes) - 1]) ? TXD_ASK_VALUE : 0;
}

static txd_status fill(void *self)
{
    norms *state = self;
    const char *stats = txd_series_stat_fields(state->frame.arena, ",l2");
    const txd_series_spec values = {
        .name = "norms", .fields = field_names, .kinds = TXD_KINDS_VALUES};
    const txd_series_spec params = {
        .name = "param", .fields = stats, .kinds = TXD_KIND(TXD_SITE_PARAMETER)};
    const txd_series_spec gradients = {.name = "param_grad",
                                       .fields = stats,
                                       .kinds = TXD_KIND(TXD_SITE_PARAMETER_GRADIENT)};

    if (!stats)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_series_create(&state->values, &state->frame, &values));
    TXD_TRY(txd_series_create(&state->params, &state->frame, &params));
    return txd_series_create(&state->gradients, &state->frame, &gradients);
}

/* Squares that overflow or vanish are taken again, scaled by the largest element. */
static double norm_of_any(const txd_tensor *value, size_t begin, size_t width)
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

/* Squares of float32 neither overflow nor vanish in double. */
static double norm(const txd_tensor *value, size_t begin, size_t width)
{
    double sum;

    if (value->dtype != TXD_F32)
        return norm_of_any(value, begin, width);
    sum = txd_kernels_here()->squares((const float *)value->data + begin, width);
    return isfinite(sum) ? sqrt(sum) : norm_of_any(value, begin, width);
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
    if (!txd_site_is_parameter(block->site->kind) && block->value.data)
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

    (void)block;
    if (slot)
        join(&state->sum, slot);
    return TXD_OK;
}

static txd_status end(void *self, const txd_block *block)
{
    norms *state = self;
    bool is_gradient = txd_site_is_gradient(block->site->kind);

    if (!txd_site_is_parameter(block->site->kind))
        fill_row(txd_series_row(&state->values, block->site), &state->sum);
    else if (block->stats)
        fill_param(txd_series_row(is_gradient ? &state->gradients : &state->params,
                                  block->site),
                   block->stats);
    state->sum = (moments){.count = 0};
    return TXD_OK;
}

const txd_probe txd_probe_norms = {
    .name = "norms",
    .sentence = "L2 norms of embeddings, residuals (per token) and parameters",
    .fields = "vectors    tokens (times heads) whose norm is finite\n"
              "mean, std, min, max  of their norms\n"
              "l2         norm of all of them together\n"
              "nonfinite  vectors whose norm is NaN or infinite\n"
              "of parameters (/series/param) and their gradients (/series/param_grad): "
              "the fields of stats, and l2",
    .points =
        "embed.tok,embed.in,embed.scaled,embed.pos,embed.type,embed.out,embed.norm,"
        "input.memory,layers.*.resid.*,*.weight,*.bias",
    .ask = ask,
    .state_bytes = sizeof(norms),
    .fill = fill,
    .slot_bytes = sizeof(moments),
    .reduce = reduce,
    .merge = merge,
    .end = end,
};
