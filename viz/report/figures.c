/* SPDX-License-Identifier: MIT
 *
 * The pictures of the report: attention, then every figure that shows a recording as a
 * whole, by the registry. Those whose values were not recorded are told at the end,
 * with the way to record them.
 */
#include "viz/report/html.h"
#include "viz/report/report.h"

static void note_missing(txd_report *report, const txd_figure *figure)
{
    txd_text_add(&report->missing, "<li>");
    txd_html_add(&report->missing, figure->heading, 100);
    txd_text_add(&report->missing, ": ");
    txd_html_add(&report->missing, txd_message(), 600);
    txd_text_add(&report->missing, "</li>\n");
    report->missing_count++;
}

static void add_figure(txd_report *report, const txd_figure *figure)
{
    const txd_figure_request request = {.site = figure->name,
                                        .layer = -1,
                                        .head = -1,
                                        .step = -1,
                                        .batch = -1,
                                        .other = report->other,
                                        .path = "figure.png"};
    txd_drawing drawing;
    txd_status status = txd_drawing_init(&drawing, TXD_IMAGE_PNG);

    if (status == TXD_OK)
        status = figure->draw(&drawing, report->recording, &request);
    if (status == TXD_ERR_MISSING) {
        note_missing(report, figure);
        txd_drawing_finish(&drawing);
        return;
    }
    txd_report_drawing(
        report, &(txd_caption){figure->name, figure->heading, figure->sentence, true},
        &drawing, status);
    if (status != TXD_OK || report->shown_count == TXD_REPORT_SHOWN)
        return;
    report->shown[report->shown_count].figure = figure;
    report->shown[report->shown_count++].number = report->figure_count;
}

txd_status txd_report_figures(txd_report *report)
{
    const txd_figure *figure;

    TXD_TRY(txd_report_errors(report));
    txd_report_attention(report);
    for (size_t i = 0; (figure = txd_figure_at(i)) && report->drawn == TXD_OK; i++)
        if (figure->heading && !(report->compared && figure == &txd_figure_errors))
            add_figure(report, figure);
    TXD_TRY(txd_report_norms(report));
    TXD_TRY(txd_report_entropy(report));
    txd_report_flush(report);
    return txd_text_status(&report->figures);
}

void txd_report_pictures(txd_report *report)
{
    txd_text *page = &report->page;

    txd_text_add(page, "<div id=\"figures\">\n");
    txd_text_add_bytes(page, txd_text_get(&report->figures), report->figures.length);
    txd_text_add(page, "</div>\n");
    if (report->missing_count == 0)
        return;
    txd_text_addf(page,
                  "<details>\n<summary>%zu more figure%s: the values were not recorded"
                  "</summary>\n<ul>\n",
                  report->missing_count, report->missing_count == 1 ? "" : "s");
    txd_text_add(page, txd_text_get(&report->missing));
    txd_text_add(page, "</ul>\n</details>\n");
}
