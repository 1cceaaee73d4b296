/* SPDX-License-Identifier: MIT
 *
 * Slopes: parameters are moved in place, in float64, which the reference reads where
 * they are, and put back.
 */
#include "checks/experiments/slopes.h"

#include <math.h>

#include "checks/experiments/derive.h"

/* The gradient and a few passes by the reference: parameters times tokens. */
#define MOST_PRODUCTS 4e8
#define MOST_PARAMETERS 3e8
#define MOST_TOKENS 12
#define LEAST_TOKENS 4

/* Steps of differences, of which the second is an eighth; then finer ones, should a
 * kink lie within. */
static const double steps[2] = {0x1p-13, 0x1p-19};
/* Roundings that the loss may have to its name, in units of its own. */
#define LOSS_ROUNDINGS 0x1p10
/* How far a parameter moves that is 0 everywhere. */
#define SMALL 0.02

static txd_status take_inputs(txd_slopes *s)
{
    static const size_t order[2] = {0, 1};
    const txd_inputs *all = &s->e->inputs;
    double parameters = txd_params_bytes(s->e->setup->claimed, TXD_U8);
    size_t rows =
        all->batch > 1 && parameters * 2 * LEAST_TOKENS < MOST_PRODUCTS ? 2 : 1;
    double fits = MOST_PRODUCTS / parameters / (double)rows;
    size_t length = fits < MOST_TOKENS ? (size_t)fits : MOST_TOKENS;
    txd_inputs some;

    if (parameters > MOST_PARAMETERS)
        return txd_fail(TXD_ERR_LIMIT,
                        "%.0f parameters are too many for differences in float64",
                        parameters);
    length = length < LEAST_TOKENS ? LEAST_TOKENS : length;
    length = length < all->length ? length : all->length;
    TXD_TRY(txd_derive_rows(&some, s->e->arena, all, order, rows));
    TXD_TRY(txd_derive_part(&s->inputs, s->e->arena, &some, 0, length));
    if (txd_inputs_pairs(&s->inputs) == 0)
        TXD_TRY(txd_derive_part(&s->inputs, s->e->arena, &some, all->length - length,
                                length));
    return TXD_OK;
}

static void put_back(txd_slopes *s, size_t i)
{
    txd_param *to = txd_params_at(s->params, i);
    const txd_param *from = txd_params_at(s->e->setup->params, i);

    txd_convert(to->value.data, TXD_F64, from->value.data, from->value.dtype,
                txd_tensor_count(&to->value));
}

static txd_status bind(txd_slopes *s)
{
    const txd_experiment_setup *setup = s->e->setup;
    const txd_backend *backend;

    TXD_TRY(txd_backend_find(&backend, "ref64"));
    TXD_TRY(txd_params_create(&s->params, setup->claimed, TXD_F64));
    for (size_t i = 0; i < txd_params_count(s->params); i++)
        put_back(s, i);
    return txd_model_create(&s->model, backend, setup->actual, s->params,
                            setup->threads);
}

txd_status txd_slopes_begin(txd_slopes *out, const txd_experiment *experiment)
{
    txd_experiment_how how = {0};

    *out = (txd_slopes){.e = experiment};
    TXD_TRY(take_inputs(out));
    if (txd_inputs_pairs(&out->inputs) == 0)
        return TXD_OK;
    TXD_TRY(bind(out));
    how.model = out->model;
    TXD_TRY(txd_experiment_run(&out->forward, experiment, &how));
    how.backward = true;
    TXD_TRY(txd_experiment_run(&out->backward, experiment, &how));
    return txd_run_pass(out->backward, &out->inputs, 0);
}

void txd_slopes_finish(txd_slopes *s)
{
    txd_run_destroy(s->forward);
    txd_run_destroy(s->backward);
    txd_model_destroy(s->model);
    txd_params_destroy(s->params);
    *s = (txd_slopes){0};
}

/* ---- one slope ---- */

/* How far each element of a parameter moves, but for its sign. */
static double size_of(const txd_param *param)
{
    const double *value = param->value.data;
    size_t count = txd_tensor_count(&param->value);
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += value[i] * value[i];
    return squares > 0 ? sqrt(squares / (double)count) : SMALL;
}

static double sign(uint64_t key, size_t i)
{
    return txd_rng_uniform(key, i) < 0.5 ? -1 : 1;
}

static void move(const txd_param *param, double step)
{
    double *value = param->value.data, by = step * size_of(param);
    uint64_t key = txd_rng_key(3, param->name);
    size_t count = txd_tensor_count(&param->value);

    for (size_t i = 0; i < count; i++)
        value[i] += by * sign(key, i);
}

/* The parameters that take part, one after another. */
static bool takes_part(const txd_slopes *s, txd_slope_part part, const void *self,
                       size_t i)
{
    return part == NULL || part(self, txd_params_at(s->params, i), i);
}

static txd_status loss_at(double *out, txd_slopes *s, txd_slope_part part,
                          const void *self, double step)
{
    size_t count = txd_params_bound(s->params);
    txd_status status;

    for (size_t i = 0; i < count; i++)
        if (takes_part(s, part, self, i))
            move(txd_params_at(s->params, i), step);
    status = txd_run_pass(s->forward, &s->inputs, 0);
    *out = txd_run_loss(s->forward);
    for (size_t i = 0; i < count; i++)
        if (takes_part(s, part, self, i))
            put_back(s, i);
    return status;
}

static txd_status difference(double *out, double *loss, txd_slopes *s,
                             txd_slope_part part, const void *self, double step)
{
    double above, below;

    TXD_TRY(loss_at(&above, s, part, self, step));
    TXD_TRY(loss_at(&below, s, part, self, -step));
    *out = (above - below) / (2 * step);
    *loss = fmax(fabs(above), fabs(below));
    return TXD_OK;
}

static txd_status claim(txd_slope *out, txd_slopes *s, txd_slope_part part,
                        const void *self)
{
    out->claimed = 0;
    for (size_t i = 0; i < txd_params_bound(s->params); i++) {
        const txd_param *param = txd_params_at(s->params, i);
        uint64_t key = txd_rng_key(3, param->name);
        txd_tensor gradient;
        double sum = 0;

        if (!takes_part(s, part, self, i))
            continue;
        TXD_TRY(txd_run_gradient(&gradient, s->backward, i));
        for (size_t j = 0; j < txd_tensor_count(&gradient); j++)
            sum += sign(key, j) * txd_tensor_get(&gradient, j);
        out->claimed += sum * size_of(param);
        out->elements += txd_tensor_count(&gradient);
    }
    return TXD_OK;
}

/* By differences of two steps, which tell by how far they are apart what they are
 * worth. */
static txd_status find(txd_slope *out, txd_slopes *s, txd_slope_part part,
                       const void *self, double step)
{
    double coarse, fine, loss;

    TXD_TRY(difference(&coarse, &loss, s, part, self, step));
    TXD_TRY(difference(&fine, &loss, s, part, self, step / 8));
    out->found = fine;
    out->allowed =
        4 * fabs(fine - coarse) + LOSS_ROUNDINGS * 0x1p-53 * loss / (step / 8);
    return TXD_OK;
}

bool txd_slope_is_off(const txd_slope *slope)
{
    return !(fabs(slope->found - slope->claimed) <= slope->allowed);
}

txd_status txd_slopes_along(txd_slope *out, txd_slopes *s, txd_slope_part part,
                            const void *self)
{
    *out = (txd_slope){0};
    TXD_TRY(claim(out, s, part, self));
    TXD_TRY(find(out, s, part, self, steps[0]));
    /* A kink that lies within the coarse steps is most likely not within the others. */
    return txd_slope_is_off(out) ? find(out, s, part, self, steps[1]) : TXD_OK;
}
