/* SPDX-License-Identifier: MIT
 *
 * Where a parameter is stored: which tensor, with the shape that the configuration
 * asks for, and which of its rows.
 */
#include <stdio.h>
#include <string.h>

#include "formats/checkpoint_internal.h"

static txd_status check_dtype(const txd_checkpoint *checkpoint,
                              const txd_trace_info *info)
{
    if (info->foreign)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: tensor \"%s\" has dtype %.40s; expected F64, F32, F16 or "
                        "BF16%s",
                        checkpoint->path, info->name, info->foreign,
                        checkpoint->reading.architecture
                            ? ", or blocks of Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, "
                              "Q5_K or Q6_K"
                            : "");
    if (info->dtype <= TXD_BF16)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%s\" has dtype %s; expected F64, F32, F16 or BF16",
                    checkpoint->path, info->name, txd_dtype_name(info->dtype));
}

static char *param_name(char *text, size_t bytes, const txd_wanted *wanted)
{
    char name[64];

    snprintf(text, bytes, "%s%s", wanted->of_encoder ? "encoder." : "",
             txd_param_name(name, sizeof name, wanted->id, wanted->layer));
    return text;
}

static txd_status check_shape(const txd_checkpoint *checkpoint,
                              const txd_trace_info *info, const size_t *dims, int rank,
                              const txd_wanted *wanted)
{
    char expected[128], found[128], name[TXD_NAME_BYTES];

    if (info->rank == rank &&
        memcmp(info->dims, dims, (size_t)rank * sizeof *dims) == 0)
        return TXD_OK;
    txd_shape_text(expected, sizeof expected, dims, rank);
    txd_shape_text(found, sizeof found, info->dims, info->rank);
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%s\" (%s): expected shape %s by the configuration, "
                    "found %s",
                    checkpoint->path, info->name, param_name(name, sizeof name, wanted),
                    expected, found);
}

/* Which rows of a stored tensor of several parameters are this one's. */
static size_t set_part(txd_source *out, const txd_config *c, txd_param_id id,
                       size_t groups)
{
    size_t q = c->n_heads * c->head_dim / groups;
    size_t k = c->n_kv_heads * c->head_dim / groups;
    size_t v = c->n_kv_heads * c->value_dim / groups;
    size_t all = q + k + v;

    out->groups = groups;
    switch (id) {
    case TXD_PARAM_GATE_WEIGHT:
    case TXD_PARAM_GATE_BIAS:
        all = 2 * c->d_ff;
        out->first = 0;
        break;
    case TXD_PARAM_UP_WEIGHT:
    case TXD_PARAM_UP_BIAS:
        all = 2 * c->d_ff;
        out->first = c->d_ff;
        break;
    case TXD_PARAM_K_WEIGHT:
    case TXD_PARAM_K_BIAS:
        out->first = q;
        break;
    case TXD_PARAM_V_WEIGHT:
    case TXD_PARAM_V_BIAS:
        out->first = q + k;
        break;
    default: /* queries */
        out->first = 0;
        break;
    }
    out->run = out->rows / groups;
    out->stride = all;
    return groups * all;
}

/* The rows that the layout gives the parameter, and the shape of what is stored. */
static void set_layout(txd_source *out, size_t dims[TXD_MAX_RANK], const txd_config *c,
                       const txd_tensor_name *name, txd_param_id id)
{
    size_t swap = dims[0];

    out->rows = dims[0];
    if (name->layout == TXD_LAYOUT_STACKED) {
        dims[0] = set_part(out, c, id, 1);
        return;
    }
    if (name->layout == TXD_LAYOUT_GROUPED) {
        dims[0] = set_part(out, c, id, c->n_kv_heads);
        return;
    }
    out->transposed = name->layout == TXD_LAYOUT_TRANSPOSED;
    if (out->transposed) {
        dims[0] = dims[1];
        dims[1] = swap;
    }
    out->groups = 1;
    out->rows = out->run = out->stride = dims[0];
}

static void use_all_names(const txd_checkpoint *checkpoint, const txd_wanted *wanted)
{
    char name[TXD_NAME_BYTES];
    size_t at = 0;

    while (txd_stored_name(name, checkpoint, wanted, &at)) {
        txd_stored *stored = txd_stored_find(checkpoint, name);

        if (stored)
            stored->used = true;
    }
}

/* Marks every tensor that is where a parameter is looked for: what is left has no
 * place, whatever else is missing. */
static void use_all(const txd_checkpoint *checkpoint, const txd_config *config)
{
    for (int i = 0; i < TXD_PARAM_COUNT; i++) {
        txd_wanted wanted = {
            .id = (txd_param_id)i, .layer = -1, .of_encoder = config->is_encoder};
        bool per_layer = txd_param_per_layer(wanted.id);

        if (!txd_param_exists(config, wanted.id))
            continue;
        for (size_t l = 0; l < (per_layer ? config->n_layers : 1); l++) {
            wanted.layer = per_layer ? (int)l : -1;
            use_all_names(checkpoint, &wanted);
        }
    }
    if (config->encoder)
        use_all(checkpoint, config->encoder);
}

static txd_status fail_missing(const txd_checkpoint *checkpoint,
                               const txd_config *config, const txd_wanted *wanted)
{
    char name[TXD_NAME_BYTES];
    const char *other;
    size_t at = 0;

    if (txd_stored_name(name, checkpoint, wanted, &at)) {
        use_all(checkpoint, config);
        other = txd_stored_placeless(checkpoint, name);
        return txd_fail(TXD_ERR_FORMAT, "%s: tensor \"%s\" is missing%s%.200s%s%s",
                        checkpoint->path, name, other ? ", and \"" : "",
                        other ? other : "", other ? "\" has no place" : "",
                        checkpoint->has_own_names
                            ? "; `txdiag list parameters` has the names"
                            : "");
    }
    return txd_fail(TXD_ERR_CONFIG,
                    "%s: the configuration has a parameter \"%s\", for which %s "
                    "checkpoints have no tensor; leave that part of `model` as the "
                    "files state it",
                    checkpoint->path, param_name(name, sizeof name, wanted),
                    checkpoint->reading.family->name);
}

txd_status txd_source_find(txd_source *out, const txd_checkpoint *checkpoint,
                           const txd_config *config, const txd_wanted *wanted,
                           size_t nth)
{
    size_t dims[TXD_MAX_RANK], at = 0, found = 0;
    int rank = txd_param_dims(dims, config, wanted->id);
    const txd_tensor_name *name;
    char text[TXD_NAME_BYTES];

    *out = (txd_source){.tensor = NULL};
    while ((name = txd_stored_name(text, checkpoint, wanted, &at))) {
        out->tensor = txd_stored_find(checkpoint, text);
        if (out->tensor && found++ == nth)
            break;
        out->tensor = NULL;
    }
    if (!out->tensor)
        return nth == 0 ? fail_missing(checkpoint, config, wanted) : TXD_OK;
    TXD_TRY(txd_trace_get(checkpoint->trace, &out->info, out->tensor->index));
    TXD_TRY(check_dtype(checkpoint, &out->info));
    set_layout(out, dims, config, name, wanted->id);
    return check_shape(checkpoint, &out->info, dims, rank, wanted);
}

bool txd_source_exists(char text[TXD_NAME_BYTES], const txd_checkpoint *checkpoint,
                       const txd_wanted *wanted)
{
    char name[TXD_NAME_BYTES];
    size_t at = 0;

    *text = '\0';
    while (txd_stored_name(name, checkpoint, wanted, &at)) {
        if (*text && !txd_stored_find(checkpoint, name))
            continue;
        memcpy(text, name, sizeof name);
        if (txd_stored_find(checkpoint, name))
            return true;
    }
    return false;
}
