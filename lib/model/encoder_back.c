/* SPDX-License-Identifier: MIT
 *
 * The way back into an encoder: from the gradient of the memory to those of the
 * encoder's parameters. The embeddings are the decoder's, too: their gradient is the
 * sum of both. What is the encoder's alone comes after the decoder's parameters, as in
 * txd_params.
 */
#include <string.h>

#include "model/backward.h"

/* The embeddings are at the front. */
static size_t shared(const struct txd_model *encoder)
{
    size_t count = 0;

    while (!txd_param_per_layer(encoder->params[count].id))
        count++;
    return count;
}

size_t txd_run_parameters(const txd_run *run)
{
    const struct txd_model *model = run->model;
    const txd_run *encoder = run->options.encoder;

    return model->param_count +
           (encoder ? encoder->model->param_count - shared(encoder->model) : 0);
}

const txd_run *txd_run_of_parameter(size_t *own, const txd_run *run, size_t i)
{
    const txd_run *encoder = run->options.encoder;

    *own = i;
    if (i < run->model->param_count)
        return run;
    *own = i - run->model->param_count + shared(encoder->model);
    return encoder;
}

static size_t place_of(const struct txd_model *model, txd_param_id id)
{
    size_t i = 0;

    while (model->params[i].id != id)
        i++;
    return i;
}

static txd_status add_shared(txd_run *run, const txd_run *encoder)
{
    size_t count = shared(encoder->model);

    for (size_t i = 0; i < count; i++) {
        size_t same = place_of(run->model, encoder->model->params[i].id);
        txd_tensor to, from;

        TXD_TRY(txd_gradient_at(&to, run, same));
        TXD_TRY(txd_gradient_at(&from, encoder, i));
        TXD_TRY(txd_gradient_add(run, to.data, from.data, txd_tensor_count(&to)));
    }
    return TXD_OK;
}

txd_status txd_encoder_backward(txd_run *run)
{
    txd_run *encoder = run->options.encoder;
    size_t rows = run->batch * run->memory_length;

    if (encoder->batch != run->batch || encoder->length != run->memory_length)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "the encoder's last pass made %zu x %zu rows, the memory of "
                        "this pass has %zu x %zu",
                        encoder->batch, encoder->length, run->batch,
                        run->memory_length);
    encoder->pass.loss_scale = run->pass.loss_scale;
    TXD_TRY(txd_backward_begin(encoder));
    TXD_TRY(txd_run_copy(run, encoder->d_own[encoder->stream_end],
                         run->d_own[TXD_POINT_INPUT_MEMORY],
                         rows * run->model->config->d_model));
    TXD_TRY(txd_stream_backward(encoder));
    TXD_TRY(add_shared(run, encoder));
    return txd_gradients_unscale(encoder);
}
