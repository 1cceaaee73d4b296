/* SPDX-License-Identifier: MIT
 *
 * Results of laws as the rows of verdicts that a report shows.
 */
#include "cli/judged.h"

bool txd_fresh_is_idle(const txd_trace *recording)
{
    const char *const *names;
    size_t count = 0;

    return txd_trace_strings(recording, &names, &count, "checks/laws/name") == TXD_OK &&
           count > 0;
}

static txd_law_row law_row(const txd_result *result)
{
    return (txd_law_row){.name = result->check,
                         .verdict = txd_verdict_name(result->verdict),
                         .note = result->note,
                         .findings = (int64_t)result->finding_total,
                         .evaluated = (int64_t)result->evaluated,
                         .not_computed = (int64_t)result->not_computed,
                         .worst = result->worst,
                         .allowed = result->allowed};
}

static txd_finding_row finding_row(const char *law, const txd_finding *finding)
{
    return (txd_finding_row){.law = law,
                             .verdict = txd_verdict_name(finding->verdict),
                             .site = finding->site,
                             .message = finding->message,
                             .step = finding->step,
                             .layer = finding->layer,
                             .batch = finding->batch,
                             .head = finding->head,
                             .query = finding->query,
                             .key = finding->key,
                             .measured = finding->measured,
                             .allowed = finding->allowed};
}

static txd_status fill(txd_fresh *fresh, const txd_result *results, size_t count)
{
    txd_verdicts *verdicts = &fresh->verdicts;
    size_t findings = 0;

    for (size_t i = 0; i < count; i++)
        findings += results[i].finding_count;
    verdicts->laws = txd_arena_alloc(fresh->arena, count, sizeof *verdicts->laws);
    verdicts->findings =
        txd_arena_alloc(fresh->arena, findings, sizeof *verdicts->findings);
    if (!verdicts->laws || !verdicts->findings)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        verdicts->laws[verdicts->law_count++] = law_row(&results[i]);
        for (size_t f = 0; f < results[i].finding_count; f++)
            verdicts->findings[verdicts->finding_count++] =
                finding_row(results[i].check, &results[i].findings[f]);
    }
    return txd_verdicts_sort(verdicts, fresh->arena);
}

txd_status txd_fresh_init(txd_fresh *out, const txd_trace *recording, int threads)
{
    const txd_check_select select = {.threads = threads};
    const txd_result *results;
    size_t count;

    *out = (txd_fresh){.arena = NULL};
    TXD_TRY(txd_arena_create(&out->arena));
    TXD_TRY(txd_checks_recording(&out->checks, recording, NULL, &select));
    TXD_TRY(txd_checks_finish(&results, &count, out->checks));
    return fill(out, results, count);
}

void txd_fresh_finish(txd_fresh *fresh)
{
    txd_checks_destroy(fresh->checks);
    txd_arena_destroy(fresh->arena);
    *fresh = (txd_fresh){.arena = NULL};
}
