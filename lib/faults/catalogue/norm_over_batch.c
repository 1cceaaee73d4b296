/* SPDX-License-Identifier: MIT
 *
 * Fault: the norm takes mean and variance of a place of the sequence over all rows of
 * the batch instead of those of each row's token alone. (The final norm is not of a
 * layer and stays right.)
 */
#include <math.h>

#include "faults/wrap.h"

/* All elements at one place of the sequence, and what normalises them. */
struct place {
    const txd_op_site *at;
    const void *x;
    size_t t, rows, sequence, width; /* rows: of all sequences */
    double mean, factor;
};

static size_t element(const struct place *p, size_t row, size_t i)
{
    return (row * p->sequence + p->t) * p->width + i;
}

static size_t sequences(const struct place *p)
{
    return p->rows / p->sequence;
}

static double normal_of(const struct place *p, size_t at)
{
    return (txd_wrap_get(p->at, p->x, at) - p->mean) * p->factor;
}

static void measure(struct place *p, double eps, bool root_mean_square)
{
    double count = (double)(sequences(p) * p->width), squares = 0;

    p->mean = 0;
    for (size_t row = 0; row < sequences(p) && !root_mean_square; row++)
        for (size_t i = 0; i < p->width; i++)
            p->mean += txd_wrap_get(p->at, p->x, element(p, row, i)) / count;
    for (size_t row = 0; row < sequences(p); row++)
        for (size_t i = 0; i < p->width; i++) {
            double x = txd_wrap_get(p->at, p->x, element(p, row, i)) - p->mean;

            squares += x * x;
        }
    p->factor = 1 / sqrt(squares / count + eps);
}

static txd_status forward(void *self, size_t t, int worker)
{
    const struct txd_norm_args *a = self;
    struct place p = {&a->at, a->x, t, a->rows, a->sequence, a->width, 0, 0};

    (void)worker;
    measure(&p, a->eps, a->root_mean_square);
    for (size_t row = 0; row < sequences(&p); row++)
        for (size_t i = 0; i < a->width; i++) {
            double gain = a->offset + txd_wrap_get(&a->at, a->gain, i);
            double bias = a->bias == NULL ? 0 : txd_wrap_get(&a->at, a->bias, i);
            size_t at = element(&p, row, i);

            txd_wrap_set(&a->at, a->out, at, gain * normal_of(&p, at) + bias);
        }
    return TXD_OK;
}

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    struct txd_norm_args copy = *args;

    return txd_parallel(ctx, args->sequence,
                        8.0 * (double)(args->rows / args->sequence * args->width),
                        forward, &copy);
}

/* ---- the way back: the formula of the right norm (ops/args.h) over the place ---- */

/* d_out times gain. */
static double through_gain(const struct txd_norm_back_args *a, size_t at)
{
    double gain = a->offset + txd_wrap_get(&a->at, a->gain, at % a->width);

    return gain * txd_wrap_get(&a->at, a->d_out, at);
}

static txd_status backward(void *self, size_t t, int worker)
{
    const struct txd_norm_back_args *a = self;
    struct place p = {&a->at, a->x, t, a->rows, a->sequence, a->width, 0, 0};
    double count, level = 0, along = 0;

    (void)worker;
    measure(&p, a->eps, a->root_mean_square);
    count = (double)(sequences(&p) * p.width);
    for (size_t row = 0; row < sequences(&p); row++)
        for (size_t i = 0; i < p.width; i++) {
            size_t at = element(&p, row, i);

            level += through_gain(a, at) / count;
            along += through_gain(a, at) * normal_of(&p, at) / count;
        }
    if (a->root_mean_square)
        level = 0;
    for (size_t row = 0; row < sequences(&p); row++)
        for (size_t i = 0; i < p.width; i++) {
            size_t at = element(&p, row, i);
            double d =
                p.factor * (through_gain(a, at) - level - normal_of(&p, at) * along);

            txd_wrap_set(&a->at, a->d_x, at,
                         a->add ? txd_wrap_get(&a->at, a->d_x, at) + d : d);
        }
    return TXD_OK;
}

/* One lane's gradients of gain and bias. */
static txd_status lane_back(void *self, size_t i, int worker)
{
    const struct txd_norm_back_args *a = self;
    double along = 0, level = 0;

    (void)worker;
    for (size_t t = 0; t < a->sequence; t++) {
        struct place p = {&a->at, a->x, t, a->rows, a->sequence, a->width, 0, 0};

        measure(&p, a->eps, a->root_mean_square);
        for (size_t row = 0; row < sequences(&p); row++) {
            size_t at = element(&p, row, i);
            double d = txd_wrap_get(&a->at, a->d_out, at);

            along += d * normal_of(&p, at);
            level += d;
        }
    }
    if (a->d_gain != NULL)
        txd_wrap_set(&a->at, a->d_gain, i, txd_wrap_get(&a->at, a->d_gain, i) + along);
    if (a->d_bias != NULL)
        txd_wrap_set(&a->at, a->d_bias, i, txd_wrap_get(&a->at, a->d_bias, i) + level);
    return TXD_OK;
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    struct txd_norm_back_args copy = *args;
    double elements = (double)(args->rows * args->width);

    if (args->d_gain != NULL || args->d_bias != NULL)
        TXD_TRY(txd_parallel(ctx, args->width, 8 * elements, lane_back, &copy));
    if (args->d_x == NULL)
        return TXD_OK;
    return txd_parallel(ctx, args->sequence, 16 * elements / (double)args->sequence,
                        backward, &copy);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.norm = norm, .norm_back = norm_back};

    return txd_plan_replace(plan, use, &mine);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    (void)use;
    return scene->inputs->batch == 1 ? "a batch of one row has no other" : NULL;
}

const txd_fault txd_fault_norm_over_batch = {
    .name = "norm_over_batch",
    .sentence = "the layer's norms take their statistics over the rows of the batch",
    .symptom = "a text gets other answers in another batch, and at evaluation than in "
               "training",
    .example =
        "wrong: (x - x.mean(dim=(0, 2), keepdim=True)) / x.std(dim=(0, 2), ...)\n"
        "right: (x - x.mean(dim=-1, keepdim=True)) / x.std(dim=-1, ...)",
    .selectors = TXD_FAULT_LAYERS,
    .idle = idle,
    .plant = plant,
};
