/* SPDX-License-Identifier: MIT
 *
 * Gemma 2: Gemma with norms before and over each branch, windows in every other
 * layer, and soft caps on scores and logits.
 */
#include <math.h>

#include "formats/families/family_internal.h"

static const char *const types[] = {"gemma2", NULL};
static const char *const architectures[] = {"gemma2", NULL};
static const char *const refused[] = {"use_bidirectional_attention", NULL};

/* The largest model divides by the width of its heads as d_model / n_heads; of
 * GGUF files only its number of layers tells. */
static txd_status read_scale(txd_reading *r)
{
    const txd_config *c = &r->config;
    double scalar = r->architecture ? (double)c->head_dim : 256;

    if (r->architecture && c->n_layers == 46)
        scalar = (double)c->d_model / (double)c->n_heads;
    TXD_TRY(txd_reading_real(&scalar, r, "query_pre_attn_scalar", 1e-6, 1e9));
    r->layer.score_scale = 1 / sqrt(scalar);
    return TXD_OK;
}

static txd_status read_caps(txd_reading *r)
{
    static const char scores[] = "attn_logit_softcapping|attn_logit_softcapping";
    static const char logits[] = "final_logit_softcapping|final_logit_softcapping";

    if (txd_reading_is_absent(r, scores) || r->architecture)
        r->layer.score_softcap = 50;
    if (txd_reading_is_absent(r, logits) || r->architecture)
        r->config.logit_softcap = 30;
    TXD_TRY(txd_reading_real(&r->layer.score_softcap, r, scores, 1e-6, 1e30));
    return txd_reading_real(&r->config.logit_softcap, r, logits, 1e-6, 1e30);
}

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 4;
    sizes.absent_head_dim = 256;
    usual.sizes = &sizes;
    usual.activation_field = "hidden_activation";
    usual.activation = "gelu_pytorch_tanh";
    usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_usual(r, &usual));
    txd_reading_tied_if_unstated(r);
    r->config.norm_placement = TXD_PLACEMENT_SANDWICH;
    r->config.embed_scale = sqrt((double)r->config.d_model);
    if (!r->architecture)
        r->config.norm_offset = 1;
    TXD_TRY(read_scale(r));
    TXD_TRY(read_caps(r));
    if (r->architecture)
        r->layer.window = 4096;
    return txd_reading_window(r, 4096);
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    bool is_full = i % 2 == 1;

    return txd_reading_layer_type(r, layer, i, &is_full);
}

const txd_family txd_family_gemma2 = {
    .name = "gemma2",
    .types = types,
    .architectures = architectures,
    .read = read,
    .layer = differ,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_sandwich_naming},
};
