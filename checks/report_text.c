/* SPDX-License-Identifier: MIT
 *
 * Verdicts for people: a line per law with what was judged and how close it came, the
 * findings below it, and a summary that counts every verdict.
 */
#include "checks/law.h"

#include <inttypes.h>
#include <string.h>

static const char *const upper[] = {"PASS", "INFO", "WARN", "FAIL", "SKIP", "OPEN"};

/* What was judged, with its number: "1 row", "27 rows". */
static void add_count(txd_text *out, uint64_t count, const char *unit)
{
    size_t length = 0;

    while (unit[length])
        length++;
    if (count == 1 && length > 1 && unit[length - 1] == 's')
        length--;
    txd_text_addf(out, "%" PRIu64 " %.*s", count, (int)length, unit);
}

static void add_measure(txd_text *out, const txd_result *result)
{
    const txd_check *check = txd_check_find(result->check);
    char worst[32], allowed[32];

    txd_text_add(out, "(");
    add_count(out, result->evaluated, check ? check->unit : "values");
    txd_text_addf(out, "; worst %s, allowed %s", txd_law_number(worst, result->worst),
                  txd_law_number(allowed, result->allowed));
    if (result->not_computed > 0)
        txd_text_addf(out, "; %" PRIu64 " more were not computed by this path",
                      result->not_computed);
    txd_text_add(out, ")");
}

/* A line of its own: the sentence above is the law's. */
static void add_quote(txd_text *out, const txd_finding *finding,
                      const txd_report_style *style)
{
    txd_text quoted;

    txd_text_init(&quoted);
    if (style->quote)
        style->quote(&quoted, style->self, finding);
    if (quoted.length > 0)
        txd_text_addf(out, "       %s\n", txd_text_get(&quoted));
    txd_text_finish(&quoted);
}

static void add_finding(txd_text *out, const txd_finding *finding, const char *law,
                        const txd_report_style *style)
{
    bool verbose = style->verbose;
    char measured[32], allowed[32];

    txd_text_addf(out, "     %s: %s", law, finding->site);
    if (finding->step > 0 || (verbose && finding->step == 0))
        txd_text_addf(out, ", step %d", finding->step);
    txd_text_addf(out, ": %s\n", finding->message);
    add_quote(out, finding, style);
    if (verbose)
        txd_text_addf(out, "       measured %s, allowed %s\n",
                      txd_law_number(measured, finding->measured),
                      txd_law_number(allowed, finding->allowed));
}

static void add_findings(txd_text *out, const txd_result *result,
                         const txd_report_style *style)
{
    for (size_t i = 0; i < result->finding_count; i++)
        add_finding(out, &result->findings[i], result->check, style);
    if (result->finding_total > result->finding_count && result->finding_count > 0)
        txd_text_addf(out,
                      "     %zu places in all; the worst of each layer is listed\n",
                      result->finding_total);
}

/* Of the column of names: as wide as the longest, and as it always was. */
static int width_of_names(const txd_result *results, size_t count)
{
    size_t width = 13;

    for (size_t i = 0; i < count; i++)
        if (strlen(results[i].check) > width)
            width = strlen(results[i].check);
    return (int)width;
}

static void add_result(txd_text *out, const txd_result *result, int width,
                       const txd_report_style *style)
{
    bool has_measure = result->verdict != TXD_VERDICT_SKIP;

    txd_text_addf(out, "%-4s %-*s  ", upper[result->verdict], width, result->check);
    if (has_measure)
        add_measure(out, result);
    if (result->note[0])
        txd_text_addf(out, "%s%s", has_measure ? " " : "", result->note);
    txd_text_add(out, "\n");
    add_findings(out, result, style);
    if (result->finding_count > 0 && result->look_next)
        txd_text_addf(out, "     look next: %s\n", result->look_next);
}

/* What is not finite breaks or leaves open most other laws. */
static bool is_finite_first(const txd_result *results, size_t count, size_t bad)
{
    for (size_t i = 0; i < count && bad > 1; i++)
        if (strcmp(results[i].check, "finite") == 0)
            return results[i].verdict == TXD_VERDICT_FAIL;
    return false;
}

static void add_summary(txd_text *out, const txd_result *results, size_t count)
{
    static const char *const words[] = {"passed", "for information", "warned",
                                        "failed", "skipped",         "open"};
    size_t seen[TXD_VERDICT_OPEN + 1] = {0};
    static const txd_verdict order[] = {TXD_VERDICT_PASS, TXD_VERDICT_FAIL,
                                        TXD_VERDICT_WARN, TXD_VERDICT_INFO,
                                        TXD_VERDICT_OPEN, TXD_VERDICT_SKIP};
    const char *separator = ": ";

    for (size_t i = 0; i < count; i++)
        seen[results[i].verdict]++;
    txd_text_addf(out, "%zu law%s", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (seen[order[i]] == 0)
            continue;
        txd_text_addf(out, "%s%zu %s", separator, seen[order[i]], words[order[i]]);
        separator = ", ";
    }
    if (seen[TXD_VERDICT_SKIP] == count)
        txd_text_add(out, "; nothing was evaluated");
    if (is_finite_first(results, count,
                        seen[TXD_VERDICT_FAIL] + seen[TXD_VERDICT_OPEN]))
        txd_text_add(out, "; begin with finite: the others may follow from it");
    txd_text_add(out, "\n");
}

void txd_report_text(txd_text *out, const char *source, const txd_result *results,
                     size_t count, const txd_report_style *style)
{
    static const txd_report_style usual;
    int width = width_of_names(results, count);

    if (source)
        txd_text_addf(out, "%s\n", source);
    for (size_t i = 0; i < count; i++)
        add_result(out, &results[i], width, style ? style : &usual);
    add_summary(out, results, count);
}
