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
