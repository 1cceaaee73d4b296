/* SPDX-License-Identifier: MIT
 *
 * Reading blocks and strings of a recording. HDF5 moves the numbers in the dtype
 * that the entry has, or tells where they lie (formats/h5_direct_internal.h); the
 * conversion to what the caller wants is ours.
 */
#include "formats/h5_types_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((size_t)1 << 20)
#define MAX_CACHE_BYTES ((size_t)16 << 20)
/* Smaller blocks are not worth the list of chunks. */
#define LEAST_DIRECT ((size_t)32 << 10)

/* What a caller wants of an entry, in the dtype that it has. */
typedef struct wanted_block {
    const txd_h5_entry *entry;
    size_t index, elements;
    const size_t *start, *count;
    void *out;
    txd_dtype stored;
} wanted_block;

static hid_t open_dataset(const txd_h5_reader *reader, const char *path)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS), id, list;
    hsize_t chunk[H5S_MAX_RANK], bytes = 8;
    int rank;

    id = H5Dopen2(reader->id, path, H5P_DEFAULT);
    list = id < 0 ? H5I_INVALID_HID : H5Dget_create_plist(id);
    rank = list < 0 || H5Pget_layout(list) != H5D_CHUNKED
               ? 0
               : H5Pget_chunk(list, H5S_MAX_RANK, chunk);
    for (int axis = 0; axis < rank; axis++)
        bytes *= chunk[axis];
    /* A compressed chunk that does not fit would be unpacked for every block. */
    if (rank > 0 && bytes > CACHE_BYTES && bytes <= MAX_CACHE_BYTES) {
        H5Pset_chunk_cache(access, 53, (size_t)bytes, 0.75);
        H5Dclose(id);
        id = H5Dopen2(reader->id, path, access);
    }
    if (list >= 0)
        H5Pclose(list);
    H5Pclose(access);
    return id;
}

static txd_h5_open *find_open(txd_h5_reader *reader, size_t entry, size_t part)
{
    txd_h5_open *oldest = &reader->open[0];

    for (size_t i = 0; i < reader->open_count; i++) {
        txd_h5_open *open = &reader->open[i];

        if (open->entry == entry && open->part == part)
            return open;
        if (open->used < oldest->used)
            oldest = open;
    }
    if (reader->open_count < TXD_H5_MAX_OPEN) {
        oldest = &reader->open[reader->open_count++];
        oldest->id = H5I_INVALID_HID;
    }
    if (oldest->id >= 0)
        H5Dclose(oldest->id);
    *oldest = (txd_h5_open){.id = H5I_INVALID_HID, .entry = entry, .part = part};
    return oldest;
}

static void forget(txd_h5_reader *reader, txd_h5_open *open)
{
    if (open->id >= 0)
        H5Dclose(open->id);
    *open = reader->open[--reader->open_count];
}

static txd_status get_open(txd_h5_reader *reader, txd_h5_open **out, size_t i,
                           size_t part)
{
    const txd_h5_entry *entry = &reader->entries[i];
    txd_h5_open *open = find_open(reader, i, part);
    hsize_t extent[TXD_MAX_RANK] = {0};
    char path[1100];
    hid_t space;

    open->used = ++reader->clock;
    *out = open;
    if (open->id >= 0)
        return TXD_OK;
    if (part == 0)
        snprintf(path, sizeof path, "%s", entry->path);
    else
        snprintf(path, sizeof path, "%s.%zu", entry->path, part);
    open->id = open_dataset(reader, path);
    space = open->id < 0 ? H5I_INVALID_HID : H5Dget_space(open->id);
    open->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (open->rank == entry->info.rank)
        H5Sget_simple_extent_dims(space, extent, NULL);
    for (int axis = 0; axis < open->rank && open->rank == entry->info.rank; axis++)
        open->extent[axis] = (size_t)extent[axis];
    if (space >= 0)
        H5Sclose(space);
    if (open->rank != entry->info.rank) {
        forget(reader, open);
        return txd_fail(TXD_ERR_FORMAT, "%s: /%s: cannot be opened: damaged",
                        reader->file, path);
    }
    return TXD_OK;
}

/* Where a part and the wanted block meet. */
typedef struct overlap {
    txd_h5_box box;
    bool any, all;
} overlap;

static overlap find_overlap(const size_t *extent, int rank, size_t part_begin,
                            const wanted_block *wanted)
{
    overlap at = {.any = true, .all = true};

    for (int axis = 0; axis < rank; axis++) {
        size_t shift = axis == 0 ? part_begin : 0, start = wanted->start[axis];
        size_t begin = start > shift ? start - shift : 0;
        size_t end = start + wanted->count[axis];

        end = end > shift ? end - shift : 0;
        end = end < extent[axis] ? end : extent[axis];
        at.box.whole[axis] = wanted->count[axis];
        at.box.start[axis] = begin;
        at.box.memory[axis] = begin + shift - start;
        at.box.count[axis] = end > begin ? end - begin : 0;
        at.any = at.any && at.box.count[axis] != 0;
        at.all = at.all && at.box.count[axis] == wanted->count[axis];
    }
    return at;
}

static void widen(hsize_t to[TXD_MAX_RANK], const size_t from[TXD_MAX_RANK], int rank)
{
    for (int axis = 0; axis < rank; axis++)
        to[axis] = from[axis];
}

static herr_t read_box(const txd_h5_open *open, const txd_h5_box *box, hid_t type,
                       void *out)
{
    hsize_t dims[TXD_MAX_RANK], start[TXD_MAX_RANK], count[TXD_MAX_RANK];
    hid_t memory, file;
    herr_t done;

    if (open->rank == 0)
        return H5Dread(open->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    widen(dims, box->whole, open->rank);
    memory = H5Screate_simple(open->rank, dims, NULL);
    widen(dims, open->extent, open->rank);
    file = H5Screate_simple(open->rank, dims, NULL);
    widen(count, box->count, open->rank);
    widen(start, box->start, open->rank);
    done = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    widen(start, box->memory, open->rank);
    if (done >= 0)
        done = H5Sselect_hyperslab(memory, H5S_SELECT_SET, start, NULL, count, NULL);
    if (done >= 0)
        done = H5Dread(open->id, type, memory, file, H5P_DEFAULT, out);
    /* Closing would clear the error stack that a failure is told from. */
    if (done >= 0) {
        H5Sclose(memory);
        H5Sclose(file);
    }
    return done;
}

/* Fills a block with the value of what no part holds. */
static void fill_block(const wanted_block *wanted)
{
    size_t bytes = txd_dtype_bytes(wanted->stored);
    unsigned char *out = wanted->out, value[8];

    txd_convert(value, wanted->stored, &wanted->entry->fill, TXD_F64, 1);
    for (size_t e = 0; e < wanted->elements; e++)
        memcpy(out + e * bytes, value, bytes);
}

/* Where the numbers of a part lie, if the library need not be asked. */
static txd_status find_direct(txd_h5_reader *reader, const txd_h5_direct **out,
                              const txd_h5_open *open, const wanted_block *wanted)
{
    txd_h5_entry *entry = &reader->entries[wanted->index];
    txd_h5_way *way;

    *out = NULL;
    if (wanted->elements * txd_dtype_bytes(wanted->stored) < LEAST_DIRECT)
        return TXD_OK;
    if (!entry->ways)
        entry->ways = txd_arena_alloc(reader->arena, entry->parts, sizeof *entry->ways);
    if (!entry->ways)
        return TXD_ERR_MEMORY;
    way = &entry->ways[open->part];
    if (!way->is_known)
        way->direct =
            txd_h5_direct_make(reader, open, entry->path,
                               txd_h5_memory_type(&reader->types, wanted->stored));
    way->is_known = true;
    *out = way->direct;
    return TXD_OK;
}

/* A part of a block. Only one thread is in the library; they meet again in reading and
 * unpacking. */
/* The filter of a dataset that this HDF5 does not have, by name; false if it has all.
 */
static bool find_missing_filter(char *name, size_t bytes, hid_t dataset)
{
    hid_t list = H5Dget_create_plist(dataset);
    int count = list < 0 ? 0 : H5Pget_nfilters(list);
    bool found = false;

    for (int i = 0; i < count && !found; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter;

        name[0] = '\0';
        filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, bytes, name,
                                &config);
        found = filter >= 0 && H5Zfilter_avail(filter) <= 0;
        if (found && name[0] == '\0')
            snprintf(name, bytes, "number %d", (int)filter);
    }
    if (list >= 0)
        H5Pclose(list);
    return found;
}

static txd_status fail_reading(const txd_h5_reader *reader, const txd_h5_entry *entry,
                               hid_t dataset)
{
    txd_status status = txd_h5_fail(TXD_ERR_FORMAT, reader->file, "reading");
    char name[64];

    if (find_missing_filter(name, sizeof name, dataset))
        status = txd_fail(TXD_ERR_FORMAT,
                          "%s: its filter \"%.60s\" is not in this HDF5; write it with "
                          "gzip (h5repack -f SHUF -f GZIP=1), or plain",
                          reader->file, name);
    return txd_fail_prefix(status, "/%s", entry->path);
}

static txd_status read_part(txd_h5_reader *reader, const wanted_block *wanted,
                            size_t part, bool *is_filled, bool *is_done)
{
    const txd_h5_entry *entry = wanted->entry;
    const txd_h5_direct *direct = NULL;
    txd_h5_quiet quiet;
    txd_h5_open *open;
    txd_status status;
    overlap at;

    pthread_mutex_lock(&reader->pool.lock);
    txd_h5_quiet_begin(&quiet);
    status = get_open(reader, &open, wanted->index, part);
    if (status == TXD_OK) {
        at = find_overlap(open->extent, open->rank, entry->part_begin[part], wanted);
        *is_done = at.all;
        if (!at.all && !*is_filled)
            fill_block(wanted);
        *is_filled |= !at.all;
        if (at.any)
            status = find_direct(reader, &direct, open, wanted);
        if (direct && txd_h5_direct_wastes(direct, &at.box))
            direct = NULL;
        if (status == TXD_OK && at.any && !direct &&
            read_box(open, &at.box, txd_h5_memory_type(&reader->types, wanted->stored),
                     wanted->out) < 0)
            status = fail_reading(reader, entry, open->id);
    }
    txd_h5_quiet_end(&quiet);
    pthread_mutex_unlock(&reader->pool.lock);
    return direct && status == TXD_OK
               ? txd_h5_direct_read(direct, &reader->pool, wanted->out, &at.box)
               : status;
}

static txd_status read_parts(txd_h5_reader *reader, const wanted_block *wanted)
{
    const txd_h5_entry *entry = wanted->entry;
    bool is_filled = false, is_done = false;

    for (size_t part = 0; part < entry->parts && !is_done; part++)
        if (part + 1 == entry->parts || wanted->start[0] < entry->part_begin[part + 1])
            TXD_TRY(read_part(reader, wanted, part, &is_filled, &is_done));
    return TXD_OK;
}

txd_status txd_h5_reader_read(txd_h5_reader *reader, void *out, size_t i,
                              const size_t *start, const size_t *count, txd_dtype dtype)
{
    const txd_h5_entry *entry = &reader->entries[i];
    wanted_block wanted = {
        .entry = entry,
        .index = i,
        .start = start,
        .count = count,
        .out = out,
        .stored = entry->info.dtype == TXD_BF16 ? TXD_F32 : entry->info.dtype,
    };
    txd_status status;
    size_t bytes;
    void *raw;

    TXD_TRY(txd_shape_count(&wanted.elements, count, entry->info.rank));
    if (wanted.elements == 0)
        return TXD_OK;
    if (wanted.stored == dtype)
        return read_parts(reader, &wanted);
    TXD_TRY(txd_size_mul(&bytes, wanted.elements, txd_dtype_bytes(wanted.stored)));
    raw = malloc(bytes);
    if (!raw)
        return txd_fail(TXD_ERR_MEMORY,
                        "%s: out of memory: a block of /%s needs %zu "
                        "bytes",
                        reader->file, entry->path, bytes);
    wanted.out = raw;
    status = read_parts(reader, &wanted);
    if (status == TXD_OK)
        txd_convert(out, dtype, raw, wanted.stored, wanted.elements);
    free(raw);
    return status;
}
