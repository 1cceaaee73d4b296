/* SPDX-License-Identifier: MIT
 *
 * The inputs of a step complete with the memory that an encoder makes.
 */
#ifndef TXD_CLI_ENCODE_H
#define TXD_CLI_ENCODE_H

#include "cli/session.h"

/* Binds the session's encoder; *out is NULL if it has none. The caller owns it. */
txd_status txd_session_encoder(txd_encoder **out, const txd_session *session,
                               const txd_options *options);

/* The batch of a step in `arena`, its memory filled in by `encoder` (NULL = none). */
txd_status txd_session_inputs(txd_inputs *out, const txd_session *session,
                              txd_encoder *encoder, txd_arena *arena, size_t step);

/* Bytes that a pass of the encoder allocates; 0 without one. */
txd_status txd_session_encoder_bytes(size_t *out, const txd_session *session,
                                     const txd_options *options);

#endif
