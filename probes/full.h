/* SPDX-License-Identifier: MIT
 *
 * The datasets of the probe `full`. For the files of this folder only.
 */
#ifndef TXD_PROBES_FULL_H
#define TXD_PROBES_FULL_H

#include "probes/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Side of a chunk of the file: what is left out is left out by whole chunks. */
#define TXD_FULL_TILE 256

/* Strings of a dataset's description. */
typedef struct txd_full_names {
    char path[TXD_SITE_NAME_BYTES + 16], axes[16];
} txd_full_names;

/* True if a head of a value is recorded in the site's step: of a `g` axis (KV heads) if
 * any query head that reads it is selected. Values without heads have one, 0. */
bool txd_full_wants(const txd_config *claimed, const txd_probe_use *use,
                    const txd_site *site, size_t head);

/* The dataset of a site; it points into `names`. */
txd_dataset_spec txd_full_spec(txd_full_names *names, const txd_probe_context *context,
                               const txd_probe_use *use, const txd_site *site);

/* `plan` of the probe. */
txd_status txd_full_plan(const txd_probe_context *context, const txd_probe_use *use,
                         txd_probe_add add, void *self);

#ifdef __cplusplus
}
#endif

#endif
