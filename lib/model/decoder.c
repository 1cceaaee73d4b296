/* SPDX-License-Identifier: MIT
 *
 * The decoder, forward: embeddings (embeddings.c), blocks, the end (head.c); and
 * the three steps that both halves of a block share.
 */
#include <math.h>
#include <string.h>

#include "model/cache_private.h"

txd_op_site txd_op_at(const struct txd_layer_ops *ops, txd_op op, int layer,
                      txd_point point)
{
    txd_op_site at = {layer, (int)point, -1, -1, -1, ops->self[op]};

    return at;
}

txd_status txd_run_copy(const txd_run *run, void *to, const void *from, size_t count)
{
    const txd_backend *backend = run->model->backend;

    return backend->copy(to, from, count * txd_dtype_bytes(backend->dtype));
}

txd_status txd_run_repeat(txd_run *run, txd_point point, size_t count)
{
    if (run->own[point] == NULL)
        return TXD_OK;
    TXD_TRY(txd_run_copy(run, run->own[point], run->value[point], count));
    run->value[point] = run->own[point];
    return TXD_OK;
}

/* ---- steps that the halves of a block share ---- */

txd_status txd_layer_linear(txd_run *run, int layer, const struct txd_linear_map *map)
{
    struct txd_layer_ops *ops = txd_run_ops(run, layer);
    bool named = map->out != TXD_POINT_COUNT;
    struct txd_linear_args args = {
        .at = txd_op_at(ops, TXD_OP_linear, layer, map->out),
        .out = named ? run->own[map->out] : map->buffer,
        .x = map->x,
        .weight = map->weight,
        .bias = map->bias,
        .rows = map->rows > 0 ? map->rows : run->batch * run->length,
        .n = map->n,
        .k = map->k,
    };

    TXD_TRY(ops->ops.linear(&run->ctx, &args));
    if (!named)
        return TXD_OK;
    run->value[map->out] = run->own[map->out];
    return txd_taps_offer(run, map->out, layer);
}

struct txd_norm_args txd_norm_here(txd_run *run, int layer, txd_point norm)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = txd_run_ops(run, layer);
    txd_point in = txd_input_of_norm(c, norm);

    return (struct txd_norm_args){
        .at = txd_op_at(ops, TXD_OP_norm, layer, norm),
        .out = run->own[norm],
        .x = run->value[in],
        .gain = txd_model_parameter(run->model, txd_norm_gain(norm), layer),
        .bias = txd_model_parameter(run->model, txd_norm_bias(norm), layer),
        .rows = run->batch * run->length,
        .width = c->d_model,
        .sequence = run->length,
        .eps = c->layers[layer < 0 ? (int)c->n_layers - 1 : layer].norm_eps,
        .offset = c->norm_offset,
        .root_mean_square = c->norm == TXD_NORM_RMS,
    };
}

txd_status txd_layer_norm(txd_run *run, int layer, txd_point norm)
{
    struct txd_layer_ops *ops = txd_run_ops(run, layer);
    struct txd_norm_args args;

    if (norm == TXD_POINT_COUNT)
        return TXD_OK;
    args = txd_norm_here(run, layer, norm);
    TXD_TRY(ops->ops.norm(&run->ctx, &args));
    run->value[norm] = run->own[norm];
    return txd_taps_offer(run, norm, layer);
}

/* Without a residual scale, and with nobody to edit it, the branch is the output and
 * has no memory of its own. */
static txd_status scale_branch(txd_run *run, int layer, const txd_sublayer *part)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    txd_point out = part->over == TXD_POINT_COUNT ? part->out : part->over;
    struct txd_scale_args args = {
        .at = txd_op_at(ops, TXD_OP_scale, layer, part->branch),
        .out = run->own[part->branch],
        .x = run->value[out],
        .factor = run->model->config->layers[layer].residual_scale,
        .count = run->batch * run->length * run->model->config->d_model,
    };

    run->value[part->branch] = run->value[out];
    if (args.out != NULL) {
        TXD_TRY(ops->ops.scale(&run->ctx, &args));
        run->value[part->branch] = run->own[part->branch];
    }
    return txd_taps_offer(run, part->branch, layer);
}

/* Two branches are added before the stream, at no point: what is done to a residual sum
 * is done to one. */
static txd_status add_to_stream(txd_run *run, int layer, const txd_sublayer *part)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_pair_args args = {
        .at = txd_op_at(ops, TXD_OP_add, layer, TXD_POINT_COUNT),
        .out = run->own[part->sum],
        .b = run->value[part->branch],
        .count = run->batch * run->length * run->model->config->d_model,
    };

    if (part->beside != TXD_POINT_COUNT) {
        args.a = run->value[part->beside];
        TXD_TRY(ops->ops.add(&run->ctx, &args));
        args.b = args.out;
    }
    args.at.point = (int)part->sum;
    args.a = run->value[part->stream];
    TXD_TRY(ops->ops.add(&run->ctx, &args));
    run->value[part->sum] = run->own[part->sum];
    return txd_taps_offer(run, part->sum, layer);
}

txd_status txd_layer_join(txd_run *run, int layer, const txd_sublayer *part)
{
    TXD_TRY(txd_layer_norm(run, layer, part->over));
    TXD_TRY(scale_branch(run, layer, part));
    if (part->sum != TXD_POINT_COUNT)
        TXD_TRY(add_to_stream(run, layer, part));
    return txd_layer_norm(run, layer, part->after);
}

/* ---- blocks ---- */

txd_status txd_run_progress(txd_run *run, size_t done)
{
    size_t layers = run->model->config->n_layers;

    if (run->options.progress == NULL ||
        run->options.progress(run->options.progress_self, run->pass.step, done,
                              run->options.backward ? 2 * layers : layers) == 0)
        return TXD_OK;
    if (done <= layers)
        return txd_fail(TXD_ERR_INTERRUPTED, "interrupted after layer %zu of %zu",
                        done - 1, layers);
    return txd_fail(TXD_ERR_INTERRUPTED, "interrupted at layer %zu, on the way back",
                    2 * layers - done);
}

static txd_status blocks(txd_run *run)
{
    const txd_config *c = run->model->config;
    size_t count = run->batch * run->length * c->d_model;
    txd_point end = txd_embed_end(c);

    for (size_t l = 0; l < c->n_layers; l++) {
        void *stream = run->value[end];

        txd_run_enter(run, (int)l);
        run->value[TXD_POINT_RESID_PRE] = stream;
        TXD_TRY(txd_run_repeat(run, TXD_POINT_RESID_PRE, count));
        TXD_TRY(txd_taps_offer(run, TXD_POINT_RESID_PRE, (int)l));
        TXD_TRY(txd_attention_forward(run, (int)l, TXD_ATTENTION_SELF));
        if (c->cross)
            TXD_TRY(txd_attention_forward(run, (int)l, TXD_ATTENTION_CROSS));
        TXD_TRY(txd_mlp_forward(run, (int)l));
        end = txd_stream_after_layer(c);
        TXD_TRY(txd_run_progress(run, l + 1));
    }
    return TXD_OK;
}

txd_status txd_decoder_forward(txd_run *run)
{
    const txd_config *c = run->model->config;

    memset(run->value, 0, sizeof run->value);
    run->value[TXD_POINT_INPUT_TOKENS] = run->actual.tokens;
    run->value[TXD_POINT_INPUT_POSITIONS] = run->actual.positions;
    run->value[TXD_POINT_INPUT_VALID] = run->actual.valid;
    run->value[TXD_POINT_INPUT_DOCUMENT] = run->actual.document;
    run->value[TXD_POINT_INPUT_TYPES] = run->actual.types;
    run->value[TXD_POINT_INPUT_LABELS] = run->targets;
    for (int p = TXD_POINT_INPUT_TOKENS; p <= TXD_POINT_INPUT_LABELS; p++)
        TXD_TRY(txd_taps_offer(run, (txd_point)p, -1));
    if (run->options.cache != NULL)
        txd_cache_join(run->options.cache, &run->options.cache->actual, &run->actual);
    for (size_t i = 0; i < run->batch * run->length; i++)
        run->no_target[i] = run->targets[i] < 0;
    if (c->cross) {
        run->value[TXD_POINT_INPUT_MEMORY] = run->own[TXD_POINT_INPUT_MEMORY];
        TXD_TRY(txd_taps_offer(run, TXD_POINT_INPUT_MEMORY, -1));
    }
    TXD_TRY(txd_embeddings_forward(run));
    TXD_TRY(blocks(run));
    return txd_head_forward(run);
}
