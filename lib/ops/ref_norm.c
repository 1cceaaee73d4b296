/* SPDX-License-Identifier: MIT
 *
 * Reference normalisation: RMSNorm (Zhang and Sennrich 2019) and LayerNorm (Ba et al.
 * 2016), over the last axis, eps inside the square root. Two passes: the deviations are
 * taken from the computed mean, never as E[x^2] - E[x]^2.
 */
#include "ops/real.h"

static real mean_of(const real *x, size_t width)
{
    real sum = 0;

    for (size_t i = 0; i < width; i++)
        sum += x[i];
    return sum / (real)width;
}

static void norm_row(real *out, const real *x, const struct txd_norm_args *a)
{
    const real *gain = a->gain, *bias = a->bias;
    real mean = a->root_mean_square ? 0 : mean_of(x, a->width);
    real squares = 0, factor;

    for (size_t i = 0; i < a->width; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    factor = 1 / REAL(sqrt)(squares / (real)a->width + (real)a->eps);
    for (size_t i = 0; i < a->width; i++) {
        out[i] = gain[i] * ((x[i] - mean) * factor);
        if (bias != NULL)
            out[i] += bias[i];
    }
}

static txd_status norm_one(void *self, size_t r, int worker)
{
    const struct txd_norm_args *a = self;

    (void)worker;
    norm_row((real *)a->out + r * a->width, (const real *)a->x + r * a->width, a);
    return TXD_OK;
}

txd_status REF(norm)(txd_ctx *ctx, const struct txd_norm_args *a)
{
    struct txd_norm_args copy = *a;

    return txd_parallel(ctx, a->rows, 6.0 * (double)a->width, norm_one, &copy);
}

/* The mean of a row and 1 / s, as the forward has them. */
static real scale_of(real *mean, const real *x, const struct txd_norm_back_args *a)
{
    real squares = 0;

    *mean = a->root_mean_square ? 0 : mean_of(x, a->width);
    for (size_t i = 0; i < a->width; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    return 1 / REAL(sqrt)(squares / (real)a->width + (real)a->eps);
}

static txd_status norm_back_row(void *self, size_t r, int worker)
{
    const struct txd_norm_back_args *a = self;
    const real *x = (const real *)a->x + r * a->width, *gain = a->gain;
    const real *d_out = (const real *)a->d_out + r * a->width;
    real *d_x = (real *)a->d_x + r * a->width;
    real mean, factor = scale_of(&mean, x, a), along = 0, level = 0;

    (void)worker;
    for (size_t i = 0; i < a->width; i++) {
        along += gain[i] * d_out[i] * ((x[i] - mean) * factor);
        level += gain[i] * d_out[i];
    }
    along /= (real)a->width;
    level = a->root_mean_square ? 0 : level / (real)a->width;
    for (size_t i = 0; i < a->width; i++) {
        real d = factor * (gain[i] * d_out[i] - level - (x[i] - mean) * factor * along);

        d_x[i] = a->add ? d_x[i] + d : d;
    }
    return TXD_OK;
}

static void norm_back_params(const struct txd_norm_back_args *a)
{
    real *d_gain = a->d_gain, *d_bias = a->d_bias;

    for (size_t r = 0; r < a->rows; r++) {
        const real *x = (const real *)a->x + r * a->width;
        const real *d_out = (const real *)a->d_out + r * a->width;
        real mean, factor = scale_of(&mean, x, a);

        for (size_t i = 0; i < a->width; i++) {
            if (d_gain != NULL)
                d_gain[i] += d_out[i] * ((x[i] - mean) * factor);
            if (d_bias != NULL)
                d_bias[i] += d_out[i];
        }
    }
}

txd_status REF(norm_back)(txd_ctx *ctx, const struct txd_norm_back_args *a)
{
    struct txd_norm_back_args copy = *a;

    if (a->d_gain != NULL || a->d_bias != NULL)
        norm_back_params(a);
    if (a->d_x == NULL)
        return TXD_OK;
    return txd_parallel(ctx, a->rows, 16.0 * (double)a->width, norm_back_row, &copy);
}
