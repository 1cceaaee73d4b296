/* SPDX-License-Identifier: MIT
 *
 * Qwen 3: Llama with a norm over the lanes of each query and key head.
 */
#include "formats/families/family_internal.h"

static const char *const types[] = {"qwen3", NULL};
static const char *const architectures[] = {"qwen3", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 32;
    sizes.absent_head_dim = 128;
    usual.sizes = &sizes;
    usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_usual(r, &usual));
    r->config.qk_norm = TXD_QK_NORM_HEAD;
    return txd_reading_window(r, 4096);
}

const txd_family txd_family_qwen3 = {
    .name = "qwen3",
    .types = types,
    .architectures = architectures,
    .read = read,
    .layer = txd_reading_late_window,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
