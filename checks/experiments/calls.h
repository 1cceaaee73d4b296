/* SPDX-License-Identifier: MIT
 *
 * A sequence in several calls, with a cache of keys and values. For the laws of this
 * folder only, and those that watch such calls.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_CALLS_H
#define TXD_CHECKS_EXPERIMENTS_CALLS_H

#include "checks/experiments/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_CALLS_MOST 12

/* How the tokens of each row are divided, and who looks. */
typedef struct txd_calls {
    size_t
        lengths[TXD_CALLS_MOST]; /* of the calls; they sum to no more than there is */
    size_t count;
    txd_tap *tap;
    /* After each call, of `count` tokens from `first` on; NULL = nothing. */
    txd_status (*after)(void *self, size_t first, size_t count);
    void *self;
} txd_calls;

/* `length` >= 2 tokens in three pieces of unequal length (two of a short text), none of
 * which is a divisor of another where that is possible. */
void txd_calls_of_chunks(txd_calls *calls, size_t length);
/* All but the last few tokens, then these one by one. */
void txd_calls_of_tokens(txd_calls *calls, size_t length);

/* Makes them of the experiment's inputs. */
txd_status txd_calls_make(const txd_experiment *experiment, const txd_calls *calls);

#ifdef __cplusplus
}
#endif

#endif
