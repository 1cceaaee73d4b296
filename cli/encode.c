/* SPDX-License-Identifier: MIT
 *
 * The encoder runs before the decoder in every step, over the tokens of that step.
 */
#include "cli/encode.h"

txd_status txd_session_encoder(txd_encoder **out, const txd_session *session,
                               const txd_options *options)
{
    const txd_run_options run = {.threads = options->threads,
                                 .backward = session->backward};

    *out = NULL;
    if (!session->claimed.encoder)
        return TXD_OK;
    return txd_encoder_create(out, session->backend, &session->claimed, session->params,
                              &run);
}

txd_status txd_session_inputs(txd_inputs *out, const txd_session *session,
                              txd_encoder *encoder, txd_arena *arena, size_t step)
{
    txd_inputs tokens;

    TXD_TRY(txd_input_source_step(out, session->source, arena, step));
    if (!encoder)
        return TXD_OK;
    TXD_TRY(txd_input_source_encoder(&tokens, session->source, arena, step));
    return txd_encoder_pass(encoder, out, &tokens, (int)step);
}

txd_status txd_session_encoder_bytes(size_t *out, const txd_session *session,
                                     const txd_options *options)
{
    const txd_extent extent = {session->batch, session->length, session->memory, 0};
    txd_encoder *encoder;
    txd_status status;

    *out = 0;
    TXD_TRY(txd_session_encoder(&encoder, session, options));
    status = encoder ? txd_encoder_bytes(out, encoder, &extent) : TXD_OK;
    txd_encoder_destroy(encoder);
    return status;
}
