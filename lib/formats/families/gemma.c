/* SPDX-License-Identifier: MIT
 *
 * Gemma 1: gains are 1 + weight, and embeddings are multiplied by the root of
 * the width.
 */
#include <math.h>

#include "formats/families/family_internal.h"

static const char *const types[] = {"gemma", NULL};
static const char *const architectures[] = {"gemma", NULL};
static const char *const refused[] = {"use_bidirectional_attention", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 16;
    sizes.absent_head_dim = 256;
    usual.sizes = &sizes;
    usual.activation = "gelu_pytorch_tanh";
    usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_refuse(r, refused));
    TXD_TRY(txd_reading_usual(r, &usual));
    txd_reading_tied_if_unstated(r);
    /* "gelu" is what early files say of the approximation. */
    if (r->config.activation == TXD_ACTIVATION_GELU)
        r->config.activation = TXD_ACTIVATION_GELU_TANH;
    r->config.embed_scale = sqrt((double)r->config.d_model);
    if (!r->architecture) /* in GGUF files the 1 is in the weights */
        r->config.norm_offset = 1;
    return TXD_OK;
}

const txd_family txd_family_gemma = {
    .name = "gemma",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
