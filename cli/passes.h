/* SPDX-License-Identifier: MIT
 *
 * All passes of a session, step by step, with the laws and (in `run`) the recorder
 * watching.
 */
#ifndef TXD_CLI_PASSES_H
#define TXD_CLI_PASSES_H

#include "checks/check.h"
#include "cli/session.h"

typedef struct txd_passes {
    txd_session *session;
    txd_run_options run; /* the laws point at it: do not move */
    txd_checks *checks;
    txd_recorder *recorder; /* NULL = nothing is recorded; not owned */
    txd_tap **taps;         /* of the recorder and the laws */
    txd_encoder *encoder;   /* while passes run; NULL = none */
    txd_run *pass;          /* while passes run */
    txd_arena *arena;       /* of one step's inputs, while passes run */
    size_t steps_done;      /* finished, and if recorded, flushed */
    double loss, grad_norm; /* of the last of these; NaN where there is none */
    bool has_loss;          /* some token of it predicts another */
    const txd_result *results;
    size_t result_count; /* after txd_passes_run */
    bool experiments;    /* laws that make passes of their own are to be judged */
} txd_passes;

/* Sets up the laws and joins the taps. Finish in either case; everything passed in
 * must outlive it. */
txd_status txd_passes_init(txd_passes *out, txd_session *session,
                           const txd_options *options, txd_recorder *recorder,
                           const txd_check_select *select);
void txd_passes_finish(txd_passes *passes);

/* One step after another, by hand: open, steps in ascending order, close (in either
 * case; again does nothing). */
txd_status txd_passes_open(txd_passes *passes, const txd_options *options);
txd_status txd_passes_step(txd_passes *passes, size_t step);
void txd_passes_close(txd_passes *passes);

/* Runs every step, and the experiments if they are wanted, and ends the evaluation.
 * ERR_INTERRUPTED if a signal came: the step it came in is finished, unless a second
 * one came. */
txd_status txd_passes_run(txd_passes *passes, const txd_options *options);

#endif
