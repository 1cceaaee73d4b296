/* SPDX-License-Identifier: MIT
 *
 * For faults of parameters: the rows of the q, k and v projections by head, wherever
 * they stand (matrices of their own, or one fused one).
 */
#ifndef TXD_FAULTS_PROJECTION_H
#define TXD_FAULTS_PROJECTION_H

#include "faults/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_projected {
    TXD_PROJECTED_Q,
    TXD_PROJECTED_K,
    TXD_PROJECTED_V
} txd_projected;

/* A head's rows of a projection, and of its bias (NULL without one). */
typedef struct txd_projection {
    txd_tensor weight, bias;
    bool has_bias;
    size_t first, rows;
} txd_projection;

/* `head` is a query head for q, else a KV head. */
txd_projection txd_projection_of(txd_params *params, const txd_config *config,
                                 txd_projected which, int layer, size_t head);

/* Copies weights and biases row by row; true if that changed any. */
bool txd_projection_copy(const txd_projection *to, const txd_projection *from);

/* An edit of the projections of each selected layer; `layer` says if it changed any. If
 * none did, the fault is refused for `unchanged`. */
txd_status txd_plan_edit_layers(txd_plan *plan, const txd_fault_use *use,
                                bool (*layer)(txd_params *params,
                                              const txd_config *config, int layer),
                                const char *unchanged);

#ifdef __cplusplus
}
#endif

#endif
