/* SPDX-License-Identifier: MIT
 *
 * Rungs: one pass each, kept, and held against the reference.
 */
#include "checks/experiments/rungs.h"

#include <math.h>

#include "checks/experiments/derive.h"

/* Of one pass of the reference: parameters times tokens. */
#define MOST_PRODUCTS 1e9
#define LEAST_TOKENS 4

static txd_status take_inputs(txd_rungs *r)
{
    static const size_t order[TXD_EXPERIMENT_ROWS] = {0, 1, 2, 3};
    const txd_inputs *all = &r->e->inputs;
    double parameters = txd_params_bytes(r->e->setup->claimed, TXD_U8);
    double tokens = MOST_PRODUCTS / parameters;
    size_t rows = all->batch, length;
    txd_inputs some;

    if (tokens < (double)(rows * LEAST_TOKENS))
        rows = 1;
    length = tokens / (double)rows < (double)all->length
                 ? (size_t)(tokens / (double)rows)
                 : all->length;
    length = length < LEAST_TOKENS ? LEAST_TOKENS : length;
    length = length < all->length ? length : all->length;
    TXD_TRY(txd_derive_rows(&some, r->e->arena, all, order, rows));
    return txd_derive_part(&r->inputs, r->e->arena, &some, 0, length);
}

txd_status txd_rung_pass(txd_capture *out, const txd_experiment *experiment,
                         const char *name, const txd_experiment_how *how,
                         const txd_inputs *inputs)
{
    const txd_experiment_setup *setup = experiment->setup;
    txd_experiment_how bound = *how;
    const txd_backend *backend;
    txd_model *model;
    txd_status status;

    TXD_TRY(txd_backend_find(&backend, name));
    TXD_TRY(txd_model_create(&model, backend, setup->claimed, setup->params,
                             setup->threads));
    bound.claimed = true;
    bound.model = model;
    status = txd_capture_pass(out, experiment, &bound, inputs);
    txd_model_destroy(model);
    return status;
}

static txd_status pass_bound(txd_capture *out, txd_rungs *r, const char *name)
{
    return txd_rung_pass(out, r->e, name, &(txd_experiment_how){0}, &r->inputs);
}

txd_status txd_rungs_begin(txd_rungs *out, txd_experiment *experiment)
{
    *out = (txd_rungs){.e = experiment};
    TXD_TRY(txd_capture_init(&out->reference, experiment, TXD_CAPTURE_ALL));
    TXD_TRY(take_inputs(out));
    return pass_bound(&out->reference, out, "ref64");
}

void txd_rungs_finish(txd_rungs *rungs)
{
    txd_capture_finish(&rungs->reference);
}

/* Of rows of real tokens. */
static double error_of(const txd_captured *a, const txd_captured *b,
                       const txd_inputs *inputs)
{
    const txd_tensor *value = &a->value;
    int rank = value->rank;
    size_t width = value->dims[rank - 1], count = txd_tensor_count(value);
    size_t heads = rank == 4 ? value->dims[1] : 1, length = inputs->length;
    double off = 0, all = 0;

    for (size_t i = 0; i < count; i++) {
        size_t row = i / width, token = row / length / heads * length + row % length;
        double x, d;

        if (!inputs->valid[token])
            continue;
        x = txd_tensor_get(value, i);
        d = txd_tensor_get(&b->value, i) - x;
        off += d * d;
        all += x * x;
    }
    return off == 0 ? 0 : sqrt(off / all);
}

static txd_status measure(double **out, txd_rungs *r, const txd_capture *rung)
{
    const txd_capture *reference = &r->reference;

    *out = txd_arena_alloc(r->e->arena, reference->count, sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < reference->count; i++) {
        const txd_captured *a = &reference->sites[i];
        const txd_captured *b = txd_capture_at(rung, &a->site);

        (*out)[i] = b && a->value.rank >= 3 ? error_of(a, b, &r->inputs) : -1;
    }
    return TXD_OK;
}

txd_status txd_rungs_errors(double **out, txd_rungs *r, const txd_rung_how *how)
{
    const txd_experiment_how as_run = {0};
    txd_capture rung;
    txd_status status = txd_capture_init(&rung, r->e, r->reference.what);

    if (status == TXD_OK)
        status = how->backend ? pass_bound(&rung, r, how->backend)
                              : txd_capture_pass(&rung, r->e, &as_run, &r->inputs);
    if (status == TXD_OK)
        status = measure(out, r, &rung);
    txd_capture_finish(&rung);
    return status;
}
