/* SPDX-License-Identifier: MIT
 *
 * The parts of the HTML report. For the files of this folder only.
 */
#ifndef TXD_VIZ_REPORT_H
#define TXD_VIZ_REPORT_H

#include "viz/read/compared.h"
#include "viz/read/verdicts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_report {
    txd_text page;
    const txd_trace *recording;
    const char *path;             /* of the recording, as it was given */
    txd_claim claim;              /* of the first step; its arena is the report's */
    const char *other_path;       /* of the one it is compared with; or NULL */
    const txd_compared *compared; /* with that; or NULL */
    txd_verdicts verdicts;
    txd_status drawn; /* ERR_MISSING once gnuplot or its fonts were not there */
    char reason[600];
} txd_report;

/* Title, the sentence that sums the verdicts up, and what was run. */
void txd_report_header(txd_report *report);

/* Findings, worst first, and the table of laws. */
void txd_report_verdicts(txd_report *report);

/* The overview, then the maps of the places that findings name. */
txd_status txd_report_figures(txd_report *report);

/* A picture with its caption; if `status` tells that the drawing could not be made,
 * why.
 */
void txd_report_drawing(txd_report *report, const txd_drawing *drawing,
                        txd_status status, const char *sentence, const char *caption);
/* Draws a figure; NULL = the last message says why there is none. */
void txd_report_figure(txd_report *report, const txd_figure *figure,
                       const txd_figure_request *request, const char *caption);

/* Errors by layer against the other recording, if there is one. */
txd_status txd_report_errors(txd_report *report);

/* Gradient norms by layer and over steps; without any, how to record them. */
txd_status txd_report_gradients(txd_report *report);

/* Norms of embeddings, positions and the residual stream, where they were recorded. */
txd_status txd_report_norms(txd_report *report);

/* Mean entropy of the rows, by layer and head. */
txd_status txd_report_entropy(txd_report *report);

/* The recorded configuration, folded away. */
void txd_report_config(txd_report *report);

#ifdef __cplusplus
}
#endif

#endif
