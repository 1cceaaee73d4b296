/* SPDX-License-Identifier: MIT
 *
 * The decoder, backward: token losses, logits in row tiles, final norm, blocks from the
 * last to the first, embeddings; then the parameters' gradients.
 */
#include "model/backward.h"

#include <string.h>

static size_t stream_bytes(const txd_run *run)
{
    return run->batch * run->length * run->model->config->d_model *
           txd_dtype_bytes(run->pass.dtype);
}

/* ---- the end ---- */

/* The loss is the mean over all pairs. */
static txd_status token_losses(txd_run *run)
{
    size_t count = run->batch * run->length, pairs = 0;
    void *d = run->d_own[TXD_POINT_LOSS_TOKEN];

    for (size_t i = 0; i < count; i++)
        pairs += run->targets[i] >= 0;
    for (size_t i = 0; i < count; i++) {
        double value = run->targets[i] < 0 ? 0 : run->pass.loss_scale / (double)pairs;

        if (run->pass.dtype == TXD_F64)
            ((double *)d)[i] = value;
        else
            ((float *)d)[i] = (float)value;
    }
    TXD_TRY(txd_run_store(run, d, count));
    return txd_taps_offer_gradient(run, TXD_POINT_LOSS_TOKEN, -1);
}

static txd_status loss_back(txd_run *run, size_t row, size_t rows)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[c->n_layers];
    struct txd_loss_back_args args = {
        .at = txd_op_at(ops, TXD_OP_loss_back, -1, TXD_POINT_LOSS_TOKEN),
        .d_logits = run->d_logits,
        .d_out = (const char *)run->d_own[TXD_POINT_LOSS_TOKEN] +
                 row * txd_dtype_bytes(run->pass.dtype),
        .logits = run->logits,
        .targets = run->targets + row,
        .rows = rows,
        .vocab = c->vocab,
    };

    return ops->ops.loss_back(&run->ctx, &args);
}

static txd_status head_back(txd_run *run, size_t row, size_t rows)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[c->n_layers];
    size_t offset = row * c->d_model * txd_dtype_bytes(run->pass.dtype);
    struct txd_linear_back_args args = {
        .at = txd_op_at(ops, TXD_OP_linear_back, -1, TXD_POINT_LOGITS),
        .d_x = (char *)run->d_own[run->stream_end] + offset,
        .d_weight = txd_gradient_of(run, run->model->head),
        .d_out = run->d_logits,
        .x = (const char *)run->value[run->stream_end] + offset,
        .weight = run->model->head,
        .rows = rows,
        .n = c->vocab,
        .k = c->d_model,
    };

    return ops->ops.linear_back(&run->ctx, &args);
}

/* Logits are made again, by the operation that made them, unless one tile was all. */
static txd_status logit_tile_back(txd_run *run, const struct txd_logit_tile *tile)
{
    size_t row = tile->batch * run->length + tile->first;
    bool all = run->batch == 1 && tile->rows == run->length;

    if (!all)
        TXD_TRY(txd_logit_rows(run, row, tile->rows));
    TXD_TRY(loss_back(run, row, tile->rows));
    TXD_TRY(txd_taps_offer_logits(run, tile, TXD_SITE_GRADIENT));
    return head_back(run, row, tile->rows);
}

/* To the gradient of what the last layer makes. */
static txd_status final_norm_back(txd_run *run)
{
    return run->stream_end == TXD_POINT_FINAL_NORM
               ? txd_layer_norm_back(run, -1, TXD_POINT_FINAL_NORM)
               : TXD_OK;
}

/* ---- blocks ---- */

/* Values that were not kept, by the operations that made them. */
static txd_status make_again(txd_run *run, int layer)
{
    txd_status status;

    run->is_again = true;
    status = txd_attention_again(run, layer, TXD_ATTENTION_SELF);
    if (status == TXD_OK && run->model->config->cross)
        status = txd_attention_again(run, layer, TXD_ATTENTION_CROSS);
    if (status == TXD_OK)
        status = txd_mlp_again(run, layer);
    run->is_again = false;
    return status;
}

static txd_status blocks_back(txd_run *run)
{
    size_t layers = run->model->config->n_layers;

    for (size_t done = 0; done < layers; done++) {
        int layer = (int)(layers - 1 - done);
        const void *stream = run->d_own[TXD_POINT_RESID_PRE];

        txd_run_enter_back(run, layer);
        if (done > 0)
            memcpy(run->d_own[txd_stream_after_layer(run->model->config)], stream,
                   stream_bytes(run));
        TXD_TRY(make_again(run, layer));
        TXD_TRY(txd_mlp_backward(run, layer));
        if (run->model->config->cross)
            TXD_TRY(txd_attention_backward(run, layer, TXD_ATTENTION_CROSS));
        TXD_TRY(txd_attention_backward(run, layer, TXD_ATTENTION_SELF));
        TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_RESID_PRE, layer));
        TXD_TRY(txd_run_progress(run, layers + done + 1));
    }
    return TXD_OK;
}

/* All layers add to the memory's gradient. */
static void clear_memory(txd_run *run)
{
    size_t count = run->batch * run->memory_length * run->model->config->d_model;

    if (!run->model->config->cross)
        return;
    memset(run->d_own[TXD_POINT_INPUT_MEMORY], 0,
           count * txd_dtype_bytes(run->pass.dtype));
    (void)txd_gradient_begun(run, TXD_POINT_INPUT_MEMORY);
}

void txd_backward_begin(txd_run *run)
{
    memset(run->gradient, 0, sizeof run->gradient);
    memset(run->begun, 0, sizeof run->begun);
    txd_gradients_clear(run);
    txd_run_enter_back(run, (int)run->model->config->n_layers - 1);
}

txd_status txd_stream_backward(txd_run *run)
{
    TXD_TRY(final_norm_back(run));
    TXD_TRY(blocks_back(run));
    memcpy(run->d_own[txd_embed_end(run->model->config)],
           run->d_own[TXD_POINT_RESID_PRE], stream_bytes(run));
    return txd_embeddings_backward(run);
}

txd_status txd_decoder_backward(txd_run *run)
{
    txd_backward_begin(run);
    clear_memory(run);
    TXD_TRY(token_losses(run));
    TXD_TRY(txd_logits_in_tiles(run, logit_tile_back));
    TXD_TRY(txd_stream_backward(run));
    if (run->model->config->cross)
        TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_INPUT_MEMORY, -1));
    if (run->options.encoder)
        TXD_TRY(txd_encoder_backward(run));
    txd_gradients_unscale(run);
    return txd_taps_parameter_gradients(run);
}
