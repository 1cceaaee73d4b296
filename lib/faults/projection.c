/* SPDX-License-Identifier: MIT
 *
 * Rows of the projections by head, and edits of them layer by layer.
 */
#include "faults/projection.h"

#include <string.h>

static txd_tensor value_of(txd_params *params, txd_param_id id, int layer)
{
    const txd_param *param = txd_params_get(params, id, layer);

    return param == NULL ? (txd_tensor){0} : param->value;
}

/* Rows of a fused matrix stand in the order q, k, v. */
static size_t fused_rows_before(const txd_config *c, txd_projected which)
{
    size_t q = c->n_heads * c->head_dim, k = c->n_kv_heads * c->head_dim;

    return which == TXD_PROJECTED_Q ? 0 : which == TXD_PROJECTED_K ? q : q + k;
}

txd_projection txd_projection_of(txd_params *params, const txd_config *config,
                                 txd_projected which, int layer, size_t head)
{
    static const txd_param_id weights[] = {TXD_PARAM_Q_WEIGHT, TXD_PARAM_K_WEIGHT,
                                           TXD_PARAM_V_WEIGHT};
    static const txd_param_id biases[] = {TXD_PARAM_Q_BIAS, TXD_PARAM_K_BIAS,
                                          TXD_PARAM_V_BIAS};
    bool fused = config->qkv == TXD_QKV_FUSED;
    txd_projection out = {.has_bias = config->qkv_bias};

    out.rows = which == TXD_PROJECTED_V ? config->value_dim : config->head_dim;
    out.first = head * out.rows + (fused ? fused_rows_before(config, which) : 0);
    out.weight = value_of(params, fused ? TXD_PARAM_QKV_WEIGHT : weights[which], layer);
    out.bias = value_of(params, fused ? TXD_PARAM_QKV_BIAS : biases[which], layer);
    return out;
}

/* Rows of `row` elements each. */
static bool copy_rows(const txd_tensor *to, size_t to_first, const txd_tensor *from,
                      size_t from_first, size_t rows)
{
    size_t width = to->rank == 2 ? to->dims[1] : 1;
    size_t bytes = width * txd_dtype_bytes(to->dtype);
    char *target = (char *)to->data + to_first * bytes;
    const char *source = (const char *)from->data + from_first * bytes;

    if (memcmp(target, source, rows * bytes) == 0)
        return false;
    memmove(target, source, rows * bytes);
    return true;
}

bool txd_projection_copy(const txd_projection *to, const txd_projection *from)
{
    bool changed =
        copy_rows(&to->weight, to->first, &from->weight, from->first, to->rows);

    if (to->has_bias)
        changed |= copy_rows(&to->bias, to->first, &from->bias, from->first, to->rows);
    return changed;
}

struct layer_edit {
    const txd_fault_use *use;
    const txd_config *config;
    bool (*layer)(txd_params *params, const txd_config *config, int layer);
    const char *unchanged;
};

static txd_status edit(const void *self, txd_params *params)
{
    const struct layer_edit *edit = self;
    bool changed = false;

    for (size_t l = 0; l < edit->config->n_layers; l++)
        if (txd_range_has(&edit->use->layers, l))
            changed |= edit->layer(params, edit->config, (int)l);
    return changed ? TXD_OK : txd_fault_refuse(edit->use, edit->unchanged);
}

txd_status txd_plan_edit_layers(txd_plan *plan, const txd_fault_use *use,
                                bool (*layer)(txd_params *params,
                                              const txd_config *config, int layer),
                                const char *unchanged)
{
    struct layer_edit *self = txd_arena_alloc(plan->arena, 1, sizeof *self);

    if (self == NULL)
        return TXD_ERR_MEMORY;
    *self = (struct layer_edit){use, &plan->config, layer, unchanged};
    return txd_plan_edit(plan, edit, self);
}
