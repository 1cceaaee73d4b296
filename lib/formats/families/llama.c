/* SPDX-License-Identifier: MIT
 *
 * Llama 1 to 3: root mean square norms, rotary positions, a gated MLP.
 */
#include "formats/families/family_internal.h"

static const char *const types[] = {"llama", NULL};
static const char *const architectures[] = {"llama", NULL};

static txd_status read(txd_reading *r)
{
    TXD_TRY(txd_reading_usual(r, &txd_usual_llama));
    /* GGUF files hold the rows of q and k in the order of adjacent pairs. */
    if (!r->architecture)
        return TXD_OK; /* the library has no window here, whatever is stated */
    r->layer.rope_pairing = TXD_PAIRING_ADJACENT;
    return txd_reading_window(r, 0);
}

const txd_family txd_family_llama = {
    .name = "llama",
    .types = types,
    .architectures = architectures,
    .read = read,
    .naming = {.prefixes = txd_usual_prefixes,
               .layer = "layers.",
               .rest = &txd_usual_naming},
};
