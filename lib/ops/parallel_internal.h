/* SPDX-License-Identifier: MIT
 *
 * What loops over threads share.
 */
#ifndef TXD_OPS_PARALLEL_INTERNAL_H
#define TXD_OPS_PARALLEL_INTERNAL_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef txd_status txd_task(void *self, size_t i, int worker);

/* The failure of the smallest index so far; status TXD_OK = none. */
struct txd_failure {
    size_t index;
    txd_status status;
    char message[TXD_MESSAGE_BYTES];
};

/* Keeps a failure of this thread, with its message, if it is the first. One at a time.
 */
void txd_failure_keep(struct txd_failure *failure, size_t i, txd_status status);
/* Says it again on this thread. */
txd_status txd_failure_say(const struct txd_failure *failure);

/* How many threads are worth it. */
int txd_team_of(const txd_ctx *ctx, size_t count, double operations);
/* All of them on the calling thread, a BLAS held to it. */
txd_status txd_alone(size_t count, txd_task *body, void *self);

/* A loop over threads inside a merge of txd_parallel_in_order: it is run together with
 * those of its threads that wait, and its status is told. False on any other thread. */
bool txd_shared_loop(txd_status *status, const txd_ctx *ctx, size_t count,
                     txd_task *body, void *self);

#ifdef __cplusplus
}
#endif

#endif
