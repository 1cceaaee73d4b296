/* SPDX-License-Identifier: MIT
 *
 * Qwen 2 and 2.5: Llama with biases on q, k and v, and, where it is switched on, a
 * window in the layers from max_window_layers on.
 */
#include "formats/families/family_internal.h"

static const char *const types[] = {"qwen2", NULL};
static const char *const architectures[] = {"qwen2", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 32;
    usual.sizes = &sizes;
    usual.attention_bias = usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_usual(r, &usual));
    return txd_reading_window(r, 4096);
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    return txd_reading_late_window(r, layer, i);
}

const txd_family txd_family_qwen2 = {
    .name = "qwen2",
    .types = types,
    .architectures = architectures,
    .read = read,
    .layer = differ,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
