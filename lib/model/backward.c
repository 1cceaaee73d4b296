/* SPDX-License-Identifier: MIT
 *
 * The decoder, backward: the end (head_back.c), final norm, blocks from the last to the
 * first, embeddings (embeddings.c); then the parameters' gradients.
 */
#include "model/backward.h"

#include <string.h>

static size_t stream_count(const txd_run *run)
{
    return run->batch * run->length * run->model->config->d_model;
}

/* To the gradient of what the last layer makes. */
static txd_status final_norm_back(txd_run *run)
{
    return run->model->config->final_norm
               ? txd_layer_norm_back(run, -1, TXD_POINT_FINAL_NORM)
               : TXD_OK;
}

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
            TXD_TRY(txd_run_copy(run,
                                 run->d_own[txd_stream_after_layer(run->model->config)],
                                 stream, stream_count(run)));
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
static txd_status clear_memory(txd_run *run)
{
    size_t count = run->batch * run->memory_length * run->model->config->d_model;

    if (!run->model->config->cross)
        return TXD_OK;
    (void)txd_gradient_begun(run, TXD_POINT_INPUT_MEMORY);
    return run->model->backend->zero(run->d_own[TXD_POINT_INPUT_MEMORY],
                                     count * txd_dtype_bytes(run->pass.dtype));
}

txd_status txd_backward_begin(txd_run *run)
{
    memset(run->gradient, 0, sizeof run->gradient);
    memset(run->begun, 0, sizeof run->begun);
    TXD_TRY(txd_gradients_clear(run));
    txd_run_enter_back(run, (int)run->model->config->n_layers - 1);
    return TXD_OK;
}

txd_status txd_stream_backward(txd_run *run)
{
    TXD_TRY(final_norm_back(run));
    TXD_TRY(blocks_back(run));
    TXD_TRY(txd_run_copy(run, run->d_own[txd_embed_end(run->model->config)],
                         run->d_own[TXD_POINT_RESID_PRE], stream_count(run)));
    return txd_embeddings_backward(run);
}

txd_status txd_decoder_backward(txd_run *run)
{
    TXD_TRY(txd_backward_begin(run));
    TXD_TRY(clear_memory(run));
    TXD_TRY(txd_head_backward(run));
    TXD_TRY(txd_stream_backward(run));
    if (run->model->config->cross)
        TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_INPUT_MEMORY, -1));
    if (run->options.encoder)
        TXD_TRY(txd_encoder_backward(run));
    TXD_TRY(txd_gradients_unscale(run));
    return txd_taps_parameter_gradients(run);
}
