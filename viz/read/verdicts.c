/* SPDX-License-Identifier: MIT
 *
 * Reads the tables of verdicts. A recording may come from an older or another program,
 * so that columns are looked up one by one and may be shorter than others.
 */
#include "viz/read/verdicts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/read/table.h"

static int64_t whole(double value, int64_t missing)
{
    return isfinite(value) && fabs(value) < 9e15 ? (int64_t)value : missing;
}

static txd_status read_laws(txd_verdicts *out, txd_arena *arena,
                            const txd_trace *recording)
{
    static const char *const texts[] = {"name", "verdict", "note"};
    static const char *const numbers[] = {"findings", "evaluated", "not_computed",
                                          "worst", "allowed"};
    const char **text[3];
    double *number[5];
    char name[96];
    size_t rows;

    TXD_TRY(txd_table_rows(&rows, recording, "checks/laws/name"));
    out->laws = txd_arena_alloc(arena, rows, sizeof *out->laws);
    if (!out->laws)
        return TXD_ERR_MEMORY;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "checks/laws/%s", texts[i]);
        TXD_TRY(txd_table_texts(&text[i], arena, rows, recording, name));
    }
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "checks/laws/%s", numbers[i]);
        TXD_TRY(txd_table_numbers(&number[i], arena, rows, recording, name));
    }
    for (size_t i = 0; i < rows; i++)
        out->laws[i] = (txd_law_row){.name = text[0][i],
                                     .verdict = text[1][i],
                                     .note = text[2][i],
                                     .findings = whole(number[0][i], 0),
                                     .evaluated = whole(number[1][i], 0),
                                     .not_computed = whole(number[2][i], 0),
                                     .worst = number[3][i],
                                     .allowed = number[4][i]};
    out->law_count = rows;
    return TXD_OK;
}

static int rank_of(const txd_finding_row *finding)
{
    if (strcmp(finding->verdict, "fail") ==
        0) /* others follow from what is not finite */
        return strcmp(finding->law, "finite") == 0 ? 0 : 1;
    return strcmp(finding->verdict, "warn") == 0 ? 2 : 3;
}

/* Stable: within a verdict the recorded order stays, which is that of execution. */
txd_status txd_verdicts_sort(txd_verdicts *verdicts, txd_arena *arena)
{
    size_t count = verdicts->finding_count, made = 0;
    txd_finding_row *sorted = txd_arena_alloc(arena, count, sizeof *sorted);

    if (!sorted)
        return TXD_ERR_MEMORY;
    for (int rank = 0; rank < 4; rank++)
        for (size_t i = 0; i < count; i++)
            if (rank_of(&verdicts->findings[i]) == rank)
                sorted[made++] = verdicts->findings[i];
    verdicts->findings = sorted;
    return TXD_OK;
}

static txd_status read_findings(txd_verdicts *out, txd_arena *arena,
                                const txd_trace *recording)
{
    static const char *const texts[] = {"law", "verdict", "site", "message"};
    static const char *const numbers[] = {"step",  "layer", "batch",    "head",
                                          "query", "key",   "measured", "allowed"};
    const char **text[4];
    double *number[8];
    char name[96];
    size_t rows;

    TXD_TRY(txd_table_rows(&rows, recording, "checks/findings/law"));
    out->findings = txd_arena_alloc(arena, rows, sizeof *out->findings);
    if (!out->findings)
        return TXD_ERR_MEMORY;
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "checks/findings/%s", texts[i]);
        TXD_TRY(txd_table_texts(&text[i], arena, rows, recording, name));
    }
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "checks/findings/%s", numbers[i]);
        TXD_TRY(txd_table_numbers(&number[i], arena, rows, recording, name));
    }
    for (size_t i = 0; i < rows; i++)
        out->findings[i] = (txd_finding_row){.law = text[0][i],
                                             .verdict = text[1][i],
                                             .site = text[2][i],
                                             .message = text[3][i],
                                             .step = whole(number[0][i], -1),
                                             .layer = whole(number[1][i], -1),
                                             .batch = whole(number[2][i], -1),
                                             .head = whole(number[3][i], -1),
                                             .query = whole(number[4][i], -1),
                                             .key = whole(number[5][i], -1),
                                             .measured = number[6][i],
                                             .allowed = number[7][i]};
    out->finding_count = rows;
    return txd_verdicts_sort(out, arena);
}

txd_status txd_verdicts_read(txd_verdicts *out, txd_arena *arena,
                             const txd_trace *recording)
{
    txd_verdicts read = {.laws = NULL};

    TXD_TRY(read_laws(&read, arena, recording));
    TXD_TRY(read_findings(&read, arena, recording));
    *out = read;
    return TXD_OK;
}

size_t txd_verdicts_count(const txd_verdicts *verdicts, const char *verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < verdicts->law_count; i++)
        count += strcmp(verdicts->laws[i].verdict, verdict) == 0;
    return count;
}
