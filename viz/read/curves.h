/* SPDX-License-Identifier: MIT
 *
 * The numbers that a recording has per step: series (a row per site, a column per
 * field) and the table of steps, by name and without what was not recorded.
 */
#ifndef TXD_VIZ_CURVES_H
#define TXD_VIZ_CURVES_H

#include "viz/draw/chart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* /series/NAME with the names of its rows and columns. */
typedef struct txd_curves {
    const txd_trace *recording;
    txd_arena *arena;
    const char *const *sites;
    const char *fields;
    size_t entry, steps, site_count, field_count;
    bool has_steps; /* the first axis is the step's */
} txd_curves;

/* "series/grad_norm". ERR_MISSING with the way to record it if it is not there,
 * ERR_FORMAT if its parts do not fit each other. */
txd_status txd_curves_open(txd_curves *out, txd_arena *arena,
                           const txd_trace *recording, const char *name);

/* True, with its number, if there is a row of this name. */
bool txd_curves_find(size_t *out, const txd_curves *curves, const char *site);

/* A field of all rows and steps, (step, site), in the arena; ERR_MISSING naming the
 * fields there are. */
txd_status txd_curves_read(double **out, const txd_curves *curves, const char *field);

/* The layers (ascending) for which there are rows of a site with '*', and the number of
 * their rows; in the arena. */
txd_status txd_curves_layers(int **layers, size_t **rows, size_t *count,
                             const txd_curves *curves, const char *site);

/* Steps by the names that /steps/step gives them, else counted. */
txd_status txd_step_numbers(int64_t **out, txd_arena *arena, const txd_trace *recording,
                            size_t steps);

enum { TXD_STEP_LINES = 48 };

/* How lines of steps share a graph: at most TXD_STEP_LINES of them are drawn, evenly
 * chosen, and up to eight of these are in the legend. Sets legend and quiet. */
void txd_lines_thin(txd_line *lines, size_t count);
/* "3 steps", and what is drawn of them. */
void txd_lines_words(txd_text *out, size_t steps);

#ifdef __cplusplus
}
#endif

#endif
