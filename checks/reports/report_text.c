/* SPDX-License-Identifier: MIT
 *
 * Verdicts for people: a line per law with what was judged and how close it came, the
 * findings below it, and a summary that counts every verdict.
 */
#include "checks/reports/report_format.h"

#include <string.h>

static const char *const upper[] = {"PASS", "INFO", "WARN", "FAIL", "SKIP", "OPEN"};

/* What holds within the rounding of the format needs no word more. */
static bool names_allowance(const txd_result *result, const txd_report_style *style)
{
    if (!result->allowance || result->allowed == 0)
        return false;
    return style->verbose || result->verdict != TXD_VERDICT_PASS ||
           strncmp(result->allowance, "checks.", 7) == 0;
}

static void add_measure(txd_text *out, const txd_result *result,
                        const txd_report_style *style)
{
    bool is_named = names_allowance(result, style);

    txd_text_add(out, "(");
    txd_report_measure(out, result);
    txd_text_add(out, ")");
    if (is_named)
        txd_report_allowance(out, result);
    if (result->note[0])
        txd_text_add(out, is_named ? "; " : " ");
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

/* False where the line of the law tells the numbers of something else that it judges.
 */
static bool is_told(const txd_result *result)
{
    for (size_t i = 0; i < result->finding_count; i++)
        if (!(result->findings[i].measured < result->worst) &&
            !(result->findings[i].measured > result->worst))
            return true;
    return false;
}

static void add_finding(txd_text *out, const txd_finding *finding,
                        const txd_result *result, const txd_report_style *style)
{
    bool verbose = style->verbose;
    char measured[32], allowed[32];

    txd_text_addf(out, "     %s: ", result->check);
    txd_report_finding(out, finding, verbose);
    txd_text_add(out, "\n");
    if (finding->waived)
        txd_text_addf(out, "       %s\n", finding->waived);
    add_quote(out, finding, style);
    if (verbose || !is_told(result))
        txd_text_addf(out, "       measured %s, allowed %s\n",
                      txd_law_number(measured, finding->measured),
                      txd_law_number(allowed, finding->allowed));
}

static void add_findings(txd_text *out, const txd_result *result,
                         const txd_report_style *style)
{
    for (size_t i = 0; i < result->finding_count; i++)
        add_finding(out, &result->findings[i], result, style);
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

/* What holds comes first and what is broken last, next to the summary: a report is
 * longer than a screen. */
static const txd_verdict order[] = {TXD_VERDICT_PASS, TXD_VERDICT_SKIP,
                                    TXD_VERDICT_INFO, TXD_VERDICT_OPEN,
                                    TXD_VERDICT_WARN, TXD_VERDICT_FAIL};

/* Skipped, or open with nothing to show but why. */
static bool has_reason_only(const txd_result *result)
{
    return (result->verdict == TXD_VERDICT_SKIP ||
            result->verdict == TXD_VERDICT_OPEN) &&
           result->finding_count == 0 && result->note[0];
}

/* One NaN leaves most laws open, each with a number of its own. */
static bool is_of_nan(const txd_result *result)
{
    return result->verdict == TXD_VERDICT_OPEN &&
           (strstr(result->note, "finite") || strstr(result->note, "NaN"));
}

static bool is_same_reason(const txd_result *a, const txd_result *b)
{
    return a->verdict == b->verdict && has_reason_only(a) && has_reason_only(b) &&
           (strcmp(a->note, b->note) == 0 || (is_of_nan(a) && is_of_nan(b)));
}

/* What is skipped, or open, for one and the same reason stands on one line, that of the
 * first: true if it is not this one's. */
static bool is_told_already(const txd_result *results, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (is_same_reason(&results[j], &results[i]))
            return true;
    return false;
}

/* The laws behind the first of these that have its verdict for its reason. */
static void add_others(txd_text *out, const txd_result *results, size_t count)
{
    const char *separator = "; so too: ";

    for (size_t j = 1; j < count; j++)
        if (is_same_reason(&results[0], &results[j])) {
            txd_text_addf(out, "%s%s", separator, results[j].check);
            separator = ", ";
        }
}

/* The first of `count` results. */
static void add_result(txd_text *out, const txd_result *result, size_t count, int width,
                       const txd_report_style *style)
{
    txd_text_addf(out, "%-4s %-*s  ", upper[result->verdict], width, result->check);
    if (result->verdict != TXD_VERDICT_SKIP)
        add_measure(out, result, style);
    txd_text_add(out, result->note);
    if (!style->verbose)
        add_others(out, result, count);
    txd_text_add(out, "\n");
    add_findings(out, result, style);
    if (result->finding_count > 0 && result->look_next)
        txd_text_addf(out, "     look next: %s\n", result->look_next);
}

/* A NaN leaves most other laws open; where none is, `finite` tells of a key that is
 * -Inf although it is shown, and the laws of the mask say why. */
static bool is_finite_first(const txd_result *results, size_t count, size_t open)
{
    for (size_t i = 0; i < count && open > 0; i++)
        if (strcmp(results[i].check, "finite") == 0)
            return results[i].verdict == TXD_VERDICT_FAIL;
    return false;
}

static void add_begin(txd_text *out, const txd_result *results, size_t count,
                      size_t open)
{
    const char *law;
    const txd_finding *first = txd_report_begin_with(&law, results, count);

    if (first)
        txd_text_addf(out, "; begin with %s: %s", law, first->site);
    else if (is_finite_first(results, count, open))
        txd_text_add(out, "; begin with finite: the others may follow from it");
}

static void add_summary(txd_text *out, const txd_result *results, size_t count)
{
    size_t seen[TXD_VERDICT_OPEN + 1] = {0};

    for (size_t i = 0; i < count; i++)
        seen[results[i].verdict]++;
    if (count == 0)
        txd_text_add(out, "no law is left of what --only and --skip say");
    else
        txd_text_addf(out, "%zu law%s: ", count, count == 1 ? "" : "s");
    txd_report_counts(out, seen);
    if (seen[TXD_VERDICT_SKIP] == count)
        txd_text_add(out, "; nothing was evaluated");
    if (txd_report_waived(results, count) > 0)
        txd_text_addf(out, "; %zu waived", txd_report_waived(results, count));
    add_begin(out, results, count, seen[TXD_VERDICT_OPEN]);
    txd_text_add(out, "\n");
}

/* Brief, what held and what was skipped are only counted; but where nothing was
 * evaluated the reasons are all that there is to say. */
static bool is_listed(const txd_result *results, size_t count, size_t i,
                      const txd_report_style *style)
{
    if (style->verbose)
        return true;
    if (style->brief && results[i].verdict == TXD_VERDICT_PASS)
        return false;
    if (style->brief && results[i].verdict == TXD_VERDICT_SKIP &&
        txd_checks_exit(results, count, false) != 77)
        return false;
    return !is_told_already(results, i);
}

void txd_report_text(txd_text *out, const char *source, const txd_result *results,
                     size_t count, const txd_report_style *style)
{
    static const txd_report_style usual;
    const txd_report_style *how = style ? style : &usual;
    int width = width_of_names(results, count);

    if (source)
        txd_text_addf(out, "%s\n", source);
    for (size_t verdict = 0; verdict < sizeof order / sizeof *order; verdict++)
        for (size_t i = 0; i < count; i++)
            if (results[i].verdict == order[verdict] &&
                is_listed(results, count, i, how))
                add_result(out, &results[i], count - i, width, how);
    add_summary(out, results, count);
}

/* ---- of several files ---- */

/* A file begins with our name, so that the next report may replace it. */
static void begin(txd_report *report)
{
    txd_text_add(&report->text, report->to_file ? "txdiag check\n" : "");
}

static void add(txd_report *report, const txd_judged *judged)
{
    const txd_report_style style = {.verbose = report->verbose,
                                    .brief = report->brief,
                                    .quote = judged->quote,
                                    .self = judged->quotes};

    if (judged->error) /* was said; the total counts it */
        return;
    txd_report_text(&report->text, judged->source, judged->results, judged->count,
                    &style);
    if (judged->warning)
        txd_text_addf(&report->text, "warning: %s\n", judged->warning);
    if (judged->remark)
        txd_text_add(&report->text, judged->remark);
}

static void add_unused(txd_report *report)
{
    size_t count = report->waivers ? report->waivers->count : 0;

    for (size_t i = 0; i < count; i++)
        if (txd_report_unused(&report->text, &report->waivers->items[i]))
            txd_text_add(&report->text, "\n");
}

static void end(txd_report *report)
{
    size_t files = 0;

    add_unused(report);
    for (size_t i = 0; i < 4; i++)
        files += report->files[i];
    if (files < 2)
        return;
    txd_report_total(&report->text, report);
    txd_text_add(&report->text, "\n");
}

const txd_format txd_format_text = {
    .name = "text", .begin = begin, .add = add, .end = end};
