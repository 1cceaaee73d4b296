/* SPDX-License-Identifier: MIT
 *
 * The points of a pass: names, axes, shapes, and their order of execution.
 */
#ifndef TXD_MODEL_POINTS_H
#define TXD_MODEL_POINTS_H

#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_point {
#define TXD_POINT(id, name, axes, place, meaning) TXD_POINT_##id,
#include "model/points.def"
#undef TXD_POINT
    TXD_POINT_COUNT
} txd_point;

typedef enum txd_place {
    TXD_PLACE_INPUT,
    TXD_PLACE_TOP,
    TXD_PLACE_LAYER,
    TXD_PLACE_TILE,
    TXD_PLACE_ROWS,
} txd_place;

typedef struct txd_point_info {
    const char *name, *axes, *meaning;
    txd_place place;
} txd_point_info;

/* Never NULL for a valid point. */
const txd_point_info *txd_point_get(txd_point point);

/* True for points that exist once per layer (LAYER and TILE). */
bool txd_point_per_layer(txd_point point);

/* "layers.3.attn.weights", or the name alone for points that are not per layer. */
char *txd_point_name(char *text, size_t bytes, txd_point point, int layer);

/* Parses a full name back; *layer = -1 if not per layer. ERR_MISSING naming the
 * nearest point when it is none. */
txd_status txd_point_parse(txd_point *point, int *layer, const char *name);
/* The same where a name need not be one: false, and no message that costs a search. */
bool txd_point_of_name(txd_point *point, int *layer, const char *name);

/* What ends the name of a gradient. */
#define TXD_GRADIENT_SUFFIX "@grad"

/* The same for the gradient of a value: "layers.3.attn.weights@grad". */
txd_status txd_point_parse_gradient(txd_point *point, int *layer, const char *name);
bool txd_point_of_gradient(txd_point *point, int *layer, const char *name);

/* How much a pass reads: batch rows, tokens, rows of the memory that cross-attention
 * attends to (0 without), and tokens of earlier calls in a cache (0 without). */
typedef struct txd_extent {
    size_t batch, length, memory, past;
} txd_extent;

/* Lanes of a token's embedding. */
size_t txd_embed_width(const txd_config *config);

/* Shape of the whole value at a point: one entry per axis letter. Returns the rank. */
int txd_point_dims(size_t dims[TXD_MAX_RANK], const txd_config *config, txd_point point,
                   const txd_extent *extent);

/* The two attentions of a block. Their points have the same names after `attn.` and
 * `cross.`. */
typedef enum txd_attention_kind {
    TXD_ATTENTION_SELF,
    TXD_ATTENTION_CROSS
} txd_attention_kind;

/* The point of an attention that has this name in self-attention: TXD_POINT_ATTN_Q is
 * TXD_POINT_CROSS_Q there. Points that are not `attn.*` stay what they are. */
txd_point txd_point_in(txd_attention_kind kind, txd_point point);
/* The other way: `cross.q` is of cross-attention and `attn.q` in self-attention. */
txd_attention_kind txd_point_attention(txd_point point);
txd_point txd_point_in_self(txd_point point);

/* The values of an attention that are made tile by tile, in order; points.def has them
 * in a row. */
enum {
    TXD_TILE_SCORES,
    TXD_TILE_CAPPED,
    TXD_TILE_BIAS,
    TXD_TILE_MASKED,
    TXD_TILE_WEIGHTS,
    TXD_TILE_POINTS
};
static inline txd_point txd_point_of_tile(txd_attention_kind kind, int which)
{
    return txd_point_in(kind, (txd_point)(TXD_POINT_ATTN_SCORES + which));
}
/* Of such a point. */
static inline int txd_point_which(txd_point point)
{
    return (int)txd_point_in_self(point) - TXD_POINT_ATTN_SCORES;
}

/* True if passes of this configuration produce the point at all (no `mlp.gate` in an
 * ungated MLP, no `embed.pos` with rotary positions ...). */
bool txd_point_exists(const txd_config *config, txd_point point);

/* True for queries and keys after their norms. */
bool txd_point_is_qk_norm(txd_point point);
/* What becomes `attn.q` or `attn.k` (or `cross.`) by rotation, or as it is. */
txd_point txd_point_that_turns(const txd_config *config, txd_point point);

/* True where the rows of a value are those of the memory: `input.memory`, `cross.k`. */
bool txd_point_is_of_memory(txd_point point);

/* One stop of the walk through a pass. */
typedef struct txd_stop {
    txd_point point;
    int layer; /* -1 if not per layer */
} txd_stop;

/* All stops of a pass in order of execution, in `arena`; *count of them. */
txd_status txd_points_order(txd_stop **out, size_t *count, txd_arena *arena,
                            const txd_config *config);

#ifdef __cplusplus
}
#endif

#endif
