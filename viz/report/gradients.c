/* SPDX-License-Identifier: MIT
 *
 * The gradients in the report: norms by layer, of parameters and along the residual
 * stream, and over steps. Most recordings have none: one line says how to get them.
 */
#include "viz/read/curves.h"
#include "viz/report/html.h"
#include "viz/report/report.h"

static void draw(txd_report *report, const txd_figure *figure, const char *site,
                 const char *caption)
{
    const txd_figure_request request = {.site = site,
                                        .layer = -1,
                                        .head = -1,
                                        .step = -1,
                                        .batch = -1,
                                        .path = "figure.png"};

    if (report->drawn == TXD_OK)
        txd_report_figure(report, NULL, figure, &request, caption);
}

/* More than one step: one point is no curve. */
static bool has_steps(const txd_report *report)
{
    txd_trace_info info;
    size_t entry;

    return txd_trace_find(report->recording, &entry, "steps/loss") == TXD_OK &&
           txd_trace_get(report->recording, &info, entry) == TXD_OK && info.rank == 1 &&
           info.dims[0] > 1;
}

static void add_norms(txd_report *report, const txd_curves *curves)
{
    static const struct {
        const char *site, *caption;
    } figures[] = {
        {"layers.*@grad", "Norm of the gradient by all parameters of each layer"},
        {"layers.*.resid.pre@grad", "Norm of the gradient by the input of each layer: "
                                    "how much of it arrives from above"},
    };
    bool any = false;

    for (size_t i = 0; i < 2; i++) {
        bool found = false;

        for (size_t j = 0; j < curves->site_count && !found; j++)
            found = txd_site_layer_in(figures[i].site, curves->sites[j]) >= 0;
        if (found)
            draw(report, &txd_figure_gradients, figures[i].site, figures[i].caption);
        any |= found;
    }
    if (!any)
        draw(report, &txd_figure_gradients, "series/grad_norm",
             "Norms of gradients by layer");
}

txd_status txd_report_gradients(txd_report *report)
{
    txd_text *page = &report->figures;
    txd_arena *arena;
    txd_curves curves;
    txd_status status;

    if (txd_figure_gradients.heading) /* the registry's figures show them */
        return TXD_OK;
    TXD_TRY(txd_arena_create(&arena));
    status = txd_curves_open(&curves, arena, report->recording, "series/grad_norm");
    if (status == TXD_OK) {
        txd_text_add(page, "<section>\n<h2>Gradients</h2>\n");
        add_norms(report, &curves);
    } else if (status == TXD_ERR_MISSING) {
        txd_text_add(page, "<p class=\"quiet\">No gradient norms were recorded: add "
                           "<code>{ probe = \"grad_norm\"; }</code> to "
                           "<code>record</code> in model.cfg</p>\n");
    } else {
        txd_text_add(page, "<section>\n<h2>Gradients</h2>\n<p class=\"quiet\">");
        txd_html_add(page, txd_message(), 600);
        txd_text_add(page, "</p>\n");
    }
    if (has_steps(report))
        draw(report, &txd_figure_steps, "steps/loss",
             status == TXD_OK ? "Loss and norm of the whole gradient over steps"
                              : "Loss over steps");
    if (status != TXD_ERR_MISSING)
        txd_text_add(page, "</section>\n");
    txd_arena_destroy(arena);
    return txd_text_status(page);
}
