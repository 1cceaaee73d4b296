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

enum { TXD_REPORT_AIMED = 12, TXD_REPORT_SHOWN = 64, TXD_REPORT_AT_ONCE = 2 };

/* A map that was drawn for a finding; its id is figure-finding-N. */
typedef struct txd_aimed {
    size_t number;              /* of the figure in the page */
    txd_figure_request request; /* of `site` */
    char site[TXD_SITE_BYTES];
} txd_aimed;

/* A drawing that waits for gnuplot, and where its picture belongs. */
typedef struct txd_pending {
    txd_drawing drawing;
    size_t at; /* in the figures' text */
    txd_text image;
    txd_status status;
    char alt[400], message[600];
} txd_pending;

typedef struct txd_report {
    txd_text page;
    txd_text figures; /* made before the page, which leads to them */
    const txd_trace *recording;
    const char *path;             /* of the recording, as it was given */
    txd_claim claim;              /* of the first step; its arena is the report's */
    const txd_trace *other;       /* the recording it is compared with; or NULL */
    const char *other_path;       /* of that */
    const txd_compared *compared; /* with that; or NULL */
    txd_verdicts verdicts;
    const txd_verdicts *judged; /* now, for want of recorded ones; or NULL */
    txd_pending pending[TXD_REPORT_AT_ONCE];
    size_t pending_count;
    txd_aimed aimed[TXD_REPORT_AIMED];
    size_t aimed_count;
    struct {
        const txd_figure *figure;
        size_t number;
    } shown[TXD_REPORT_SHOWN]; /* of those with a heading */
    size_t shown_count;
    size_t overviews[2]; /* their numbers, by txd_attention_kind; 0 = none */
    size_t figure_count; /* the number of the last one */
    txd_text missing;    /* list items: figures whose values were not recorded */
    size_t missing_count;
    txd_status drawn; /* ERR_MISSING once gnuplot or its fonts were not there */
    char reason[600];
} txd_report;

/* An empty report; the caller finishes it, also after a failure. */
void txd_page_init(txd_report *out, const txd_trace *recording, const char *path);
void txd_page_finish(txd_report *report);

/* Draws all figures, into `figures`; what the page is to lead to is known then. */
txd_status txd_report_figures(txd_report *report);

/* Title, the sentence that sums the verdicts up, and what was run. */
void txd_report_header(txd_report *report);

/* Findings, worst first, with the ways to their figures, and the table of laws. */
void txd_report_verdicts(txd_report *report);

/* Pickers, a canvas, and the weights that they show; nothing without weights. */
txd_status txd_report_explorer(txd_report *report);

/* What was drawn: the text of the figures, and how to record those that are missing. */
void txd_report_pictures(txd_report *report);

/* The recorded configuration, folded away. */
void txd_report_config(txd_report *report);

/* ---- parts of the figures, each into `figures` ---- */

/* Attention of all heads, then the maps that findings name; or the first head. */
void txd_report_attention(txd_report *report);

/* A figure of the page: its number, and what its id ends in. */
typedef struct txd_way {
    size_t number;
    char id[80];
} txd_way;

enum { TXD_REPORT_WAYS = 2 };

/* The figures that show a finding: the map of its place and that of its law; else the
 * overview of its attention. Returns how many there are. */
size_t txd_report_ways(txd_way ways[TXD_REPORT_WAYS], const txd_report *report,
                       const txd_finding_row *finding);

/* Errors by layer against the other recording, if there is one. */
txd_status txd_report_errors(txd_report *report);

/* Norms of embeddings and positions as tables, where they were recorded. */
txd_status txd_report_norms(txd_report *report);

/* Mean entropy of the rows, by layer and head. */
txd_status txd_report_entropy(txd_report *report);

/* ---- pictures ---- */

/* What stands over a figure, behind its number (the page counts them as they come). */
typedef struct txd_caption {
    const char *id; /* "#figure-ID" leads to it; NULL = nothing does */
    const char *text;
    const char *sentence; /* what is drawn, for those who do not see it */
    bool is_heading;
} txd_caption;

/* A figure. It takes the drawing over; `status` tells whether it could be made, else
 * the last message says why not. The picture may come later, see txd_report_flush. */
void txd_report_drawing(txd_report *report, const txd_caption *caption,
                        txd_drawing *drawing, txd_status status);

/* Draws a figure; NULL = the last message says why there is none. */
void txd_report_figure(txd_report *report, const char *id, const txd_figure *figure,
                       const txd_figure_request *request, const char *caption);

/* Draws what waits. */
void txd_report_flush(txd_report *report);

#ifdef __cplusplus
}
#endif

#endif
