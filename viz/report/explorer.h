/* SPDX-License-Identifier: MIT
 *
 * What the page holds for its explorer: maps of attention weights as numbers, within a
 * budget of bytes. Exact while that is small; else places of the recording share
 * cells, which hold their largest and their mean. For the files of this folder only.
 *
 * The page has them as JSON (page/data.js reads it):
 *   recordings  the paths, one or two
 *   palette, leak, nonfinite   colours
 *   kinds       one per attention: see txd_held, with `maps` and `masks`: a map per
 *               recording, frame, layer and head, in this order, the head fastest
 *   masks       cells of which something is seen, row after row, a bit each, base64
 *   tokens      lists of labels, a string per token
 * A map is null if it was not recorded, else base64: the numbers of its seen cells, row
 * after row, then, if means are held, as many means, then a record per cell with a
 * leak: row and column as uint16 and the hidden weight as float32 (float64 where
 * numbers are). All little-endian. Numbers of 2 bytes have 1 bit of sign, 6 of exponent
 * (bias 47) and 9 of fraction; what is not 0 is not rounded to 0, and what is too large
 * becomes the largest.
 */
#ifndef TXD_VIZ_EXPLORER_H
#define TXD_VIZ_EXPLORER_H

#include "viz/report/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_HELD_FRAME = 24 }; /* bytes that a map takes beside its numbers, about */

/* A step and batch row of which all maps are held. */
typedef struct txd_held_frame {
    size_t step, batch;
    size_t rows, columns; /* places that the step filled */
    size_t queries, keys; /* tokens that these stand for */
} txd_held_frame;

/* The maps of one attention. */
typedef struct txd_held {
    txd_attention_kind kind;
    const txd_trace *recordings[2];
    size_t recording_count;
    bool pooled; /* places are the cells of the probe `pooled`, not single pairs */
    bool mean;   /* means are held beside the largest */
    const int *layers;
    size_t layer_count, layers_recorded, heads;
    size_t rows, columns; /* places of a map; a shorter step fills fewer */
    size_t side;          /* places of a row that share a cell; as many of a column */
    size_t width;         /* bytes of a number: 2, 4 or 8 */
    txd_held_frame *frames;
    size_t frame_count;
    size_t steps_held, steps_recorded, batches_held, batches;
    size_t steps; /* that the recording has places for */
} txd_held;

/* What may be spent on one attention. */
typedef struct txd_held_budget {
    double bytes;  /* of maps before base64 */
    double values; /* read from the recording */
    double excess; /* by which earlier plans were too small; 1 at first */
} txd_held_budget;

/* Chooses what is held. `seen` is the place that must be among it (step and batch of a
 * finding; -1 = none). ERR_MISSING if there is nothing, or nothing fits: why is in the
 * message. Everything is in `arena`. */
txd_status txd_held_plan(txd_held *held, txd_arena *arena,
                         const txd_held_budget *budget, int64_t step, int64_t batch);

/* Whether weights of an attention were recorded, in full or pooled. */
bool txd_held_any(const txd_trace *recording, txd_attention_kind kind);

/* One map: what txd_held_fill makes. */
typedef struct txd_held_map {
    txd_text bytes; /* of the map, as the page has it */
    txd_text mask;
} txd_held_map;

/* Reads one map. `claim` is that of the frame's step. The texts are begun anew.
 * ERR_CONFIG if `record` did not select it. */
txd_status txd_held_fill(txd_held_map *out, const txd_held *held,
                         const txd_claim *claim, size_t recording,
                         const txd_held_frame *frame, int layer, size_t head);

/* "layers.3.cross.weights", or the pooled maps of all layers. */
void txd_held_site(char out[TXD_SITE_BYTES], const txd_held *held, int layer);

/* Appends a number as the page has it. */
void txd_held_number(txd_text *out, double value, size_t width);

/* The page's numbers while they are gathered; the texts are members of arrays. */
typedef struct txd_explorer {
    txd_report *report;
    txd_arena *arena;
    txd_text kinds, masks, tokens;
    txd_text *mask_list; /* of one kind, to find those that are alike */
    size_t mask_count, mask_room, masks_before;
    size_t token_lists;
    double label_bytes;
} txd_explorer;

/* Adds an attention, in at most `most` bytes. *bytes = what it took; 0 if nothing of it
 * was recorded, or nothing fits. */
txd_status txd_explorer_kind(txd_explorer *e, txd_attention_kind kind, double most,
                             double *bytes);

/* Between members. */
void txd_explorer_comma(txd_text *out);

/* A string as JSON, which cannot end the element that it stands in. */
void txd_explorer_string(txd_text *out, const char *words);

/* Adds the labels of a row of tokens; returns the number of the list, or -1 if there
 * are none, or no room is left. */
long txd_explorer_tokens(txd_explorer *e, const txd_claim *claim, size_t batch,
                         size_t count, bool of_memory);

#ifdef __cplusplus
}
#endif

#endif
