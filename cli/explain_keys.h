/* SPDX-License-Identifier: MIT
 *
 * The part of `txdiag explain` that is about keys of model.cfg.
 */
#ifndef TXD_CLI_EXPLAIN_KEYS_H
#define TXD_CLI_EXPLAIN_KEYS_H

#include <stdbool.h>

#include "txd.h"

/* Appends the key or the group `name`, with how it is written; false if there is none.
 * If `out` is empty, the last part of a path ("n_layers") and the name that other
 * programs use ("hidden_size") will do, too. */
bool txd_explain_key(txd_text *out, const char *name, const txd_key *const *tables);

/* "  mask.window (int, default 0): positions that ..." */
void txd_explain_key_line(txd_text *out, const txd_key *key);

#endif
