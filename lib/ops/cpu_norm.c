/* SPDX-License-Identifier: MIT
 *
 * Normalisation by rows over the threads; the sums over rows by stripes of lanes, so
 * that none is divided among threads.
 */
#include "ops/cpu.h"
#include "ops/kernels.h"

/* Rows of a task, rows whose scales are kept at once (on the stack), lanes of a stripe.
 */
#define TASK_ROWS 16
#define BLOCK_ROWS 1024
#define STRIPE 64
/* About how many operations an element takes. */
#define FORWARD 1.0
#define BACKWARD 2.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static txd_status norm_rows(void *self, size_t i, int worker)
{
    const struct txd_norm_args *a = self;
    const txd_kernels *kernels = txd_kernels_here();
    size_t end = least(a->rows, (i + 1) * TASK_ROWS);

    (void)worker;
    for (size_t r = i * TASK_ROWS; r < end; r++) {
        const float *x = (const float *)a->x + r * a->width;
        txd_norm_scale scale =
            kernels->norm_scale(x, a->width, (float)a->eps, a->root_mean_square);

        scale.offset = (float)a->offset;
        kernels->norm((float *)a->out + r * a->width, x, a->gain, a->bias, a->width,
                      scale);
    }
    return TXD_OK;
}

txd_status txd_cpu32_norm(txd_ctx *ctx, const struct txd_norm_args *a)
{
    struct txd_norm_args copy = *a;

    return txd_parallel(ctx, (a->rows + TASK_ROWS - 1) / TASK_ROWS,
                        FORWARD * TASK_ROWS * (double)a->width, norm_rows, &copy);
}

struct norm_back_job {
    const struct txd_norm_back_args *a;
    size_t first, rows; /* the block of rows */
    txd_norm_scale scales[BLOCK_ROWS];
};

static txd_status norm_back_rows(void *self, size_t i, int worker)
{
    struct norm_back_job *job = self;
    const struct txd_norm_back_args *a = job->a;
    const txd_kernels *kernels = txd_kernels_here();
    size_t end = least(job->rows, (i + 1) * TASK_ROWS);

    (void)worker;
    for (size_t r = i * TASK_ROWS; r < end; r++) {
        size_t at = (job->first + r) * a->width;
        txd_norm_back_row row = {.x = (const float *)a->x + at,
                                 .gain = a->gain,
                                 .d_out = (const float *)a->d_out + at,
                                 .width = a->width,
                                 .root_mean_square = a->root_mean_square,
                                 .add = a->add};

        row.scale =
            kernels->norm_scale(row.x, a->width, (float)a->eps, a->root_mean_square);
        row.scale.offset = (float)a->offset;
        job->scales[r] = row.scale;
        if (a->d_x != NULL)
            kernels->norm_back((float *)a->d_x + at, &row);
    }
    return TXD_OK;
}

/* d_gain and d_bias of some lanes: the block's rows in ascending order. */
static txd_status norm_back_stripe(void *self, size_t stripe, int worker)
{
    const struct norm_back_job *job = self;
    const struct txd_norm_back_args *a = job->a;
    size_t begin = stripe * STRIPE, count = least(STRIPE, a->width - begin);
    float *d_gain = a->d_gain == NULL ? NULL : (float *)a->d_gain + begin;
    float *d_bias = a->d_bias == NULL ? NULL : (float *)a->d_bias + begin;

    (void)worker;
    for (size_t r = 0; r < job->rows; r++) {
        size_t at = (job->first + r) * a->width + begin;

        txd_kernels_here()->norm_params(d_gain, d_bias, (const float *)a->d_out + at,
                                        (const float *)a->x + at, count,
                                        job->scales[r]);
    }
    return TXD_OK;
}

txd_status txd_cpu32_norm_back(txd_ctx *ctx, const struct txd_norm_back_args *a)
{
    struct norm_back_job job;
    size_t stripes = (a->width + STRIPE - 1) / STRIPE;

    job.a = a;
    for (job.first = 0; job.first < a->rows; job.first += BLOCK_ROWS) {
        job.rows = least(BLOCK_ROWS, a->rows - job.first);
        TXD_TRY(txd_parallel(ctx, (job.rows + TASK_ROWS - 1) / TASK_ROWS,
                             BACKWARD * TASK_ROWS * (double)a->width, norm_back_rows,
                             &job));
        if (a->d_gain != NULL || a->d_bias != NULL)
            TXD_TRY(txd_parallel(ctx, stripes, BACKWARD * STRIPE * (double)job.rows,
                                 norm_back_stripe, &job));
    }
    return TXD_OK;
}
