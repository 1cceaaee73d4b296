/* SPDX-License-Identifier: MIT
 *
 * Mistral: Llama with a window over the keys. In GGUF files it goes as llama.
 */
#include "formats/families/family_internal.h"

static const char *const types[] = {"mistral", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 8;
    usual.sizes = &sizes;
    usual.attention_bias = usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_usual(r, &usual));
    return txd_reading_window(r, 4096);
}

const txd_family txd_family_mistral = {
    .name = "mistral",
    .types = types,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
