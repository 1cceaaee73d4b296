/* SPDX-License-Identifier: MIT
 *
 * What a decoder is, as data: one configuration of the whole model, expanded into one
 * per layer, which is all that the decoder reads. A run holds two: the claimed one
 * (what the user wrote, by which everything is judged) and the actual one (claimed
 * plus faults, by which the decoder runs).
 */
#ifndef TXD_MODEL_CONFIG_H
#define TXD_MODEL_CONFIG_H

#include "base/arena.h"
#include "base/tensor.h"
#include "base/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The words of model.cfg, in the order of the enums below. */
typedef enum txd_norm_kind { TXD_NORM_RMS, TXD_NORM_LAYER } txd_norm_kind;
typedef enum txd_placement {
    TXD_PLACEMENT_PRE,
    TXD_PLACEMENT_POST,
    TXD_PLACEMENT_SANDWICH, /* before each branch and over its output (Gemma 2) */
    TXD_PLACEMENT_BRANCH,   /* over each branch's output alone (OLMo 2) */
} txd_placement;
typedef enum txd_positions_kind {
    TXD_POSITIONS_LEARNED,
    TXD_POSITIONS_SINUSOIDAL,
    TXD_POSITIONS_ROTARY,
    TXD_POSITIONS_NONE,
    TXD_POSITIONS_ALIBI,    /* a slope per head (Press et al. 2021) */
    TXD_POSITIONS_RELATIVE, /* a table of ranges of distance (Raffel et al. 2020) */
} txd_positions_kind;
typedef enum txd_pairing {
    TXD_PAIRING_HALF,     /* lane i turns with lane i + e/2 (Hugging Face Llama) */
    TXD_PAIRING_ADJACENT, /* lane 2i turns with lane 2i + 1 (llama2.c, RoFormer) */
} txd_pairing;
typedef enum txd_rope_scaling {
    TXD_ROPE_PLAIN,
    TXD_ROPE_LINEAR, /* every pair as many times slower (Chen et al. 2023) */
    TXD_ROPE_LLAMA3, /* slow pairs slower, fast ones not (Llama 3.1) */
    TXD_ROPE_YARN,   /* with a ramp over pairs between (Peng et al. 2023) */
} txd_rope_scaling;
typedef enum txd_activation {
    TXD_ACTIVATION_GELU,      /* exact, with erf */
    TXD_ACTIVATION_GELU_TANH, /* the tanh approximation of GPT-2 */
    TXD_ACTIVATION_RELU,
    TXD_ACTIVATION_SILU,
} txd_activation;
typedef enum txd_qkv { TXD_QKV_SEPARATE, TXD_QKV_FUSED } txd_qkv;
typedef enum txd_qk_norm {
    TXD_QK_NORM_NONE,
    TXD_QK_NORM_HEAD,  /* over the lanes of each head (Qwen3, Gemma 3) */
    TXD_QK_NORM_WIDTH, /* over those of all heads together (OLMo 2) */
} txd_qk_norm;
typedef enum txd_masked_row { /* the weights of a query that sees no key */
                              TXD_MASKED_ROW_ZERO,
                              TXD_MASKED_ROW_NAN,
                              TXD_MASKED_ROW_UNIFORM,
} txd_masked_row;
typedef enum txd_evaluate_hidden {
    TXD_HIDDEN_AUTO, /* up to 512 keys, and wherever weights are recorded in full */
    TXD_HIDDEN_ALWAYS,
    TXD_HIDDEN_NEVER,
} txd_evaluate_hidden;

typedef enum txd_softmax_precision {
    TXD_SOFTMAX_FLOAT32, /* only the result is rounded to the backend's format */
    TXD_SOFTMAX_SAME,    /* so is every step, as values are stored */
} txd_softmax_precision;

/* Longest sequence at which hidden cells are computed and `attn.weights` is recorded
 * in full without being asked. */
#define TXD_SHORT_LENGTH 512

typedef struct txd_layer_config {
    bool causal;
    size_t window; /* keys that a query sees, itself included; 0 = all */
    double fill;   /* added to nothing: the value a hidden score becomes */
    txd_masked_row masked_row;
    double score_scale;   /* multiplies q.k; resolved, never 0 */
    double score_softcap; /* cap tanh(score / cap); 0 = none */
    double norm_eps;
    double residual_scale;
    bool rotary;
    double rope_base;
    size_t rope_width; /* lanes of a head that turn, even; the rest pass through */
    txd_pairing rope_pairing;
    txd_rope_scaling rope_scaling;
    double rope_factor; /* resolved, like what follows: never 0 */
    size_t rope_original_length;
    double rope_low, rope_high, rope_beta_fast, rope_beta_slow;
    bool rope_exact;
    double rope_attention_factor;
    txd_softmax_precision softmax;
    /* (n_heads): the KV head that each query head reads; NULL = txd_kv_head_of. */
    const uint32_t *kv_heads;
} txd_layer_config;

typedef struct txd_config {
    size_t vocab, d_model, n_layers, n_heads, n_kv_heads, head_dim, value_dim, d_ff;
    size_t max_seq_len; /* rows of a learned position table; 0 = unlimited */
    txd_norm_kind norm;
    txd_placement norm_placement;
    double norm_offset; /* added to all gains; 1 in Gemma */
    bool final_norm;    /* default: all but post placement */
    bool parallel;      /* attention and MLP read the same stream, one sum adds both */
    bool shared_norm;   /* of parallel blocks: one norm for both */
    txd_positions_kind positions;
    size_t position_offset; /* learned: position p is row p + offset of the table */
    double embed_scale;     /* of token embeddings; 0 or 1 = none */
    bool embed_norm;        /* a norm over the sum of the embeddings */
    size_t relative_buckets, relative_distance; /* resolved: never 0 */
    txd_activation activation;
    bool gated;  /* MLP: down(act(gate x) * up x) */
    txd_qkv qkv; /* how the projections' parameters are laid out */
    bool qkv_bias, out_bias, mlp_bias, norm_bias;
    txd_qk_norm qk_norm;
    bool sinks; /* in self-attention */
    bool tie_embeddings;
    size_t token_types;    /* rows of embed.type; 0 = none */
    size_t embed_dim;      /* width of the embeddings; 0 = d_model */
    bool head_transform;   /* linear, activation and norm before the output head */
    bool head_bias;        /* of the output head */
    double logit_scale;    /* 0 or 1 = none */
    double logit_softcap;  /* 0 = none */
    bool cross;            /* every block also attends to a memory */
    size_t encoder_layers; /* blocks of the encoder that makes it; 0 = none */
    bool is_encoder;       /* ends with what an output head would read */
    txd_evaluate_hidden evaluate_hidden;
    double loss_scale;        /* of the loss's gradient on its way back */
    txd_layer_config *layers; /* n_layers, in the arena the config was made in */
    /* The encoder: blocks as the decoder's layer 0, without causal mask, window and
     * cross-attention. NULL without encoder_layers. */
    struct txd_config *encoder;
} txd_config;

/* The keys of `model`, `mask` and `precision` (base/settings.h), ended by NULL path. */
extern const txd_key txd_config_keys[];

/* Reads the groups `model`, `mask` and `precision` of a validated tree into *out.
 * `preset` values ("mini", "gpt2", "llama") are the defaults where given; otherwise
 * `defaults` (from a checkpoint's config.json) or, if that is NULL, built-in ones, with
 * vocab, d_model, n_heads and n_layers required. Every size, ratio and range is
 * checked: ERR_CONFIG names both numbers (S13: "d_model 770 is not divisible by n_heads
 * 12"). */
txd_status txd_config_read(txd_config *out, txd_arena *arena, const txd_setting *root,
                           const txd_config *defaults);

/* Makes config->encoder where there are encoder_layers. It follows from what the
 * decoder's first block is, so that a configuration that is printed and read again has
 * the same one. */
txd_status txd_config_make_encoder(txd_config *config, txd_arena *arena);

/* The KV head of a query head as models share them: the first n_heads / n_kv_heads
 * heads read the first, the next as many the second. */
static inline size_t txd_kv_head_of(const txd_config *config, size_t head)
{
    return head / (config->n_heads / config->n_kv_heads);
}

/* True if logits are multiplied by something. */
bool txd_config_scales_logits(const txd_config *config);

/* A deep copy in `arena`. */
txd_status txd_config_copy(txd_config *out, txd_arena *arena, const txd_config *from);

/* Checks the whole configuration (sizes positive, heads divide, rope width even,
 * ranges finite). ERR_CONFIG naming the fields and numbers. */
txd_status txd_config_check(const txd_config *config);

/* Adds the resolved configuration to a root as the groups `model`, `mask` and
 * `precision` of model.cfg, every value written out, per-layer differences as
 * `model.layers`. */
txd_status txd_config_put(txd_arena *arena, txd_setting *root,
                          const txd_config *config);

/* Appends the same as text: reads back equal. */
void txd_config_print(txd_text *out, const txd_config *config);

/* The words of an enum, for messages and figures: txd_config_word("norm", 0) is
 * "rmsnorm". NULL for an unknown key or value. */
const char *txd_config_word(const char *key, int value);

#ifdef __cplusplus
}
#endif

#endif
