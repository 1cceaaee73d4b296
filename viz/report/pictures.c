/* SPDX-License-Identifier: MIT
 *
 * Pictures of the report, two at a time: a page has twenty of them, and gnuplot uses
 * one core. One that cannot be drawn leaves its reason in its place.
 */
#include <pthread.h>
#include <stdio.h>

#include "viz/report/html.h"
#include "viz/report/report.h"

static void *draw(void *self)
{
    txd_pending *pending = self;

    pending->status = txd_drawing_image(&pending->image, &pending->drawing);
    if (pending->status != TXD_OK) /* messages are a thread's own */
        snprintf(pending->message, sizeof pending->message, "%s", txd_message());
    return NULL;
}

static void draw_all(txd_report *report)
{
    pthread_t threads[TXD_REPORT_AT_ONCE];
    bool started[TXD_REPORT_AT_ONCE] = {false};
    txd_signals signals;

    txd_signals_hold(&signals); /* the threads are to have this mask */
    for (size_t i = 1; i < report->pending_count; i++)
        started[i] = pthread_create(&threads[i], NULL, draw, &report->pending[i]) == 0;
    for (size_t i = 0; i < report->pending_count; i++)
        if (!started[i])
            draw(&report->pending[i]);
    for (size_t i = 0; i < report->pending_count; i++)
        if (started[i])
            (void)pthread_join(threads[i], NULL);
    txd_signals_release(&signals);
}

/* What would fail the next picture as well: gnuplot, its fonts, a disk, a signal. */
static void note_failure(txd_report *report, txd_status status, const char *message)
{
    bool lasts = status == TXD_ERR_MISSING || status == TXD_ERR_IO ||
                 status == TXD_ERR_LIMIT || status == TXD_ERR_INTERRUPTED;

    if (!lasts || report->drawn != TXD_OK)
        return;
    report->drawn = status;
    snprintf(report->reason, sizeof report->reason, "%s", message);
}

static void add_reason(txd_text *out, const char *message)
{
    txd_text_add(out, "<p class=\"quiet\">No picture: ");
    txd_html_add(out, message, 600);
    txd_text_add(out, "</p>\n");
}

static void add_image(txd_text *out, const txd_pending *pending)
{
    if (pending->status != TXD_OK) {
        add_reason(out, pending->message);
        return;
    }
    txd_text_add(out, "<div class=\"picture\"><img alt=\"");
    txd_html_add(out, pending->alt, sizeof pending->alt);
    txd_text_add(out, "\" src=\"data:image/png;base64,");
    txd_html_base64(out, pending->image.data, pending->image.length);
    txd_text_add(out, "\"></div>\n");
}

void txd_report_flush(txd_report *report)
{
    txd_text *figures = &report->figures, after;
    size_t begin = report->pending_count ? report->pending[0].at : 0;

    if (report->pending_count == 0)
        return;
    draw_all(report);
    txd_text_init(&after); /* what stands behind the first place, to be added again */
    txd_text_add(&after, txd_text_get(figures) + begin);
    figures->length = begin;
    for (size_t i = 0; i < report->pending_count; i++) {
        txd_pending *pending = &report->pending[i];
        size_t end =
            i + 1 < report->pending_count ? pending[1].at - begin : after.length;

        add_image(figures, pending);
        if (after.data)
            txd_text_add_bytes(figures, after.data + (pending->at - begin),
                               end - (pending->at - begin));
        note_failure(report, pending->status, pending->message);
        txd_text_finish(&pending->image);
        txd_drawing_finish(&pending->drawing);
    }
    if (txd_text_status(&after) != TXD_OK)
        figures->status = txd_text_status(&after);
    txd_text_finish(&after);
    report->pending_count = 0;
}

static void open_figure(txd_text *out, const txd_caption *caption)
{
    txd_text_add(out, "<figure");
    if (caption->id)
        txd_text_addf(out, " id=\"figure-%s\"", caption->id);
    txd_text_addf(out, ">\n<figcaption>%s", caption->is_heading ? "<h3>" : "");
    txd_html_add(out, caption->text, 600);
    txd_text_addf(out, "%s</figcaption>\n", caption->is_heading ? "</h3>" : "");
}

void txd_report_drawing(txd_report *report, const txd_caption *caption,
                        txd_drawing *drawing, txd_status status)
{
    txd_text *figures = &report->figures;
    txd_pending *pending;

    report->figure_count++;
    open_figure(figures, caption);
    if (status != TXD_OK) {
        if (status == TXD_ERR_IO) /* else it is this figure that there is not */
            note_failure(report, status, txd_message());
        add_reason(figures, txd_message());
        txd_drawing_finish(drawing);
        txd_text_add(figures, "</figure>\n");
        return;
    }
    pending = &report->pending[report->pending_count++];
    *pending = (txd_pending){.drawing = *drawing, .at = figures->length};
    txd_text_init(&pending->image);
    snprintf(pending->alt, sizeof pending->alt, "%s: %.200s", caption->sentence,
             caption->text);
    txd_text_add(figures, "</figure>\n");
    if (report->pending_count == TXD_REPORT_AT_ONCE)
        txd_report_flush(report);
}

void txd_report_figure(txd_report *report, const char *id, const txd_figure *figure,
                       const txd_figure_request *request, const char *caption)
{
    txd_drawing drawing;
    txd_status status = txd_drawing_init(&drawing, TXD_IMAGE_PNG);

    if (status == TXD_OK)
        status = figure ? figure->draw(&drawing, report->recording, request)
                        : TXD_ERR_CONFIG;
    txd_report_drawing(
        report, &(txd_caption){id, caption, figure ? figure->sentence : "", false},
        &drawing, status);
}
