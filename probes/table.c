/* SPDX-License-Identifier: MIT
 *
 * Tables of events: rows gathered during a step, column by column as the recording
 * wants them, and appended at its end in one go.
 */
#include "probes/common.h"

#include <stdlib.h>
#include <string.h>

static size_t cell_bytes(txd_cell_kind kind)
{
    if (kind == TXD_CELL_TEXT)
        return sizeof(const char *);
    return kind == TXD_CELL_REAL ? sizeof(double) : sizeof(int64_t);
}

static txd_status grow(txd_table *table)
{
    size_t capacity = table->capacity ? 2 * table->capacity : 64;

    for (size_t i = 0; i < table->column_count; i++) {
        void *data =
            realloc(table->data[i], capacity * cell_bytes(table->columns[i].kind));

        if (!data)
            return txd_fail(TXD_ERR_MEMORY, "no memory for %zu rows of %s", capacity,
                            table->path);
        table->data[i] = data;
    }
    table->capacity = capacity;
    return TXD_OK;
}

void txd_table_init(txd_table *table, const char *path, const txd_table_column *columns,
                    size_t count)
{
    *table = (txd_table){.path = path, .columns = columns, .column_count = count};
}

void txd_table_finish(txd_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        free(table->data[i]);
    memset(table, 0, sizeof *table);
}

txd_status txd_table_add(txd_table *table, const txd_cell *cells)
{
    if (table->rows == table->capacity)
        TXD_TRY(grow(table));
    for (size_t i = 0; i < table->column_count; i++) {
        switch (table->columns[i].kind) {
        case TXD_CELL_INT:
            ((int64_t *)table->data[i])[table->rows] = cells[i].integer;
            break;
        case TXD_CELL_REAL:
            ((double *)table->data[i])[table->rows] = cells[i].real;
            break;
        case TXD_CELL_TEXT:
            ((const char **)table->data[i])[table->rows] = cells[i].text;
            break;
        }
    }
    table->rows++;
    return TXD_OK;
}

txd_status txd_table_write(txd_table *table, txd_recording *recording)
{
    txd_column columns[TXD_TABLE_COLUMNS] = {{.name = NULL}};

    if (table->rows == 0)
        return TXD_OK;
    for (size_t i = 0; i < table->column_count; i++) {
        columns[i].name = table->columns[i].name;
        if (table->columns[i].kind == TXD_CELL_TEXT) {
            columns[i].strings = (const char *const *)table->data[i];
        } else {
            columns[i].data = table->data[i];
            columns[i].dtype =
                table->columns[i].kind == TXD_CELL_REAL ? TXD_F64 : TXD_I64;
        }
    }
    TXD_TRY(txd_recording_append(recording, table->path, columns, table->column_count,
                                 table->rows));
    table->rows = 0;
    return TXD_OK;
}
