/* SPDX-License-Identifier: MIT
 *
 * Replacing operations of chosen layers: one way to install for all faults, and what
 * their replacements need to know of where they run.
 */
#include "faults/wrap.h"

#include <stdio.h>

#include "base/half.h"

static void install(struct txd_layer_ops *ops, void *self)
{
    txd_wrap *wrap = self;

    wrap->below = *ops;
#define TXD_OP(name, arguments)                                                        \
    if (wrap->mine->name != NULL) {                                                    \
        ops->ops.name = wrap->mine->name;                                              \
        ops->self[TXD_OP_##name] = wrap;                                               \
    }
    TXD_OPS(TXD_OP)
#undef TXD_OP
}

static bool share_an_entry(const struct txd_ops *a, const struct txd_ops *b)
{
    bool shared = false;

#define TXD_OP(name, arguments) shared |= a->name != NULL && b->name != NULL;
    TXD_OPS(TXD_OP)
#undef TXD_OP
    return shared;
}

/* Another fault that replaces one of the operations altogether; NULL = none. */
static const txd_wrap *replaced_by(const txd_plan *plan, int layer,
                                   const struct txd_ops *mine)
{
    for (const struct txd_override *o = plan->overrides; o != NULL; o = o->next) {
        const txd_wrap *wrap = o->install == install ? o->self : NULL;

        if (wrap != NULL && o->inner && o->layer == layer && wrap->mine != mine &&
            share_an_entry(wrap->mine, mine))
            return wrap;
    }
    return NULL;
}

static txd_status put(txd_plan *plan, const txd_wrap *from, int layer, bool inner)
{
    txd_wrap *wrap = txd_arena_alloc(plan->arena, 1, sizeof *wrap);
    struct txd_override override = {layer, inner, install, wrap, NULL};

    if (wrap == NULL)
        return TXD_ERR_MEMORY;
    *wrap = *from;
    return txd_plan_override(plan, &override);
}

txd_status txd_plan_wrap(txd_plan *plan, const txd_fault_use *use,
                         const struct txd_ops *mine, const void *more)
{
    const txd_wrap wrap = {.use = use, .mine = mine, .more = more};

    for (size_t l = 0; l < plan->config.n_layers; l++)
        if (txd_range_has(&use->layers, l))
            TXD_TRY(put(plan, &wrap, (int)l, false));
    return TXD_OK;
}

/* Their operations come behind those of the layers (model/run.c). */
txd_status txd_plan_wrap_ends(txd_plan *plan, const txd_fault_use *use,
                              const struct txd_ops *mine, const void *more)
{
    const txd_wrap wrap = {.use = use, .mine = mine, .more = more};

    return put(plan, &wrap, (int)plan->config.n_layers, false);
}

txd_status txd_plan_replace(txd_plan *plan, const txd_fault_use *use,
                            const struct txd_ops *mine)
{
    const txd_wrap wrap = {.use = use, .mine = mine};
    char reason[160];

    for (size_t l = 0; l < plan->config.n_layers; l++) {
        const txd_wrap *other = replaced_by(plan, (int)l, mine);

        if (!txd_range_has(&use->layers, l))
            continue;
        if (other != NULL) {
            snprintf(reason, sizeof reason,
                     "%s replaces the same operation of layer %zu, and only one can",
                     other->use->name, l);
            return txd_fault_refuse(use, reason);
        }
        TXD_TRY(put(plan, &wrap, (int)l, true));
    }
    return TXD_OK;
}

bool txd_wrap_has_tile(const txd_op_site *at)
{
    const txd_fault_use *use = txd_wrap_of(at)->use;

    return txd_range_has(&use->batch, (size_t)at->batch) &&
           txd_range_has(&use->heads, (size_t)at->head);
}

bool txd_wrap_has_row(const txd_op_site *at, size_t r)
{
    return txd_wrap_has_tile(at) &&
           txd_range_has(&txd_wrap_of(at)->use->queries, (size_t)at->first_query + r);
}

static const txd_backend *backend_of(const txd_op_site *at)
{
    return txd_wrap_of(at)->below.backend;
}

double txd_wrap_get(const txd_op_site *at, const void *values, size_t i)
{
    return backend_of(at)->dtype == TXD_F64 ? ((const double *)values)[i]
                                            : (double)((const float *)values)[i];
}

double txd_wrap_round(double value, txd_dtype format)
{
    if (format == TXD_BF16)
        return (double)txd_bf16_to_f32(txd_f64_to_bf16(value));
    if (format == TXD_F16)
        return (double)txd_f16_to_f32(txd_f64_to_f16(value));
    return format == TXD_F32 ? (double)(float)value : value;
}

void txd_wrap_set(const txd_op_site *at, void *values, size_t i, double value)
{
    const txd_backend *backend = backend_of(at);

    if (backend->dtype == TXD_F64)
        ((double *)values)[i] = value;
    else
        ((float *)values)[i] = (float)txd_wrap_round(value, backend->format);
}

size_t txd_wrap_bytes(const txd_op_site *at, size_t count)
{
    return count * txd_dtype_bytes(backend_of(at)->dtype);
}

bool txd_wrap_is_residual(const txd_op_site *at)
{
    return at->point == TXD_POINT_RESID_MID || at->point == TXD_POINT_RESID_CROSS ||
           at->point == TXD_POINT_RESID_POST;
}

txd_status txd_wrap_softmax(txd_ctx *ctx, const struct txd_softmax_args *args,
                            txd_status (*row)(txd_ctx *ctx,
                                              const struct txd_softmax_args *args))
{
    for (size_t r = 0; r < args->rows; r++) {
        size_t start = txd_wrap_bytes(&args->at, r * args->stride);
        txd_span part = txd_span_of(args->spans, r, args->begin, args->end);
        struct txd_softmax_args one = *args;

        one.rows = 1;
        one.spans = NULL;
        one.begin = part.begin;
        one.end = part.end;
        one.at.first_query += (int)r;
        one.out = (char *)args->out + start;
        one.masked = (const char *)args->masked + start;
        one.max = args->max + r;
        one.lse = args->lse + r;
        one.entropy = args->entropy == NULL ? NULL : args->entropy + r;
        TXD_TRY(txd_wrap_has_row(&args->at, r) ? row(ctx, &one)
                                               : txd_below_softmax(ctx, &one));
    }
    return TXD_OK;
}

txd_status txd_wrap_softmax_back(
    txd_ctx *ctx, const struct txd_softmax_back_args *args,
    txd_status (*row)(txd_ctx *ctx, const struct txd_softmax_back_args *args))
{
    for (size_t r = 0; r < args->rows; r++) {
        size_t start = txd_wrap_bytes(&args->at, r * args->stride);
        txd_span part = txd_span_of(args->spans, r, args->begin, args->end);
        struct txd_softmax_back_args one = *args;

        one.rows = 1;
        one.spans = NULL;
        one.begin = part.begin;
        one.end = part.end;
        one.at.first_query += (int)r;
        one.d_masked = (char *)args->d_masked + start;
        one.d_out = (const char *)args->d_out + start;
        one.weights = (const char *)args->weights + start;
        one.masked = (const char *)args->masked + start;
        one.max = args->max + r;
        TXD_TRY(txd_wrap_has_row(&args->at, r) ? row(ctx, &one)
                                               : txd_below_softmax_back(ctx, &one));
    }
    return TXD_OK;
}
