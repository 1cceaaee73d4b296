/* SPDX-License-Identifier: MIT
 *
 * Line charts: one or two graphs under each other, with a healthy band, reference
 * levels and a legend. What a line cannot show is not left out: values that are 0 on a
 * logarithmic axis, NaN and infinities stand as marks in rows of their own.
 */
#ifndef TXD_VIZ_CHART_H
#define TXD_VIZ_CHART_H

#include "viz/draw/map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_CHART_GRAPHS = 2, TXD_CHART_LEVELS = 4 };

/* A line: y over x. Places of which nothing is known are left out by the caller. */
typedef struct txd_line {
    const char *name; /* "step 3": in the legend and in notes */
    double *x, *y;
    size_t count;
    bool legend; /* has an entry in the legend */
    bool loose;  /* points, not joined */
    bool dashed; /* joined by dashes in the colour of text, without points */
    bool quiet;  /* only part of the range of all lines, and marked: not drawn */
} txd_line;

/* A dashed horizontal line. */
typedef struct txd_level {
    const char *name, *colour;
    double y;
} txd_level;

/* A label of the horizontal axis. */
typedef struct txd_tic {
    double x;
    const char *label; /* "" = none is drawn */
    const char *name;  /* what notes call the place; NULL = as the label */
} txd_tic;

/* Values that only a mark can show: how many, and the first. */
typedef struct txd_outliers {
    size_t total;
    const txd_line *line;
    double x;
} txd_outliers;

typedef struct txd_graph {
    const char *x_title, *y_title;
    bool logarithmic; /* vertically */
    bool ordered;     /* lines are a sequence: colours from dark to light */
    txd_line *lines;
    size_t line_count;
    const char *band_name; /* NULL = no band */
    double band[2];
    txd_level levels[TXD_CHART_LEVELS];
    size_t level_count;
    const txd_tic *tics; /* NULL = numbers */
    size_t tic_count;
    bool zero_is_well; /* a value of 0 is no alarm */
    const char *place; /* of an x without a label, in notes: "layer" */
    /* Set by txd_chart_settle: */
    double x_low, x_high, low, high; /* of the axes */
    double zero_y, nonfinite_y;      /* of the rows of marks; NaN = there is none */
    txd_outliers zeros, nonfinite;
} txd_graph;

typedef struct txd_chart {
    txd_arena *arena; /* of everything in it; not owned */
    const char *title;
    txd_graph graphs[TXD_CHART_GRAPHS];
    size_t graph_count;
    txd_note above[TXD_MAP_NOTES], below[TXD_MAP_NOTES];
    size_t above_count, below_count;
} txd_chart;

/* Adds a cleaned line of text above or below. */
txd_status txd_chart_note(txd_chart *chart, bool above, const char *colour,
                          const char *text);

/* Ranges of the axes, marks, and the notes that explain them: when all lines are
 * there. */
txd_status txd_chart_settle(txd_chart *chart);

/* The smallest and the largest value that a graph's lines can show. NaN: there is
 * none. */
void txd_graph_range(double out[2], const txd_graph *graph);

/* Of the marks at 0. */
const char *txd_graph_zero_colour(const txd_graph *graph);

/* False for what a line cannot show on the graph's axis. */
bool txd_graph_shows(const txd_graph *graph, double y);

/* Settles the chart and writes the script and its data files; the chart's arena is the
 * drawing's. ERR_CONFIG if there is nothing to draw. */
txd_status txd_chart_draw(txd_drawing *out, txd_chart *chart);

#ifdef __cplusplus
}
#endif

#endif
