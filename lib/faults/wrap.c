/* SPDX-License-Identifier: MIT
 *
 * Replacing operations of chosen layers: one way to install for all faults, and what
 * their replacements need to know of where they run.
 */
#include "faults/wrap.h"

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

txd_status txd_plan_wrap(txd_plan *plan, const txd_fault_use *use,
                         const struct txd_ops *mine, const void *more)
{
    for (size_t l = 0; l < plan->config.n_layers; l++) {
        txd_wrap *wrap;

        if (!txd_range_has(&use->layers, l))
            continue;
        wrap = txd_arena_alloc(plan->arena, 1, sizeof *wrap);
        if (wrap == NULL)
            return TXD_ERR_MEMORY;
        wrap->use = use;
        wrap->mine = mine;
        wrap->more = more;
        TXD_TRY(txd_plan_override(plan, (int)l, install, wrap));
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
        return (double)txd_bf16_to_f32(txd_f32_to_bf16((float)value));
    if (format == TXD_F16)
        return (double)txd_f16_to_f32(txd_f32_to_f16((float)value));
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
