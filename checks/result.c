/* SPDX-License-Identifier: MIT
 *
 * Verdicts, findings, and what the exit status is made of.
 */
#include "checks/runner.h"

#include <stdlib.h>
#include <string.h>

const char *txd_verdict_name(txd_verdict verdict)
{
    static const char *const names[] = {"pass", "info", "warn", "fail", "skip", "open"};

    return names[verdict];
}

/* Makes room for one more finding, up to the number that is kept. */
static txd_status grow(txd_result *result)
{
    size_t capacity = 4;
    txd_finding *grown;

    while (capacity < result->finding_count)
        capacity *= 2;
    if (result->finding_count != 0 && capacity != result->finding_count)
        return TXD_OK;
    if (result->finding_count != 0)
        capacity *= 2;
    grown = realloc(result->findings, capacity * sizeof *grown);
    if (!grown)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory for %zu findings", result->check,
                        capacity);
    result->findings = grown;
    return TXD_OK;
}

txd_status txd_result_add(txd_result *result, const txd_finding *finding)
{
    if (result->finding_count < TXD_FINDINGS_KEPT) {
        TXD_TRY(grow(result));
        result->findings[result->finding_count] = *finding;
        result->findings[result->finding_count++].waived = NULL;
    }
    result->finding_total++;
    if (finding->verdict > result->verdict)
        result->verdict = finding->verdict;
    return TXD_OK;
}

/* Where to look is told by the names of self-attention; findings that are all of
 * cross-attention mean its own. */
txd_status txd_result_name_cross(txd_result *result, txd_arena *arena)
{
    const char *rest = result->look_next, *found;
    txd_text text;

    for (size_t i = 0; i < result->finding_count; i++)
        if (!strstr(result->findings[i].site, ".cross."))
            return TXD_OK;
    if (result->finding_count == 0 || !strstr(rest, "attn."))
        return TXD_OK;
    txd_text_init(&text);
    for (; (found = strstr(rest, "attn.")); rest = found + strlen("attn.")) {
        txd_text_add_bytes(&text, rest, (size_t)(found - rest));
        txd_text_add(&text, "cross.");
    }
    txd_text_add(&text, rest);
    result->look_next = txd_arena_string(arena, txd_text_get(&text));
    txd_text_finish(&text);
    return result->look_next ? TXD_OK : TXD_ERR_MEMORY;
}

int txd_checks_exit(const txd_result *results, size_t count, bool strict)
{
    size_t seen[TXD_VERDICT_OPEN + 1] = {0};

    for (size_t i = 0; i < count; i++)
        seen[results[i].verdict]++;
    if (seen[TXD_VERDICT_FAIL] > 0 || (strict && seen[TXD_VERDICT_WARN] > 0))
        return 1;
    if (seen[TXD_VERDICT_OPEN] > 0)
        return 2;
    return seen[TXD_VERDICT_SKIP] == count ? 77 : 0;
}
