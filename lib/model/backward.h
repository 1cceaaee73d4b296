/* SPDX-License-Identifier: MIT
 *
 * The backward half of a pass: shared by the files that compute it. Gradients of points
 * are formed in run->d_own and handed to taps when they are complete; those of
 * parameters are added to run->d_parameters. Every operation of the forward half has
 * its own here, called at the same place, so that what faults replace stays consistent.
 */
#ifndef TXD_MODEL_BACKWARD_H
#define TXD_MODEL_BACKWARD_H

#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the gradient of a bound parameter, or of some of its rows, is summed; NULL of
 * NULL. */
void *txd_gradient_of(const txd_run *run, const void *parameter);
/* Puts all of them to 0. */
txd_status txd_gradients_clear(txd_run *run);
/* Divides all of them by the loss scale. */
txd_status txd_gradients_unscale(txd_run *run);

/* No gradient yet; the last layer is at hand, where the way back begins. */
txd_status txd_backward_begin(txd_run *run);
/* From the gradient of what the pass makes of the stream, in the buffer of its end, to
 * those of the embeddings. */
txd_status txd_stream_backward(txd_run *run);
/* The beginning: from the loss to the gradient of what the pass makes of the stream
 * (head_back.c). */
txd_status txd_head_backward(txd_run *run);
/* Its end: from the gradient of what layer 0 reads (embeddings.c). */
txd_status txd_embeddings_backward(txd_run *run);
/* The same of the encoder that made the memory (encoder_back.c), from the memory's
 * gradient; then what it gives to parameters that are the decoder's, too. */
txd_status txd_encoder_backward(txd_run *run);

/* to += from, elementwise, in the backend's dtype. */
txd_status txd_gradient_add(const txd_run *run, void *to, const void *from,
                            size_t count);
/* The gradient of the i-th parameter where the backend has it. */
txd_status txd_gradient_at(txd_tensor *out, const txd_run *run, size_t i);
/* False the first time it is asked about the gradient of a point of the layer, or of
 * what comes behind layers: what reaches it first writes it, the others add. */
bool txd_gradient_begun(txd_run *run, txd_point point);

/* The steps that the sublayers share, each from the gradient of what it made to those
 * of what it read. */
struct txd_linear_back {
    struct txd_linear_map map; /* as on the way there */
    const void *d_out;
    void *d_x;
    bool add; /* to d_x */
};
txd_status txd_layer_linear_back(txd_run *run, int layer,
                                 const struct txd_linear_back *back);
/* Offers the gradient of what the norm made, first; does nothing for none. */
txd_status txd_layer_norm_back(txd_run *run, int layer, txd_point norm);
/* From the gradient of the sublayer's end to that of its output, which is offered. */
txd_status txd_layer_join_back(txd_run *run, int layer, const txd_sublayer *part);

/* The values of a sublayer that the way there did not keep, made as they were then. */
txd_status txd_attention_again(txd_run *run, int layer, txd_attention_kind kind);
txd_status txd_mlp_again(txd_run *run, int layer);
/* The sublayers: from the gradient of what each passes on to that of what enters
 * it, which the sublayer before, or the block, will offer. */
txd_status txd_attention_backward(txd_run *run, int layer, txd_attention_kind kind);
txd_status txd_mlp_backward(txd_run *run, int layer);

#ifdef __cplusplus
}
#endif

#endif
