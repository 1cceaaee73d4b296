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

/* One attention of one layer, as a part of a block. */
struct txd_part {
    txd_run *run;
    int layer;
    txd_attention_kind kind;
    const struct txd_attention_weights *weights;
    txd_sublayer joint; /* what it reads, and what comes behind its output */
};

/* One of its projections: weight (heads * width, d_model), bias or NULL. */
struct txd_part_map {
    txd_point in, out;
    size_t heads, tokens, width;
    const void *weight, *bias;
};

struct txd_part txd_part_of(txd_run *run, int layer, txd_attention_kind kind);
/* The point that is called so in self-attention, in this one. */
txd_point txd_part_point(const struct txd_part *a, txd_point point);
/* What its operations do; where they do it is for the caller to set. Points are those
 * of self-attention: ATTN_Q_PROJ, ATTN_K_PROJ, ATTN_V; ATTN_Q, ATTN_K. */
struct txd_part_map txd_part_map_of(const struct txd_part *a, txd_point point);
struct txd_linear_map txd_part_linear(const struct txd_part *a,
                                      const struct txd_part_map *p);
struct txd_heads_args txd_part_heads(const struct txd_part *a,
                                     const struct txd_part_map *p);
struct txd_rotate_args txd_part_rotation(const struct txd_part *a, txd_point to);
bool txd_part_turns(const struct txd_part *a); /* q and k rotate */
struct txd_linear_map txd_part_out(const struct txd_part *a);

/* Queries (TXD_POINT_ATTN_Q_NORM) or keys (ATTN_K_NORM) normalised, if the model does
 * that; and back, from the gradient of the result, which is offered first. */
txd_status txd_part_normalise(const struct txd_part *a, txd_point norm);
txd_status txd_part_normalise_back(const struct txd_part *a, txd_point norm);

/* One layer's attention over tiles, in progress. */
struct txd_attention {
    txd_run *run;
    int layer;
    txd_attention_kind kind;
    size_t keys;       /* length of the sequence that is attended to */
    void *k, *v;       /* its keys and values, (b, g, key_rows, width) */
    size_t key_rows;   /* of each, in memory: at least `keys` */
    bool hidden;       /* compute hidden cells too */
    bool rows;         /* row statistics are wanted */
    bool entropy;      /* and the softmax gives that of its weights */
    size_t blocks;     /* of query rows per head */
    size_t first;      /* of the tiles that are done: all, unless it is done in parts */
    size_t count;      /* how many these are */
    size_t whole_head; /* whose rows run->whole_rows begin with */
    struct txd_tile_arrays arrays;
    void *planes; /* where somebody edits a (b, h, q, k) value; else NULL */
    struct txd_tile *tiles;
};

/* `half`: VALUE on the way there, GRADIENT on the way back. */
struct txd_attention txd_attention_begin(txd_run *run, int layer,
                                         txd_attention_kind kind, txd_site_kind half);

/* Something about one tile of an attention. */
typedef txd_status txd_on_tile(const struct txd_attention *job, struct txd_tile *tile);

/* Makes all tiles over the threads; merges them in index order, one at a time, while
 * later ones are being made. merge = NULL: nothing. */
txd_status txd_over_tiles(const struct txd_attention *job, txd_on_tile *make,
                          txd_on_tile *merge);
/* Merges what the taps made of a tile on the way there. */
txd_status txd_attention_merge(const struct txd_attention *job, struct txd_tile *tile);
/* The way there, tile by tile, where none of their values is formed whole. */
txd_status txd_attend_in_tiles(const struct txd_attention *job);

/* Whether a half can be had of the backend without any tile (attention_whole.c); that
 * half then, d_k, d_v and the gradients of sinks being set already. */
bool txd_attention_is_whole(const struct txd_attention *job, txd_site_kind half);
txd_status txd_attend_whole(const struct txd_attention *job);
txd_status txd_attend_whole_back(const struct txd_attention *job);

/* Which arrays the tiles of an attention use in a half of the pass; and lets a tile use
 * them. */
struct txd_tile_arrays txd_tile_arrays(const txd_run *run, int layer,
                                       txd_attention_kind kind, txd_site_kind half);
void txd_tile_take_arrays(const struct txd_attention *job, struct txd_tile *tile);
/* Finds out in which batch rows the cells are spans; before the tiles. */
void txd_cells_form(const struct txd_attention *job);
/* Asks the mask which cells are seen, take part, are computed, are hidden. */
txd_status txd_tile_cells(const struct txd_attention *job, struct txd_tile *tile);
/* The operations on a tile, in order. */
txd_status txd_tile_scores(const struct txd_attention *job, struct txd_tile *tile);
/* Capping, a copy where the layer does not and the capped scores stand elsewhere; then
 * the bias, if it is to be formed; then both added, and the mask. */
txd_status txd_tile_cap(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_bias(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_mask(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_softmax(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_rows(const struct txd_attention *job, struct txd_tile *tile);
txd_status txd_tile_mix(const struct txd_attention *job, struct txd_tile *tile);
/* What their rows say of a memory, and of padded queries: nothing. */
void txd_tile_finish_rows(const struct txd_attention *job, struct txd_tile *tile);

/* The table of relative positions as its head has it; false if there is none. */
bool txd_tile_relative(struct txd_relative *out, const struct txd_attention *job,
                       const struct txd_tile *tile);
/* The sink of its head; NULL if there is none. */
const void *txd_tile_sink(const struct txd_attention *job, const struct txd_tile *tile);

/* Lets the tile's values be its rows of the planes. */
void txd_tile_aim_at_planes(const struct txd_attention *job, struct txd_tile *tile);

/* Where in `scores` and the like a tile's operation is called. */
txd_op_site txd_tile_at(const struct txd_attention *job, const struct txd_tile *tile,
                        txd_op op, txd_point point);
/* The mask over the tile's batch row. */
txd_mask_view txd_tile_mask_view(const struct txd_attention *job,
                                 const struct txd_tile *tile);
/* First row of a tile's keys in a (b, g, k) value. */
size_t txd_tile_key_row(const struct txd_attention *job, const struct txd_tile *tile);
/* First row of a tile's queries in a (b, h, q) value. */
size_t txd_tile_query_row(const txd_run *run, const struct txd_tile *tile);
/* Row `row` of a value of this width in the backend's dtype. */
char *txd_row_of(const txd_run *run, void *data, size_t row, size_t width);

/* attn.q, attn.k, attn.v to attn.heads (or cross.*), every tile offered on the way; and
 * back, from the gradient of the heads to those of q, k and v. */
txd_status txd_attend(txd_run *run, int layer, txd_attention_kind kind);
txd_status txd_attend_back(txd_run *run, int layer, txd_attention_kind kind);

#ifdef __cplusplus
}
#endif

#endif
