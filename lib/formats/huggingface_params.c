/* SPDX-License-Identifier: MIT
 *
 * Parameters out of a checkpoint. Everything is checked before anything is allocated,
 * so that memory is bounded by what the file really holds.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/huggingface_internal.h"

#define NAME_BYTES 256
#define BLOCK_ROWS 32

/* A flag of the configuration and the parameters that it stands for. */
struct bias {
    bool *flag;
    txd_param_id ids[4];
    size_t count;
};

static txd_status fail_missing(const txd_checkpoint *checkpoint, const char *name)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: tensor \"%s\" is missing", checkpoint->path,
                    name);
}

static txd_status check_dtype(const txd_checkpoint *checkpoint,
                              const txd_trace_info *info)
{
    if (info->foreign)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: tensor \"%s\" has dtype %.40s; expected F64, F32, F16 or "
                        "BF16",
                        checkpoint->path, info->name, info->foreign);
    if (info->dtype <= TXD_BF16)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%s\" has dtype %s; expected F64, F32, F16 or BF16",
                    checkpoint->path, info->name, txd_dtype_name(info->dtype));
}

static txd_status check_shape(const txd_checkpoint *checkpoint,
                              const txd_trace_info *info, const size_t *dims, int rank,
                              const txd_param *param)
{
    char expected[128], found[128], name[NAME_BYTES];

    if (info->rank == rank &&
        memcmp(info->dims, dims, (size_t)rank * sizeof *dims) == 0)
        return TXD_OK;
    txd_shape_text(expected, sizeof expected, dims, rank);
    txd_shape_text(found, sizeof found, info->dims, info->rank);
    txd_param_name(name, sizeof name, param->id, param->layer);
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%s\" (%s): expected shape %s by the configuration, "
                    "found %s",
                    checkpoint->path, info->name, name, expected, found);
}

/* The tensor of a parameter, checked; *transposed if it is stored (in, out). */
static txd_status find_param(struct txd_hf_tensor **out, bool *transposed,
                             const txd_checkpoint *checkpoint, const txd_config *config,
                             const txd_param *param)
{
    size_t dims[TXD_MAX_RANK], swap;
    int rank = txd_param_dims(dims, config, param->id);
    char name[NAME_BYTES];
    const struct txd_hf_name *known =
        txd_hf_name_of(name, sizeof name, checkpoint, param->id, param->layer);
    txd_trace_info info;

    if (!known) {
        txd_param_name(name, sizeof name, param->id, param->layer);
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: the configuration has a parameter \"%s\", for which %s "
                        "checkpoints have no tensor; leave that part of `model` as "
                        "config.json states it",
                        checkpoint->path, name, checkpoint->family->name);
    }
    *out = txd_hf_find(checkpoint, name);
    if (!*out)
        return fail_missing(checkpoint, name);
    TXD_TRY(txd_trace_get(checkpoint->trace, &info, (*out)->index));
    TXD_TRY(check_dtype(checkpoint, &info));
    *transposed = known->transposed;
    if (known->transposed) {
        swap = dims[0];
        dims[0] = dims[1];
        dims[1] = swap;
    }
    return check_shape(checkpoint, &info, dims, rank, param);
}

static txd_status check_param(const txd_checkpoint *checkpoint,
                              const txd_config *config, txd_param_id id, int layer)
{
    txd_param param = {.id = id, .layer = layer};
    struct txd_hf_tensor *tensor;
    bool transposed;

    TXD_TRY(find_param(&tensor, &transposed, checkpoint, config, &param));
    tensor->used = true;
    return TXD_OK;
}

/* Counts the tensors of one bias; `missing` and `present` are examples of each. */
static size_t count_bias(char *missing, char *present, const txd_checkpoint *checkpoint,
                         txd_param_id id)
{
    size_t layers = txd_param_per_layer(id) ? checkpoint->config.n_layers : 1;
    size_t count = 0;
    char name[NAME_BYTES] = ""; /* stays so if the family has no such tensor */

    for (size_t layer = 0; layer < layers; layer++) {
        bool there = txd_hf_name_of(name, sizeof name, checkpoint, id, (int)layer) &&
                     txd_hf_find(checkpoint, name);
        char *example = there ? present : missing;

        count += there;
        if (!*example)
            memcpy(example, name, sizeof name);
    }
    return count;
}

static txd_status find_bias(txd_checkpoint *checkpoint, const struct bias *bias)
{
    char missing[NAME_BYTES] = "", present[NAME_BYTES] = "";

    for (size_t i = 0; i < bias->count; i++)
        count_bias(missing, present, checkpoint, bias->ids[i]);
    if (*missing && *present)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: tensor \"%s\" is missing, though \"%s\" is there; a bias "
                        "is in every layer or in none",
                        checkpoint->path, missing, present);
    *bias->flag = *present != '\0';
    return TXD_OK;
}

/* config.json's word on a bias against the tensors. */
static txd_status check_stated(const txd_checkpoint *checkpoint, bool found,
                               enum txd_hf_flag stated, const char *field)
{
    if (stated == TXD_HF_UNSTATED || found == (stated == TXD_HF_TRUE))
        return TXD_OK;
    return txd_fail(
        TXD_ERR_FORMAT, "%s: config.json states %s = %s, but the biases are %s",
        checkpoint->path, field, found ? "false" : "true", found ? "there" : "missing");
}

static void copy_transposed_f64(double *out, const double *in, size_t rows,
                                size_t width, size_t stride)
{
    for (size_t j = 0; j < width; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * stride + i] = in[i * width + j];
}

static void copy_transposed_f32(float *out, const float *in, size_t rows, size_t width,
                                size_t stride)
{
    for (size_t j = 0; j < width; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * stride + i] = in[i * width + j];
}

/* Reads a stored (in, out) into (out, in), some rows at a time. */
static txd_status read_transposed(const txd_checkpoint *checkpoint, size_t index,
                                  const txd_tensor *value)
{
    size_t outputs = value->dims[0], inputs = value->dims[1];
    size_t start[2] = {0, 0}, count[2] = {0, outputs};
    void *block = malloc(BLOCK_ROWS * outputs * txd_dtype_bytes(value->dtype));
    txd_status status = TXD_OK;

    if (!block)
        return txd_fail(TXD_ERR_MEMORY, "no memory to transpose a weight");
    for (; status == TXD_OK && start[0] < inputs; start[0] += count[0]) {
        count[0] = inputs - start[0] < BLOCK_ROWS ? inputs - start[0] : BLOCK_ROWS;
        status =
            txd_trace_read(checkpoint->trace, block, index, start, count, value->dtype);
        if (status == TXD_OK && value->dtype == TXD_F64)
            copy_transposed_f64((double *)value->data + start[0], block, count[0],
                                outputs, inputs);
        else if (status == TXD_OK)
            copy_transposed_f32((float *)value->data + start[0], block, count[0],
                                outputs, inputs);
    }
    free(block);
    return status;
}

static txd_status read_param(txd_param *param, const txd_checkpoint *checkpoint,
                             const txd_config *config)
{
    struct txd_hf_tensor *tensor;
    bool transposed;

    TXD_TRY(find_param(&tensor, &transposed, checkpoint, config, param));
    if (transposed)
        return read_transposed(checkpoint, tensor->index, &param->value);
    return txd_trace_read_all(checkpoint->trace, param->value.data,
                              txd_tensor_count(&param->value), tensor->index,
                              param->value.dtype);
}

static txd_dtype widest(const txd_checkpoint *checkpoint)
{
    txd_trace_info info;

    for (size_t i = 0; i < checkpoint->count; i++)
        if (checkpoint->tensors[i].used &&
            txd_trace_get(checkpoint->trace, &info, checkpoint->tensors[i].index) ==
                TXD_OK &&
            info.dtype == TXD_F64)
            return TXD_F64;
    return TXD_F32;
}

txd_status txd_hf_find_biases(txd_checkpoint *checkpoint,
                              const struct txd_hf_stated *stated)
{
    txd_config *c = &checkpoint->config;
    bool fused = c->qkv == TXD_QKV_FUSED, gated = c->gated;
    const struct bias qkv = {.flag = &c->qkv_bias,
                             .ids = {fused ? TXD_PARAM_QKV_BIAS : TXD_PARAM_Q_BIAS,
                                     TXD_PARAM_K_BIAS, TXD_PARAM_V_BIAS},
                             .count = fused ? 1 : 3};
    const struct bias out = {
        .flag = &c->out_bias, .ids = {TXD_PARAM_O_BIAS}, .count = 1};
    const struct bias mlp = {
        .flag = &c->mlp_bias,
        .ids = {TXD_PARAM_UP_BIAS, TXD_PARAM_DOWN_BIAS, TXD_PARAM_GATE_BIAS},
        .count = gated ? 3 : 2};
    const struct bias norm = {
        .flag = &c->norm_bias,
        .ids = {TXD_PARAM_NORM1_BIAS, TXD_PARAM_NORM2_BIAS, TXD_PARAM_FINAL_BIAS},
        .count = 3};

    TXD_TRY(find_bias(checkpoint, &qkv));
    TXD_TRY(find_bias(checkpoint, &out));
    TXD_TRY(find_bias(checkpoint, &mlp));
    TXD_TRY(find_bias(checkpoint, &norm));
    TXD_TRY(check_stated(checkpoint, c->qkv_bias, stated->attention_bias,
                         "attention_bias"));
    return check_stated(checkpoint, c->mlp_bias, stated->mlp_bias, "mlp_bias");
}

txd_status txd_hf_check_params(const txd_checkpoint *checkpoint,
                               const txd_config *config)
{
    for (int i = 0; i < TXD_PARAM_COUNT; i++) {
        txd_param_id id = (txd_param_id)i;

        if (!txd_param_exists(config, id))
            continue;
        if (!txd_param_per_layer(id))
            TXD_TRY(check_param(checkpoint, config, id, -1));
        for (size_t l = 0; txd_param_per_layer(id) && l < config->n_layers; l++)
            TXD_TRY(check_param(checkpoint, config, id, (int)l));
    }
    return TXD_OK;
}

txd_status txd_checkpoint_params(txd_params **out, const txd_checkpoint *checkpoint,
                                 const txd_config *config)
{
    txd_params *params = NULL;
    txd_status status;

    TXD_TRY(txd_hf_check_params(checkpoint, config));
    TXD_TRY(txd_params_create(&params, config, widest(checkpoint)));
    for (size_t i = 0; i < txd_params_count(params); i++) {
        status = read_param(txd_params_at(params, i), checkpoint, config);
        if (status != TXD_OK) {
            txd_params_destroy(params);
            return status;
        }
    }
    *out = params;
    return TXD_OK;
}
