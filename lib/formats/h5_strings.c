/* SPDX-License-Identifier: MIT
 *
 * Reading lists of strings, of variable length (ours) or fixed (many others').
 */
#include "formats/h5_types_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STRINGS ((hssize_t)1 << 24)
#define MAX_BYTES ((size_t)1 << 28)

static void release(char **raw, size_t count)
{
    for (size_t i = 0; i < count && raw; i++) {
        free(raw[i]);
        raw[i] = NULL;
    }
}

/* The first `count` strings of a list. */
static bool read_first(char **raw, hid_t id, hid_t memory, hsize_t count)
{
    const hsize_t zero = 0;
    hid_t all = H5Dget_space(id), part = H5Screate_simple(1, &count, NULL);
    bool ok =
        H5Sget_simple_extent_ndims(all) == 1 &&
        H5Sselect_hyperslab(all, H5S_SELECT_SET, &zero, NULL, &count, NULL) >= 0 &&
        H5Dread(id, memory, part, all, H5P_DEFAULT, raw) >= 0;

    H5Sclose(part);
    H5Sclose(all);
    return ok;
}

/* HDF5 keeps text apart from the rows that refer to it. Of a run that was killed, rows
 * of the step that was being written may refer to what is not there: they are the last
 * ones, and stay empty. */
static bool read_whole_ones(char **raw, hid_t id, hid_t memory, size_t count)
{
    size_t some = 0, all = count;

    while (all - some > 1) {
        size_t middle = some + (all - some) / 2;
        bool ok = read_first(raw, id, memory, middle);

        release(raw, count);
        some = ok ? middle : some;
        all = ok ? all : middle;
    }
    return some == 0 || read_first(raw, id, memory, some);
}

static bool read_variable(txd_h5_reader *reader, const char **values, hid_t id,
                          hid_t type, size_t count)
{
    char **raw = calloc(count ? count : 1, sizeof *raw);
    hid_t memory = H5Tcopy(H5T_C_S1);
    bool ok = raw && H5Tset_size(memory, H5T_VARIABLE) >= 0 &&
              H5Tset_cset(memory, H5Tget_cset(type)) >= 0;

    if (ok && H5Dread(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) < 0) {
        release(raw, count);
        ok = !reader->whole && read_whole_ones(raw, id, memory, count);
    }
    for (size_t i = 0; i < count && ok; i++) {
        values[i] = txd_arena_string(reader->arena, raw[i] ? raw[i] : "");
        ok = values[i] != NULL;
    }
    release(raw, count);
    free(raw);
    H5Tclose(memory);
    return ok;
}

static bool read_fixed(txd_h5_reader *reader, const char **values, hid_t id, hid_t type,
                       size_t count)
{
    size_t bytes = H5Tget_size(type), total;
    bool padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD, ok;
    char *raw = NULL;

    if (bytes == 0 || txd_size_mul(&total, count, bytes) != TXD_OK || total > MAX_BYTES)
        return false;
    raw = calloc(total ? total : 1, 1);
    ok = raw && H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) >= 0;
    for (size_t i = 0; i < count && ok; i++) {
        char *value = txd_arena_alloc(reader->arena, bytes + 1, 1);
        size_t end = bytes;

        if (!value)
            ok = false;
        else
            memcpy(value, raw + i * bytes, bytes);
        while (ok && padded && end > 0 && value[end - 1] == ' ')
            value[--end] = '\0';
        values[i] = value;
    }
    free(raw);
    return ok;
}

static txd_status load(txd_h5_reader *reader, txd_h5_strings *strings)
{
    hid_t id = H5Dopen2(reader->id, strings->name, H5P_DEFAULT);
    hid_t type = id < 0 ? H5I_INVALID_HID : H5Dget_type(id);
    hid_t space = id < 0 ? H5I_INVALID_HID : H5Dget_space(id);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    const char **values = NULL;
    bool ok = false;

    if (count >= 0 && count <= MAX_STRINGS && type >= 0)
        values = txd_arena_alloc(reader->arena, (size_t)count + 1, sizeof *values);
    if (values)
        ok = H5Tis_variable_str(type) > 0
                 ? read_variable(reader, values, id, type, (size_t)count)
                 : read_fixed(reader, values, id, type, (size_t)count);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (id >= 0)
        H5Dclose(id);
    if (!ok)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: /%s: its strings cannot be read: damaged, or too many",
                        reader->file, strings->name);
    strings->values = values;
    strings->count = (size_t)count;
    return TXD_OK;
}

txd_status txd_h5_reader_strings(const char *const **out, size_t *count,
                                 txd_h5_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->string_count; i++) {
        txd_h5_strings *strings = &reader->strings[i];

        if (strcmp(strings->name, name) != 0)
            continue;
        if (!strings->values)
            TXD_TRY(load(reader, strings));
        *out = strings->values;
        *count = strings->count;
        return TXD_OK;
    }
    return txd_fail(TXD_ERR_MISSING, "%s: no strings /%s", reader->file, name);
}
