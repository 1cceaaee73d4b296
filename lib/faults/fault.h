/* SPDX-License-Identifier: MIT
 *
 * For the files of this folder: what a fault is, and the ways in which it can act. A
 * new fault is one file of catalogue/ with a descriptor and one line of registry.def.
 * The faults that replace operations include faults/wrap.h instead.
 */
#ifndef TXD_FAULTS_FAULT_H
#define TXD_FAULTS_FAULT_H

#include "faults/faults.h"
#include "model/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct txd_fault {
    const char *name;
    const char *sentence; /* what is done wrong */
    const char *symptom;  /* how it shows */
    const char *example;  /* the wrong line and the right one */
    unsigned selectors;   /* TXD_FAULT_* */
    double strength;      /* the default, where the fault has a strength */
    bool backward;        /* it changes gradients alone; said also by inapplicable =
                             txd_fault_needs_backward */
    /* Why it cannot act here, or NULL. What the scene does not know is no reason. */
    const char *(*inapplicable)(const txd_fault_scene *scene);
    /* Why it changes nothing in what `use` selects, or NULL; the inputs are known.
     * NULL: it changes something wherever it applies. */
    const char *(*idle)(const txd_fault_scene *scene, const txd_fault_use *use);
    /* Puts it into the plan. `use` and its strength are complete. */
    txd_status (*plant)(txd_plan *plan, const txd_fault_use *use);
};

/* All selectors of those that act in attention tiles. */
#define TXD_FAULT_TILES                                                                \
    (TXD_FAULT_LAYERS | TXD_FAULT_HEADS | TXD_FAULT_QUERIES | TXD_FAULT_BATCH)

/* ---- reasons that several faults share; NULL if there is none ---- */

const char *txd_fault_needs_causal(const txd_fault_scene *scene);
const char *txd_fault_needs_mask(const txd_fault_scene *scene);
const char *txd_fault_needs_padding(const txd_fault_scene *scene);
const char *txd_fault_needs_heads(const txd_fault_scene *scene);
/* Positions that are added to embeddings: rotary ones and distances keep a shift of all
 * positions to themselves. */
const char *txd_fault_needs_absolute_positions(const txd_fault_scene *scene);
/* Also what marks a fault of the backward pass. */
const char *txd_fault_needs_backward(const txd_fault_scene *scene);

/* For faults that act where a cache has keys of earlier calls. */
const char *txd_fault_needs_cache(const txd_fault_scene *scene);

/* Idle for faults that scale by their strength. */
const char *txd_fault_idle_at_one(const txd_fault_scene *scene,
                                  const txd_fault_use *use);
/* Idle for faults that mix up heads and tokens. */
const char *txd_fault_idle_at_one_token(const txd_fault_scene *scene,
                                        const txd_fault_use *use);

/* Fails with "fault NAME changes nothing in what it selects: reason", and the place
 * where it is used: for edits of parameters that find nothing to change. */
txd_status txd_fault_refuse(const txd_fault_use *use, const char *reason);

/* ---- masks ---- */

/* True if any layer of the configuration is causal; if any token is padding; if any
 * row has tokens of several documents. */
bool txd_config_has_causal(const txd_config *config);
bool txd_inputs_have_padding(const txd_inputs *inputs);
bool txd_inputs_have_documents(const txd_inputs *inputs);

/* Replaces the rule "query sees key" in the selected layers, heads, queries and batch
 * rows. `keys` is the sequence length, `seen` what the rule said so far. */
typedef bool (*txd_sight)(const txd_mask_view *mask, size_t query, size_t key,
                          size_t keys, bool seen);
txd_status txd_plan_sight(txd_plan *plan, const txd_fault_use *use, txd_sight sight);
/* The same only where somebody reads the weights. */
txd_status txd_plan_sight_observed(txd_plan *plan, const txd_fault_use *use,
                                   txd_sight sight);

/* True if the rule changes the weights of a real query in what `use` selects: queries
 * that are padding themselves are not judged by anybody. */
bool txd_sight_changes(const txd_fault_scene *scene, const txd_fault_use *use,
                       txd_sight sight);

/* The rule that every query sees every key. */
bool txd_sight_everything(const txd_mask_view *mask, size_t query, size_t key,
                          size_t keys, bool seen);
/* The rule without its causal part. */
bool txd_sight_without_causal(const txd_mask_view *mask, size_t query, size_t key,
                              size_t keys, bool seen);
/* Idle for faults of hidden keys. */
const char *txd_fault_idle_unmasked(const txd_fault_scene *scene,
                                    const txd_fault_use *use);
/* True if a real query among those that `use` selects sees so many keys or more. */
bool txd_fault_sees_keys(const txd_fault_scene *scene, const txd_fault_use *use,
                         size_t least);

/* ---- ways to act ---- */

/* The use's strength becomes norm_eps, or mask.fill, of the selected layers. */
txd_status txd_plan_norm_eps(txd_plan *plan, const txd_fault_use *use);
txd_status txd_plan_fill(txd_plan *plan, const txd_fault_use *use);

/* Adds a copy of an override of one layer, after those of its kind (inner or not);
 * `self` must live in plan->arena. */
txd_status txd_plan_override(txd_plan *plan, const struct txd_override *override);

/* Adds an edit of parameters; `self` must outlive the plan. */
txd_status txd_plan_edit(txd_plan *plan,
                         txd_status (*edit)(const void *self, txd_params *params),
                         const void *self);

/* Adds a tap that edits values; `self` must live in plan->arena. */
txd_status txd_plan_tap(txd_plan *plan, const txd_tap *tap);

/* Multiplies every element of a parameter. */
void txd_param_scale(txd_param *param, double factor);
/* Multiplies every element of a parameter outside of layers by the use's strength. */
txd_status txd_plan_scale(txd_plan *plan, const txd_fault_use *use, txd_param_id id);

#ifdef __cplusplus
}
#endif

#endif
