/* SPDX-License-Identifier: MIT
 *
 * The memory in which the gradients of parameters are summed, in chunks over the
 * threads: it is as large as the model, and all of it is cleared, unscaled and measured
 * in every pass.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model/backward.h"
#include "model/images.h"
#include "ops/kernels.h"

/* Elements of a task, and tasks whose sums are kept at once. */
#define CHUNK 16384
#define SUMS 64
/* About how many operations an element takes: it is memory that counts. */
#define OPERATIONS 1.0

void *txd_gradient_of(const txd_run *run, const void *parameter)
{
    const struct txd_model *model = run->model;
    uintptr_t at = (uintptr_t)parameter;

    for (size_t i = 0; i < model->param_count; i++) {
        const struct txd_model_param *param = &model->params[i];
        uintptr_t begin = (uintptr_t)param->data;

        if (at >= begin && at - begin < param->bytes)
            return (char *)run->d_parameters + param->offset + (at - begin);
    }
    return NULL;
}

struct chunks {
    char *memory;
    txd_dtype dtype;
    size_t count; /* of elements */
    double scale; /* to divide by */
    double *sums; /* of squares, of a task each, */
    size_t first; /* from this one on */
};

/* Elements of a task. */
static size_t chunk_of(char **memory, const struct chunks *all, size_t i)
{
    size_t left = all->count - i * CHUNK;

    *memory = all->memory + i * CHUNK * txd_dtype_bytes(all->dtype);
    return left < CHUNK ? left : CHUNK;
}

static txd_status over_chunks(const txd_run *run, struct chunks *all, size_t tasks,
                              txd_status (*body)(void *self, size_t i, int worker))
{
    txd_ctx ctx = run->ctx;

    return txd_parallel(&ctx, tasks, OPERATIONS * CHUNK, body, all);
}

static size_t tasks_of(const struct chunks *all)
{
    return (all->count + CHUNK - 1) / CHUNK;
}

static struct chunks chunks_of_all(const txd_run *run)
{
    txd_dtype dtype = run->pass.dtype;

    return (struct chunks){.memory = run->d_parameters,
                           .dtype = dtype,
                           .count = run->model->bytes / txd_dtype_bytes(dtype)};
}

static txd_status clear_chunk(void *self, size_t i, int worker)
{
    const struct chunks *all = self;
    char *memory;
    size_t count = chunk_of(&memory, all, i);

    (void)worker;
    memset(memory, 0, count * txd_dtype_bytes(all->dtype));
    return TXD_OK;
}

txd_status txd_gradients_clear(txd_run *run)
{
    const txd_backend *backend = run->model->backend;
    struct chunks all = chunks_of_all(run);

    if (backend->host != NULL)
        return backend->zero(run->d_parameters, run->model->bytes);
    return over_chunks(run, &all, tasks_of(&all), clear_chunk);
}

static txd_status unscale_chunk(void *self, size_t i, int worker)
{
    const struct chunks *all = self;
    char *memory;
    size_t count = chunk_of(&memory, all, i);

    (void)worker;
    for (size_t e = 0; e < count; e++) {
        if (all->dtype == TXD_F64)
            ((double *)(void *)memory)[e] /= all->scale;
        else
            ((float *)(void *)memory)[e] /= (float)all->scale;
    }
    return TXD_OK;
}

/* In the dtype itself: what loss scaling saved from a narrow format must not be rounded
 * to it again. */
txd_status txd_gradients_unscale(txd_run *run)
{
    const txd_backend *backend = run->model->backend;
    struct chunks all = chunks_of_all(run);

    all.scale = run->pass.loss_scale;
    if (all.scale == 1)
        return TXD_OK;
    return backend->host != NULL
               ? backend->divide(run->d_parameters, all.scale, all.count)
               : over_chunks(run, &all, tasks_of(&all), unscale_chunk);
}

txd_status txd_gradient_add(const txd_run *run, void *to, const void *from,
                            size_t count)
{
    const txd_backend *backend = run->model->backend;

    if (backend->host != NULL)
        return backend->accumulate(to, from, count);
    if (run->pass.dtype != TXD_F64)
        txd_kernels_here()->add(to, to, from, count);
    for (size_t i = 0; run->pass.dtype == TXD_F64 && i < count; i++)
        ((double *)to)[i] += ((const double *)from)[i];
    return TXD_OK;
}

txd_status txd_gradient_at(txd_tensor *out, const txd_run *run, size_t i)
{
    const struct txd_model_param *param;
    size_t dims[TXD_MAX_RANK], own;
    int rank;

    if (run->d_parameters == NULL)
        return txd_fail(TXD_ERR_MISSING, "this run has no backward half, or had no "
                                         "pass yet: there is no gradient");
    if (i >= txd_run_parameters(run))
        return txd_fail(TXD_ERR_MISSING, "there is no parameter %zu: the model has %zu",
                        i, txd_run_parameters(run));
    run = txd_run_of_parameter(&own, run, i);
    param = &run->model->params[own];
    rank = txd_param_dims(dims, run->model->config, param->id);
    *out = txd_tensor_make(run->model->backend->dtype,
                           (char *)run->d_parameters + param->offset, rank, dims);
    return TXD_OK;
}

txd_status txd_run_gradient(txd_tensor *out, const txd_run *run, size_t i)
{
    size_t own;

    TXD_TRY(txd_gradient_at(out, run, i));
    return txd_image_read(&out->data, txd_run_of_parameter(&own, run, i), out->data,
                          txd_tensor_count(out));
}

static txd_status measure_chunk(void *self, size_t i, int worker)
{
    const struct chunks *all = self;
    const double *wide;
    double sum = 0;
    char *memory;
    size_t count = chunk_of(&memory, all, all->first + i);

    (void)worker;
    wide = (const double *)(const void *)memory;
    if (all->dtype != TXD_F64)
        sum = txd_kernels_here()->squares((const float *)(const void *)memory, count);
    for (size_t e = 0; all->dtype == TXD_F64 && e < count; e++)
        sum += wide[e] * wide[e];
    all->sums[i] = sum;
    return TXD_OK;
}

/* Sums of chunks are added in their order. */
static txd_status squares_of(double *out, const txd_run *run,
                             const txd_tensor *gradient)
{
    const txd_backend *backend = run->model->backend;
    double sums[SUMS], total = 0;
    struct chunks all = {.memory = gradient->data,
                         .dtype = gradient->dtype,
                         .count = txd_tensor_count(gradient),
                         .sums = sums};
    size_t tasks = tasks_of(&all);

    if (backend->host != NULL)
        return backend->squares(out, gradient->data, all.count);
    for (; all.first < tasks; all.first += SUMS) {
        size_t some = tasks - all.first < SUMS ? tasks - all.first : SUMS;

        TXD_TRY(over_chunks(run, &all, some, measure_chunk));
        for (size_t i = 0; i < some; i++)
            total += sums[i];
    }
    *out = total;
    return TXD_OK;
}

double txd_run_gradient_norm(const txd_run *run)
{
    double squares = 0, one;
    txd_tensor gradient;

    if (run->d_parameters == NULL)
        return NAN;
    for (size_t i = 0; i < txd_run_parameters(run); i++) {
        if (txd_gradient_at(&gradient, run, i) != TXD_OK ||
            squares_of(&one, run, &gradient) != TXD_OK)
            return NAN;
        squares += one;
    }
    return sqrt(squares);
}
