/* SPDX-License-Identifier: MIT
 *
 * What faults share that edit values on their way. For the files of this folder and of
 * catalogue/ only.
 */
#ifndef TXD_FAULTS_EDIT_H
#define TXD_FAULTS_EDIT_H

#include "faults/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element i of a block's value, rounded as the backend stores it. */
void txd_edit_set(const txd_block *block, size_t i, double value);

/* Plants a tap that edits `point` in the layers that `use` selects, and its gradient,
 * too, if that is what the edit's own gradient asks for. */
typedef txd_status (*txd_edit)(void *use, txd_block *block);
txd_status txd_plan_edit_point(txd_plan *plan, const txd_fault_use *use,
                               txd_point point, txd_edit edit);
txd_status txd_plan_edit_both(txd_plan *plan, const txd_fault_use *use, txd_point point,
                              txd_edit edit);

#ifdef __cplusplus
}
#endif

#endif
