/* SPDX-License-Identifier: MIT
 *
 * A plan: what faults do to a run. Made by lib/faults, read when a run is created.
 */
#ifndef TXD_MODEL_PLAN_H
#define TXD_MODEL_PLAN_H

#include "model/run.h"
#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of one layer, and the state of entries that were replaced. */
struct txd_layer_ops {
    struct txd_ops ops;
    /* Of which they were to begin with; the host's counterpart of a device's. */
    const txd_backend *backend;
    const void *self[TXD_OP_COUNT];
};

/* A replacement of operations at one layer. install() may wrap what is there: it
 * stores the entry and its `self` in its own state before putting its own. */
struct txd_override {
    int layer;
    bool inner; /* installed before those that are not */
    void (*install)(struct txd_layer_ops *ops, void *self);
    void *self;
    struct txd_override *next;
};

struct txd_param_edit {
    txd_status (*edit)(const void *self, txd_params *params);
    const void *self;
    struct txd_param_edit *next;
};

struct txd_plan_tap {
    txd_tap tap;
    struct txd_plan_tap *next;
};

struct txd_plan {
    txd_arena *arena;
    txd_config config; /* the actual one */
    struct txd_override *overrides;
    struct txd_param_edit *edits;
    struct txd_plan_tap *taps; /* that edit values */
};

#ifdef __cplusplus
}
#endif

#endif
