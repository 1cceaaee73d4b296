/* SPDX-License-Identifier: MIT
 *
 * The parameters of a model: the master copies, in one memory, named. A checkpoint is
 * loaded or `weights.init` draws them; faults edit them; a model binds them to a
 * backend once.
 */
#ifndef TXD_MODEL_PARAMS_H
#define TXD_MODEL_PARAMS_H

#include "model/points.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_param_id {
#define TXD_PARAM(id, name, per_layer, axes, exists) TXD_PARAM_##id,
#include "model/params.def"
#undef TXD_PARAM
    TXD_PARAM_COUNT
} txd_param_id;

typedef struct txd_param {
    const char *name; /* "layers.0.attn.q.weight" */
    txd_param_id id;
    int layer;         /* -1 if not per layer, or of the encoder */
    int encoder_layer; /* of the encoder; -1 otherwise */
    txd_tensor value;  /* TXD_F64 or TXD_F32 master copy */
} txd_param;

typedef struct txd_params txd_params;

/* What a configuration has, before anything is allocated. The shape is (out, in), or
 * (out) for gains and biases; returns the rank. */
bool txd_param_exists(const txd_config *config, txd_param_id id);
bool txd_param_per_layer(txd_param_id id);
int txd_param_dims(size_t dims[TXD_MAX_RANK], const txd_config *config,
                   txd_param_id id);
/* "layers.0.attn.q.weight"; `layer` is ignored where there is none. Returns `text`. */
char *txd_param_name(char *text, size_t bytes, txd_param_id id, int layer);

/* The same in a configuration: "encoder.layers.0.attn.q.weight" in an encoder. */
char *txd_param_name_in(char *text, size_t bytes, const txd_config *config,
                        txd_param_id id, int layer);

/* A parameter as params.def has it, whatever the configuration: its name without a
 * layer; its axes by letter, and a letter in words; and the condition under which it
 * exists, in keys of `model` ("qkv = \"separate\" and qkv_bias"), "" = always. */
const char *txd_param_bare_name(txd_param_id id);
const char *txd_param_axes(txd_param_id id);
const char *txd_param_axis_words(char axis); /* NULL: params.def has no such letter */
void txd_param_add_condition(txd_text *out, txd_param_id id);

/* Bytes that all parameters take as `dtype`; a real number, for there is no limit. */
double txd_params_bytes(const txd_config *config, txd_dtype dtype);

/* Makes all parameters that the configuration has, zeroed, as `dtype` (TXD_F32 unless
 * the checkpoint is F64). The caller owns *out. */
txd_status txd_params_create(txd_params **out, const txd_config *config,
                             txd_dtype dtype);
/* The same list without memory for values, whose data are NULL: names and shapes. */
txd_status txd_params_describe(txd_params **out, const txd_config *config);
void txd_params_destroy(txd_params *params); /* NULL is allowed */

size_t txd_params_count(const txd_params *params);
txd_param *txd_params_at(txd_params *params, size_t i);
/* By id and layer, or by name; NULL if this model has none such. */
txd_param *txd_params_get(txd_params *params, txd_param_id id, int layer);
txd_param *txd_params_find(txd_params *params, const char *name);
/* How many at the front are the decoder's: those of an encoder come after them. */
size_t txd_params_bound(const txd_params *params);
/* The parameters of the encoder by its own layers, and the embeddings, which are the
 * decoder's: the same values. NULL without an encoder. Owned by `params`. */
txd_params *txd_params_of_encoder(txd_params *params);
/* The number of the parameter whose gradient has this name ("final_norm.weight@grad");
 * SIZE_MAX if there is none. */
size_t txd_params_gradient(txd_params *params, const char *name);

/* The keys of `weights`. */
extern const txd_key txd_weights_keys[];

/* Draws every parameter by the rules of `weights.init` (the last rule whose glob
 * matches wins): schemes "normal" (std), "uniform" (bound), "xavier_uniform",
 * "xavier_normal" (gain; fan_in and fan_out of the (out, in) matrix; q, k and v of a
 * fused matrix each with their own fans), "constant" (value). Without rules: normal
 * 0.02 for matrices, 1 for norm gains, 0 for biases. A random rule whose glob matches
 * matrices leaves the gains and biases that it also matches alone (so that "*" does
 * not randomise the norms); one that matches only these draws them. A pure function of
 * seed, name and index, where the q, k and v rows of a fused matrix go by the names of
 * the separate ones: one seed gives the same model in both layouts. ERR_CONFIG for a
 * rule that matches nothing. threads: 0 = all. */
txd_status txd_params_init(txd_params *params, const txd_config *config,
                           const txd_setting *root, uint64_t seed, int threads);

/* What the rules promise of a parameter's elements, taken together. */
typedef struct txd_params_draw {
    double mean, std;             /* of the elements */
    double mean_error, std_error; /* standard errors of what is measured over them */
} txd_params_draw;

/* Fills out (n_layers + 1, TXD_PARAM_COUNT): what the group `weights` (NULL = the
 * default rules) promises of each parameter that the configuration has; row 0 is for
 * those that are not per layer. The parts of a fused matrix or bias stand under the ids
 * of the separate ones as well. ERR_CONFIG for rules that cannot be read. */
txd_status txd_params_expect(txd_params_draw *out, const txd_config *config,
                             const txd_setting *weights);

#ifdef __cplusplus
}
#endif

#endif
