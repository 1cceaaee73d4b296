/* SPDX-License-Identifier: MIT
 *
 * The parts of a Hugging Face checkpoint: what config.json states, the names that a
 * family gives its tensors, and the two held against each other.
 */
#ifndef TXD_FORMATS_HUGGINGFACE_INTERNAL_H
#define TXD_FORMATS_HUGGINGFACE_INTERNAL_H

#include "formats/huggingface.h"

struct txd_hf_name {
    txd_param_id id;
    const char *name; /* after the prefix, and after "layers.N." where per layer */
    bool transposed;  /* stored (in, out) */
};

struct txd_hf_family {
    const char *name;
    const char *prefix; /* which exports of the bare model leave out */
    const char *layer;  /* "layers." */
    const struct txd_hf_name *names;
    size_t name_count;
    /* What older exports also hold and nothing needs; ended by NULL. */
    const char *const *buffers, *const *layer_buffers;
};

extern const struct txd_hf_family txd_hf_llama, txd_hf_gpt2;

enum txd_hf_flag { TXD_HF_UNSTATED = -1, TXD_HF_FALSE = 0, TXD_HF_TRUE = 1 };

/* What config.json states. Biases are not part of it: the tensors decide. */
struct txd_hf_stated {
    const struct txd_hf_family *family;
    txd_config config; /* without layers */
    txd_layer_config layer;
    bool scale_by_layer; /* layer i has its score scale divided by i + 1 */
    enum txd_hf_flag tied, attention_bias, mlp_bias;
};

txd_status txd_hf_read_config(struct txd_hf_stated *out, const txd_setting *root);

struct txd_hf_tensor {
    const char *name;
    size_t index; /* in the trace */
    bool used;
};

struct txd_checkpoint {
    txd_arena *arena;
    const struct txd_hf_family *family;
    const char *prefix; /* as this file has it: the family's, or "" */
    const char *path;   /* of the tensors, for messages */
    txd_config config;
    txd_trace *trace;
    struct txd_hf_tensor *tensors; /* sorted by name */
    size_t count;
};

/* Makes the sorted index of tensors and finds out the prefix. */
txd_status txd_hf_index(txd_checkpoint *checkpoint);

/* NULL if the file has no such tensor. */
struct txd_hf_tensor *txd_hf_find(const txd_checkpoint *checkpoint, const char *name);

/* The file's name of a parameter into `text`; NULL if the family has none such. */
const struct txd_hf_name *txd_hf_name_of(char *text, size_t bytes,
                                         const txd_checkpoint *checkpoint,
                                         txd_param_id id, int layer);

/* Sets the biases of the configuration by the tensors that are there. */
txd_status txd_hf_find_biases(txd_checkpoint *checkpoint,
                              const struct txd_hf_stated *stated);

/* Checks that every parameter of `config` is there with its shape and a dtype that
 * can be read, and marks it used. */
txd_status txd_hf_check_params(const txd_checkpoint *checkpoint,
                               const txd_config *config);

/* ERR_FORMAT naming tensors that are neither used nor known to be needless. */
txd_status txd_hf_check_unused(const txd_checkpoint *checkpoint);

#endif
