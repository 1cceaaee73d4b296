/* SPDX-License-Identifier: MIT
 *
 * Models as files hold them: what the files state becomes a configuration, and every
 * tensor of the file must have a place in the model, except buffers that exports also
 * hold (causal masks, rotary frequencies). Families: formats/families/registry.def.
 */
#ifndef TXD_FORMATS_CHECKPOINT_H
#define TXD_FORMATS_CHECKPOINT_H

#include "base/trace.h"
#include "model/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_checkpoint txd_checkpoint;

/* Opens a .gguf file; a folder with config.json and model.safetensors, or its index of
 * several files, or one .npz, or else its only .gguf; one of these files beside its
 * config.json; or a .bin file of llama2.c. Weights are mapped. The caller owns *out.
 * Errors name the field of config.json or the tensor that decided. */
txd_status txd_checkpoint_open(txd_checkpoint **out, const char *path);
/* The same over the bytes of the two files, or of a GGUF file; those of the tensors
 * must outlive the checkpoint (fuzzing, tests). */
txd_status txd_checkpoint_parse(txd_checkpoint **out, const char *config,
                                size_t config_count, const void *tensors,
                                size_t tensors_count);
txd_status txd_checkpoint_parse_gguf(txd_checkpoint **out, const void *bytes,
                                     size_t count);
void txd_checkpoint_destroy(txd_checkpoint *checkpoint); /* NULL is allowed */

/* "llama", "gpt2", ...; "txdiag" if no file says. */
const char *txd_checkpoint_family(const txd_checkpoint *checkpoint);

/* The configuration that the files state (a bias absent from every layer = no bias;
 * absent from some = error when opened). Owned by the checkpoint. NULL for an .npz
 * without config.json, whose arrays have the names of parameters: what it is for, the
 * caller has to know. */
const txd_config *txd_checkpoint_config(const txd_checkpoint *checkpoint);

/* The file of the tensors, or their index. Owned by the checkpoint. */
const char *txd_checkpoint_path(const txd_checkpoint *checkpoint);

/* Appends the fields of config.json, or the keys of GGUF metadata, that were not used
 * because nothing that the model computes depends on them, separated by ", ". What
 * describes training, generation or the file itself (dropout, ids of tokens, dtypes) is
 * left out. */
txd_status txd_checkpoint_unused(txd_text *out, const txd_checkpoint *checkpoint);

/* The stored tensors. Owned by the checkpoint. */
const txd_trace *txd_checkpoint_tensors(const txd_checkpoint *checkpoint);

/* Reads every parameter of `config` (which may differ from the stated one in what does
 * not change shapes) into *out, as TXD_F64 if any stored tensor is, else TXD_F32, on
 * `threads` threads (0 = all), each piece of the file once and into its final place. A
 * missing, wrongly shaped or wrongly typed tensor is ERR_FORMAT naming the tensor, both
 * shapes and the place; so is a parameter that is stored twice with different values
 * (a tied head that is not the embedding). The caller owns *out. */
txd_status txd_checkpoint_params(txd_params **out, const txd_checkpoint *checkpoint,
                                 const txd_config *config, int threads);

#ifdef __cplusplus
}
#endif

#endif
