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
        out[i] = ((real)a->offset + gain[i]) * ((x[i] - mean) * factor);
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

/* Rows whose means are kept at once, on the stack. */
#define ROWS 1024

struct norm_back_job {
    const struct txd_norm_back_args *a;
    size_t first, rows; /* the block of rows */
    real mean[ROWS], factor[ROWS];
};

/* The mean of a row and 1 / s, as the forward has them. */
static real scale_of(real *mean, const real *x, const struct txd_norm_back_args *a)
{
    real squares = 0;

    *mean = a->root_mean_square ? 0 : mean_of(x, a->width);
    for (size_t i = 0; i < a->width; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    return 1 / REAL(sqrt)(squares / (real)a->width + (real)a->eps);
}

static void norm_back_row(const struct txd_norm_back_args *a, size_t r, real mean,
                          real factor)
{
    const real *x = (const real *)a->x + r * a->width, *gain = a->gain;
    const real *d_out = (const real *)a->d_out + r * a->width;
    real *d_x = (real *)a->d_x + r * a->width, along = 0, level = 0;
    real offset = (real)a->offset;

    for (size_t i = 0; i < a->width; i++) {
        real g = (offset + gain[i]) * d_out[i];

        along += g * ((x[i] - mean) * factor);
        level += g;
    }
    along /= (real)a->width;
    level = a->root_mean_square ? 0 : level / (real)a->width;
    for (size_t i = 0; i < a->width; i++) {
        real g = (offset + gain[i]) * d_out[i];
        real d = factor * (g - level - (x[i] - mean) * factor * along);

        d_x[i] = a->add ? d_x[i] + d : d;
    }
}

static txd_status norm_back_one(void *self, size_t i, int worker)
{
    struct norm_back_job *job = self;
    size_t r = job->first + i;
    const real *x = (const real *)job->a->x + r * job->a->width;

    (void)worker;
    job->factor[i] = scale_of(&job->mean[i], x, job->a);
    if (job->a->d_x != NULL)
        norm_back_row(job->a, r, job->mean[i], job->factor[i]);
    return TXD_OK;
}

/* d_gain and d_bias of some lanes: the block's rows in ascending order. */
static txd_status norm_back_stripe(void *self, size_t stripe, int worker)
{
    const struct norm_back_job *job = self;
    const struct txd_norm_back_args *a = job->a;
    size_t begin = stripe * LANES, end = begin + LANES;
    real *d_gain = a->d_gain, *d_bias = a->d_bias;

    (void)worker;
    if (end > a->width)
        end = a->width;
    for (size_t r = 0; r < job->rows; r++) {
        size_t row = (job->first + r) * a->width;
        const real *x = (const real *)a->x + row, *d_out = (const real *)a->d_out + row;

        for (size_t i = begin; d_gain != NULL && i < end; i++)
            d_gain[i] += d_out[i] * ((x[i] - job->mean[r]) * job->factor[r]);
        for (size_t i = begin; d_bias != NULL && i < end; i++)
            d_bias[i] += d_out[i];
    }
    return TXD_OK;
}

txd_status REF(norm_back)(txd_ctx *ctx, const struct txd_norm_back_args *a)
{
    struct norm_back_job job;
    size_t stripes = (a->width + LANES - 1) / LANES;

    job.a = a;
    for (job.first = 0; job.first < a->rows; job.first += ROWS) {
        job.rows = a->rows - job.first < ROWS ? a->rows - job.first : ROWS;
        TXD_TRY(
            txd_parallel(ctx, job.rows, 16.0 * (double)a->width, norm_back_one, &job));
        if (a->d_gain != NULL || a->d_bias != NULL)
            TXD_TRY(txd_parallel(ctx, stripes, 4.0 * LANES * (double)job.rows,
                                 norm_back_stripe, &job));
    }
    return TXD_OK;
}
