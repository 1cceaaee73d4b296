/* SPDX-License-Identifier: MIT
 *
 * Types and attributes. Strings have variable length: h5py gives those as text and
 * those of fixed length as bytes. Both are read.
 */
#include "formats/h5_types_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest attribute that is read: a configuration is some kilobytes. */
#define TEXT_LIMIT ((size_t)64 << 20)

/* Bytes in which text is converted. HDF5's own megabyte is cleared for each write. */
#define SMALL_BUFFER ((size_t)16 << 10)

static hid_t make_half(hid_t float_type)
{
    hid_t type = H5Tcopy(float_type);

    if (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 ||
        H5Tset_ebias(type, 15) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

txd_status txd_h5_types_make(txd_h5_types *out, const char *file)
{
    txd_h5_types types = {
        .text = H5Tcopy(H5T_C_S1),
        .half_file = make_half(H5T_IEEE_F32LE),
        .half_memory = make_half(H5T_NATIVE_FLOAT),
        .scalar = H5Screate(H5S_SCALAR),
        .small = H5Pcreate(H5P_DATASET_XFER),
    };

    if (types.text < 0 || types.half_file < 0 || types.half_memory < 0 ||
        types.scalar < 0 || H5Tset_size(types.text, H5T_VARIABLE) < 0 ||
        H5Tset_cset(types.text, H5T_CSET_UTF8) < 0 ||
        H5Pset_buffer(types.small, SMALL_BUFFER, NULL, NULL) < 0) {
        txd_status status = txd_h5_fail(TXD_ERR_MEMORY, file, "making types");

        txd_h5_types_close(&types);
        return status;
    }
    *out = types;
    return TXD_OK;
}

void txd_h5_types_close(const txd_h5_types *types)
{
    H5Tclose(types->text);
    H5Tclose(types->half_file);
    H5Tclose(types->half_memory);
    H5Sclose(types->scalar);
    H5Pclose(types->small);
}

hid_t txd_h5_file_type(const txd_h5_types *types, txd_dtype dtype)
{
    switch (dtype) {
    case TXD_F16:
        return types->half_file;
    case TXD_F32:
    case TXD_BF16:
        return H5T_IEEE_F32LE;
    case TXD_I64:
        return H5T_STD_I64LE;
    case TXD_I32:
        return H5T_STD_I32LE;
    case TXD_U8:
        return H5T_STD_U8LE;
    case TXD_F64:
        break;
    }
    return H5T_IEEE_F64LE;
}

hid_t txd_h5_memory_type(const txd_h5_types *types, txd_dtype dtype)
{
    switch (dtype) {
    case TXD_F16:
        return types->half_memory;
    case TXD_F32:
    case TXD_BF16:
        return H5T_NATIVE_FLOAT;
    case TXD_I64:
        return H5T_NATIVE_INT64;
    case TXD_I32:
        return H5T_NATIVE_INT32;
    case TXD_U8:
        return H5T_NATIVE_UINT8;
    case TXD_F64:
        break;
    }
    return H5T_NATIVE_DOUBLE;
}

static txd_status put(const txd_h5_writer *writer, hid_t object, const char *key,
                      const hid_t types[2], const void *value)
{
    hid_t attribute;
    herr_t done = 0;

    if (H5Aexists(object, key) > 0)
        done = H5Adelete(object, key);
    if (done < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "replacing an attribute");
    attribute = H5Acreate2(object, key, types[0], writer->types.scalar, H5P_DEFAULT,
                           H5P_DEFAULT);
    if (attribute >= 0)
        done = H5Awrite(attribute, types[1], value);
    if (attribute < 0 || done < 0) {
        txd_status status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing metadata");

        H5Aclose(attribute);
        return txd_fail_prefix(status, "attribute \"%s\"", key);
    }
    if (H5Aclose(attribute) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing metadata");
    return TXD_OK;
}

txd_status txd_h5_put_text(const txd_h5_writer *writer, hid_t object, const char *key,
                           const char *value)
{
    const hid_t types[2] = {writer->types.text, writer->types.text};

    return put(writer, object, key, types, &value);
}

txd_status txd_h5_put_int(const txd_h5_writer *writer, hid_t object, const char *key,
                          int64_t value)
{
    const hid_t types[2] = {H5T_STD_I64LE, H5T_NATIVE_INT64};

    return put(writer, object, key, types, &value);
}

txd_status txd_h5_put_real(const txd_h5_writer *writer, hid_t object, const char *key,
                           double value)
{
    const hid_t types[2] = {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE};

    return put(writer, object, key, types, &value);
}

static char *get_variable_text(txd_arena *arena, hid_t attribute, hid_t type)
{
    char *raw = NULL, *text = NULL;
    hid_t memory = H5Tcopy(H5T_C_S1);

    /* HDF5 does not convert between character sets: ask for the one that is there. */
    if (H5Tset_size(memory, H5T_VARIABLE) >= 0 &&
        H5Tset_cset(memory, H5Tget_cset(type)) >= 0 &&
        H5Aread(attribute, memory, &raw) >= 0)
        text = txd_arena_string(arena, raw ? raw : "");
    free(raw);
    H5Tclose(memory);
    return text;
}

static char *get_fixed_text(txd_arena *arena, hid_t attribute, hid_t type)
{
    size_t bytes = H5Tget_size(type);
    char *text;

    if (bytes == 0 || bytes > TEXT_LIMIT)
        return NULL;
    text = txd_arena_alloc(arena, bytes + 1, 1);
    if (!text || H5Aread(attribute, type, text) < 0)
        return NULL;
    for (size_t end = strlen(text);
         H5Tget_strpad(type) == H5T_STR_SPACEPAD && end > 0 && text[end - 1] == ' ';)
        text[--end] = '\0';
    return text;
}

static char *get_number(txd_arena *arena, hid_t attribute, H5T_class_t class)
{
    char *text = NULL;

    if (class == H5T_FLOAT) {
        double value;
        txd_text real;

        txd_text_init(&real);
        if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) >= 0) {
            txd_text_add_real(&real, value);
            text = txd_arena_string(arena, txd_text_get(&real));
        }
        txd_text_finish(&real);
    } else {
        char digits[32];
        int64_t value;

        if (H5Aread(attribute, H5T_NATIVE_INT64, &value) >= 0) {
            snprintf(digits, sizeof digits, "%" PRId64, value);
            text = txd_arena_string(arena, digits);
        }
    }
    return text;
}

static char *get_text(txd_arena *arena, hid_t attribute)
{
    hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
    H5T_class_t class = H5Tget_class(type);
    char *text = NULL;

    if (H5Sget_simple_extent_npoints(space) == 1) {
        if (class == H5T_STRING)
            text = H5Tis_variable_str(type) > 0
                       ? get_variable_text(arena, attribute, type)
                       : get_fixed_text(arena, attribute, type);
        else if (class == H5T_INTEGER || class == H5T_ENUM || class == H5T_FLOAT)
            text = get_number(arena, attribute, class);
    }
    H5Tclose(type);
    H5Sclose(space);
    return text;
}

txd_status txd_h5_get_text(char **out, txd_arena *arena, hid_t object, const char *key,
                           const char *file)
{
    hid_t attribute;
    char *text;

    if (H5Aexists(object, key) <= 0)
        return txd_fail(TXD_ERR_MISSING, "%s: no attribute \"%s\"", file, key);
    attribute = H5Aopen(object, key, H5P_DEFAULT);
    text = attribute >= 0 ? get_text(arena, attribute) : NULL;
    H5Aclose(attribute);
    if (!text)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: attribute \"%s\": expected one string or number, found "
                        "something else",
                        file, key);
    *out = text;
    return TXD_OK;
}
