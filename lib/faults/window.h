/* SPDX-License-Identifier: MIT
 *
 * How faults of windows act: layers get another window than they should have. For the
 * files of faults/ only.
 */
#ifndef TXD_FAULTS_WINDOW_H
#define TXD_FAULTS_WINDOW_H

#include "faults/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The window that a layer gets in place of that of `config`. */
typedef size_t (*txd_fault_window)(const txd_config *config, size_t layer,
                                   const txd_fault_use *use);

txd_status txd_plan_window(txd_plan *plan, const txd_fault_use *use,
                           txd_fault_window window);

/* Why this changes nothing, or NULL: every selected layer keeps its window, or no real
 * query sees other keys. */
const char *txd_fault_idle_window(const txd_fault_scene *scene,
                                  const txd_fault_use *use, txd_fault_window window);

/* Of a configuration in which no layer has a window. */
const char *txd_fault_needs_window(const txd_fault_scene *scene);

#ifdef __cplusplus
}
#endif

#endif
