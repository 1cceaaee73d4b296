/* SPDX-License-Identifier: MIT
 *
 * Which datasets a file has. The file may come from anywhere: only hard links are
 * followed and no dataset may lie in another file, so that reading a recording reads
 * that file alone; depth and number of objects are bounded; nothing is allocated by
 * what the file says about its extents.
 */
#include "formats/h5_types_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32
#define MAX_OBJECTS 1000000
#define MAX_PATH_BYTES 1024
#define MAX_CHUNK_BYTES ((hsize_t)1 << 30)

typedef struct walk {
    txd_h5_reader *reader;
    char path[MAX_PATH_BYTES]; /* of the group, without the leading slash */
    int depth;
    size_t *objects;
    txd_status status;
} walk;

static txd_status fail(const txd_h5_reader *reader, const char *path, const char *what)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: /%s: %s", reader->file, path, what);
}

static txd_dtype real_dtype(hid_t type)
{
    size_t sign, exponent_at, exponent, mantissa_at, mantissa;

    switch (H5Tget_size(type)) {
    case 2:
        if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at,
                          &mantissa) >= 0 &&
            mantissa == 10)
            return TXD_F16;
        return TXD_BF16;
    case 4:
        return TXD_F32;
    default:
        return TXD_F64;
    }
}

static txd_dtype integer_dtype(hid_t type, H5T_class_t class)
{
    size_t bytes = H5Tget_size(type);
    hid_t base = class == H5T_ENUM ? H5Tget_super(type) : H5I_INVALID_HID;
    H5T_sign_t sign = H5Tget_sign(base >= 0 ? base : type);

    if (base >= 0)
        H5Tclose(base);
    if (bytes == 1 && (sign == H5T_SGN_NONE || class == H5T_ENUM))
        return TXD_U8;
    return bytes < 4 || (bytes == 4 && sign != H5T_SGN_NONE) ? TXD_I32 : TXD_I64;
}

static txd_status check_layout(const txd_h5_reader *reader, hid_t id, hid_t type,
                               const char *path)
{
    hid_t list = H5Dget_create_plist(id);
    H5D_layout_t layout = H5Pget_layout(list);
    int external = H5Pget_external_count(list);
    hsize_t chunk[H5S_MAX_RANK], bytes = H5Tget_size(type);
    int rank = layout == H5D_CHUNKED ? H5Pget_chunk(list, H5S_MAX_RANK, chunk) : 0;

    H5Pclose(list);
    if (layout < 0 || external < 0 || rank < 0)
        return fail(reader, path, "its layout cannot be read");
    if (layout == H5D_VIRTUAL || external > 0)
        return fail(reader, path, "lies in another file: copy the data into this one");
    for (int axis = 0; axis < rank; axis++) {
        if (chunk[axis] > MAX_CHUNK_BYTES / (bytes ? bytes : 1))
            return fail(reader, path, "has chunks of more than 1 GiB");
        bytes *= chunk[axis];
    }
    return TXD_OK;
}

static txd_status read_shape(const txd_h5_reader *reader, txd_h5_entry *entry, hid_t id)
{
    hid_t space = H5Dget_space(id);
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = H5Sget_simple_extent_ndims(space);
    size_t bytes = 8;

    if (rank >= 0 && rank <= TXD_MAX_RANK)
        H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    if (rank < 0 || rank > TXD_MAX_RANK)
        return fail(reader, entry->path, "expected 0 to 8 axes");
    entry->info.rank = rank;
    for (int axis = 0; axis < rank; axis++) {
        entry->info.dims[axis] = (size_t)dims[axis];
        if (dims[axis] > SIZE_MAX / 16 ||
            txd_size_mul(&bytes, bytes, dims[axis] ? (size_t)dims[axis] : 1) != TXD_OK)
            return fail(reader, entry->path, "has more elements than can be counted");
    }
    return TXD_OK;
}

static bool is_packed(hid_t id)
{
    hid_t list = H5Dget_create_plist(id);
    int filters = list < 0 ? 0 : H5Pget_nfilters(list);

    if (list >= 0)
        H5Pclose(list);
    return filters > 0;
}

static txd_status read_description(txd_h5_reader *reader, txd_h5_entry *entry, hid_t id)
{
    txd_arena *arena = reader->arena;
    char *text;

    entry->info.axes = "";
    if (txd_h5_get_text(&text, arena, id, "axes", reader->file) == TXD_OK &&
        strlen(text) == (size_t)entry->info.rank)
        entry->info.axes = text;
    if (txd_h5_get_text(&text, arena, id, "dtype", reader->file) == TXD_OK &&
        strcmp(text, "bf16") == 0 && entry->info.dtype == TXD_F32)
        entry->info.dtype = TXD_BF16;
    entry->fill = (double)NAN;
    if (txd_h5_get_text(&text, arena, id, "fill", reader->file) == TXD_OK)
        entry->fill = strtod(text, NULL);
    if (txd_h5_get_text(&text, arena, id, "fields", reader->file) == TXD_OK)
        entry->fields = text;
    entry->parts = 1;
    entry->part_begin = txd_arena_alloc(arena, 2, sizeof *entry->part_begin);
    if (!entry->part_begin)
        return TXD_ERR_MEMORY;
    if (txd_h5_get_text(&text, arena, id, "first_step", reader->file) == TXD_OK)
        entry->part_begin[0] = (size_t)strtoull(text, NULL, 10);
    return TXD_OK;
}

static txd_status add_numbers(txd_h5_reader *reader, hid_t id, hid_t type,
                              const char *path)
{
    H5T_class_t class = H5Tget_class(type);
    txd_h5_entry entry = {.path = txd_arena_string(reader->arena, path)};

    if (!entry.path)
        return TXD_ERR_MEMORY;
    entry.info.name = entry.path;
    entry.info.dtype =
        class == H5T_FLOAT ? real_dtype(type) : integer_dtype(type, class);
    entry.info.packed = is_packed(id);
    TXD_TRY(read_shape(reader, &entry, id));
    TXD_TRY(read_description(reader, &entry, id));
    TXD_TRY(
        txd_h5_grow(&reader->entries, &reader->capacity, reader->count, sizeof entry));
    reader->entries[reader->count++] = entry;
    return TXD_OK;
}

static txd_status add_strings(txd_h5_reader *reader, const char *path)
{
    txd_h5_strings strings = {.name = txd_arena_string(reader->arena, path)};

    if (!strings.name)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_h5_grow(&reader->strings, &reader->string_capacity,
                        reader->string_count, sizeof strings));
    reader->strings[reader->string_count++] = strings;
    return TXD_OK;
}

static txd_status add_dataset(txd_h5_reader *reader, hid_t id, const char *path)
{
    hid_t type = H5Dget_type(id);
    H5T_class_t class = H5Tget_class(type);
    txd_status status = TXD_OK;

    if (type < 0)
        status = fail(reader, path, "its type cannot be read");
    else if (class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_ENUM ||
             class == H5T_STRING)
        status = check_layout(reader, id, type, path);
    if (status == TXD_OK && class == H5T_STRING)
        status = add_strings(reader, path);
    else if (status == TXD_OK &&
             (class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_ENUM))
        status = add_numbers(reader, id, type, path);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

static txd_status walk_group(walk *outer, hid_t group, const char *path);

static txd_status visit(walk *outer, hid_t object, const char *path)
{
    switch (H5Iget_type(object)) {
    case H5I_GROUP:
        return walk_group(outer, object, path);
    case H5I_DATASET:
        return add_dataset(outer->reader, object, path);
    default:
        return TXD_OK;
    }
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link,
                         void *data)
{
    walk *outer = data;
    char path[MAX_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s%s", outer->path,
                          outer->path[0] ? "/" : "", name);
    hid_t object;

    if (link->type != H5L_TYPE_HARD)
        return 0;
    if (++*outer->objects > MAX_OBJECTS || length < 0 || (size_t)length >= sizeof path)
        outer->status = fail(outer->reader, outer->path, "too many objects below it");
    else if ((object = H5Oopen(group, name, H5P_DEFAULT)) < 0)
        outer->status = fail(outer->reader, path, "cannot be opened: damaged");
    else {
        outer->status = visit(outer, object, path);
        H5Oclose(object);
    }
    /* What an interrupted run left half-written was never promised. */
    if (outer->status == TXD_ERR_FORMAT && !outer->reader->whole)
        outer->status = TXD_OK;
    return outer->status == TXD_OK ? 0 : -1;
}

static txd_status walk_group(walk *outer, hid_t group, const char *path)
{
    walk inner = {
        .reader = outer->reader, .depth = outer->depth + 1, .objects = outer->objects};

    if (inner.depth > MAX_DEPTH)
        return fail(outer->reader, path, "groups are nested too deep");
    snprintf(inner.path, sizeof inner.path, "%s", path);
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_link, &inner) <
            0 &&
        inner.status == TXD_OK)
        return fail(outer->reader, path, "its list of objects is damaged");
    return inner.status;
}

txd_status txd_h5_index(txd_h5_reader *reader)
{
    size_t objects = 0;
    walk top = {.reader = reader, .objects = &objects};
    hid_t root = H5Gopen2(reader->id, "/", H5P_DEFAULT);
    txd_status status;

    if (root < 0)
        return fail(reader, "", "cannot be opened: damaged");
    status = walk_group(&top, root, "");
    H5Gclose(root);
    return status;
}
