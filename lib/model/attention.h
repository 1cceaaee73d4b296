/* SPDX-License-Identifier: MIT
 *
 * Attention in tiles: shared by the files that compute it.
 */
#ifndef TXD_MODEL_ATTENTION_H
#define TXD_MODEL_ATTENTION_H

#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One layer's attention in progress. */
struct txd_attention {
    txd_run *run;
    int layer;
    txd_attention_kind kind;
    size_t keys;       /* length of the sequence that is attended to */
    bool hidden;       /* compute hidden cells too */
    size_t blocks;     /* of query rows per head */
    size_t first_tile; /* of the current wave */
    struct txd_tile *tiles;
};

/* Which batch row, head and queries the tile of this number is. */
void txd_tile_locate(const struct txd_attention *job, struct txd_tile *tile,
                     size_t index);
/* Asks the mask which cells are seen, take part, are computed, are hidden. */
txd_status txd_tile_cells(const struct txd_attention *job, struct txd_tile *tile);
/* The operations on a tile, in order. */
txd_status txd_tile_scores(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_mask(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_softmax(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_rows(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_mix(const struct txd_attention *job, struct txd_tile *tile);

/* First row of a tile's queries in a (b, h, q) value. */
size_t txd_tile_query_row(const txd_run *run, const struct txd_tile *tile);
/* Row `row` of a value of this width in the backend's dtype. */
char *txd_row_of(const txd_run *run, void *data, size_t row, size_t width);

/* attn.q, attn.k, attn.v to attn.heads (or cross.*), every tile offered on the way. */
txd_status txd_attend(txd_run *run, int layer, txd_attention_kind kind);

#ifdef __cplusplus
}
#endif

#endif
