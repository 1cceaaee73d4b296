/* SPDX-License-Identifier: MIT
 *
 * Names of the row statistics of attention: column numbers and their descriptions.
 */
#ifndef TXD_OPS_ROWS_H
#define TXD_OPS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_row {
#define TXD_ROW(id, name, is_key, unit, meaning) TXD_ROW_##id,
#include "ops/rows.def"
#undef TXD_ROW
    TXD_ROW_COUNT
} txd_row;

typedef struct txd_row_info {
    const char *name;
    bool is_key; /* an index (-1 = none), not a measure */
    const char *unit, *meaning;
} txd_row_info;

/* Never NULL for a valid column. */
const txd_row_info *txd_row_get(txd_row row);

/* A memory has no places that queries could be compared with: puts the columns that
 * compare them (self, distance) of `count` rows (TXD_ROW_COUNT each) to NaN. */
void txd_rows_without_places(double *rows, size_t count);

#ifdef __cplusplus
}
#endif

#endif
