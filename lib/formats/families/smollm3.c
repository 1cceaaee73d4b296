/* SPDX-License-Identifier: MIT
 *
 * SmolLM 3: Llama without rotary positions in every fourth layer (or as config.json
 * lists them). SmolLM 1 and 2 are Llama.
 */
#include <stdio.h>

#include "formats/families/family_internal.h"

static const char *const types[] = {"smollm3", NULL};
static const char *const architectures[] = {"smollm3", NULL};

static txd_status read(txd_reading *r)
{
    txd_size_fields sizes = txd_usual_sizes;
    txd_usual usual = txd_usual_llama;

    sizes.absent_n_kv_heads = 4;
    usual.sizes = &sizes;
    usual.rope.base = 2000000;
    TXD_TRY(txd_reading_usual(r, &usual));
    txd_reading_tied_if_unstated(r);
    if (r->architecture)
        r->layer.rope_pairing = TXD_PAIRING_ADJACENT;
    return txd_reading_window(r, 0);
}

static txd_status read_rotary(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    static const char listed[] = "no_rope_layers"; /* 1: the layer has them */
    const txd_setting *list = txd_reading_find(r, listed);
    size_t interval = 4, rotary;
    char path[32];

    TXD_TRY(txd_reading_size(&interval, r, "no_rope_layer_interval", 1, 65536));
    rotary = (i + 1) % interval != 0;
    if (list) {
        if (list->kind != TXD_SETTING_LIST || i >= list->count)
            return txd_reading_fail(r, listed, TXD_ERR_FORMAT,
                                    "expected a list of 0 and 1, one for each layer");
        snprintf(path, sizeof path, "%zu", i);
        TXD_TRY(txd_setting_size(&rotary, list, path, 0, 1));
    }
    layer->rotary = rotary != 0;
    return TXD_OK;
}

static txd_status differ(const txd_reading *r, txd_layer_config *layer, size_t i)
{
    bool windows = false, is_full;

    TXD_TRY(read_rotary(r, layer, i));
    TXD_TRY(txd_reading_bool(&windows, r, "use_sliding_window"));
    is_full = layer->rotary || !windows;
    return txd_reading_layer_type(r, layer, i, &is_full);
}

const txd_family txd_family_smollm3 = {
    .name = "smollm3",
    .types = types,
    .architectures = architectures,
    .read = read,
    .layer = differ,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
