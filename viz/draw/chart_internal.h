/* SPDX-License-Identifier: MIT
 *
 * The layout of a line chart in pixels. For the files that draw it.
 */
#ifndef TXD_VIZ_CHART_INTERNAL_H
#define TXD_VIZ_CHART_INTERNAL_H

#include "viz/draw/chart.h"

enum {
    TXD_CHART_LINE = 17,  /* height of a line of small text */
    TXD_CHART_SIDE = 200, /* width of the legend */
};

typedef struct txd_chart_layout {
    txd_sheet sheet;
    txd_box panels[TXD_CHART_GRAPHS];
    int tic_height[TXD_CHART_GRAPHS]; /* of the labels under each */
    int legend;                       /* left edge of the legends */
    char **title, **above[TXD_MAP_NOTES], **below[TXD_MAP_NOTES];
    size_t title_lines, above_lines[TXD_MAP_NOTES], below_lines[TXD_MAP_NOTES];
    int below_top;
} txd_chart_layout;

txd_status txd_chart_arrange(txd_chart_layout *out, const txd_chart *chart);

/* Title and notes. */
void txd_chart_words(txd_text *out, const txd_chart_layout *lay,
                     const txd_chart *chart);

/* Characters that fit in a width. */
size_t txd_chart_characters(int width, int size);

/* A word of the script and a number. */
void txd_chart_real(txd_text *out, const char *before, double value);

/* Band, levels and legend of graph number `i`. */
void txd_chart_legend(txd_text *out, const txd_chart_layout *lay,
                      const txd_chart *chart, size_t i);

/* Margins, ranges, tics, and the legend of graph number `i`. */
void txd_chart_axes(txd_text *out, const txd_chart_layout *lay, const txd_chart *chart,
                    size_t i);

/* "#rrggbb" and gnuplot's shape of point for line number `i` of a graph. */
void txd_chart_colour(char out[8], const txd_graph *graph, size_t i);
int txd_chart_point(const txd_graph *graph, size_t i);

#endif
