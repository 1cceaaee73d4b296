/* SPDX-License-Identifier: MIT
 *
 * The catalogue of faults: ways in which people get transformers wrong. A fault acts
 * by configuration, by parameters, by an edit of a value, or by an override of one
 * operation at one layer; the decoder itself knows nothing of faults.
 */
#ifndef TXD_FAULTS_FAULTS_H
#define TXD_FAULTS_FAULTS_H

#include "base/select.h"
#include "model/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Selectors that a fault may take (bits). */
enum {
    TXD_FAULT_LAYERS = 1,
    TXD_FAULT_HEADS = 2,
    TXD_FAULT_QUERIES = 4,
    TXD_FAULT_BATCH = 8,
    TXD_FAULT_STRENGTH = 16,
};

/* One use of a fault, as `faults` in model.cfg states it. */
typedef struct txd_fault_use {
    const char *name;
    txd_range layers, heads, queries, batch; /* empty = all */
    double strength;                         /* 0 = the fault's default */
    const txd_setting *setting;              /* for messages; NULL = none */
} txd_fault_use;

/* What is known of a run before it begins, by which faults are found able to act. */
typedef struct txd_fault_scene {
    const txd_config *claimed;
    const txd_inputs *inputs;   /* of a step; NULL = not known yet */
    const txd_backend *backend; /* NULL = not known yet */
    bool trained;               /* the parameters come from a checkpoint */
    bool forward_only;          /* it is known that no backward pass will follow */
    bool no_cache;              /* it is known that no pass has keys of earlier calls */
} txd_fault_scene;

typedef struct txd_fault txd_fault;

/* The i-th fault of the catalogue, NULL past the end. */
const txd_fault *txd_fault_at(size_t i);
const txd_fault *txd_fault_find(const char *name); /* NULL if there is none */
const char *txd_fault_name(const txd_fault *fault);
const char *txd_fault_sentence(const txd_fault *fault); /* what goes wrong */
const char *txd_fault_symptom(const txd_fault *fault);  /* how it shows */
const char *txd_fault_example(const txd_fault *fault);  /* wrong code, right code */
unsigned txd_fault_selectors(const txd_fault *fault);
/* True if it changes gradients alone, so that passes need a backward half. */
bool txd_fault_is_backward(const txd_fault *fault);
/* Why it cannot act in this scene ("needs padded input"); NULL if it can. */
const char *txd_fault_inapplicable(const txd_fault *fault,
                                   const txd_fault_scene *scene);

/* The keys of `faults`. */
extern const txd_key txd_faults_keys[];

/* Reads the `faults` list of a validated tree; *count uses in `arena`. ERR_CONFIG for
 * an unknown fault (with the nearest) or a selector that the fault does not take. */
txd_status txd_faults_read(txd_fault_use **out, size_t *count, txd_arena *arena,
                           const txd_setting *root);

/* Makes the plan of a faulty run: the actual configuration, overrides and edits.
 * ERR_INAPPLICABLE with the reason if a fault cannot act. The caller owns *out;
 * everything passed in must outlive it. */
txd_status txd_plan_create(txd_plan **out, const txd_fault_scene *scene,
                           const txd_fault_use *uses, size_t count);
void txd_plan_destroy(txd_plan *plan); /* NULL is allowed */

/* The configuration to run by. Owned by the plan. */
const txd_config *txd_plan_config(const txd_plan *plan);

/* Applies the plan's edits of parameters, in place. ERR_INAPPLICABLE with the reason if
 * a fault finds that it would change nothing. */
txd_status txd_plan_edit_params(const txd_plan *plan, txd_params *params);

#ifdef __cplusplus
}
#endif

#endif
