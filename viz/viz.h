/* SPDX-License-Identifier: MIT
 *
 * Pictures of a recording: figures drawn by gnuplot, and an HTML report that holds
 * them together. Each figure is one file plus one line of registry.def.
 */
#ifndef TXD_VIZ_VIZ_H
#define TXD_VIZ_VIZ_H

#include "txd.h"
#include "viz/read/verdicts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Automatic: logarithmic where more than half of what is drawn would have the darkest
 * twentieth of a linear scale, else linear. Pictures say which it is. */
typedef enum txd_scale { TXD_SCALE_AUTO, TXD_SCALE_LINEAR, TXD_SCALE_LOG } txd_scale;

/* What a cell shows that stands for many values: the largest, so that a single one
 * stays visible, or the mean of those that the mask lets see. */
typedef enum txd_pool { TXD_POOL_MAX, TXD_POOL_MEAN } txd_pool;

/* What to draw. Negative = not chosen. */
typedef struct txd_figure_request {
    const char *site; /* "layers.3.attn.weights"; may hold '*' if layer is chosen */
    int layer, head, step, batch;
    txd_range query, key; /* zoom; empty = all */
    txd_scale scale;
    txd_pool pool;
    const char *path; /* ends in .png, .svg or .pdf; NULL = only `keep` */
    /* The folder to keep script and data in (viz/draw/keep.h); NULL = none. Without a
     * path they are for a PNG, and gnuplot is not needed. */
    const char *keep;
    /* A recording of the same model and tokens to compare with; NULL = none. */
    const txd_trace *other;
} txd_figure_request;

/* A script for gnuplot and its data (viz/draw/drawing.h). */
typedef struct txd_drawing txd_drawing;

typedef struct txd_figure {
    const char *name; /* "head", "entropy"; also what `plot` takes in place of SITE */
    const char *sentence; /* `list figures` */
    const char *usage;    /* how to get it: a command line */
    /* Of what is recorded as a whole, and not at a site that must be named: the words
     * over it in the report, which shows it wherever its values were recorded. NULL:
     * drawn of a site, when somebody asks. */
    const char *heading;
    /* Laws whose findings it shows, if it has a heading: "grad_range grad_cause"; in
     * the report their findings lead to it. NULL = of none. */
    const char *laws;
    /* The choices of a request that it heeds, if it has a heading: "step layer"; others
     * are refused. NULL = none. */
    const char *choices;
    /* True of a request whose site is this figure's, though it is no value that two
     * axes of can be drawn: "steps/loss". NULL = there is none. */
    bool (*draws)(const txd_figure_request *request);
    /* Makes the drawing. ERR_MISSING with the way to record it if its values are not
     * there; ERR_CONFIG naming the choices if the request cannot be met. */
    txd_status (*draw)(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request);
} txd_figure;

/* The i-th figure, NULL past the end; by name, NULL if there is none. */
const txd_figure *txd_figure_at(size_t i);
const txd_figure *txd_figure_find(const char *name);

/* Draws a figure by its name, or a site: one head of an attention point if a head (or a
 * single-headed value) is chosen, the layers x heads overview for
 * "layers.*.attn.weights" without one. The output is written aside and renamed.
 * ERR_MISSING when gnuplot or its fonts are missing, with what to install; ERR_CONFIG
 * naming the choices for an unknown site. */
txd_status txd_plot(const txd_trace *recording, const txd_figure_request *request);

/* OK if pictures can be drawn: gnuplot and its fonts are there. ERR_MISSING, with what
 * to install, if not: to be asked before work whose result is to be drawn. */
txd_status txd_plot_ready(void);

/* Writes DIR/index.html, self-contained: verdicts and findings, then figures. DIR is
 * made if needed; an old index.html stays until the new one is complete. Without
 * gnuplot the page says so and holds the verdicts alone (ERR_MISSING is returned after
 * the page was written). */
txd_status txd_report_html(const txd_trace *recording, const char *recording_path,
                           const char *directory);

typedef struct txd_report_source {
    const txd_trace *recording;
    const char *path; /* as it was given */
    /* What laws find in it now, where it carries no verdicts; NULL = those it carries.
     */
    const txd_verdicts *judged;
} txd_report_source;

/* The same of the first of `count` sources; of two with the errors by layer of
 * recordings of one model and the same tokens, of which the one in the finer format is
 * the reference. ERR_CONFIG, naming what differs, and no page, if they are not that. */
txd_status txd_report_page(const txd_report_source *sources, size_t count,
                           const char *directory);

/* Appends a summary in Markdown, as GitHub reads it, for a pull request: the sentence
 * that sums up, findings, all laws folded away, and with two sources their errors. No
 * gnuplot is needed. */
txd_status txd_report_markdown(txd_text *out, const txd_report_source *sources,
                               size_t count);

#ifdef __cplusplus
}
#endif

#endif
