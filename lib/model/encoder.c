/* SPDX-License-Identifier: MIT
 *
 * An encoder is a second model with a second run. Its way back: encoder_back.c.
 */
#include "model/encoder.h"

#include <stdlib.h>

struct txd_encoder {
    txd_model *model;
    txd_run *run;
    txd_run_options options;
    txd_inputs tokens; /* of the last pass */
};

txd_status txd_encoder_create(txd_encoder **out, const txd_backend *backend,
                              const txd_config *config, txd_params *params,
                              const txd_run_options *options)
{
    txd_encoder *encoder = calloc(1, sizeof *encoder);
    txd_status status;

    if (!encoder)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the encoder");
    encoder->options = (txd_run_options){.claimed = config->encoder,
                                         .threads = options->threads,
                                         .backward = options->backward};
    status = txd_model_create(&encoder->model, backend, config->encoder,
                              txd_params_of_encoder(params), encoder->options.threads);
    if (status == TXD_OK)
        status = txd_run_create(&encoder->run, encoder->model, &encoder->options);
    if (status != TXD_OK) {
        txd_encoder_destroy(encoder);
        return status;
    }
    *out = encoder;
    return TXD_OK;
}

void txd_encoder_destroy(txd_encoder *encoder)
{
    if (!encoder)
        return;
    txd_run_destroy(encoder->run);
    txd_model_destroy(encoder->model);
    free(encoder);
}

txd_run *txd_encoder_run(const txd_encoder *encoder)
{
    return encoder->run;
}

txd_status txd_encoder_pass(txd_encoder *encoder, txd_inputs *inputs,
                            const txd_inputs *tokens, int step)
{
    txd_tensor made;

    encoder->tokens = *tokens;
    TXD_TRY(txd_run_pass(encoder->run, &encoder->tokens, step));
    TXD_TRY(txd_run_output(&made, encoder->run));
    txd_convert(inputs->memory.data, inputs->memory.dtype, made.data, made.dtype,
                txd_tensor_count(&made));
    return TXD_OK;
}

txd_status txd_encoder_bytes(size_t *out, const txd_encoder *encoder,
                             const txd_extent *extent)
{
    const txd_extent own = {extent->batch, extent->memory, 0, 0};

    return txd_run_bytes(out, encoder->model, &encoder->options, &own);
}
