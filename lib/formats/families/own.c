/* SPDX-License-Identifier: MIT
 *
 * Tensors that are named and laid out as txdiag's own parameters (model/params.def):
 * "layers.3.attn.q.weight". The conventions are those of a config.json, or of a cfg.
 */
#include "formats/families/family_internal.h"

/* What is not per layer is named from the file's root: of a decoder as it is, of an
 * encoder with a word before it. */
static const txd_tensor_name names[] = {
#define TXD_PARAM(id, name, per_layer, axes, exists)                                   \
    {TXD_PARAM_##id, name, TXD_LAYOUT_PLAIN},
#include "model/params.def"
#undef TXD_PARAM
};

static const txd_tensor_name encoder_names[] = {
#define TXD_PARAM(id, name, per_layer, axes, exists)                                   \
    {TXD_PARAM_##id, per_layer ? name : "/encoder." name, TXD_LAYOUT_PLAIN},
#include "model/params.def"
#undef TXD_PARAM
};

const txd_family txd_family_own = {
    .name = "txdiag",
    .naming = {.layer = "layers.", .names = names, .name_count = TXD_COUNT_OF(names)},
    .encoder_naming = {.layer = "encoder.layers.",
                       .names = encoder_names,
                       .name_count = TXD_COUNT_OF(encoder_names)},
};
