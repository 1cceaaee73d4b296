/* SPDX-License-Identifier: MIT
 *
 * The attention of gpt-oss (a sink per head, windows in every other layer,
 * YaRN) with a dense MLP: the released models choose among experts, and are
 * refused.
 */
#include <math.h>

#include "formats/families/family_internal.h"

static const char *const types[] = {"gpt_oss", NULL};

static txd_status check_dense(const txd_reading *r)
{
    static const char field[] = "num_local_experts";

    if (!txd_reading_is_absent(r, field))
        return TXD_OK; /* 0, or it was refused */
    return txd_reading_fail(r, field, TXD_ERR_UNSUPPORTED,
                            "absent, which means 128: a mixture of experts is not "
                            "supported; only models with 0 are");
}

static void set_rope(txd_layer_config *layer)
{
    layer->rope_scaling = TXD_ROPE_YARN;
    layer->rope_factor = 32;
    layer->rope_original_length = 4096;
    layer->rope_exact = true;
    layer->rope_attention_factor = 0.1 * log(32) + 1;
}

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 8;
    sizes.absent_head_dim = 64;
    usual.sizes = &sizes;
    usual.norm_eps = 1e-5;
    usual.rope.base = 150000;
    TXD_TRY(check_dense(r));
    TXD_TRY(txd_reading_usual(r, &usual));
    if (!txd_reading_find(r, "rope_scaling") && !txd_reading_find(r, "rope_parameters"))
        set_rope(&r->layer);
    r->config.sinks = true;
    return txd_reading_window(r, 128);
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    bool is_full = i % 2 == 1;

    return txd_reading_layer_type(r, layer, i, &is_full);
}

const txd_family txd_family_gpt_oss = {
    .name = "gpt_oss",
    .types = types,
    .read = read,
    .layer = differ,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
