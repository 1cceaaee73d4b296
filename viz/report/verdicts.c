/* SPDX-License-Identifier: MIT
 *
 * What was found, each finding with its ways to where it is seen, and all laws.
 */
#include <math.h>
#include <string.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

enum { MOST_FINDINGS = 100, MOST_OPEN = 3 };

/* A verdict as a class name: one of the known words; what is none decides nothing. */
static const char *class_of(const char *verdict)
{
    static const char *const known[] = {"pass", "info", "warn", "fail", "skip", "open"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], verdict) == 0)
            return known[i];
    return "open";
}

static void add_verdict(txd_text *page, const char *verdict)
{
    txd_text_addf(page, "<span class=\"verdict %s\">", class_of(verdict));
    txd_html_add(page, verdict, 20);
    txd_text_add(page, "</span>");
}

/* The piece of the token at a place, if it is known. */
static void add_piece(txd_text *page, const txd_claim *claim,
                      const txd_finding_row *finding, int64_t place, bool of_memory)
{
    const char *piece = txd_claim_piece(
        claim, finding->step < 0 ? 0 : (size_t)finding->step,
        finding->batch < 0 ? 0 : (size_t)finding->batch, (size_t)place, of_memory);

    if (!piece)
        return;
    txd_text_add(page, " <q>");
    txd_html_add(page, piece, 40);
    txd_text_add(page, "</q>");
}

static void add_place(txd_text *page, const txd_claim *claim,
                      const txd_finding_row *finding)
{
    /* keys of cross-attention are rows of the memory */
    bool memory = strstr(finding->site, "cross") != NULL;
    const struct {
        const char *name;
        int64_t value;
        bool is_token, of_memory;
    } places[] = {{"step", finding->step, false, false},
                  {"batch", finding->batch, false, false},
                  {"head", finding->head, false, false},
                  {"query", finding->query, true, false},
                  {"key", finding->key, true, memory}};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].value < 0)
            continue;
        txd_text_addf(page, ", %s %lld", places[i].name, (long long)places[i].value);
        if (places[i].is_token)
            add_piece(page, claim, finding, places[i].value, places[i].of_memory);
    }
}

/* To the pictures; and, by the script, to the cell in the explorer. */
static void add_ways(txd_report *report, const txd_finding_row *finding)
{
    txd_text *page = &report->page;
    bool cross = strstr(finding->site, ".cross.") != NULL;
    bool has_cell = finding->layer >= 0 && (cross || strstr(finding->site, ".attn."));
    txd_way ways[TXD_REPORT_WAYS];
    size_t count = txd_report_ways(ways, report, finding);

    if (count == 0 && !has_cell)
        return;
    txd_text_add(page, "<p class=\"ways\">");
    for (size_t i = 0; i < count; i++)
        txd_text_addf(page, "<a href=\"#figure-%s\">See figure %zu</a>\n", ways[i].id,
                      ways[i].number);
    if (has_cell)
        txd_text_addf(
            page,
            "<button type=\"button\" class=\"show\" hidden data-kind=\"%s\" "
            "data-step=\"%lld\" data-batch=\"%lld\" data-layer=\"%lld\" "
            "data-head=\"%lld\" data-query=\"%lld\" data-key=\"%lld\">Show the "
            "cell</button>",
            cross ? "cross" : "attn",
            (long long)(finding->step < 0 ? 0 : finding->step),
            (long long)(finding->batch < 0 ? 0 : finding->batch),
            (long long)finding->layer,
            (long long)(finding->head < 0 ? 0 : finding->head),
            (long long)finding->query, (long long)finding->key);
    txd_text_add(page, "</p>\n");
}

static void add_finding(txd_report *report, const txd_finding_row *finding)
{
    txd_text *page = &report->page;

    txd_text_addf(page, "<div class=\"finding %s\">\n<h3>", class_of(finding->verdict));
    add_verdict(page, finding->verdict);
    txd_text_add(page, " ");
    txd_html_add(page, finding->law, 60);
    txd_text_add(page, "</h3>\n<p><code>");
    txd_html_add(page, finding->site, 120);
    txd_text_add(page, "</code>");
    add_place(page, &report->claim, finding);
    txd_text_add(page, "</p>\n<p>");
    txd_html_add(page, finding->message, 500);
    txd_text_add(page, "</p>\n");
    if (!isnan(finding->measured)) {
        txd_text_add(page, "<p class=\"quiet\">measured ");
        txd_html_number(page, finding->measured);
        if (!isnan(finding->allowed)) {
            txd_text_add(page, ", allowed ");
            txd_html_number(page, finding->allowed);
        }
        txd_text_add(page, "</p>\n");
    }
    add_ways(report, finding);
    txd_text_add(page, "</div>\n");
}

static void add_law(txd_text *page, const txd_law_row *law)
{
    txd_text_add(page, "<tr><th scope=\"row\">");
    txd_html_add(page, law->name, 60);
    txd_text_add(page, "</th><td>");
    add_verdict(page, law->verdict);
    txd_text_add(page, "</td><td class=\"number\">");
    if (law->evaluated > 0 && law->findings > 0 && isnan(law->worst))
        txd_text_add(page, "NaN");
    else if (law->evaluated > 0)
        txd_html_number(page, law->worst);
    txd_text_add(page, "</td><td class=\"number\">");
    if (law->evaluated > 0)
        txd_html_number(page, law->allowed);
    txd_text_addf(page,
                  "</td><td class=\"number\">%lld</td><td class=\"number\">%lld</td>"
                  "<td class=\"number\">%lld</td><td class=\"note\">",
                  (long long)law->findings, (long long)law->evaluated,
                  (long long)law->not_computed);
    txd_html_add(page, law->note, 300);
    txd_text_add(page, "</td></tr>\n");
}

/* Findings from `begin` on that are of the same law and verdict; returns their end. */
static size_t end_of_law(const txd_verdicts *verdicts, size_t begin, size_t count)
{
    const txd_finding_row *first = &verdicts->findings[begin];
    size_t end = begin;

    while (end < count && strcmp(verdicts->findings[end].law, first->law) == 0 &&
           strcmp(verdicts->findings[end].verdict, first->verdict) == 0)
        end++;
    return end;
}

/* One fault can break a law in every layer: the first few are seen, the others are a
 * click away. */
static void add_findings(txd_report *report)
{
    const txd_verdicts *verdicts = &report->verdicts;
    txd_text *page = &report->page;
    size_t count = verdicts->finding_count;

    if (count == 0)
        return;
    count = count < MOST_FINDINGS ? count : MOST_FINDINGS;
    txd_text_add(page, "<section id=\"findings\">\n<h2>Findings</h2>\n");
    for (size_t i = 0, end; i < count; i = end) {
        size_t seen = i + MOST_OPEN;

        end = end_of_law(verdicts, i, count);
        if (end <= seen + 1) /* one more is not worth a click */
            seen = end;
        for (size_t j = i; j < seen; j++)
            add_finding(report, &verdicts->findings[j]);
        if (seen == end)
            continue;
        txd_text_addf(page, "<details>\n<summary>%zu more of ", end - seen);
        txd_html_add(page, verdicts->findings[i].law, 60);
        txd_text_add(page, "</summary>\n");
        for (size_t j = seen; j < end; j++)
            add_finding(report, &verdicts->findings[j]);
        txd_text_add(page, "</details>\n");
    }
    if (verdicts->finding_count > MOST_FINDINGS)
        txd_text_addf(page, "<p>and %zu more, which txdiag check lists</p>\n",
                      verdicts->finding_count - MOST_FINDINGS);
    txd_text_add(page, "</section>\n");
}

/* Laws of which there is nothing to do are a click away. */
static const struct {
    const char *verdict, *words;
} folds[] = {{"pass", "passed"}, {"skip", "skipped"}};

static bool is_folded(const char *verdict)
{
    return strcmp(verdict, folds[0].verdict) == 0 ||
           strcmp(verdict, folds[1].verdict) == 0;
}

static void add_laws(txd_text *page, const txd_verdicts *verdicts, const char *verdict)
{
    txd_text_add(page,
                 "<div class=\"scroll\">\n<table>\n"
                 "<thead><tr><th>law</th><th>verdict</th>"
                 "<th class=\"number\">worst</th><th class=\"number\">allowed</th>"
                 "<th class=\"number\">broken at</th>"
                 "<th class=\"number\">evaluated</th>"
                 "<th class=\"number\">not computed</th><th>note</th></tr>"
                 "</thead>\n<tbody>\n");
    for (size_t i = 0; i < verdicts->law_count; i++)
        if (verdict ? strcmp(verdicts->laws[i].verdict, verdict) == 0
                    : !is_folded(verdicts->laws[i].verdict))
            add_law(page, &verdicts->laws[i]);
    txd_text_add(page, "</tbody>\n</table>\n</div>\n");
}

void txd_report_verdicts(txd_report *report)
{
    const txd_verdicts *verdicts = &report->verdicts;
    txd_text *page = &report->page;
    size_t folded = 0;

    add_findings(report);
    if (verdicts->law_count == 0)
        return;
    txd_text_add(page, "<section id=\"laws\">\n<h2>Laws</h2>\n");
    for (size_t i = 0; i < verdicts->law_count; i++)
        folded += is_folded(verdicts->laws[i].verdict);
    if (folded < verdicts->law_count)
        add_laws(page, verdicts, NULL);
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        size_t count = txd_verdicts_count(verdicts, folds[i].verdict);

        if (count == 0)
            continue;
        txd_text_addf(page, "<details>\n<summary>%zu %s</summary>\n", count,
                      folds[i].words);
        add_laws(page, verdicts, folds[i].verdict);
        txd_text_add(page, "</details>\n");
    }
    txd_text_add(page, "</section>\n");
}
