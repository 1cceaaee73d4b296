/* SPDX-License-Identifier: MIT
 *
 * The laws that make passes of their own, one after another.
 */
#include "checks/experiments/experiment.h"
#include "checks/runner.h"

#include <stdio.h>

const char txd_not_examined[] =
    "makes passes of its own: `txdiag check MODEL.cfg` does";
const char txd_nothing_judged[] = "there was nothing to judge";

void txd_entry_skip(txd_entry *entry, const char *reason)
{
    entry->result.verdict = TXD_VERDICT_SKIP;
    if (reason != entry->result.note)
        snprintf(entry->result.note, sizeof entry->result.note, "%s", reason);
}

size_t txd_checks_experiments(const txd_checks *checks)
{
    size_t waiting = 0;

    for (size_t i = 0; i < checks->count; i++)
        waiting += checks->entries[i].is_waiting;
    return waiting;
}

/* Its tap watches; what it saw is judged with the rest. */
static txd_status watch(txd_entry *entry, txd_experiment *experiment)
{
    txd_status status =
        entry->choice.check->watch(entry->state, experiment, &entry->outer);

    if (status == TXD_OK || status == TXD_ERR_MEMORY || status == TXD_ERR_INTERRUPTED)
        return status;
    entry->has_failed = true;
    entry->result.verdict = TXD_VERDICT_OPEN;
    snprintf(entry->result.note, sizeof entry->result.note, "%s", txd_message());
    return TXD_OK;
}

static txd_status examine(txd_entry *entry, const txd_experiment_setup *setup,
                          int number)
{
    txd_result *result = &entry->result;
    txd_experiment *experiment = NULL;
    txd_status status;

    result->verdict = TXD_VERDICT_PASS;
    result->note[0] = '\0';
    entry->is_waiting = false;
    status = txd_experiment_create(&experiment, setup, &entry->context, number);
    if (status == TXD_OK && entry->choice.check->watch) {
        status = watch(entry, experiment);
        txd_experiment_destroy(experiment);
        return status;
    }
    if (status == TXD_OK)
        status = entry->choice.check->examine(experiment, result);
    txd_experiment_destroy(experiment);
    if (status == TXD_ERR_MEMORY || status == TXD_ERR_INTERRUPTED)
        return status;
    if (status == TXD_ERR_LIMIT) {
        txd_entry_skip(entry, txd_message());
    } else if (status != TXD_OK) {
        result->verdict = TXD_VERDICT_OPEN;
        snprintf(result->note, sizeof result->note, "%s", txd_message());
    } else if (result->verdict == TXD_VERDICT_PASS && result->evaluated == 0) {
        txd_entry_skip(entry, result->note[0] ? result->note : txd_nothing_judged);
    }
    return TXD_OK;
}

txd_status txd_checks_experiment(txd_checks *checks, const txd_experiment_setup *setup)
{
    int number = 0;

    for (size_t i = 0; i < checks->count; i++)
        if (checks->entries[i].is_waiting)
            TXD_TRY(examine(&checks->entries[i], setup, number++));
    return TXD_OK;
}
