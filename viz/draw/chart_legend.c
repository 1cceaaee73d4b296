/* SPDX-License-Identifier: MIT
 *
 * What the lines of a chart are told by: colours, shapes of points, the band and the
 * levels behind them, and the legend that names all of these.
 */
#include <stdio.h>

#include "viz/draw/chart_internal.h"

enum { SAMPLE = 26 }; /* of a line in the legend, in pixels */

void txd_chart_colour(char out[8], const txd_graph *graph, size_t i)
{
    /* Viridis without its lightest end, which white swallows. */
    static const double places[][3] = {
        {0x44, 0x01, 0x54}, {0x46, 0x32, 0x7e}, {0x36, 0x5c, 0x8d}, {0x27, 0x7f, 0x8e},
        {0x1f, 0xa1, 0x87}, {0x4a, 0xc1, 0x6d}, {0x9c, 0xc8, 0x2d}};
    /* Okabe and Ito 2008, with a darker yellow: apart for every kind of eye. */
    static const char *const apart[] = {"#0072b2", "#d55e00", "#009e73", "#8a5a9e",
                                        "#56b4e9", "#b8860b", "#4d4d4d", "#cc79a7"};
    double at = graph->line_count > 1
                    ? (double)i / (double)(graph->line_count - 1) * 6 * 0.99999
                    : 0;
    size_t place = (size_t)at;
    int parts[3];

    if (!graph->ordered) {
        snprintf(out, 8, "%s", apart[i % (sizeof apart / sizeof *apart)]);
        return;
    }
    for (int c = 0; c < 3; c++)
        parts[c] =
            (int)(places[place][c] +
                  (at - (double)place) * (places[place + 1][c] - places[place][c]) +
                  0.5);
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)parts[0] & 0xff,
             (unsigned)parts[1] & 0xff, (unsigned)parts[2] & 0xff);
}

int txd_chart_point(const txd_graph *graph, size_t i)
{
    static const int shapes[] = {7, 5, 9, 13};

    /* Where colours come again, shapes do not. */
    return graph->ordered ? 7 : shapes[(i + i / 8) % (sizeof shapes / sizeof *shapes)];
}

size_t txd_chart_characters(int width, int size)
{
    return (size_t)(width * 100 / (size * 64));
}

void txd_chart_real(txd_text *out, const char *before, double value)
{
    txd_text_add(out, before);
    txd_text_add_real(out, value);
}

static void add_screen(txd_text *out, const txd_sheet *sheet, int x, int y)
{
    txd_text_addf(out, "screen %d.0/%d,screen 1-%d.0/%d", x, sheet->width, y,
                  sheet->height);
}

static void add_reference(txd_text *out, const txd_graph *graph)
{
    if (graph->band_name) {
        txd_chart_real(out, "set object rectangle from graph 0,first ", graph->band[0]);
        txd_chart_real(out, " to graph 1,first ", graph->band[1]);
        txd_text_add(out, " behind fillcolor rgb '#e3f3e6' fillstyle solid noborder\n");
    }
    for (size_t i = 0; i < graph->level_count; i++) {
        txd_chart_real(out, "set arrow from graph 0,first ", graph->levels[i].y);
        txd_chart_real(out, " to graph 1,first ", graph->levels[i].y);
        txd_text_addf(out,
                      " nohead front dashtype 2 linewidth 1.5 linecolor rgb '%s'\n",
                      graph->levels[i].colour);
    }
}

/* Draws the name at the legend's next place, beside its sample. */
static void add_name(txd_text *out, const txd_chart_layout *lay, const txd_chart *chart,
                     int *y, const char *name)
{
    char **lines = NULL;
    size_t count = 0;

    if (txd_wrap(&lines, &count, chart->arena,
                 txd_clean_fit(chart->arena, name, lay->sheet.kind),
                 txd_chart_characters(TXD_CHART_SIDE - SAMPLE - 8, TXD_TEXT_SMALL)) !=
        TXD_OK)
        out->status = TXD_ERR_MEMORY;
    for (size_t i = 0; i < count && i < 2; i++, *y += TXD_CHART_LINE)
        txd_script_label(out, &lay->sheet, lay->legend + SAMPLE + 8, *y, "left",
                         TXD_TEXT_SMALL, TXD_COLOUR_INK, lines[i]);
    *y += 4;
}

static void add_sample(txd_text *out, const txd_chart_layout *lay, int y,
                       const char *style)
{
    txd_text_add(out, "set arrow from ");
    add_screen(out, &lay->sheet, lay->legend, y);
    txd_text_add(out, " to ");
    add_screen(out, &lay->sheet, lay->legend + SAMPLE, y);
    txd_text_addf(out, " nohead %s'\n", style);
}

static void add_line_sample(txd_text *out, const txd_chart_layout *lay, int y,
                            const txd_graph *graph, size_t i)
{
    char colour[8], style[64];

    if (graph->lines[i].dashed) {
        add_sample(out, lay, y,
                   "dashtype 3 linewidth 2 linecolor rgb '" TXD_COLOUR_INK);
        return;
    }
    txd_chart_colour(colour, graph, i);
    snprintf(style, sizeof style, "linewidth 1.5 linecolor rgb '%s", colour);
    if (!graph->lines[i].loose)
        add_sample(out, lay, y, style);
    txd_text_add(out, "set label '' at ");
    add_screen(out, &lay->sheet, lay->legend + SAMPLE / 2, y);
    txd_text_addf(out, " point pointtype %d pointsize 0.8 linecolor rgb '%s'\n",
                  txd_chart_point(graph, i), colour);
}

void txd_chart_legend(txd_text *out, const txd_chart_layout *lay,
                      const txd_chart *chart, size_t g)
{
    const txd_graph *graph = &chart->graphs[g];
    int y = lay->panels[g].top + 8;
    char style[80];

    add_reference(out, graph);
    for (size_t i = 0; i < graph->line_count; i++) {
        if (!graph->lines[i].legend)
            continue;
        add_line_sample(out, lay, y, graph, i);
        add_name(out, lay, chart, &y, graph->lines[i].name);
    }
    for (size_t i = 0; i < graph->level_count; i++) {
        snprintf(style, sizeof style, "dashtype 2 linewidth 1.5 linecolor rgb '%s",
                 graph->levels[i].colour);
        add_sample(out, lay, y, style);
        add_name(out, lay, chart, &y, graph->levels[i].name);
    }
    if (!graph->band_name)
        return;
    txd_text_add(out, "set object rectangle from ");
    add_screen(out, &lay->sheet, lay->legend, y + 6);
    txd_text_add(out, " to ");
    add_screen(out, &lay->sheet, lay->legend + SAMPLE, y - 6);
    txd_text_add(out, " fillcolor rgb '#e3f3e6' fillstyle solid border linecolor rgb "
                      "'#b9d9c0'\n");
    add_name(out, lay, chart, &y, graph->band_name);
}
