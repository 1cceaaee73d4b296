/* SPDX-License-Identifier: MIT
 *
 * The encoder of an encoder-decoder: a model and a run of its own, whose output is the
 * memory that the decoder's cross-attention reads. It runs as it is claimed: faults and
 * taps are the decoder's. With a backward half it waits for the decoder's, which goes
 * on into it (txd_run_options.encoder).
 */
#ifndef TXD_MODEL_ENCODER_H
#define TXD_MODEL_ENCODER_H

#include "model/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_encoder txd_encoder;

/* Binds the encoder of a configuration (config->encoder) from the parameters of the
 * whole model; both must outlive it. Of `options` it takes threads and backward. The
 * caller owns *out. */
txd_status txd_encoder_create(txd_encoder **out, const txd_backend *backend,
                              const txd_config *config, txd_params *params,
                              const txd_run_options *options);
void txd_encoder_destroy(txd_encoder *encoder); /* NULL is allowed */

/* For txd_run_options.encoder; owned by the encoder. */
txd_run *txd_encoder_run(const txd_encoder *encoder);

/* Runs over `tokens` and puts what it makes into the memory of `inputs`, which has room
 * for it. The arrays of `tokens` must last until the way back, if there is one. */
txd_status txd_encoder_pass(txd_encoder *encoder, txd_inputs *inputs,
                            const txd_inputs *tokens, int step);

/* Bytes that a pass of this shape allocates; extent->memory rows are its tokens. */
txd_status txd_encoder_bytes(size_t *out, const txd_encoder *encoder,
                             const txd_extent *extent);

#ifdef __cplusplus
}
#endif

#endif
