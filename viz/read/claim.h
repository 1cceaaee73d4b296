/* SPDX-License-Identifier: MIT
 *
 * What a recording says about itself: the claimed configuration, by which a picture
 * decides what must be blank, and the tokens of a step, which label its axes.
 */
#ifndef TXD_VIZ_CLAIM_H
#define TXD_VIZ_CLAIM_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_claim {
    txd_arena *arena;
    const txd_trace *recording;
    bool configured; /* `config` was recorded and could be read */
    txd_config config;
    bool has_tokens; /* tokens of the step were recorded */
    bool has_inputs; /* the shape of the inputs is known, by them or by the values */
    /* Of the step; what was not recorded has its default. Of the memory its length and
     * which rows are real, not its values. */
    txd_inputs inputs;
    const char *const *pieces;        /* (b, t) of the step; NULL = not recorded */
    const char *const *memory_pieces; /* (b, rows of the memory), likewise */
    size_t length_q, length_k, length_memory; /* of the step; 0 = not recorded */
} txd_claim;

/* Queries by keys of one attention in one batch row. */
typedef struct txd_claim_block {
    txd_attention_kind kind;
    int layer;
    size_t batch, queries, keys;
} txd_claim_block;

/* Reads what there is for a step; only a recording that cannot be read is an error.
 * The caller finishes *out, also after a failure. */
txd_status txd_claim_init(txd_claim *out, const txd_trace *recording, size_t step);
void txd_claim_finish(txd_claim *claim);

/* True, with the mask, if it is known which keys of a block are hidden. */
bool txd_claim_mask(txd_mask_view *out, const txd_claim *claim,
                    const txd_claim_block *block);

/* "causal, window 64" in words, for the line that says what is blank. */
void txd_claim_words(txd_text *out, const txd_claim *claim,
                     const txd_claim_block *block);

/* "5 ␣once": place and token (piece or id); the place alone without tokens. */
void txd_claim_token(txd_text *out, const txd_claim *claim, size_t batch, size_t place);

/* What a token of any step, or a row of the memory, stands for, as it was recorded;
 * NULL if that is not known. */
const char *txd_claim_piece(const txd_claim *claim, size_t step, size_t batch,
                            size_t place, bool of_memory);

/* "5 ␣once", "5" or "5 (pad)": a row of the memory. */
void txd_claim_memory(txd_text *out, const txd_claim *claim, size_t batch,
                      size_t place);

/* "faults planted: a, b" or "no fault planted", as recorded; "" if not recorded. */
void txd_claim_faults(txd_text *out, const txd_trace *recording);

#ifdef __cplusplus
}
#endif

#endif
