/* SPDX-License-Identifier: MIT
 *
 * Parameters in words.
 */
#ifndef TXD_CLI_EXPLAIN_PARAMS_H
#define TXD_CLI_EXPLAIN_PARAMS_H

#include "txd.h"

/* "attn.o.weight", also with "layers.3." or "encoder." before it; false if there is no
 * such parameter. */
bool txd_explain_param(txd_text *out, const char *name);

/* "(d_model, d_ff) in every layer, if gated": shape and condition. */
void txd_explain_param_line(txd_text *out, txd_param_id id);

#endif
