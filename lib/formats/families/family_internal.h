/* SPDX-License-Identifier: MIT
 *
 * A family of models as data: the words by which files name it, where its tensors are
 * stored, and one function that reads its conventions, from config.json or from the
 * metadata of a GGUF file. Internal to formats/.
 *
 * A field has a name in each of the two: "hidden_size|embedding_length" is hidden_size
 * of config.json, and embedding_length below the architecture's name in GGUF
 * ("llama.embedding_length"). One of the two may be empty: such a field is absent from
 * the other kind of file.
 */
#ifndef TXD_FORMATS_FAMILIES_FAMILY_INTERNAL_H
#define TXD_FORMATS_FAMILIES_FAMILY_INTERNAL_H

#include "base/trace.h"
#include "model/params.h"

#define TXD_COUNT_OF(array) (sizeof(array) / sizeof *(array))

typedef struct txd_family txd_family;

/* How a stored tensor holds a parameter. */
typedef enum txd_layout {
    TXD_LAYOUT_PLAIN,      /* as params.def has it */
    TXD_LAYOUT_TRANSPOSED, /* (in, out) */
    TXD_LAYOUT_STACKED,    /* rows of q, then of k, then of v; of gate, then of up */
    TXD_LAYOUT_GROUPED,    /* for each KV head the rows of its queries, its k, its v */
} txd_layout;

typedef struct txd_tensor_name {
    txd_param_id id;
    /* After the prefix, and after the layer's where the parameter is per layer; from
     * the file's root if it begins with '/'. */
    const char *name;
    txd_layout layout;
} txd_tensor_name;

/* The names of one stack of blocks. A parameter may have several: the first that is
 * there is read, others must hold the same. */
typedef struct txd_naming {
    /* Of the inner model, which some exports leave out; the first is the usual one.
     * Ended by NULL; NULL = none. */
    const char *const *prefixes;
    const char *layer; /* "layers." */
    const txd_tensor_name *names;
    size_t name_count;
    const struct txd_naming *rest; /* of the parameters that `names` lacks, or NULL */
    /* What files also hold and nothing needs; a '*' at the end matches any rest. Ended
     * by NULL; NULL = none. */
    const char *const *buffers, *const *layer_buffers;
} txd_naming;

enum txd_stated { TXD_UNSTATED = -1, TXD_STATED_FALSE = 0, TXD_STATED_TRUE = 1 };

/* What the files state, as far as it has been read. */
typedef struct txd_reading {
    const txd_family *family;
    const txd_setting *file;  /* config.json, or GGUF metadata; NULL: none is there */
    const txd_setting *root;  /* the same, or the group in it */
    const char *architecture; /* of GGUF metadata; NULL with config.json */
    const struct txd_checkpoint *checkpoint;
    const txd_naming *naming; /* instead of the family's, by what was read; or NULL */
    size_t vocab_rows;        /* of the stored embedding; 0 = unknown */
    txd_config config;        /* without layers */
    txd_layer_config layer;   /* what the layers have in common */
    bool scale_by_layer;      /* layer i has its score scale divided by i + 1 */
    /* Biases are as the tensors say; what the files state must agree. */
    enum txd_stated tied, attention_bias, mlp_bias;
    const char *attention_field, *mlp_field; /* which state it */
} txd_reading;

struct txd_family {
    const char *name;
    const char *const *types;         /* model_type; ended by NULL */
    const char *const *architectures; /* general.architecture; NULL = not read */
    const char *group; /* of config.json that holds the fields, where it is there */
    /* Fills config and layer; sizes by txd_reading_sizes. */
    txd_status (*read)(txd_reading *r);
    /* What is different in layer i; may be NULL. */
    txd_status (*layer)(const txd_reading *r, txd_layer_config *layer, size_t i);
    txd_naming naming;
    txd_naming encoder_naming; /* of a stack that makes the memory; names NULL = none */
    const txd_naming *gguf_naming; /* NULL: txd_gguf_naming */
};

/* The names that most architectures have in GGUF files; Llama's in config.json's world,
 * which many families follow; and those with norms over the outputs of branches. */
extern const txd_naming txd_gguf_naming, txd_usual_naming, txd_sandwich_naming;
extern const char *const txd_usual_prefixes[]; /* "model." and none */

/* Tensors under the names of params.def: a way to name, not to be found by a type. */
extern const txd_family txd_family_own;

#define TXD_FAMILY(name) extern const txd_family txd_family_##name;
#define TXD_REFUSED(type, why)
#include "formats/families/registry.def"
#undef TXD_FAMILY
#undef TXD_REFUSED

/* The family that the files name: *root is config.json or GGUF metadata, and becomes
 * the group in which the model is described. ERR_UNSUPPORTED names the field. */
txd_status txd_family_find(txd_reading *r, const txd_setting *root, bool is_gguf);

/* Reads everything but the layers. */
txd_status txd_family_read(txd_reading *r);

/* What layer i does. */
txd_status txd_family_layer(txd_layer_config *layer, const txd_reading *r, size_t i);

/* After everything was read: ERR_UNSUPPORTED at a key of the architecture, in GGUF
 * metadata, that nothing asked for and that is not known to be harmless. */
txd_status txd_family_refuse_unknown(const txd_reading *r);
/* What nothing asked for, as txd_checkpoint_unused has it. */
void txd_family_list_unused(txd_text *out, const txd_reading *r);

/* Where a field stands below root, in `text`; NULL if files of this kind have none. */
const char *txd_reading_path(char text[160], const txd_reading *r, const char *field);
/* Its setting, NULL if absent or null. */
const txd_setting *txd_reading_find(const txd_reading *r, const char *field);

/* Whether config.json says nothing of a field, not even null. False in GGUF files,
 * whose absent fields are another matter. */
bool txd_reading_is_absent(const txd_reading *r, const char *field);

/* Readers: an absent field leaves *out as it is. */
txd_status txd_reading_size(size_t *out, const txd_reading *r, const char *field,
                            size_t low, size_t high);
txd_status txd_reading_real(double *out, const txd_reading *r, const char *field,
                            double low, double high);
txd_status txd_reading_bool(bool *out, const txd_reading *r, const char *field);
txd_status txd_reading_flag(enum txd_stated *out, const txd_reading *r,
                            const char *field);
/* Fields that state whether attention (q, k, v and the output) and MLP have biases. */
txd_status txd_reading_biases(txd_reading *r, const char *attention, const char *mlp);
txd_status txd_reading_string(const char **out, const txd_reading *r,
                              const char *field);
/* The activation by its name in config.json; GGUF files have none: `fallback`. */
txd_status txd_reading_activation(txd_reading *r, const char *field,
                                  const char *fallback);
/* By a word of config.json; `field` is where it stands. */
txd_status txd_reading_activation_of(txd_activation *out, const txd_reading *r,
                                     const char *field, const char *word);
/* Whether the file has a tensor of this name, from the file's root. */
bool txd_reading_has_tensor(const txd_reading *r, const char *name);
/* Element i of a list of strings; NULL if the list is absent. */
txd_status txd_reading_word_at(const char **out, const txd_reading *r,
                               const char *field, size_t i);

/* Fails with the place of a field. */
txd_status txd_reading_fail(const txd_reading *r, const char *field, txd_status status,
                            const char *text);
/* Fields that must be absent, null, false, 0, or empty, ended by NULL: others would
 * change the arithmetic. */
txd_status txd_reading_refuse(const txd_reading *r, const char *const *fields);

/* The fields of the sizes; NULL for those that the family does not have. */
typedef struct txd_size_fields {
    const char *d_model, *n_layers, *n_heads, *n_kv_heads, *head_dim, *d_ff, *length;
    bool may_lack_d_ff; /* then it is 4 d_model */
    /* What the library takes where config.json has no such field; 0 = the usual. */
    size_t absent_vocab, absent_n_heads, absent_n_kv_heads, absent_head_dim;
} txd_size_fields;

/* Those of most families. */
extern const txd_size_fields txd_usual_sizes;

/* Reads sizes, with head_dim = d_model / n_heads and n_kv_heads = n_heads where they
 * are absent; then what follows from them in `layer` (causal, no window, scores scaled
 * by 1 / sqrt(head_dim), rotary where positions are). */
txd_status txd_reading_sizes(txd_reading *r, const txd_size_fields *fields);

/* rope_theta, partial_rotary_factor and scaling, in whichever form they are given. */
typedef struct txd_rope_defaults {
    double base, share; /* share = lanes of a head that turn */
    bool partial;       /* partial_rotary_factor may say another one */
} txd_rope_defaults;
txd_status txd_reading_rope(txd_reading *r, const txd_rope_defaults *defaults);

/* The same by parts: what a group at `path` states (a family may have several), then
 * rope_width from the share of lanes. */
txd_status txd_reading_rope_group(txd_layer_config *layer, double *share,
                                  const txd_reading *r, const char *path);
txd_status txd_reading_rope_width(txd_layer_config *layer, const txd_reading *r,
                                  double share);

/* Everything that Llama states, in its fields: norms before branches, rotary positions,
 * a gated MLP, biases, a tied head; with what the library takes for absent fields. */
typedef struct txd_usual {
    const txd_size_fields *sizes; /* NULL: txd_usual_sizes */
    const char *activation_field, *activation;
    double norm_eps;
    txd_rope_defaults rope;
    const char *attention_bias, *mlp_bias; /* fields that state biases; NULL: none do */
} txd_usual;
extern const txd_usual txd_usual_llama;
txd_status txd_reading_usual(txd_reading *r, const txd_usual *usual);

/* sliding_window; `absent` is what the library takes where config.json has no such
 * field at all (null = no window). */
txd_status txd_reading_window(txd_reading *r, size_t absent);
/* Where the library ties the head if config.json does not say. */
void txd_reading_tied_if_unstated(txd_reading *r);
/* What layer_types says of layer i, if it is there: *is_full is what holds without it.
 * A full layer loses its window. */
txd_status txd_reading_layer_type(const txd_reading *r, txd_layer_config *layer,
                                  size_t i, bool *is_full);
/* Qwen's: use_sliding_window, from layer max_window_layers on unless layer_types says
 * which. */
txd_status txd_reading_late_window(const txd_reading *r, txd_layer_config *layer,
                                   size_t i);

#define TXD_ROPE_PAIRS_MAX 1024

/* The scaling by which the pairs of a layer turn factors[i] times slower than without,
 * as GGUF files of Llama 3.1 have it. False if there is none such. */
bool txd_rope_factors_fit(txd_layer_config *layer, const float *factors, size_t count);

#endif
