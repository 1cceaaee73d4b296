/* SPDX-License-Identifier: MIT
 *
 * Tables of a recording (/events and /checks): groups of columns of equal length. A
 * recording may come from an older or another program, so that columns are looked up
 * one by one and may be shorter than others.
 */
#ifndef TXD_VIZ_TABLE_H
#define TXD_VIZ_TABLE_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of a table: those of one of its columns of strings ("checks/laws/name"), 0 if
 * there is none, 100000 at most. */
txd_status txd_table_rows(size_t *out, const txd_trace *recording, const char *name);

/* A column of strings, in `arena`, the strings the trace's; "" where there is none. */
txd_status txd_table_texts(const char ***out, txd_arena *arena, size_t rows,
                           const txd_trace *recording, const char *name);

/* A column of numbers, in `arena`; NaN where there is none. */
txd_status txd_table_numbers(double **out, txd_arena *arena, size_t rows,
                             const txd_trace *recording, const char *name);

#ifdef __cplusplus
}
#endif

#endif
