/* SPDX-License-Identifier: MIT
 *
 * Which datasets can be read without HDF5's library (formats/h5_direct_internal.h):
 * numbers as they are in memory, in one piece or in chunks, with no filter, or with
 * those that h5py and we call shuffle and gzip. All else goes the library's way.
 */
#include "formats/h5_types_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The library walks the whole index for each chunk that it is asked about. */
#define MAX_CHUNKS 3000
/* Every thread unpacks one: larger ones would take too much memory together. */
#define MAX_PACKED_CHUNK ((size_t)64 << 20)

/* The file that HDF5 has open: its descriptor and its size. */
static bool find_file(txd_h5_direct *d, const txd_h5_reader *reader)
{
    hid_t create = H5Fget_create_plist(reader->id), access;
    hsize_t user_block = 1;
    struct stat about;
    void *number = NULL;
    bool is_plain;

    if (create < 0)
        return false;
    H5Pget_userblock(create, &user_block);
    H5Pclose(create);
    access = H5Fget_access_plist(reader->id);
    is_plain = access >= 0 && H5Pget_driver(access) == H5FD_SEC2;
    if (access >= 0)
        H5Pclose(access);
    if (user_block != 0 || !is_plain ||
        H5Fget_vfd_handle(reader->id, H5P_DEFAULT, &number) < 0 || !number)
        return false;
    memcpy(&d->file_number, number, sizeof d->file_number);
    if (fstat(d->file_number, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    d->file_bytes = (uint64_t)about.st_size;
    d->file = reader->file;
    return true;
}

/* Shuffle, deflate, or one after the other. */
static bool find_filters(txd_h5_direct *d, hid_t list)
{
    int count = H5Pget_nfilters(list);

    d->shuffle = d->deflate = -1;
    for (int i = 0; i < count; i++) {
        unsigned flags, config, values[8] = {0};
        size_t given = 8;
        H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &given, values, 0, NULL, &config);

        if (filter == H5Z_FILTER_SHUFFLE && d->shuffle < 0 && d->deflate < 0 &&
            given == 1 && values[0] == d->element)
            d->shuffle = i;
        else if (filter == H5Z_FILTER_DEFLATE && d->deflate < 0)
            d->deflate = i;
        else
            return false;
    }
    return count >= 0;
}

/* What stands where nothing was written. */
static bool find_fill(txd_h5_direct *d, hid_t list, hid_t memory_type)
{
    H5D_fill_value_t defined;
    H5D_fill_time_t time;

    return H5Pfill_value_defined(list, &defined) >= 0 &&
           defined != H5D_FILL_VALUE_UNDEFINED && H5Pget_fill_time(list, &time) >= 0 &&
           time != H5D_FILL_TIME_NEVER &&
           H5Pget_fill_value(list, memory_type, d->fill) >= 0;
}

static bool find_grid(txd_h5_direct *d, const txd_h5_open *open, const hsize_t *chunk)
{
    size_t all = 1, bytes = d->element;

    for (int axis = 0; axis < d->rank; axis++) {
        size_t length = open->extent[axis], side = (size_t)chunk[axis];

        if (side == 0 || length == 0)
            return false;
        d->chunk[axis] = side;
        d->grid[axis] = (length - 1) / side + 1;
        if (txd_size_mul(&all, all, d->grid[axis]) != TXD_OK ||
            txd_size_mul(&bytes, bytes, side) != TXD_OK)
            return false;
    }
    d->chunk_bytes = bytes;
    return true;
}

/* False for a chunk that is none of the grid. */
static bool place_chunk(const txd_h5_direct *d, txd_h5_chunk *chunk,
                        const hsize_t *offset)
{
    chunk->index = 0;
    for (int axis = 0; axis < d->rank; axis++) {
        hsize_t nth = offset[axis] / d->chunk[axis];

        if (nth >= d->grid[axis])
            return false;
        chunk->index = chunk->index * d->grid[axis] + nth;
    }
    return true;
}

static int compare_chunks(const void *a, const void *b)
{
    const txd_h5_chunk *left = a, *right = b;

    return left->index < right->index ? -1 : left->index > right->index;
}

static bool list_chunks(txd_h5_direct *d, hid_t id, hid_t space)
{
    hsize_t count, offset[H5S_MAX_RANK + 1], bytes;

    if (H5Dget_num_chunks(id, space, &count) < 0 || count > MAX_CHUNKS)
        return false;
    d->chunks = calloc((size_t)count + 1, sizeof *d->chunks);
    for (hsize_t i = 0; d->chunks && i < count; i++) {
        txd_h5_chunk *chunk = &d->chunks[d->count];
        unsigned left_out;
        haddr_t at;

        if (H5Dget_chunk_info(id, space, i, offset, &left_out, &at, &bytes) < 0)
            return false;
        if (!place_chunk(d, chunk, offset))
            continue;
        if (at == HADDR_UNDEF || bytes > UINT32_MAX)
            return false;
        chunk->at = at;
        chunk->bytes = (uint32_t)bytes;
        chunk->left_out = left_out;
        d->count++;
    }
    if (d->count > 1)
        qsort(d->chunks, d->count, sizeof *d->chunks, compare_chunks);
    return d->chunks != NULL;
}

static bool find_piece(txd_h5_direct *d, hid_t id)
{
    haddr_t at = H5Dget_offset(id);

    d->chunks = calloc(1, sizeof *d->chunks);
    if (!d->chunks || at == HADDR_UNDEF || H5Dget_storage_size(id) < d->chunk_bytes)
        return false;
    d->chunks->at = at;
    d->count = 1;
    return true;
}

static bool find_layout(txd_h5_direct *d, const txd_h5_open *open, hid_t list)
{
    hsize_t chunk[H5S_MAX_RANK];
    unsigned options = 0;
    hid_t space;
    bool found;

    switch (H5Pget_layout(list)) {
    case H5D_CONTIGUOUS:
        for (int axis = 0; axis < d->rank; axis++)
            chunk[axis] = open->extent[axis];
        return find_grid(d, open, chunk) && find_piece(d, open->id);
    case H5D_CHUNKED:
        d->is_chunked = true;
        if (H5Pget_chunk(list, H5S_MAX_RANK, chunk) != d->rank ||
            H5Pget_chunk_opts(list, &options) < 0 || options != 0 ||
            !find_grid(d, open, chunk) || d->chunk_bytes > MAX_PACKED_CHUNK)
            return false;
        space = H5Dget_space(open->id);
        found = space >= 0 && list_chunks(d, open->id, space);
        if (space >= 0)
            H5Sclose(space);
        return found;
    default:
        return false;
    }
}

static bool describe(txd_h5_direct *d, const txd_h5_reader *reader,
                     const txd_h5_open *open, hid_t memory_type)
{
    hid_t type = H5Dget_type(open->id), list = H5Dget_create_plist(open->id);
    bool can = type >= 0 && list >= 0 && open->rank > 0 &&
               H5Tequal(type, memory_type) > 0 && find_file(d, reader);

    d->rank = open->rank;
    d->element = H5Tget_size(memory_type);
    can = can && d->element <= sizeof d->fill && find_filters(d, list) &&
          find_fill(d, list, memory_type) && find_layout(d, open, list);
    if (type >= 0)
        H5Tclose(type);
    if (list >= 0)
        H5Pclose(list);
    return can;
}

txd_h5_direct *txd_h5_direct_make(const txd_h5_reader *reader, const txd_h5_open *open,
                                  const char *path, hid_t memory_type)
{
    txd_h5_direct *d = calloc(1, sizeof *d);

    if (!d)
        return NULL; /* HDF5 then reads it */
    d->path = path;
    if (describe(d, reader, open, memory_type))
        return d;
    txd_h5_direct_free(d);
    return NULL;
}

void txd_h5_direct_free(txd_h5_direct *direct)
{
    if (!direct)
        return;
    free(direct->chunks);
    free(direct);
}
