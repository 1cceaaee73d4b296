/* SPDX-License-Identifier: MIT
 *
 * Models as Hugging Face writes them: a folder with config.json and safetensors, in
 * Llama (also Mistral's) or GPT-2 naming, with or without the prefix of the inner
 * model. Every tensor of the file must have a place in the model, except buffers that
 * older exports hold (causal masks, rotary frequencies).
 */
#ifndef TXD_FORMATS_HUGGINGFACE_H
#define TXD_FORMATS_HUGGINGFACE_H

#include "base/trace.h"
#include "model/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_checkpoint txd_checkpoint;

/* Opens a folder (config.json and model.safetensors) or a .safetensors file beside its
 * config.json. Weights are mapped. The caller owns *out. Errors name the field of
 * config.json or the tensor that decided. */
txd_status txd_checkpoint_open(txd_checkpoint **out, const char *path);
/* The same over the bytes of the two files; those of the tensors must outlive the
 * checkpoint (fuzzing, tests). */
txd_status txd_checkpoint_parse(txd_checkpoint **out, const char *config,
                                size_t config_count, const void *tensors,
                                size_t tensors_count);
void txd_checkpoint_destroy(txd_checkpoint *checkpoint); /* NULL is allowed */

/* "llama" or "gpt2". */
const char *txd_checkpoint_family(const txd_checkpoint *checkpoint);

/* The configuration that the files state (a bias absent from every layer = no bias;
 * absent from some = error when opened; tie_word_embeddings decides about the head: if
 * true, a stored lm_head.weight must equal the embedding). Owned by the checkpoint. */
const txd_config *txd_checkpoint_config(const txd_checkpoint *checkpoint);

/* The stored tensors. Owned by the checkpoint. */
const txd_trace *txd_checkpoint_tensors(const txd_checkpoint *checkpoint);

/* Reads every parameter of `config` (which may differ from the stated one in what does
 * not change shapes) into *out, as TXD_F64 if any stored tensor is, else TXD_F32. A
 * missing, wrongly shaped or wrongly typed tensor is ERR_FORMAT naming the tensor, both
 * shapes and the place. The caller owns *out. */
txd_status txd_checkpoint_params(txd_params **out, const txd_checkpoint *checkpoint,
                                 const txd_config *config);

#ifdef __cplusplus
}
#endif

#endif
