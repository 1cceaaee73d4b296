/* SPDX-License-Identifier: MIT
 *
 * The explorer: its place in the page, with pickers that the script fills, and the
 * numbers that it shows.
 */
#include "viz/report/explorer.h"

#include "viz/report/html.h"

/* Of the page, which is to stay below 10 MB: 4/3 of this, beside the pictures. */
#define BYTES 4.8e6

static void add_pick(txd_text *page, const char *name, const char *words)
{
    txd_text_addf(page,
                  "<label>%s <select id=\"pick-%s\" autocomplete=\"off\"></select>"
                  "</label>\n",
                  words, name);
}

static void write_section(txd_text *page)
{
    txd_text_add(
        page,
        "<noscript><p class=\"quiet\">With JavaScript this page shows "
        "every cell of every head; the figures below need none.</p>"
        "</noscript>\n<section id=\"explorer\" hidden>\n<h2>Attention, cell by cell"
        "</h2>\n<div class=\"controls\">\n");
    add_pick(page, "kind", "Attention");
    add_pick(page, "view", "Recording");
    add_pick(page, "step", "Step");
    add_pick(page, "batch", "Batch row");
    add_pick(page, "layer", "Layer");
    add_pick(page, "head", "Head");
    add_pick(page, "scale", "Colours");
    add_pick(page, "pool", "Cells show");
    txd_text_add(
        page, "</div>\n<p id=\"map-title\"></p>\n<div class=\"stage\">\n"
              "<canvas id=\"map\" tabindex=\"0\" role=\"img\" "
              "aria-describedby=\"readout\"></canvas>\n<div>\n"
              "<p id=\"readout\" aria-live=\"polite\"></p>\n"
              "<p class=\"quiet\">Blank: hidden by the claimed mask, padding, or not "
              "computed. Ringed in red: hidden, and yet not 0. Magenta: NaN or "
              "infinite.</p>\n<p class=\"quiet\" id=\"held\"></p>\n"
              "<p class=\"quiet keys\">On the map the arrow keys move by a cell, "
              "with Shift by ten; Home and End go to the ends of a row.</p>\n"
              "</div>\n</div>\n</section>\n");
}

static void write_data(txd_explorer *e)
{
    txd_text *page = &e->report->page;

    txd_text_add(page, "<script type=\"application/json\" id=\"explorer-data\">\n"
                       "{\"recordings\":[");
    txd_explorer_string(page, e->report->path);
    if (e->report->other) {
        txd_text_add(page, ",");
        txd_explorer_string(page, e->report->other_path);
    }
    txd_text_add(page, "],\"palette\":[");
    for (size_t i = 0; i < TXD_PALETTE; i++)
        txd_text_addf(page, "%s\"%s\"", i ? "," : "", txd_palette[i]);
    txd_text_addf(page, "],\"leak\":\"%s\",\"nonfinite\":\"%s\",\"tokens\":[",
                  TXD_COLOUR_LEAK, TXD_COLOUR_NONFINITE);
    txd_text_add_bytes(page, txd_text_get(&e->tokens), e->tokens.length);
    txd_text_add(page, "],\"masks\":[");
    txd_text_add_bytes(page, txd_text_get(&e->masks), e->masks.length);
    txd_text_add(page, "],\"kinds\":[");
    txd_text_add_bytes(page, txd_text_get(&e->kinds), e->kinds.length);
    txd_text_add(page, "]}\n</script>\n");
}

static txd_status add_kinds(txd_explorer *e)
{
    double first, second;

    /* what self-attention leaves is there for cross-attention, a half at least */
    bool cross = txd_held_any(e->report->recording, TXD_ATTENTION_CROSS);

    TXD_TRY(
        txd_explorer_kind(e, TXD_ATTENTION_SELF, cross ? BYTES / 2 : BYTES, &first));
    if (cross)
        TXD_TRY(txd_explorer_kind(e, TXD_ATTENTION_CROSS, BYTES - first, &second));
    return TXD_OK;
}

txd_status txd_report_explorer(txd_report *report)
{
    txd_explorer e = {.report = report};
    txd_status status;

    TXD_TRY(txd_arena_create(&e.arena));
    status = add_kinds(&e);
    if (status == TXD_OK)
        status = txd_text_status(&e.kinds);
    if (status == TXD_OK)
        status = txd_text_status(&e.masks);
    if (status == TXD_OK)
        status = txd_text_status(&e.tokens);
    if (status == TXD_OK && e.kinds.length) {
        write_section(&report->page);
        write_data(&e);
    }
    txd_text_finish(&e.kinds);
    txd_text_finish(&e.masks);
    txd_text_finish(&e.tokens);
    txd_arena_destroy(e.arena);
    return status;
}
