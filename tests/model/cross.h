/* SPDX-License-Identifier: MIT
 *
 * Models with cross-attention for the tests of it.
 */
#ifndef TXD_TESTS_CROSS_H
#define TXD_TESTS_CROSS_H

#include "steered.h"

#define CROSS_BASE                                                                     \
    "vocab = 17; d_model = 24; n_heads = 4; n_layers = 2; d_ff = 40; "                 \
    "max_seq_len = 512; cross = true; "

/* Placements, grouped heads, values of another width, biases, scales; two layers. */
#define CROSS_VARIANTS 4
extern const char *const cross_variants[CROSS_VARIANTS];

/* The model, and two rows of this many tokens; the memory is still missing. */
void cross_start(observed *o, const char *cfg, const char *backend, size_t length);

/* The whole value at "layers.<layer>.<point>". */
const double *cross_values(observed *o, const char *layer, const char *point);

/* Every site of `a` that the globs name has the same bits in `b`. */
void cross_same_bits(observed *a, observed *b, const char *globs);

#endif
