/* SPDX-License-Identifier: MIT
 *
 * Running a decoder: a backend, a model bound to it once, and runs that feed taps.
 */
#ifndef TXD_MODEL_RUN_H
#define TXD_MODEL_RUN_H

#include "model/params.h"
#include "model/taps.h"
#include "ops/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_model txd_model;
typedef struct txd_run txd_run;
typedef struct txd_plan txd_plan;
typedef struct txd_cache txd_cache;

/* Binds parameters to a backend: converts each once, by so many threads (0 = all), or
 * reads it in place where the master copies are what the backend stores. `config`,
 * which is the actual configuration, and `params` must outlive the model. The caller
 * owns *out. */
txd_status txd_model_create(txd_model **out, const txd_backend *backend,
                            const txd_config *config, txd_params *params, int threads);
void txd_model_destroy(txd_model *model); /* NULL is allowed */

typedef struct txd_run_options {
    const txd_config *claimed; /* by which taps judge; required */
    const txd_plan *plan;      /* the faults' overrides and edits; NULL = none */
    txd_params *params;        /* offered to taps as parameters; NULL = not offered */
    txd_tap *const *taps;
    size_t tap_count;
    int threads;   /* 0 = all that OpenMP gives */
    bool backward; /* passes have a backward half: gradients of the mean loss */
    /* Made the memory of every pass just before it, with a backward half: its
     * parameters get gradients, too. NULL = the memory is data. */
    txd_run *encoder;
    /* Keys and values of earlier calls (model/cache.h), to which every pass adds those
     * of its tokens; without a backward half. NULL = every pass is a whole sequence. */
    txd_cache *cache;
    /* Attention of which nobody reads values is had of a backend that can without its
     * matrix (ops/args_attend.h): faster, within its bounds, but with other bits than
     * the tiles that taps are shown; so what is observed may differ from what is not.
     */
    bool streamed;
    size_t form_limit; /* bytes of a whole (b, h, q, k) for EDIT; 0 = 1 GiB */
    /* Called now and then on the calling thread; non-zero stops the run with
     * ERR_INTERRUPTED. `done` of `total` layers. NULL = never. */
    int (*progress)(void *self, int step, size_t done, size_t total);
    void *progress_self;
} txd_run_options;

/* Creates a run; the options' pointers must outlive it. The caller owns *out. */
txd_status txd_run_create(txd_run **out, const txd_model *model,
                          const txd_run_options *options);
void txd_run_destroy(txd_run *run); /* NULL is allowed */

/* One pass as step number `step`: forward, and backward if the options say so. Taps see
 * every block. */
txd_status txd_run_pass(txd_run *run, const txd_inputs *inputs, int step);

/* Bytes that a run of this shape allocates for activations, tiles, slots, gradients,
 * and the whole values that taps edit in step 0, those of the backend's memory and of
 * the host's together. ERR_LIMIT if those are too large. */
txd_status txd_run_bytes(size_t *out, const txd_model *model,
                         const txd_run_options *options, const txd_extent *extent);

/* Mean next-token cross-entropy of the last pass; NaN if there was no pair. */
double txd_run_loss(const txd_run *run);

/* What the output head reads in the last pass, and what an encoder makes: (b, t,
 * d_model) in the backend's dtype, in the host's memory; owned by the run, valid until
 * its next pass. */
txd_status txd_run_output(txd_tensor *out, const txd_run *run);

/* L2 norm over all parameters of the last pass's gradient, of the loss as it is
 * (without loss scale); NaN without a backward half. */
double txd_run_gradient_norm(const txd_run *run);

/* The gradient of the i-th parameter (txd_params_at) after the last pass, in the
 * backend's dtype; owned by the run, valid until its next pass. ERR_MISSING without a
 * backward half. */
txd_status txd_run_gradient(txd_tensor *out, const txd_run *run, size_t i);

#ifdef __cplusplus
}
#endif

#endif
