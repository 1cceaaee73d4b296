/* SPDX-License-Identifier: MIT
 *
 * What the logits of a token imply of its loss. For the files of this folder only.
 */
#ifndef TXD_CHECKS_LOSS_H
#define TXD_CHECKS_LOSS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What people take for the target. */
typedef enum txd_loss_target {
    TXD_TARGET_NEXT,  /* the claimed one: the token after this */
    TXD_TARGET_AFTER, /* the token after the next */
    TXD_TARGET_SELF,
    TXD_TARGETS
} txd_loss_target;

/* What the logits of a token imply. */
typedef struct txd_loss_implied {
    double largest;           /* finite magnitude; NaN if the softmax is */
    double loss[TXD_TARGETS]; /* NaN where there is no such token */
    bool is_picked, is_set;
} txd_loss_implied;

/* The token that a position would have to predict; -1 if there is none. */
int32_t txd_loss_target_of(const txd_inputs *inputs, size_t cell,
                           txd_loss_target which);

/* From row `row` of a block of logits, that of token `cell` (b length + t). */
void txd_loss_imply(txd_loss_implied *out, const txd_block *block, size_t row,
                    size_t cell);

#ifdef __cplusplus
}
#endif

#endif
