/* SPDX-License-Identifier: MIT
 *
 * From a request ("layers.*.attn.weights", layer 2, head 3) to a block of one recorded
 * value: which axes are fixed, which two are drawn. What cannot be drawn is refused
 * with the choices there are.
 */
#ifndef TXD_VIZ_SLICE_H
#define TXD_VIZ_SLICE_H

#include "viz/viz.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_SITE_BYTES = 160 };

typedef struct txd_slice {
    const txd_trace *recording;
    size_t entry;
    txd_trace_info info;
    char site[TXD_SITE_BYTES];  /* the entry's name, without '*' */
    int layer;                  /* of the site; -1 = of no layer */
    size_t fixed[TXD_MAX_RANK]; /* the chosen place on every axis that is not drawn */
    int row_axis, column_axis;  /* row_axis -1: one row */
    /* Of a tile (tile.h) all other members are those of the value, of which the dataset
     * holds places from `origin` on; else 0. */
    bool is_tile;
    size_t origin[TXD_MAX_RANK];
    size_t step, batch;
    int head; /* -1 = the value has no heads, or they are drawn */
} txd_slice;

/* ERR_CONFIG naming what is recorded, or the range of what was chosen out of range. */
txd_status txd_slice_find(txd_slice *out, const txd_trace *recording,
                          const txd_figure_request *request);

/* Axis of a letter in an entry; -1 if it has none. */
int txd_axis_of(const txd_trace_info *info, char letter);

/* The meaning of an axis in a word or two: "query", "model width", "memory row". */
const char *txd_axis_word(const txd_slice *slice, int axis);

/* The attention that a site belongs to; what belongs to none counts as self-attention.
 */
txd_attention_kind txd_site_attention(const char *site);

/* True of an axis whose places are rows of the memory, or cells of them. */
bool txd_axis_of_memory(const txd_slice *slice, int axis);

/* Fails with the list of recorded sites, and the one that is meant, if one is near. */
txd_status txd_site_unknown(const txd_trace *recording, const char *site);

/* *out = `chosen` if it is within [0, count), 0 if it is negative; else ERR_CONFIG:
 * "step 7: recorded are 0 to 3". */
txd_status txd_choice(size_t *out, const char *what, int chosen, size_t count);

/* The layers (ascending, in `arena`) for which a site with '*' is recorded. */
txd_status txd_site_layers(int **out, size_t *count, txd_arena *arena,
                           const txd_trace *recording, const char *site);

/* The layer of "layers.3.attn.q"; -1 of what is of none, or of more than models have.
 */
int txd_site_layer(const char *name);

/* The layer that `name` has in place of the '*' of `site`; -1 if it does not match. */
int txd_site_layer_in(const char *site, const char *name);

/* "layers.3.attn.weights" as "layers.*.attn.weights"; other names as they are. */
void txd_site_generalise(char out[TXD_SITE_BYTES], const char *name);

/* `site` with its '*' replaced by a layer. */
void txd_site_of_layer(char out[TXD_SITE_BYTES], const char *site, int layer);

/* The places that a range selects out of `count`, ascending, in `arena`; ERR_CONFIG
 * naming `what` when there is none, ERR_LIMIT when no picture could show so many. */
txd_status txd_places(size_t **out, size_t *selected, txd_arena *arena,
                      const txd_range *range, size_t count, const char *what);

#ifdef __cplusplus
}
#endif

#endif
