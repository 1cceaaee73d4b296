/* SPDX-License-Identifier: MIT
 *
 * The loop over threads. Work is handed out dynamically: what a task computes never
 * depends on who computes it.
 */
#include "ops/parallel_internal.h"

#include <stdio.h>

#ifdef _OPENMP
#include <omp.h>
#endif

int txd_threads_available(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int txd_threads_of(int asked)
{
    return asked > 0 ? asked : txd_threads_available();
}

/* About half a millisecond of one core. The thread sanitizer's build sets it to 0, so
 * that the smallest test runs on several threads. */
#ifndef TXD_WORTH_A_TEAM
#define TXD_WORTH_A_TEAM 2e6
#endif

#ifdef _OPENMP
static bool is_small(size_t count, double operations)
{
    return count < 2 || operations * (double)count < TXD_WORTH_A_TEAM;
}
#endif

int txd_team_of(const txd_ctx *ctx, size_t count, double operations)
{
#ifdef _OPENMP
    return is_small(count, operations) || omp_in_parallel() ? 1 : ctx->threads;
#else
    (void)ctx, (void)count, (void)operations;
    return 1;
#endif
}

void txd_failure_keep(struct txd_failure *failure, size_t i, txd_status status)
{
    if (failure->status != TXD_OK && failure->index < i)
        return;
    failure->index = i;
    failure->status = status;
    snprintf(failure->message, sizeof failure->message, "%s", txd_message());
}

txd_status txd_failure_say(const struct txd_failure *failure)
{
    return failure->status == TXD_OK
               ? TXD_OK
               : txd_fail(failure->status, "%s", failure->message);
}

static txd_status serial(size_t count, txd_task *body, void *self)
{
    for (size_t i = 0; i < count; i++)
        TXD_TRY(body(self, i, 0));
    return TXD_OK;
}

/* An OpenMP BLAS called outside of parallel regions uses as many threads as OpenMP
 * would (OpenBLAS 0.3.21 asks at every call): that must be one here. */
txd_status txd_alone(size_t count, txd_task *body, void *self)
{
#ifdef _OPENMP
    int threads = omp_get_max_threads();
    txd_status status;

    omp_set_num_threads(1);
    status = serial(count, body, self);
    omp_set_num_threads(threads);
    return status;
#else
    return serial(count, body, self);
#endif
}

txd_status txd_parallel(txd_ctx *ctx, size_t count, double operations, txd_task *body,
                        void *self)
{
#ifdef _OPENMP
    struct txd_failure failure = {0, TXD_OK, ""};
    int threads = txd_team_of(ctx, count, operations);
    txd_status status;

    if (!is_small(count, operations) &&
        txd_shared_loop(&status, ctx, count, body, self))
        return status;
    if (threads == 1)
        return txd_alone(count, body, self);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (long long i = 0; i < (long long)count; i++) {
        txd_status one = body(self, (size_t)i, omp_get_thread_num());

        if (one != TXD_OK) {
#pragma omp critical(txd_parallel_failure)
            txd_failure_keep(&failure, (size_t)i, one);
        }
    }
    return txd_failure_say(&failure);
#else
    (void)ctx;
    (void)operations;
    return serial(count, body, self);
#endif
}
