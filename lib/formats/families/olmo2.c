/* SPDX-License-Identifier: MIT
 *
 * OLMo 2: no norms before branches, one over the output of each, and norms over
 * all lanes of queries and of keys.
 */
#include "formats/families/family_internal.h"

static const char *const types[] = {"olmo2", NULL};
static const char *const architectures[] = {"olmo2", NULL};

static txd_status read(txd_reading *r)
{
    txd_usual usual = txd_usual_llama;

    usual.norm_eps = 1e-5;
    usual.mlp_bias = NULL;
    TXD_TRY(txd_reading_usual(r, &usual));
    r->config.norm_placement = TXD_PLACEMENT_BRANCH;
    r->config.qk_norm = TXD_QK_NORM_WIDTH;
    return TXD_OK;
}

const txd_family txd_family_olmo2 = {
    .name = "olmo2",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_sandwich_naming},
};
