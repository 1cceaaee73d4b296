/* SPDX-License-Identifier: MIT
 *
 * Entropies in the report: a table that holds every number.
 */
#include <math.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

enum { MOST_HEADS = 64, MOST_LAYERS = 200 };

/* Mean of the finite entropies of one head, over batch rows and queries. */
static txd_status mean_entropy(double *out, const txd_trace *recording, size_t entry,
                               const txd_trace_info *info, const size_t place[2])
{
    const size_t start[5] = {0, place[0], 0, place[1], 0};
    const size_t count[5] = {1, 1, info->dims[2], 1, info->dims[4]};
    size_t total = info->dims[2] * info->dims[4], used = 0;
    txd_arena *arena;
    double *values, sum = 0;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    values = txd_arena_alloc(arena, total, sizeof *values);
    status = values ? txd_trace_read(recording, values, entry, start, count, TXD_F64)
                    : TXD_ERR_MEMORY;
    for (size_t i = 0; i < total && status == TXD_OK; i++) {
        if (!isfinite(values[i]))
            continue;
        sum += values[i];
        used++;
    }
    txd_arena_destroy(arena);
    if (status == TXD_OK)
        *out = used ? sum / (double)used : NAN;
    return status;
}

static txd_status add_entropy_rows(txd_report *report, size_t entry,
                                   const txd_trace_info *info)
{
    txd_text *page = &report->figures;
    size_t heads = info->dims[3] < MOST_HEADS ? info->dims[3] : MOST_HEADS;

    for (size_t layer = 0; layer < info->dims[1] && layer < MOST_LAYERS; layer++) {
        txd_text_addf(page, "<tr><th scope=\"row\">layer %zu</th>", layer);
        for (size_t head = 0; head < heads; head++) {
            const size_t place[2] = {layer, head};
            double mean = 0;

            TXD_TRY(mean_entropy(&mean, report->recording, entry, info, place));
            txd_text_add(page, "<td class=\"number\">");
            if (!isnan(mean))
                txd_text_addf(page, "%.3f", mean);
            txd_text_add(page, "</td>");
        }
        txd_text_add(page, "</tr>\n");
    }
    return TXD_OK;
}

txd_status txd_report_entropy(txd_report *report)
{
    txd_text *page = &report->figures;
    txd_trace_info info;
    size_t entry;

    if (txd_trace_find(report->recording, &entry, "rows/entropy") != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_trace_get(report->recording, &info, entry));
    if (info.rank != 5 || info.dims[0] == 0)
        return TXD_OK;
    txd_text_add(page, "<details>\n<summary>Mean entropy of each head, in numbers"
                       "</summary>\n<p class=\"quiet\">Mean entropy "
                       "of the attention weights at the first "
                       "step, in nat: 0 looks at one key; a constant near ln(keys) "
                       "looks at all alike</p>\n<div "
                       "class=\"scroll\">\n<table>\n<thead><tr><th></th>");
    for (size_t head = 0; head < info.dims[3] && head < MOST_HEADS; head++)
        txd_text_addf(page, "<th class=\"number\">head %zu</th>", head);
    txd_text_add(page, "</tr></thead>\n<tbody>\n");
    TXD_TRY(add_entropy_rows(report, entry, &info));
    txd_text_add(page, "</tbody>\n</table>\n</div>\n</details>\n");
    return TXD_OK;
}
