/* SPDX-License-Identifier: MIT
 *
 * Tables of events: rows gathered during a step, column by column as the recording
 * wants them, and appended at its end in one go.
 */
#include "probes/common.h"

static size_t cell_bytes(txd_cell_kind kind)
{
    if (kind == TXD_CELL_TEXT)
        return sizeof(const char *);
    return kind == TXD_CELL_REAL ? sizeof(double) : sizeof(int64_t);
}

static txd_status grow(txd_table *table)
{
    size_t capacity = table->capacity ? 2 * table->capacity : 64;

    for (size_t i = 0; i < table->column_count; i++)
        TXD_TRY(txd_probe_reserve(&table->data[i], table->frame, capacity,
                                  cell_bytes(table->columns[i].kind)));
    table->capacity = capacity;
    return TXD_OK;
}

void txd_table_create(txd_table *out, txd_probe_frame *frame, const char *path,
                      const txd_table_column *columns, size_t count)
{
    *out = (txd_table){.frame = frame,
                       .path = path,
                       .columns = columns,
                       .column_count = count,
                       .next = frame->tables};
    frame->tables = out;
}

txd_status txd_table_add(txd_table *table, const txd_cell *cells)
{
    if (table->rows == table->capacity)
        TXD_TRY(grow(table));
    for (size_t i = 0; i < table->column_count; i++) {
        void *data = table->data[i].data;

        switch (table->columns[i].kind) {
        case TXD_CELL_INT:
            ((int64_t *)data)[table->rows] = cells[i].integer;
            break;
        case TXD_CELL_REAL:
            ((double *)data)[table->rows] = cells[i].real;
            break;
        case TXD_CELL_TEXT:
            ((const char **)data)[table->rows] = cells[i].text;
            break;
        }
    }
    table->rows++;
    return TXD_OK;
}

txd_status txd_table_write(txd_table *table)
{
    txd_column columns[TXD_TABLE_COLUMNS] = {{.name = NULL}};

    if (table->rows == 0)
        return TXD_OK;
    for (size_t i = 0; i < table->column_count; i++) {
        txd_cell_kind kind = table->columns[i].kind;

        columns[i].name = table->columns[i].name;
        if (kind == TXD_CELL_TEXT)
            columns[i].strings = table->data[i].data;
        else
            columns[i].data = table->data[i].data;
        columns[i].dtype = kind == TXD_CELL_REAL ? TXD_F64 : TXD_I64;
    }
    TXD_TRY(txd_recording_append(table->frame->context->recording, table->path, columns,
                                 table->column_count, table->rows));
    table->rows = 0;
    return TXD_OK;
}
