/* SPDX-License-Identifier: MIT
 *
 * docs/faults.md: the catalogue of faults as a document.
 */
#ifndef TXD_CLI_CATALOGUE_H
#define TXD_CLI_CATALOGUE_H

#include "txd.h"

/* Appends the whole page. */
void txd_catalogue_add(txd_text *out);

#endif
