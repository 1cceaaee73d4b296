/* SPDX-License-Identifier: MIT */
/*
 * charted.h: charts as figures make them, and what their drawings hold.
 */
#ifndef TXD_TESTS_VIZ_CHARTED_H
#define TXD_TESTS_VIZ_CHARTED_H

#include "fake.h"
#include "viz/figures/figures.h"

/* A request for a figure by its name; a negative step stands for all. */
txd_figure_request charted_request(const char *name, int step);

/* A settled chart; whoever asked for it destroys the arena. */
txd_arena *charted_chart(txd_chart *out, const fake *recording, txd_chart_maker maker,
                         int step);

/* NULL if there is none of this name. */
const txd_line *charted_line(const txd_graph *graph, const char *name);

/* Whether a note below holds the words. */
bool charted_note(const txd_chart *chart, const char *words);

/* Fails unless the files of the figure's drawing hold the points of the chart's lines,
 * in order, and nothing else, and the report shows the figure of itself. */
void charted_check(const fake *recording, const char *name, const txd_chart *chart,
                   int step);

/* Fails unless the figure says that something is missing, in these words. */
void charted_missing(const fake *recording, const char *name, const char *words);

/* The default of a threshold of a law: "checks.grad_range.low". */
double charted_threshold(const char *path);

#endif
