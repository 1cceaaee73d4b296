/* SPDX-License-Identifier: MIT
 *
 * What the figures of this folder share. For its own files only.
 */
#ifndef TXD_VIZ_FIGURES_H
#define TXD_VIZ_FIGURES_H

#include "viz/draw/chart.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_FIGURE(name) extern const txd_figure txd_figure_##name;
#include "viz/registry.def"
#undef TXD_FIGURE

/* What is hidden in a value of (query, key) at a site of the claim, and how a hidden
 * cell is silent there. `mask` is where the mask lives. */
void txd_blank_of(txd_blank *out, txd_mask_view *mask, const txd_claim *claim,
                  const txd_slice *slice);

/* A pooled map in one step: cells of queries and keys, and of how many; 0 = not known.
 */
typedef struct txd_pooling {
    size_t cells[2], tokens[2];
} txd_pooling;

txd_pooling txd_pooling_of(const txd_claim *claim, const char *site,
                           const txd_trace_info *info);

/* What txd_blank_of says, for a pooled map; `hidden` holds a byte per cell and must
 * live as long as *out. */
void txd_blank_pooled(txd_blank *out, unsigned char *hidden, const txd_pooling *pooling,
                      const txd_claim *claim, const txd_slice *slice);

/* Marks, on a pooled map of one layer and head, the cells in which hidden keys get
 * weight, as the row statistics say where: a pooled cell may hold both seen and hidden
 * pairs. *known tells whether they are recorded; else the map's own marks stay. */
txd_status txd_mark_rows(txd_map *map, const txd_claim *claim, const txd_slice *slice,
                         const txd_pooling *pooling, bool *known);

/* What is recorded of an attention's weights where they are not recorded in full. */
const char *txd_pooled_site(txd_attention_kind kind);
const char *txd_pooled_site_by(txd_attention_kind kind, txd_pool pool);

/* The cell, of `side`, that holds a token of a pooled axis. */
size_t txd_pooled_cell(size_t token, size_t side, size_t tokens);

/* Turns a request's ranges of tokens into those of a pooled map's cells. ERR_CONFIG,
 * with the way to record the weights in full, if the cells are too large to zoom in. */
txd_status txd_pooled_zoom(txd_figure_request *request, const txd_pooling *pooling,
                           const txd_slice *slice);

/* The weight that stands out most of a layer and head, by the row statistics, which
 * know its query and key however coarse the maps; times 0 if they do not tell. */
txd_status txd_peak_of_rows(txd_peak *out, const txd_claim *claim,
                            const txd_slice *slice);

/* Whether a site is the weights of an attention: "layers.*.cross.weights". */
bool txd_site_is_weights(const char *site);

/* The figure that draws a site; *request may be turned to another site that shows the
 * same (a pooled map for weights that were not recorded in full). */
txd_status txd_figure_choose(const txd_figure **out, txd_figure_request *request,
                             const txd_trace *recording);

/* Places of an axis (-1 = none) that the step filled; 0 = all of it. */
size_t txd_axis_filled(const txd_claim *claim, const txd_slice *slice, int axis);

/* Labels of both axes while they fit: of tokens, and of memory rows if one is padding.
 */
txd_status txd_map_label(txd_map *map, const txd_claim *claim, const txd_slice *slice);

/* A thin line from (x, y) to (x, y), in cells, as a command for a map's `extra`. */
void txd_cell_line(txd_text *out, const double from[2], const double to[2]);
/* Lines around all cells of a map, or around the map if there are many. */
txd_status txd_map_rule(txd_map *map);

bool txd_ends_in(const char *text, const char *ending);

/* What padded queries attend to is read by nobody, and would be taken for attention: of
 * a map of queries and keys these rows are grey, and a note below says so. */
void txd_map_grey_padding(txd_map *map, const txd_blank *blank);
txd_status txd_map_note_grey(txd_map *map);

/* The faults of the recording, and that it was never completed, in words. */
void txd_recording_words(txd_text *out, const txd_trace *recording);
/* The same as a note above. */
txd_status txd_map_note_recording(txd_map *map, const txd_trace *recording);
txd_status txd_chart_note_recording(txd_chart *chart, const txd_trace *recording);

/* The charts that figures draw, before they are settled: everything in `arena`. A
 * negative step of the request stands for all of them. ERR_MISSING with the way to
 * record it where nothing is there. */
txd_status txd_chart_gradients(txd_chart *out, txd_arena *arena,
                               const txd_trace *recording,
                               const txd_figure_request *request);
txd_status txd_chart_steps(txd_chart *out, txd_arena *arena, const txd_trace *recording,
                           const txd_figure_request *request);
txd_status txd_chart_norms(txd_chart *out, txd_arena *arena, const txd_trace *recording,
                           const txd_figure_request *request);
txd_status txd_chart_distance(txd_chart *out, txd_arena *arena,
                              const txd_trace *recording,
                              const txd_figure_request *request);
txd_status txd_chart_activations(txd_chart *out, txd_arena *arena,
                                 const txd_trace *recording,
                                 const txd_figure_request *request);
txd_status txd_chart_norm_output(txd_chart *out, txd_arena *arena,
                                 const txd_trace *recording,
                                 const txd_figure_request *request);

/* The map of gradient norms (layers, steps), everything in `arena`. ERR_MISSING if
 * there are fewer than two steps, or no gradients of whole layers. */
txd_status txd_map_gradients(txd_map *out, txd_arena *arena,
                             const txd_trace *recording);

/* Makes a chart and draws it. */
typedef txd_status (*txd_chart_maker)(txd_chart *out, txd_arena *arena,
                                      const txd_trace *recording,
                                      const txd_figure_request *request);
txd_status txd_chart_figure(txd_drawing *out, txd_chart_maker make,
                            const txd_trace *recording,
                            const txd_figure_request *request);

/* Draws the healthy norms of a layer's gradient, and what is too much, in a graph of
 * such norms. */
void txd_graph_gradient_band(txd_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
