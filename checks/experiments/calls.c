/* SPDX-License-Identifier: MIT
 *
 * Calls of one run with a cache.
 */
#include "checks/experiments/calls.h"

#include "checks/experiments/derive.h"

#define MOST_TOKENS 8

void txd_calls_of_chunks(txd_calls *calls, size_t length)
{
    size_t first = (length + 1) / 2, second = (length - first + 1) / 2 + 1;

    if (second > length - first)
        second = length - first;
    calls->lengths[0] = first;
    calls->lengths[1] = second;
    calls->lengths[2] = length - first - second;
    calls->count = calls->lengths[2] > 0 ? 3 : 2;
}

void txd_calls_of_tokens(txd_calls *calls, size_t length)
{
    size_t tokens = length / 2 < MOST_TOKENS ? length / 2 : MOST_TOKENS;

    calls->lengths[0] = length - tokens;
    for (size_t i = 1; i <= tokens; i++)
        calls->lengths[i] = 1;
    calls->count = tokens + 1;
}

static txd_status make_calls(txd_run *run, const txd_experiment *e,
                             const txd_calls *calls)
{
    size_t first = 0;

    for (size_t i = 0; i < calls->count; i++) {
        txd_inputs call;

        TXD_TRY(txd_derive_part(&call, e->arena, &e->inputs, first, calls->lengths[i]));
        TXD_TRY(txd_run_pass(run, &call, (int)i));
        if (calls->after)
            TXD_TRY(calls->after(calls->self, first, calls->lengths[i]));
        first += calls->lengths[i];
    }
    return TXD_OK;
}

txd_status txd_calls_make(const txd_experiment *e, const txd_calls *calls)
{
    txd_tap *const taps[1] = {calls->tap};
    txd_experiment_how how = {.taps = taps, .tap_count = 1};
    txd_run *run;
    txd_status status;

    TXD_TRY(txd_cache_create(&how.cache, e->setup->model, e->inputs.batch,
                             e->inputs.length));
    status = txd_experiment_run(&run, e, &how);
    if (status == TXD_OK) {
        status = make_calls(run, e, calls);
        txd_run_destroy(run);
    }
    txd_cache_destroy(how.cache);
    return status;
}
