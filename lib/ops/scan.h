/* SPDX-License-Identifier: MIT
 *
 * The shortest look at attention weights in memory: once over each of them, at the
 * speed of the memory. Row statistics (ops/rows.def) say more.
 */
#ifndef TXD_OPS_SCAN_H
#define TXD_OPS_SCAN_H

#include "ops/kernels.h"
#include "ops/mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows x keys float32 weights that follow one another; `spans` are those of the seen
 * keys, of the rows of one matrix: row r has those of r % period. NULL: all are seen.
 */
struct txd_scan_args {
    const float *weights;
    size_t rows, keys;
    const txd_spans *spans;
    size_t period;
};

/* What a scan comes to: of the rows, the largest |sum - 1|, NaN if one is, and where;
 * the largest |weight| that is hidden, NaN if one is, and where; how many rows are not
 * finite. Rows that see no key are not asked for their sum. Of equals the first. */
struct txd_scan {
    double off, hidden;
    size_t off_row, hidden_row; /* rows if there is none */
    size_t not_finite;
};

/* On `threads` threads (0 = all), of which nothing depends. */
void txd_scan_weights(struct txd_scan *out, const struct txd_scan_args *args,
                      int threads);

#ifdef __cplusplus
}
#endif

#endif
