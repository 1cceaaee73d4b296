/* SPDX-License-Identifier: MIT
 *
 * The `input` group of model.cfg as batches: token ids inline, from a .npy file, or
 * random; padded; one window per step. Beside them the memory of cross-attention: from
 * a file, random, or what an encoder makes of token ids.
 */
#ifndef TXD_FORMATS_INPUT_SOURCE_H
#define TXD_FORMATS_INPUT_SOURCE_H

#include "base/settings.h"
#include "model/inputs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_input_source txd_input_source;

/* The keys of `input`: tokens (lists of ids, one per batch row, or one flat list), text
 * (one or a list, through a tokenizer), file (.npy of rank 1 or 2, relative to the
 * cfg's folder), random { batch, length }, pad
 * ("right"|"left"), pad_id, length (window length; default: the longest row, or with
 * steps > 1 the row divided by steps), steps, documents and positions (shaped like
 * tokens; default: one document; counted over valid tokens of the window). Without
 * steps, a length gives as many steps as the longest row has windows; with steps, what
 * is left after them is not used. Every step's batch is checked at creation.
 * input.memory: the same in every step, unless it is random; see docs/model.cfg.md. */
extern const txd_key txd_input_keys[];

/* Reads the group. Exactly one of tokens, text, file, random is needed: ERR_CONFIG
 * otherwise. Rows shorter than the longest are padded. The caller owns *out. */
txd_status txd_input_source_create(txd_input_source **out, const txd_setting *root,
                                   const txd_config *config, uint64_t seed);
void txd_input_source_destroy(txd_input_source *source); /* NULL is allowed */

size_t txd_input_source_steps(const txd_input_source *source);

/* Largest batch and length over all steps. */
void txd_input_source_shape(size_t *batch, size_t *length,
                            const txd_input_source *source);

/* True if the tokens of every step have pieces. */
bool txd_input_source_has_pieces(const txd_input_source *source);

/* True if the rows of memory of every step have pieces: those of the encoder's tokens.
 */
bool txd_input_source_has_memory_pieces(const txd_input_source *source);

/* Most rows of memory over all steps; 0 without cross-attention. */
size_t txd_input_source_memory(const txd_input_source *source);

/* The batch of a step, checked against the configuration, in `arena`. What an encoder
 * makes is still zero: txd_encoder_pass (model/encoder.h) fills it in. */
txd_status txd_input_source_step(txd_inputs *out, const txd_input_source *source,
                                 txd_arena *arena, size_t step);

/* The tokens that the encoder reads in a step; ERR_MISSING without one. */
txd_status txd_input_source_encoder(txd_inputs *out, const txd_input_source *source,
                                    txd_arena *arena, size_t step);

#ifdef __cplusplus
}
#endif

#endif
