/* SPDX-License-Identifier: MIT
 *
 * Laws that make passes of their own: the same model under inputs that were changed in
 * a known way, or by another path. An experiment starts from a bounded part of a step's
 * inputs (derive.h changes them), makes passes (here), keeps their values and tells
 * where two of them differ (capture.h). For the laws of this folder only.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_EXPERIMENT_H
#define TXD_CHECKS_EXPERIMENTS_EXPERIMENT_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that experiments take of a step's inputs; less of large models. */
#define TXD_EXPERIMENT_ROWS 4
#define TXD_EXPERIMENT_TOKENS 64

struct txd_experiment {
    const txd_experiment_setup *setup;
    const txd_check_context *context;
    txd_arena *arena; /* for all that it makes; freed after examine */
    /* A copy of the first batch rows and tokens of the step's inputs, memory and types
     * too. Where rows begin with so much padding that nothing else is left, of the last
     * tokens: then `first` is the token it begins with. */
    txd_inputs inputs;
    size_t first;
    int number;
};

/* For the runner. */
txd_status txd_experiment_create(txd_experiment **out,
                                 const txd_experiment_setup *setup,
                                 const txd_check_context *context, int number);
void txd_experiment_destroy(txd_experiment *experiment); /* NULL is allowed */

/* How a pass is made; all zero: as the run was, and nothing looks at it. */
typedef struct txd_experiment_how {
    txd_tap *const *taps; /* behind those of the plan */
    size_t tap_count;
    int threads;   /* 0 = those of the run */
    bool backward; /* gradients, too */
    bool claimed;  /* by the claimed configuration, without the plan: `model` must be
                      bound to it. What faults did to parameters stays. */
    txd_cache *cache;
    const txd_model *model; /* of another backend or configuration; NULL = the run's */
} txd_experiment_how;

/* A run, for more than one pass of it (with a cache), or for its gradients. The caller
 * owns *out. Two runs with a plan, of different backends, must not be there at once:
 * faults remember whose operations they replaced. */
txd_status txd_experiment_run(txd_run **out, const txd_experiment *experiment,
                              const txd_experiment_how *how);

/* ERR_LIMIT, for which the law is skipped, if a pass takes more memory than it may. */
txd_status txd_experiment_fits(const txd_experiment *experiment,
                               const txd_experiment_how *how, const txd_inputs *inputs);

/* One pass of a run of its own, if it fits. */
txd_status txd_experiment_pass(const txd_experiment *experiment,
                               const txd_experiment_how *how, const txd_inputs *inputs);

/* A finding at a site, its place in the experiment's inputs; message still empty. Keys
 * and values that several heads share have no head. */
txd_finding txd_experiment_finding(const txd_experiment *experiment,
                                   const txd_site *site, size_t batch, int64_t head,
                                   size_t token);

/* Number of the first layer that is not causal; n_layers if all are. */
size_t txd_experiment_causal_layers(const txd_config *config);

#ifdef __cplusplus
}
#endif

#endif
