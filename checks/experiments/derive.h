/* SPDX-License-Identifier: MIT
 *
 * Inputs made of others: rows picked, tokens cut, replaced, padded, packed. All in an
 * arena, and complete: positions, validity, documents, types and the rows of a memory
 * go with the tokens. Pieces are dropped.
 */
#ifndef TXD_CHECKS_EXPERIMENTS_DERIVE_H
#define TXD_CHECKS_EXPERIMENTS_DERIVE_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Batch row i of the result is row rows[i]: picked, permuted, repeated. */
txd_status txd_derive_rows(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                           const size_t *rows, size_t count);

/* Tokens [first, first + count) of each row, at the positions they had. */
txd_status txd_derive_part(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                           size_t first, size_t count);

/* Padding of this token before and after each row; positions stay. */
typedef struct txd_padding {
    size_t left, right;
    int32_t token;
} txd_padding;
txd_status txd_derive_padded(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                             const txd_padding *padding);

/* The real tokens of row `row`, one after another, and nothing else. */
txd_status txd_derive_alone(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                            size_t row);

/* A row for each document of each row, with its real tokens, positions counted anew;
 * of one row that is one document, its two halves. *origin (in `arena`) of a token is
 * its number in `from`. */
txd_status txd_derive_separate(txd_inputs *out, size_t **origin, txd_arena *arena,
                               const txd_inputs *from);

/* The real tokens of all rows as one row, each a document of its own, at the positions
 * they had. Of a memory, that of row 0: only where there is none. */
txd_status txd_derive_packed(txd_inputs *out, txd_arena *arena, const txd_inputs *from);

/* Another token than this one. */
int32_t txd_derive_other(const txd_config *config, int32_t token);

/* Real tokens of a row. */
size_t txd_derive_valid(const txd_inputs *inputs, size_t row);

#ifdef __cplusplus
}
#endif

#endif
