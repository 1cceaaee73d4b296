/* SPDX-License-Identifier: MIT
 *
 * The parts of a checkpoint: what the files state, the tensors by name, and the two
 * held against each other.
 */
#ifndef TXD_FORMATS_CHECKPOINT_INTERNAL_H
#define TXD_FORMATS_CHECKPOINT_INTERNAL_H

#include "formats/checkpoint.h"
#include "formats/families/family_internal.h"
#include "formats/gguf.h"

#define TXD_NAME_BYTES 256

typedef struct txd_stored {
    const char *name;
    size_t index; /* in the trace */
    bool used;
} txd_stored;

struct txd_checkpoint {
    txd_arena *arena;
    txd_reading reading;
    const char *prefix; /* as this file has it */
    const char *path;   /* of the tensors, for messages */
    bool has_own_names; /* tensors are named as parameters are */
    txd_config config;  /* n_layers 0: no file states one */
    txd_trace *trace;
    txd_stored *tensors; /* sorted by name */
    size_t count;
};

/* A parameter of the decoder, or of the encoder. */
typedef struct txd_wanted {
    txd_param_id id;
    int layer; /* -1 if not per layer */
    bool of_encoder;
} txd_wanted;

/* Where a parameter is stored. Its rows are in `groups` runs of `run` rows, the first
 * at row `first`, each `stride` rows after the last; `rows` in all. */
typedef struct txd_source {
    txd_stored *tensor;
    txd_trace_info info;
    bool transposed;
    size_t groups, run, first, stride, rows;
} txd_source;

/* Opens what a path leads to: the tensors into checkpoint->trace, from
 * checkpoint->path; *root is config.json, or GGUF metadata, or NULL (an .npz alone). */
txd_status txd_checkpoint_files(txd_setting **root, bool *is_gguf,
                                txd_checkpoint *checkpoint, const char *path);
/* The settings of a GGUF file whose trace is open; ERR_UNSUPPORTED if it has but a
 * vocabulary, or is a part of a model. */
txd_status txd_checkpoint_take_gguf(txd_setting **root, txd_checkpoint *checkpoint,
                                    const txd_gguf *gguf);

/* Makes the sorted index of tensors; then finds out the prefix of a family. */
txd_status txd_stored_index(txd_checkpoint *checkpoint);
void txd_stored_prefix(txd_checkpoint *checkpoint);

/* NULL if the file has no such tensor. */
txd_stored *txd_stored_find(const txd_checkpoint *checkpoint, const char *name);

/* The names of a parameter in turn: *at begins at 0. The n-th name into `text`; NULL
 * after the last, with `text` as it was. */
const txd_tensor_name *txd_stored_name(char text[TXD_NAME_BYTES],
                                       const txd_checkpoint *checkpoint,
                                       const txd_wanted *wanted, size_t *at);

/* ERR_UNSUPPORTED naming the head of a classifier, where that is the only one. */
txd_status txd_stored_refuse_classifier(const txd_checkpoint *checkpoint);

/* Of the tensors that are neither used nor known to be needless the one whose name is
 * nearest; NULL if there is none. */
const char *txd_stored_placeless(const txd_checkpoint *checkpoint, const char *near);

/* ERR_FORMAT naming tensors that are neither used nor known to be needless. */
txd_status txd_stored_unused(const txd_checkpoint *checkpoint);

/* The n-th stored tensor that holds a parameter of `config`, checked: 0 is the one to
 * read, others hold the same. out->tensor is NULL when there are no more; of the 0-th,
 * that is ERR_FORMAT. */
txd_status txd_source_find(txd_source *out, const txd_checkpoint *checkpoint,
                           const txd_config *config, const txd_wanted *wanted,
                           size_t nth);

/* Whether a tensor of this parameter is there; its name, or else the name that was
 * looked for ("" if the family has none such), in `text`. */
bool txd_source_exists(char text[TXD_NAME_BYTES], const txd_checkpoint *checkpoint,
                       const txd_wanted *wanted);

/* Sets the biases of the configuration by the tensors that are there. */
txd_status txd_checkpoint_find_biases(txd_checkpoint *checkpoint);

/* Checks that every parameter of `config` is there with its shape and a dtype that
 * can be read, and marks its tensors used. */
txd_status txd_checkpoint_check_params(const txd_checkpoint *checkpoint,
                                       const txd_config *config);

#endif
