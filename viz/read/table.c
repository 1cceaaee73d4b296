/* SPDX-License-Identifier: MIT
 *
 * Columns of tables.
 */
#include "viz/read/table.h"

#include <math.h>

enum { MOST_ROWS = 100000 };

txd_status txd_table_rows(size_t *out, const txd_trace *recording, const char *name)
{
    const char *const *strings;
    size_t count = 0;
    txd_status status = txd_trace_strings(recording, &strings, &count, name);

    if (status != TXD_OK && status != TXD_ERR_MISSING)
        return status;
    *out = status != TXD_OK ? 0 : count < MOST_ROWS ? count : MOST_ROWS;
    return TXD_OK;
}

txd_status txd_table_texts(const char ***out, txd_arena *arena, size_t rows,
                           const txd_trace *recording, const char *name)
{
    const char *const *strings = NULL;
    size_t count = 0;
    const char **column = txd_arena_alloc(arena, rows, sizeof *column);
    txd_status status;

    if (!column)
        return TXD_ERR_MEMORY;
    status = txd_trace_strings(recording, &strings, &count, name);
    if (status != TXD_OK && status != TXD_ERR_MISSING)
        return status;
    for (size_t i = 0; i < rows; i++)
        column[i] = i < count && strings[i] ? strings[i] : "";
    *out = column;
    return TXD_OK;
}

txd_status txd_table_numbers(double **out, txd_arena *arena, size_t rows,
                             const txd_trace *recording, const char *name)
{
    double *column = txd_arena_alloc(arena, rows, sizeof *column);
    const size_t start = 0;
    txd_trace_info info;
    size_t entry, count;

    if (!column)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows; i++)
        column[i] = NAN;
    *out = column;
    if (txd_trace_find(recording, &entry, name) != TXD_OK ||
        txd_trace_get(recording, &info, entry) != TXD_OK || info.rank != 1)
        return TXD_OK;
    count = info.dims[0] < rows ? info.dims[0] : rows;
    return txd_trace_read(recording, column, entry, &start, &count, TXD_F64);
}
