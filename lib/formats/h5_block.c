/* SPDX-License-Identifier: MIT
 *
 * Reading blocks and strings of a recording. HDF5 moves the numbers in the dtype
 * that the entry has; the conversion to what the caller wants is ours.
 */
#include "formats/h5_types_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((size_t)1 << 20)
#define MAX_CACHE_BYTES ((size_t)16 << 20)

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
        H5Sget_simple_extent_dims(space, open->extent, NULL);
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
    hsize_t file[TXD_MAX_RANK], memory[TXD_MAX_RANK], count[TXD_MAX_RANK];
    hsize_t whole[TXD_MAX_RANK]; /* the wanted block */
    bool any, all;
} overlap;

static overlap find_overlap(const txd_h5_open *open, size_t part_begin,
                            const size_t *start, const size_t *count)
{
    overlap at = {.any = true, .all = true};

    for (int axis = 0; axis < open->rank; axis++) {
        hsize_t shift = axis == 0 ? part_begin : 0;
        hsize_t begin = start[axis] > shift ? start[axis] - shift : 0;
        hsize_t end = start[axis] + count[axis];

        end = end > shift ? end - shift : 0;
        end = end < open->extent[axis] ? end : open->extent[axis];
        at.whole[axis] = count[axis];
        at.file[axis] = begin;
        at.memory[axis] = begin + shift - start[axis];
        at.count[axis] = end > begin ? end - begin : 0;
        at.any = at.any && at.count[axis] != 0;
        at.all = at.all && at.count[axis] == count[axis];
    }
    return at;
}

static herr_t read_overlap(const txd_h5_open *open, const overlap *at, hid_t type,
                           void *out)
{
    hid_t memory, file;
    herr_t done;

    if (open->rank == 0)
        return H5Dread(open->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    memory = H5Screate_simple(open->rank, at->whole, NULL);
    file = H5Screate_simple(open->rank, open->extent, NULL);
    done = H5Sselect_hyperslab(file, H5S_SELECT_SET, at->file, NULL, at->count, NULL);
    if (done >= 0)
        done = H5Sselect_hyperslab(memory, H5S_SELECT_SET, at->memory, NULL, at->count,
                                   NULL);
    if (done >= 0)
        done = H5Dread(open->id, type, memory, file, H5P_DEFAULT, out);
    /* Closing would clear the error stack that a failure is told from. */
    if (done >= 0) {
        H5Sclose(memory);
        H5Sclose(file);
    }
    return done;
}

static txd_status read_parts(txd_h5_reader *reader, void *out, size_t i,
                             const size_t *start, const size_t *count, size_t elements)
{
    const txd_h5_entry *entry = &reader->entries[i];
    txd_dtype stored = entry->info.dtype == TXD_BF16 ? TXD_F32 : entry->info.dtype;
    bool filled = false;

    for (size_t part = 0; part < entry->parts; part++) {
        txd_h5_open *open;
        overlap at;

        if (part + 1 < entry->parts && start[0] >= entry->part_begin[part + 1])
            continue;
        TXD_TRY(get_open(reader, &open, i, part));
        at = find_overlap(open, entry->part_begin[part], start, count);
        if (!at.all && !filled) {
            size_t bytes = txd_dtype_bytes(stored);

            for (size_t e = 0; e < elements; e++)
                txd_convert((char *)out + e * bytes, stored, &entry->fill, TXD_F64, 1);
            filled = true;
        }
        if (at.any && read_overlap(open, &at,
                                   txd_h5_memory_type(&reader->types, stored), out) < 0)
            return txd_fail_prefix(txd_h5_fail(TXD_ERR_FORMAT, reader->file, "reading"),
                                   "/%s", entry->path);
        if (at.all)
            break;
    }
    return TXD_OK;
}

txd_status txd_h5_reader_read(txd_h5_reader *reader, void *out, size_t i,
                              const size_t *start, const size_t *count, txd_dtype dtype)
{
    const txd_h5_entry *entry = &reader->entries[i];
    txd_dtype stored = entry->info.dtype == TXD_BF16 ? TXD_F32 : entry->info.dtype;
    size_t elements, bytes;
    txd_status status;
    void *raw;

    TXD_TRY(txd_shape_count(&elements, count, entry->info.rank));
    if (elements == 0)
        return TXD_OK;
    if (stored == dtype)
        return read_parts(reader, out, i, start, count, elements);
    TXD_TRY(txd_size_mul(&bytes, elements, txd_dtype_bytes(stored)));
    raw = malloc(bytes);
    if (!raw)
        return txd_fail(TXD_ERR_MEMORY,
                        "%s: out of memory: a block of /%s needs %zu "
                        "bytes",
                        reader->file, entry->path, bytes);
    status = read_parts(reader, raw, i, start, count, elements);
    if (status == TXD_OK)
        txd_convert(out, dtype, raw, stored, elements);
    free(raw);
    return status;
}
