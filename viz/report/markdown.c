/* SPDX-License-Identifier: MIT
 *
 * The report as a few lines for a pull request: what came out, what is broken and
 * where, and, folded away, every law.
 */
#include "viz/report/markdown.h"

#include <math.h>
#include <string.h>

#include "viz/report/report.h"

enum { MOST_FINDINGS = 20, MOST_OF_LAW = 3, MOST_ERRORS = 40 };

static void add_summary(txd_text *out, const txd_verdicts *verdicts)
{
    size_t failed = txd_verdicts_count(verdicts, "fail");
    size_t open = txd_verdicts_count(verdicts, "open");
    size_t warned = txd_verdicts_count(verdicts, "warn");
    size_t skipped = txd_verdicts_count(verdicts, "skip");
    size_t judged = txd_verdicts_count(verdicts, "pass") +
                    txd_verdicts_count(verdicts, "info") + warned + failed;

    txd_text_add(out, "### txdiag: ");
    if (verdicts->law_count == 0)
        txd_text_add(out, "not judged (the recording carries no verdicts)");
    else if (failed)
        txd_text_addf(out, "%zu of %zu laws broken", failed, verdicts->law_count);
    else if (open)
        txd_text_addf(out, "%zu of %zu laws could not be decided", open,
                      verdicts->law_count);
    else if (judged == 0)
        txd_text_add(out, "nothing was evaluated");
    else
        txd_text_addf(out, "no law broken, %zu evaluated, %zu skipped", judged,
                      skipped);
    if (failed && open)
        txd_text_addf(out, ", %zu could not be decided", open);
    if (warned)
        txd_text_addf(out, ", %zu warning%s", warned, warned == 1 ? "" : "s");
    txd_text_add(out, "\n\n");
}

static void add_meta(txd_text *out, const txd_trace *recording, const char *name)
{
    const char *value = txd_trace_meta(recording, name);

    if (!value || !*value)
        return;
    txd_text_add(out, ", ");
    txd_markdown_add(out, value, 60);
}

/* "`mini.h5`: 2 layers, 8 heads, width 64; 2 x 16 tokens; cpu32, float32". */
static void add_facts(txd_text *out, const txd_report_source *source,
                      const txd_claim *claim)
{
    const txd_trace *recording = source->recording;
    const char *faults = txd_trace_meta(recording, "faults");
    const char *complete = txd_trace_meta(recording, "complete");

    txd_markdown_code(out, source->path, 200);
    if (claim->configured)
        txd_text_addf(out, ": %zu layers, %zu heads, width %zu", claim->config.n_layers,
                      claim->config.n_heads, claim->config.d_model);
    if (claim->has_inputs)
        txd_text_addf(out, ", %zu x %zu tokens", claim->inputs.batch,
                      claim->inputs.length);
    add_meta(out, recording, "backend");
    add_meta(out, recording, "dtype");
    if (faults && *faults) {
        txd_text_add(out, "; planted: ");
        txd_markdown_add(out, faults, 300);
    }
    if (source->judged)
        txd_text_add(out, "; judged for this summary: it carries no verdicts");
    if (complete && strcmp(complete, "1") != 0)
        txd_text_add(out, "; incomplete: the run did not end by itself");
    txd_text_add(out, "\n\n");
}

static void add_verdict(txd_text *out, const char *verdict)
{
    bool loud = strcmp(verdict, "fail") == 0 || strcmp(verdict, "open") == 0;

    txd_text_add(out, loud ? "**" : "");
    txd_markdown_add(out, verdict, 20);
    txd_text_add(out, loud ? "**" : "");
}

static void add_finding(txd_text *out, const txd_finding_row *finding)
{
    txd_text_add(out, "| ");
    add_verdict(out, finding->verdict);
    txd_text_add(out, " | ");
    txd_markdown_add(out, finding->law, 60);
    txd_text_add(out, " | ");
    txd_markdown_code(out, finding->site, 120);
    if (finding->step > 0)
        txd_text_addf(out, ", step %lld", (long long)finding->step);
    txd_text_add(out, " | ");
    txd_markdown_add(out, finding->message, 500);
    txd_text_add(out, " |\n");
}

/* Of each law the first few, which are the worst. */
static void add_findings(txd_text *out, const txd_verdicts *verdicts)
{
    size_t shown = 0, of_law = 0;

    if (verdicts->finding_count == 0)
        return;
    txd_text_add(out, "| | law | where | found |\n|---|---|---|---|\n");
    for (size_t i = 0; i < verdicts->finding_count && shown < MOST_FINDINGS; i++) {
        const txd_finding_row *finding = &verdicts->findings[i];

        of_law = i && strcmp(finding->law, verdicts->findings[i - 1].law) == 0
                     ? of_law + 1
                     : 0;
        if (of_law >= MOST_OF_LAW)
            continue;
        add_finding(out, finding);
        shown++;
    }
    if (shown < verdicts->finding_count)
        txd_text_addf(out, "\nand %zu more, which `txdiag check` lists\n",
                      verdicts->finding_count - shown);
    txd_text_add(out, "\n");
}

static void add_laws(txd_text *out, const txd_verdicts *verdicts)
{
    static const char *const order[] = {"fail", "open", "warn", "info", "pass", "skip"};
    const char *before = "";

    if (verdicts->law_count == 0)
        return;
    txd_text_addf(out, "<details><summary>%zu laws: ", verdicts->law_count);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        size_t count = txd_verdicts_count(verdicts, order[i]);

        if (count == 0)
            continue;
        txd_text_addf(out, "%s%zu %s", before, count, order[i]);
        before = ", ";
    }
    txd_text_add(out, "</summary>\n\n| law | | worst | allowed | evaluated | note |\n"
                      "|---|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < verdicts->law_count; i++) {
        const txd_law_row *law = &verdicts->laws[i];

        txd_text_add(out, "| ");
        txd_markdown_add(out, law->name, 60);
        txd_text_add(out, " | ");
        add_verdict(out, law->verdict);
        txd_text_add(out, " | ");
        if (law->evaluated > 0)
            txd_markdown_number(out, law->worst);
        txd_text_add(out, " | ");
        if (law->evaluated > 0)
            txd_markdown_number(out, law->allowed);
        txd_text_addf(out, " | %lld | ", (long long)law->evaluated);
        txd_markdown_add(out, law->note, 160);
        txd_text_add(out, " |\n");
    }
    txd_text_add(out, "\n</details>\n");
}

/* Of all layers of a value the one that is furthest off. NaN is further than all. */
static const txd_error *worst_of(const txd_compared *compared, size_t begin, size_t end)
{
    const txd_error *worst = &compared->errors[begin];

    for (size_t i = begin + 1; i < end && !isnan(worst->relative); i++)
        if (!(compared->errors[i].relative <= worst->relative))
            worst = &compared->errors[i];
    return worst;
}

static txd_status add_errors(txd_text *out, const txd_report_source sources[2])
{
    txd_compared compared;
    txd_arena *arena;
    txd_status status;
    size_t shown = 0;

    TXD_TRY(txd_arena_create(&arena));
    status = txd_compared_measure(&compared, arena, sources[0].recording,
                                  sources[1].recording);
    if (status == TXD_OK) {
        txd_text_add(out, "\nRelative errors of ");
        txd_markdown_code(out, sources[compared.swapped ? 1 : 0].path, 200);
        txd_text_add(out, " (");
        txd_markdown_add(out, compared.formats[1], 20);
        txd_text_add(out, ") against ");
        txd_markdown_code(out, sources[compared.swapped ? 0 : 1].path, 200);
        txd_text_add(out, " (");
        txd_markdown_add(out, compared.formats[0], 20);
        txd_text_add(out, "), the worst of all layers:\n\n"
                          "| value | relative error | layer |\n|---|--:|--:|\n");
    }
    for (size_t i = 0, end; status == TXD_OK && i < compared.count; i = end) {
        const txd_error *worst;

        end = txd_compared_end(&compared, i);
        worst = worst_of(&compared, i, end);
        if (++shown > MOST_ERRORS)
            continue;
        txd_text_add(out, "| ");
        txd_markdown_code(out, worst->name, 120);
        txd_text_addf(out, " | %.3g | ", worst->relative);
        if (worst->layer >= 0)
            txd_text_addf(out, "%d", worst->layer);
        txd_text_add(out, " |\n");
    }
    if (shown > MOST_ERRORS)
        txd_text_addf(out, "\nand %zu more, in the report\n", shown - MOST_ERRORS);
    txd_arena_destroy(arena);
    return status;
}

static txd_status add_recording(txd_text *out, const txd_report_source *source,
                                txd_arena *arena)
{
    txd_verdicts verdicts;
    txd_claim claim;
    txd_status status;

    if (source->judged)
        verdicts = *source->judged;
    else
        TXD_TRY(txd_verdicts_read(&verdicts, arena, source->recording));
    status = txd_claim_init(&claim, source->recording, 0);
    if (status == TXD_OK) {
        add_summary(out, &verdicts);
        add_facts(out, source, &claim);
        add_findings(out, &verdicts);
        add_laws(out, &verdicts);
    }
    txd_claim_finish(&claim);
    return status;
}

txd_status txd_report_markdown(txd_text *out, const txd_report_source *sources,
                               size_t count)
{
    txd_arena *arena;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = add_recording(out, &sources[0], arena);
    if (status == TXD_OK && count > 1)
        status = add_errors(out, sources);
    txd_arena_destroy(arena);
    return status == TXD_OK ? txd_text_status(out) : status;
}
