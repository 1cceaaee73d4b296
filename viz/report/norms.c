/* SPDX-License-Identifier: MIT
 *
 * Norms in the report, as tables: embeddings and positions side by side, because one
 * that is much longer than the other drowns it, and their tables of parameters.
 */
#include <math.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/report/html.h"
#include "viz/report/report.h"

enum { COLUMNS = 5 };

static const char value_fields[COLUMNS][16] = {"mean", "std", "min", "max",
                                               "nonfinite"};
static const char param_fields[COLUMNS][16] = {"rms", "l2", "min", "max", "nonfinite"};

static bool is_embedding(const char *site)
{
    return strncmp(site, "embed.", 6) == 0 && !txd_ends_in(site, "@grad");
}

/* The first step that has the row; a step that has it not holds NaN throughout. */
static size_t first_step(const txd_curves *curves, const double *column, size_t row)
{
    for (size_t step = 0; step < curves->steps; step++)
        if (!isnan(column[step * curves->site_count + row]))
            return step;
    return curves->steps;
}

static void add_row(txd_text *page, const txd_curves *curves,
                    double *const columns[COLUMNS], size_t row)
{
    size_t step = first_step(curves, columns[COLUMNS - 1], row);

    if (step == curves->steps)
        return;
    txd_text_add(page, "<tr><th scope=\"row\">");
    txd_html_add(page, curves->sites[row], 120);
    txd_text_add(page, "</th>");
    for (size_t i = 0; i < COLUMNS; i++) {
        txd_text_add(page, "<td class=\"number\">");
        txd_html_number(page, columns[i][step * curves->site_count + row]);
        txd_text_add(page, "</td>");
    }
    txd_text_add(page, "</tr>\n");
}

static txd_status add_table(txd_text *page, const txd_curves *curves,
                            const char fields[COLUMNS][16], const char *caption)
{
    double *columns[COLUMNS];
    bool any = false;

    for (size_t row = 0; row < curves->site_count; row++)
        any |= is_embedding(curves->sites[row]);
    for (size_t i = 0; i < COLUMNS && any; i++)
        TXD_TRY(txd_curves_read(&columns[i], curves, fields[i]));
    if (!any)
        return TXD_OK;
    txd_text_addf(page,
                  "<p class=\"quiet\">%s</p>\n<div class=\"scroll\">\n<table>\n<thead>"
                  "<tr><th></th>",
                  caption);
    for (size_t i = 0; i < COLUMNS; i++)
        txd_text_addf(page, "<th class=\"number\">%s</th>",
                      i + 1 == COLUMNS ? "not finite" : fields[i]);
    txd_text_add(page, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < curves->site_count; row++)
        if (is_embedding(curves->sites[row]))
            add_row(page, curves, columns, row);
    txd_text_add(page, "</tbody>\n</table>\n</div>\n");
    return TXD_OK;
}

/* What cannot be read leaves its reason. */
static void add_tables(txd_report *report, txd_arena *arena)
{
    txd_text *page = &report->figures;
    txd_curves curves;
    txd_status status =
        txd_curves_open(&curves, arena, report->recording, "series/norms");

    if (status == TXD_OK)
        status = add_table(page, &curves, value_fields,
                           "L2 norms of the tokens' vectors at the first step");
    if (status == TXD_OK) {
        status = txd_curves_open(&curves, arena, report->recording, "series/param");
        if (status == TXD_OK)
            status = add_table(page, &curves, param_fields,
                               "The tables that they come from: elements");
        else if (status == TXD_ERR_MISSING)
            status = TXD_OK;
    }
    if (status == TXD_OK)
        return;
    txd_text_add(page, "<p class=\"quiet\">");
    txd_html_add(page, txd_message(), 600);
    txd_text_add(page, "</p>\n");
}

txd_status txd_report_norms(txd_report *report)
{
    txd_arena *arena;
    size_t entry;

    if (txd_trace_find(report->recording, &entry, "series/norms") != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_arena_create(&arena));
    txd_text_add(&report->figures, "<details>\n<summary>Norms of embeddings, in "
                                   "numbers</summary>\n");
    add_tables(report, arena);
    txd_arena_destroy(arena);
    txd_text_add(&report->figures, "</details>\n");
    return txd_text_status(&report->figures);
}
