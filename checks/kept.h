/* SPDX-License-Identifier: MIT
 *
 * What laws keep of a pass until all that they compare has been offered: rows of values
 * at chosen tokens, and vectors of parameters. A law that keeps its operands does not
 * depend on the order in which a (faulty) pass forms them. For the files of this folder
 * only.
 */
#ifndef TXD_CHECKS_KEPT_H
#define TXD_CHECKS_KEPT_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Real tokens of one step, as b * length + t, ascending. All zero is empty. */
typedef struct txd_kept_tokens {
    size_t *index;
    size_t count, capacity, length;
} txd_kept_tokens;

/* Chooses every n-th of the cells (batch, length) with valid != 0, n as small as gives
 * at most `limit`. */
txd_status txd_kept_choose(txd_kept_tokens *out, const int32_t *valid, size_t batch,
                           size_t length, size_t limit);

/* The rows (count, width) of a whole value at the chosen tokens; those of a value in
 * heads are the heads side by side. All zero is empty; count 0 = not offered. */
typedef struct txd_kept {
    double *rows;
    size_t count, width, capacity;
} txd_kept;

/* From a block that holds the whole of a (b, t, width) or (b, heads, t, width). Leaves
 * *out empty if the block has no data. */
txd_status txd_kept_take(txd_kept *out, const txd_block *block,
                         const txd_kept_tokens *tokens);
/* `width` elements of any tensor from the flat index `first` on, in double. */
void txd_kept_read(double *out, const txd_tensor *value, size_t first, size_t width);
/* False if a number of the row is NaN or infinite. */
bool txd_kept_is_finite(const double *row, size_t width);

void txd_kept_finish(txd_kept *kept);
void txd_kept_tokens_finish(txd_kept_tokens *tokens);

/* *out (count) = a vector parameter in double, from its values or, where a recording
 * has statistics alone, from these, if all elements are equal. Stays NULL if they are
 * not known. The caller frees *out; an older *out is freed. */
txd_status txd_law_vector(double **out, const txd_block *block, size_t count);

#ifdef __cplusplus
}
#endif

#endif
