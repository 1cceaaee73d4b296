/* SPDX-License-Identifier: MIT
 *
 * The end of a pass: what its two halves (head.c, head_back.c) share.
 */
#ifndef TXD_MODEL_HEAD_H
#define TXD_MODEL_HEAD_H

#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The linear map that makes head.dense or head.in. */
struct txd_linear_map txd_head_map(const txd_run *run, txd_point out);
/* What the output head does to these rows of (b, t). */
struct txd_linear_args txd_head_rows(txd_run *run, size_t row, size_t rows);
/* The cap of what the head makes, before it is scaled; 0 = none. */
double txd_head_cap(const txd_config *config);
/* run->raw_logits and run->logits = those of a row tile. */
txd_status txd_logit_rows(txd_run *run, const struct txd_logit_tile *tile, bool offer);
/* Runs `body` over the row tiles of the logits, in order. */
txd_status txd_logits_in_tiles(txd_run *run,
                               txd_status (*body)(txd_run *run,
                                                  const struct txd_logit_tile *tile));

#ifdef __cplusplus
}
#endif

#endif
