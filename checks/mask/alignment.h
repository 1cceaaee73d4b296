/* SPDX-License-Identifier: MIT
 *
 * Which keys queries see where there are more keys than queries: the rows that end too
 * early, and those that lack keys in between. For the files of this folder only.
 */
#ifndef TXD_CHECKS_ALIGNMENT_H
#define TXD_CHECKS_ALIGNMENT_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows whose newest seen key is where another mask would leave it. */
typedef struct txd_alignment_like {
    uint64_t corner; /* the square's: key r of query r */
    uint64_t own;    /* the last key of earlier calls */
    uint64_t one;    /* one key short */
} txd_alignment_like;

typedef struct txd_alignment_tally {
    uint64_t rows, broken, holed; /* holed: of the broken, the newest key is seen */
    txd_alignment_like like;
    bool by_weights;
    txd_law_place at;  /* of the worst; key: the newest that it may see */
    int64_t newest;    /* that it sees; -1 = none */
    int64_t seen, may; /* how many keys; -1 = not counted */
} txd_alignment_tally;

typedef struct txd_alignment {
    const txd_config *claimed;
    txd_alignment_tally *layers;
    bool *has_masked; /* of the layer, in this step */
    int32_t *newest;  /* (b, q) of a layer and step, by weights */
    size_t room;      /* of it */
    size_t counted;   /* cells of this layer and step */
    size_t batches;
    uint64_t rows, unknown; /* judged; with NaN where keys may be seen */
    uint64_t steps;         /* with more keys than queries */
    bool is_asking;         /* there may be such steps */
} txd_alignment;

txd_status txd_alignment_create(txd_alignment **out, const txd_config *claimed);
void txd_alignment_destroy(txd_alignment *a); /* NULL is allowed */

/* A block of attn.masked, or of attn.weights, of a causal layer. */
txd_status txd_alignment_look(txd_alignment *a, const txd_block *block);
void txd_alignment_step_end(txd_alignment *a, const txd_pass *pass);

#ifdef __cplusplus
}
#endif

#endif
