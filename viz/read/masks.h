/* SPDX-License-Identifier: MIT
 *
 * The masks of a configuration over a batch, without a recording and without weights:
 * which attentions and batch rows have which, and how many keys each hides, and why.
 */
#ifndef TXD_VIZ_READ_MASKS_H
#define TXD_VIZ_READ_MASKS_H

#include "viz/read/claim.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_MASK_REASONS = TXD_HIDDEN_WINDOW + 1, TXD_MASKS_MOST = 12 };

/* What is asked for. Negative = all. */
typedef struct txd_mask_request {
    int layer, batch;
    txd_range query, key; /* one range each; empty = all */
} txd_mask_request;

/* One mask: of an attention over a batch row, and of all that have the same. */
typedef struct txd_mask {
    const txd_claim *claim; /* whose configuration and inputs; labels come from it */
    txd_attention_kind kind;
    bool encoder; /* in the encoder */
    int layer;
    size_t batch;       /* the first row of those */
    const char *layers; /* "layers 0-3, 5" */
    const char *rows;   /* "batch rows 0, 2" */
    const char *rule;   /* "causal, window 4"; of the first row */
    txd_mask_view view;
    txd_span query, key; /* what is drawn */
    /* After txd_mask_count: cells per axis, and in each how many pairs of query and key
     * are seen or hidden, by txd_hidden: (rows, columns, TXD_MASK_REASONS). */
    size_t cells[2];
    uint64_t *counts;
    uint64_t totals[TXD_MASK_REASONS];
} txd_mask;

typedef struct txd_masks {
    txd_mask masks[TXD_MASKS_MOST];
    size_t count;
    size_t more; /* that did not fit */
    bool sinks;  /* heads have sinks, which every query sees */
} txd_masks;

/* Finds the masks of `config` over `inputs`, and those of its encoder over
 * `encoder_inputs` (NULL = it has none), each once. All of it lives in `arena` and
 * reads from both. ERR_CONFIG naming the choices for a layer, a batch row or a range
 * that is not there. */
txd_status txd_masks_find(txd_masks *out, txd_arena *arena, const txd_config *config,
                          const txd_inputs *inputs, const txd_inputs *encoder_inputs,
                          const txd_mask_request *request);

/* Counts, in at most limit[0] rows and limit[1] columns of cells. */
txd_status txd_mask_count(txd_mask *mask, txd_arena *arena, const size_t limit[2]);

/* Of the pairs in a cell: how many are seen, all of them, and why most of those that
 * are hidden are (TXD_SEEN: none is). */
typedef struct txd_mask_cell {
    uint64_t seen, all;
    txd_hidden hidden;
} txd_mask_cell;

txd_mask_cell txd_mask_at(const txd_mask *mask, size_t row, size_t column);

/* "cross-attention, ": of what the mask is, before its layers. */
const char *txd_mask_attention(const txd_mask *mask);

/* "later keys": why a key is hidden, in words. */
const char *txd_hidden_words(txd_hidden reason);

/* "136 of 256 pairs seen; hidden: 120 later keys", appended. */
void txd_mask_totals(txd_text *out, const txd_mask *mask);

/* The label of a query or a key at a place: "5 ␣once". */
void txd_mask_label(txd_text *out, const txd_mask *mask, bool is_key, size_t place);

#ifdef __cplusplus
}
#endif

#endif
