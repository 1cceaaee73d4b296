/* SPDX-License-Identifier: MIT
 *
 * Fault: the norm takes mean and variance of each lane over the tokens of a sequence
 * instead of those of each token over its lanes, which also shows every token the
 * future. (The final norm is not of a layer and stays right.)
 */
#include <math.h>

#include "faults/wrap.h"

/* One lane of one sequence, and what normalises it. */
struct column {
    const txd_op_site *at;
    const void *x;
    size_t first, count, step;
    double mean, factor;
};

static double value_of(const struct column *c, size_t t)
{
    return txd_wrap_get(c->at, c->x, c->first + t * c->step);
}

/* y = (x - mean) / sqrt(var + eps) of token t. */
static double normal_of(const struct column *c, size_t t)
{
    return (value_of(c, t) - c->mean) * c->factor;
}

static void measure(struct column *c, double eps, bool root_mean_square)
{
    double squares = 0;

    c->mean = 0;
    for (size_t t = 0; t < c->count && !root_mean_square; t++)
        c->mean += value_of(c, t) / (double)c->count;
    for (size_t t = 0; t < c->count; t++)
        squares += (value_of(c, t) - c->mean) * (value_of(c, t) - c->mean);
    c->factor = 1 / sqrt(squares / (double)c->count + eps);
}

static txd_status lane(void *self, size_t i, int worker)
{
    const struct txd_norm_args *a = self;
    const txd_op_site *at = &a->at;
    double gain = a->offset + txd_wrap_get(at, a->gain, i);
    double bias = a->bias == NULL ? 0 : txd_wrap_get(at, a->bias, i);

    (void)worker;
    for (size_t first = 0; first < a->rows; first += a->sequence) {
        struct column c = {at, a->x, first * a->width + i, a->sequence, a->width, 0, 0};

        measure(&c, a->eps, a->root_mean_square);
        for (size_t t = 0; t < c.count; t++)
            txd_wrap_set(at, a->out, c.first + t * c.step,
                         gain * normal_of(&c, t) + bias);
    }
    return TXD_OK;
}

/* The formula of the right norm (ops/args.h), along the other axis. */
static void column_back(const struct txd_norm_back_args *a, const struct column *c,
                        double gain, double sums[2])
{
    const txd_op_site *at = &a->at;
    double level = 0, along = 0;

    for (size_t t = 0; t < c->count; t++) {
        double d = txd_wrap_get(at, a->d_out, c->first + t * c->step);

        level += d;
        along += d * normal_of(c, t);
    }
    sums[0] += along;
    sums[1] += level;
    along *= gain / (double)c->count;
    level *= a->root_mean_square ? 0 : gain / (double)c->count;
    for (size_t t = 0; t < c->count && a->d_x != NULL; t++) {
        size_t place = c->first + t * c->step;
        double g = gain * txd_wrap_get(at, a->d_out, place);
        double d = c->factor * (g - level - normal_of(c, t) * along);

        txd_wrap_set(at, a->d_x, place,
                     a->add ? txd_wrap_get(at, a->d_x, place) + d : d);
    }
}

static txd_status lane_back(void *self, size_t i, int worker)
{
    const struct txd_norm_back_args *a = self;
    const txd_op_site *at = &a->at;
    double gain = a->offset + txd_wrap_get(at, a->gain, i), sums[2] = {0, 0};

    (void)worker;
    for (size_t first = 0; first < a->rows; first += a->sequence) {
        struct column c = {at, a->x, first * a->width + i, a->sequence, a->width, 0, 0};

        measure(&c, a->eps, a->root_mean_square);
        column_back(a, &c, gain, sums);
    }
    if (a->d_gain != NULL)
        txd_wrap_set(at, a->d_gain, i, txd_wrap_get(at, a->d_gain, i) + sums[0]);
    if (a->d_bias != NULL)
        txd_wrap_set(at, a->d_bias, i, txd_wrap_get(at, a->d_bias, i) + sums[1]);
    return TXD_OK;
}

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    struct txd_norm_args copy = *args;

    return txd_parallel(ctx, args->width, 8.0 * (double)args->rows, lane, &copy);
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    struct txd_norm_back_args copy = *args;

    return txd_parallel(ctx, args->width, 16.0 * (double)args->rows, lane_back, &copy);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_norm_axis_tokens = {
    .name = "norm_axis_tokens",
    .sentence = "the layer's norms normalise over the tokens instead of the features",
    .symptom =
        "each token's output depends on all others, the future included; lengths "
        "other than those of training give other numbers",
    .example =
        "wrong: (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True)\n"
        "right: (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, keepdim=True)",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
