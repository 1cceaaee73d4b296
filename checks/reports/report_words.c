/* SPDX-License-Identifier: MIT
 *
 * The words that reports of every format share, so that a log, a table of tests and a
 * page of alerts say the same.
 */
#include "checks/reports/report_format.h"

#include <inttypes.h>
#include <string.h>

/* What was judged, with its number: "1 row", "27 rows". */
static void add_count(txd_text *out, uint64_t count, const char *unit)
{
    size_t length = strlen(unit);

    if (count == 1 && length > 1 && unit[length - 1] == 's')
        length--;
    txd_text_addf(out, "%" PRIu64 " %.*s", count, (int)length, unit);
}

void txd_report_measure(txd_text *out, const txd_result *result)
{
    const txd_check *check = txd_check_find(result->check);
    char worst[32], allowed[32];

    add_count(out, result->evaluated, check ? check->unit : "values");
    txd_text_addf(out, "; worst %s, allowed %s", txd_law_number(worst, result->worst),
                  txd_law_number(allowed, result->allowed));
    if (result->not_computed > 0)
        txd_text_addf(out, "; %" PRIu64 " more were not computed by this path",
                      result->not_computed);
}

void txd_report_allowance(txd_text *out, const txd_result *result)
{
    if (result->allowance && result->allowed != 0)
        txd_text_addf(out, " by %s", result->allowance);
}

void txd_report_finding(txd_text *out, const txd_finding *finding, bool verbose)
{
    txd_text_add(out, finding->site);
    if (finding->step > 0 || (verbose && finding->step == 0))
        txd_text_addf(out, ", step %d", finding->step);
    txd_text_addf(out, ": %s", finding->message);
}

void txd_report_quote(txd_text *out, const txd_judged *judged,
                      const txd_finding *finding, const char *before)
{
    txd_text quoted;

    txd_text_init(&quoted);
    if (judged->quote)
        judged->quote(&quoted, judged->quotes, finding);
    if (quoted.length > 0)
        txd_text_addf(out, "%s%s", before, txd_text_get(&quoted));
    txd_text_finish(&quoted);
}

static void add_detail(txd_text *out, const txd_judged *judged,
                       const txd_finding *finding, bool verbose)
{
    char measured[32], allowed[32];

    txd_report_finding(out, finding, verbose);
    txd_report_quote(out, judged, finding, "\n  ");
    if (finding->waived)
        txd_text_addf(out, "\n  %s", finding->waived);
    txd_text_addf(out, "\n  measured %s, allowed %s\n",
                  txd_law_number(measured, finding->measured),
                  txd_law_number(allowed, finding->allowed));
}

void txd_report_details(txd_text *out, const txd_judged *judged,
                        const txd_result *result, bool verbose)
{
    if (result->verdict != TXD_VERDICT_SKIP) {
        txd_report_measure(out, result);
        txd_report_allowance(out, result);
        txd_text_add(out, "\n");
    }
    if (result->note[0])
        txd_text_addf(out, "%s\n", result->note);
    for (size_t i = 0; i < result->finding_count; i++)
        add_detail(out, judged, &result->findings[i], verbose);
    if (result->finding_total > result->finding_count && result->finding_count > 0)
        txd_text_addf(out, "%zu places in all; the worst of each layer is listed\n",
                      result->finding_total);
    if (result->finding_count > 0 && result->look_next)
        txd_text_addf(out, "look next: %s\n", result->look_next);
}

void txd_report_counts(txd_text *out, const size_t *seen)
{
    static const char *const words[] = {"passed", "for information", "warned",
                                        "failed", "skipped",         "open"};
    static const txd_verdict order[] = {TXD_VERDICT_PASS, TXD_VERDICT_FAIL,
                                        TXD_VERDICT_WARN, TXD_VERDICT_INFO,
                                        TXD_VERDICT_OPEN, TXD_VERDICT_SKIP};
    const char *separator = "";

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (seen[order[i]] == 0)
            continue;
        txd_text_addf(out, "%s%zu %s", separator, seen[order[i]], words[order[i]]);
        separator = ", ";
    }
}

size_t txd_report_waived(const txd_result *results, size_t count)
{
    size_t waived = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < results[i].finding_count; f++)
            waived += results[i].findings[f].waived &&
                      results[i].findings[f].verdict == TXD_VERDICT_INFO;
    return waived;
}

const char *txd_report_waiver(const txd_report *report, const txd_result *result)
{
    if (txd_report_is_broken(report, result))
        return NULL;
    for (size_t i = 0; i < result->finding_count; i++) {
        const txd_finding *finding = &result->findings[i];

        if (finding->waived && (finding->bare == TXD_VERDICT_FAIL || report->strict))
            return finding->waived;
    }
    return NULL;
}

bool txd_report_unused(txd_text *out, const txd_waiver *waiver)
{
    if (waiver->covered > 0)
        return false;
    txd_text_addf(out, "%s:%d: the waiver of %s at %s ", waiver->file, waiver->line,
                  waiver->law, waiver->site);
    if (waiver->is_expired)
        txd_text_addf(out, "expired on %s and ", waiver->expires);
    if (waiver->is_judged)
        txd_text_add(out, "matches nothing: remove it");
    else
        txd_text_add(out, "matches nothing, as no file was judged by this law");
    return true;
}

bool txd_report_is_broken(const txd_report *report, const txd_result *result)
{
    return result->verdict == TXD_VERDICT_FAIL ||
           (report->strict && result->verdict == TXD_VERDICT_WARN);
}
