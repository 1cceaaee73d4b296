/* SPDX-License-Identifier: MIT
 *
 * The conventions that go by one word: model.preset. A preset has no sizes, so that
 * nobody builds a model of a size that he did not write down.
 */
#include "model/config_internal.h"

#include <float.h>
#include <math.h>

struct preset {
    txd_config config;
    double norm_eps;
};

static const struct preset presets[] = {
    /* mini: nn.RMSNorm without an eps uses the machine epsilon of float32. */
    {.config = {.norm = TXD_NORM_RMS,
                .norm_placement = TXD_PLACEMENT_PRE,
                .positions = TXD_POSITIONS_LEARNED,
                .activation = TXD_ACTIVATION_GELU,
                .qkv = TXD_QKV_FUSED},
     .norm_eps = FLT_EPSILON},
    /* gpt2 */
    {.config = {.norm = TXD_NORM_LAYER,
                .norm_placement = TXD_PLACEMENT_PRE,
                .positions = TXD_POSITIONS_LEARNED,
                .activation = TXD_ACTIVATION_GELU_TANH,
                .qkv = TXD_QKV_FUSED,
                .qkv_bias = true,
                .out_bias = true,
                .mlp_bias = true,
                .norm_bias = true,
                .tie_embeddings = true},
     .norm_eps = 1e-5},
    /* llama */
    {.config = {.norm = TXD_NORM_RMS,
                .norm_placement = TXD_PLACEMENT_PRE,
                .positions = TXD_POSITIONS_ROTARY,
                .activation = TXD_ACTIVATION_SILU,
                .gated = true,
                .qkv = TXD_QKV_SEPARATE},
     .norm_eps = 1e-5},
};

void txd_config_preset(txd_config *config, txd_layer_config *layer, int preset)
{
    *config = presets[preset].config;
    config->final_norm = true;
    config->evaluate_hidden = TXD_HIDDEN_AUTO;
    config->loss_scale = 1;
    config->embed_scale = 1;
    config->logit_scale = 1;
    *layer = (txd_layer_config){.causal = true,
                                .fill = -INFINITY,
                                .masked_row = TXD_MASKED_ROW_ZERO,
                                .norm_eps = presets[preset].norm_eps,
                                .residual_scale = 1,
                                .rotary = config->positions == TXD_POSITIONS_ROTARY,
                                .rope_base = 10000,
                                .rope_pairing = TXD_PAIRING_HALF};
}
