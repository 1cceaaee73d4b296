/* SPDX-License-Identifier: MIT
 *
 * Layers by heads, a block for a mean over queries and two for its spread. For the
 * files of this folder only.
 */
#ifndef TXD_VIZ_HEAD_BLOCKS_H
#define TXD_VIZ_HEAD_BLOCKS_H

#include "viz/read/heads.h"
#include "viz/draw/blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TXD_HEAD_BLOCKS = 3 }; /* of a measure: mean, low tenth, high tenth */

/* One measure of one attention: a line of blocks. */
typedef struct txd_head_line {
    const char *title;
    const txd_heads *heads;
    txd_measure measure;
    txd_head_sum **sums; /* of each layer, by txd_heads_sum */
} txd_head_line;

/* Lays out and fills `map`, whose arena is set; colours are linear from 0 to 1 or, if
 * `request` has it, logarithmic; an automatic scale ends at the largest value where all
 * would be as good as black, unless `whole`. Adds the notes about what is marked, blank
 * and extreme. ERR_MISSING if all is blank. */
txd_status txd_head_blocks(txd_map *map, const txd_head_line *lines, size_t count,
                           bool whole, const txd_figure_request *request);

/* The sums of all layers, of the measures in `wanted` (bits), in `arena`. */
txd_status txd_head_sums(txd_head_sum ***out, const txd_heads *heads, unsigned wanted,
                         txd_arena *arena);

/* What the blocks are, and of which step and batch rows. */
void txd_heads_words(txd_text *out, const txd_heads *heads);

/* Draws with what the recording claims about the step of the request. */
txd_status txd_draw_claimed(txd_drawing *out, const txd_trace *recording,
                            const txd_figure_request *request,
                            txd_status (*draw)(txd_drawing *out, const txd_claim *claim,
                                               const txd_figure_request *request));

#ifdef __cplusplus
}
#endif

#endif
