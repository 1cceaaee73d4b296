/* SPDX-License-Identifier: MIT
 *
 * The datasets of the probe `full`: full_datasets.c. For the files of this folder only.
 */
#ifndef TXD_PROBES_FULL_H
#define TXD_PROBES_FULL_H

#include "probes/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Side of a chunk of the file: what is left out is left out by whole chunks. */
#define TXD_FULL_TILE 256

/* True for the value itself of attn.weights, whose zeros are left out. */
bool txd_full_is_weights(const txd_site *site);

/* True if a head of a value is recorded in the site's step: of a `g` axis (KV heads) if
 * any query head that reads it is selected. Values without heads have one, 0. */
bool txd_full_wants(const txd_probe_frame *frame, const txd_site *site, size_t head);

/* Makes the dataset of a site. */
txd_status txd_full_make(size_t *number, const txd_probe_frame *frame,
                         const txd_site *site);

#ifdef __cplusplus
}
#endif

#endif
