/* SPDX-License-Identifier: MIT
 *
 * Tables as groups of equal-length columns, and lists of strings.
 */
#include "formats/h5_types_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rows of a chunk: 1000 chunks, which the crash recipe covers, are half a million. */
#define CHUNK_ROWS 512

static double fill_of(const txd_column *column)
{
    bool real = column->dtype == TXD_F64 || column->dtype == TXD_F32;

    if (column->strings)
        return 0.0;
    return real ? (double)NAN : -1.0;
}

static txd_status describe(const txd_h5_writer *writer, hid_t id,
                           const txd_column *column)
{
    const char *dtype = column->strings ? "utf8" : txd_dtype_name(column->dtype);

    TXD_TRY(txd_h5_put_text(writer, id, "axes", "n"));
    TXD_TRY(txd_h5_put_text(writer, id, "point", ""));
    TXD_TRY(txd_h5_put_text(writer, id, "dtype", dtype));
    TXD_TRY(txd_h5_put_text(writer, id, "unit", ""));
    return txd_h5_put_real(writer, id, "fill", fill_of(column));
}

static txd_status make_column_dataset(const txd_h5_writer *writer, hid_t *out,
                                      const char *path, const txd_column *column)
{
    const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = CHUNK_ROWS;
    hid_t space = H5Screate_simple(1, &none, &unlimited);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t type = column->strings ? writer->types.text
                                 : txd_h5_file_type(&writer->types, column->dtype);
    double fill = fill_of(column);
    hid_t id = H5I_INVALID_HID;
    txd_status status = TXD_OK;

    H5Pset_obj_track_times(create, false);
    if (H5Pset_chunk(create, 1, &chunk) >= 0 &&
        (column->strings || H5Pset_fill_value(create, H5T_NATIVE_DOUBLE, &fill) >= 0))
        id = H5Dcreate2(writer->id, path, type, space, writer->links, create,
                        H5P_DEFAULT);
    if (id < 0)
        status = txd_fail_prefix(
            txd_h5_fail(TXD_ERR_IO, writer->file, "making a column"), "%s", path);
    else
        *out = id;
    H5Pclose(create);
    H5Sclose(space);
    return status;
}

static txd_status make_column(txd_h5_writer *writer, txd_h5_table *table,
                              const txd_column *column)
{
    size_t i = table->columns;
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", table->path, column->name);

    if (length < 0 || (size_t)length >= sizeof path)
        return txd_fail(TXD_ERR_LIMIT, "column path of %d bytes", length);
    table->names[i] = txd_arena_string(writer->arena, column->name);
    if (!table->names[i])
        return TXD_ERR_MEMORY;
    table->text[i] = column->strings != NULL;
    TXD_TRY(make_column_dataset(writer, &table->ids[i], path, column));
    table->columns++;
    return describe(writer, table->ids[i], column);
}

static txd_status make_table(txd_h5_writer *writer, txd_h5_table **out,
                             const char *path, const txd_column *columns, size_t count)
{
    txd_h5_table *table;

    if (count == 0 || count > TXD_H5_MAX_COLUMNS)
        return txd_fail(TXD_ERR_ARGUMENT, "%s: %zu columns, expected 1 to %d", path,
                        count, TXD_H5_MAX_COLUMNS);
    TXD_TRY(txd_h5_grow(&writer->tables, &writer->table_capacity, writer->table_count,
                        sizeof *writer->tables));
    table = &writer->tables[writer->table_count];
    memset(table, 0, sizeof *table);
    table->path = txd_arena_string(writer->arena, path);
    if (!table->path)
        return TXD_ERR_MEMORY;
    writer->table_count++;
    for (size_t i = 0; i < count; i++)
        TXD_TRY(make_column(writer, table, &columns[i]));
    *out = table;
    return TXD_OK;
}

static txd_status find_table(txd_h5_writer *writer, txd_h5_table **out,
                             const char *path, const txd_column *columns, size_t count)
{
    for (size_t i = 0; i < writer->table_count; i++) {
        txd_h5_table *table = &writer->tables[i];
        bool same = table->columns == count;

        if (strcmp(table->path, path) != 0)
            continue;
        for (size_t c = 0; c < count && same; c++)
            same = strcmp(table->names[c], columns[c].name) == 0 &&
                   table->text[c] == (columns[c].strings != NULL);
        if (!same)
            return txd_fail(TXD_ERR_ARGUMENT,
                            "%s: the columns differ from those of the first append",
                            path);
        *out = table;
        return TXD_OK;
    }
    return make_table(writer, out, path, columns, count);
}

static txd_status append_column(const txd_h5_writer *writer, hid_t id,
                                const txd_column *column, hsize_t before, hsize_t rows)
{
    hsize_t after = before + rows;
    hid_t type = column->strings ? writer->types.text
                                 : txd_h5_memory_type(&writer->types, column->dtype);
    const void *data = column->strings ? (const void *)column->strings : column->data;
    hid_t memory, file;
    txd_status status = TXD_OK;

    if (H5Dset_extent(id, &after) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "extending a column");
    memory = H5Screate_simple(1, &rows, NULL);
    file = H5Screate_simple(1, &after, NULL);
    if (H5Sselect_hyperslab(file, H5S_SELECT_SET, &before, NULL, &rows, NULL) < 0 ||
        H5Dwrite(id, type, memory, file, writer->types.small, data) < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing a column");
    H5Sclose(memory);
    H5Sclose(file);
    return status;
}

txd_status txd_h5_writer_append(txd_h5_writer *writer, const char *path,
                                const txd_column *columns, size_t column_count,
                                size_t rows)
{
    txd_h5_table *table = NULL;

    TXD_TRY(find_table(writer, &table, path, columns, column_count));
    if (rows == 0)
        return TXD_OK;
    for (size_t c = 0; c < column_count; c++)
        TXD_TRY(append_column(writer, table->ids[c], &columns[c], table->rows, rows));
    table->rows += rows;
    table->is_dirty = true;
    return TXD_OK;
}

/* ---- what is written once ---- */

static txd_status write_once(const txd_h5_writer *writer, const char *path,
                             const txd_column *column, hsize_t rows)
{
    const txd_h5_types *types = &writer->types;
    hid_t space = H5Screate_simple(1, &rows, NULL);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), id;
    bool text = column->strings != NULL;
    hid_t type = text ? types->text : txd_h5_file_type(types, column->dtype);
    hid_t memory = text ? types->text : txd_h5_memory_type(types, column->dtype);
    const void *data = text ? (const void *)column->strings : column->data;
    txd_status status = TXD_OK;

    H5Pset_obj_track_times(create, false);
    id = H5Dcreate2(writer->id, path, type, space, writer->links, create, H5P_DEFAULT);
    if (id < 0 ||
        (rows != 0 && H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0))
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing a column");
    if (status == TXD_OK)
        status = describe(writer, id, column);
    if (id >= 0 && H5Dclose(id) < 0 && status == TXD_OK)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing a column");
    H5Pclose(create);
    H5Sclose(space);
    return status == TXD_OK ? TXD_OK : txd_fail_prefix(status, "%s", path);
}

txd_status txd_h5_writer_table(txd_h5_writer *writer, const char *path,
                               const txd_column *columns, size_t column_count,
                               size_t rows)
{
    char name[512];

    for (size_t c = 0; c < column_count; c++) {
        int length = snprintf(name, sizeof name, "%s/%s", path, columns[c].name);

        if (length < 0 || (size_t)length >= sizeof name)
            return txd_fail(TXD_ERR_LIMIT, "column path of %d bytes", length);
        TXD_TRY(write_once(writer, name, &columns[c], rows));
    }
    return TXD_OK;
}

txd_status txd_h5_writer_strings(txd_h5_writer *writer, const char *path,
                                 const char *const *strings, size_t count)
{
    /* An empty list may be NULL, a column of text is not. */
    const char *const none = "";
    const txd_column column = {.strings = strings ? strings : &none};

    return write_once(writer, path, &column, count);
}
