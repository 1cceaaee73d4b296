/* SPDX-License-Identifier: MIT
 *
 * Reading a dataset without HDF5's library: it says once where the chunks lie, then
 * they are read and unpacked on all threads. Only what the library would give in the
 * same bits is read so; the file may come from anybody, and nothing it says is believed
 * about its own size. Needs no HDF5 header.
 */
#ifndef TXD_FORMATS_H5_DIRECT_INTERNAL_H
#define TXD_FORMATS_H5_DIRECT_INTERNAL_H

#include <pthread.h>
#include <sys/uio.h>

#include "base/tensor.h"

/* A chunk in the file. */
typedef struct txd_h5_chunk {
    uint64_t index; /* its place in the grid of chunks, row by row */
    uint64_t at;
    uint32_t bytes, left_out; /* bit i: filter i was not applied */
} txd_h5_chunk;

/* Where the numbers of a dataset lie: the chunks that exist, by ascending index; a
 * dataset in one piece is a chunk of its extent. */
typedef struct txd_h5_direct {
    int file_number; /* descriptor, HDF5's own */
    uint64_t file_bytes;
    const char *file, *path; /* for messages */
    int rank;                /* 1 at least */
    size_t element;          /* bytes: 1, 2, 4 or 8 */
    bool is_chunked;
    size_t chunk[TXD_MAX_RANK], grid[TXD_MAX_RANK], chunk_bytes;
    int shuffle, deflate; /* their numbers among the filters, or -1 */
    unsigned char fill[8];
    size_t count;
    txd_h5_chunk *chunks;
} txd_h5_direct;

/* Bytes of a chunk that follow one another in the file from `at` on, to several places.
 * The list is used up. */
txd_status txd_h5_direct_bytes(const txd_h5_direct *direct, const txd_h5_chunk *chunk,
                               uint64_t at, struct iovec *to, size_t count);

/* What one thread unpacks with. */
typedef struct txd_h5_scratch {
    struct txd_h5_scratch *next;
    unsigned char *packed, *plain;
    size_t packed_bytes, plain_bytes;
    struct txd_inflater *inflater;
} txd_h5_scratch;

/* Those that nobody uses now. */
typedef struct txd_h5_pool {
    pthread_mutex_t lock;
    txd_h5_scratch *idle;
} txd_h5_pool;
void txd_h5_pool_free(txd_h5_pool *pool);
/* NULL, with a message, if there is no memory. */
txd_h5_scratch *txd_h5_scratch_take(txd_h5_pool *pool);
void txd_h5_scratch_give(txd_h5_pool *pool, txd_h5_scratch *scratch);
/* Makes room in one of its two; what was there is lost. */
txd_status txd_h5_scratch_reserve(unsigned char **memory, size_t *have, size_t bytes);

/* A block of a dataset, and where in a dense array of `whole` it goes. */
typedef struct txd_h5_box {
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK]; /* in the dataset; none is 0 */
    size_t memory[TXD_MAX_RANK], whole[TXD_MAX_RANK];
} txd_h5_box;

/* Reads a box that lies within the extent, from several threads if that pays and none
 * are running. ERR_FORMAT, naming the chunk, where the file cannot hold what it says.
 */
txd_status txd_h5_direct_read(const txd_h5_direct *direct, txd_h5_pool *pool, void *out,
                              const txd_h5_box *box);

/* True if most of what would be unpacked is not asked for: HDF5 keeps a few unpacked
 * chunks for the next time. */
bool txd_h5_direct_wastes(const txd_h5_direct *direct, const txd_h5_box *box);

#endif
