/* SPDX-License-Identifier: MIT
 *
 * What the h5_*.c files share: the writer's state, and helpers that know HDF5.
 */
#ifndef TXD_FORMATS_H5_TYPES_INTERNAL_H
#define TXD_FORMATS_H5_TYPES_INTERNAL_H

/* Newer versions of HDF5 then offer the functions of this one. */
#define H5_USE_110_API
#include <hdf5.h>

#include "base/arena.h"
#include "formats/h5_direct_internal.h"
#include "formats/h5_internal.h"
#include "formats/pack_internal.h"

/* Entries of a chunk index that fit in one node: with more it splits, and a kill in
 * the middle of a split makes the dataset unreadable. */
#define TXD_H5_ISTORE_K 512
#define TXD_H5_MAX_CHUNKS 1000

/* --- failures (h5_error.c) --- */

/* Fails with "FILE: DOING failed: " and the innermost text of HDF5's error stack; a
 * full disk gets its remedy. Right after the failed call. */
txd_status txd_h5_fail(txd_status status, const char *file, const char *doing);
/* What to do about an errno of a write: "; free space there, ...", or "". */
const char *txd_h5_remedy(int code);

/* --- types and attributes (h5_attribute.c) --- */

/* The type of a dtype in the file; never to be closed. TXD_BF16 is float32. */
typedef struct txd_h5_types {
    hid_t text;      /* variable-length UTF-8 */
    hid_t half_file; /* IEEE half, little-endian */
    hid_t half_memory;
    hid_t scalar; /* a dataspace */
    hid_t small;  /* transfer of a few numbers or strings */
} txd_h5_types;
txd_status txd_h5_types_make(txd_h5_types *out, const char *file);
void txd_h5_types_close(const txd_h5_types *types);
hid_t txd_h5_file_type(const txd_h5_types *types, txd_dtype dtype);
hid_t txd_h5_memory_type(const txd_h5_types *types, txd_dtype dtype);

/* Writes an attribute, replacing an older one. */
txd_status txd_h5_put_text(const txd_h5_writer *writer, hid_t object, const char *key,
                           const char *value);
txd_status txd_h5_put_int(const txd_h5_writer *writer, hid_t object, const char *key,
                          int64_t value);
txd_status txd_h5_put_real(const txd_h5_writer *writer, hid_t object, const char *key,
                           double value);
/* Reads a scalar attribute as text into *out (a copy in `arena`); ERR_MISSING if there
 * is none or it is neither a string nor a number. */
txd_status txd_h5_get_text(char **out, txd_arena *arena, hid_t object, const char *key,
                           const char *file);

/* --- the writer --- */

typedef struct txd_h5_dataset {
    txd_dataset_spec spec; /* strings in the writer's arena */
    txd_h5_plan plan;
    hid_t id;                     /* the open part, or H5I_INVALID_HID */
    size_t part, made;            /* the open part; parts that exist */
    size_t dims[TXD_MAX_RANK];    /* extents now: longest of each axis so far */
    hsize_t extent[TXD_MAX_RANK]; /* of the open part in the file */
    size_t cache_bytes;
    bool deflate;
    bool is_dirty;    /* HDF5 may hold what was written since the last flush */
    bool has_memory;  /* something was written: `memory` is set */
    txd_dtype memory; /* of its tiles */
} txd_h5_dataset;

/* The dtype of the numbers in the file, and what stands where none was written. */
txd_dtype txd_h5_stored(const txd_dataset_spec *spec);
double txd_h5_fill(const txd_dataset_spec *spec);

/* A chunk that is being collected. */
typedef struct txd_h5_run {
    uint32_t from, to;
} txd_h5_run;

typedef struct txd_h5_tile {
    size_t dataset, part, number; /* of the chunk in its part */
    hsize_t offset[TXD_MAX_RANK];
    unsigned char *data; /* room for `bytes` */
    txd_h5_run *rows;    /* what is there of each row; room for `row_count` */
    size_t bytes, row_count;
    bool whole;  /* its last row was written */
    bool exists; /* in the file: it was written before */
    txd_packed packed;
} txd_h5_tile;

typedef struct txd_h5_tiles {
    txd_h5_tile *list, *other; /* the active ones, by age; then those to be used anew */
    size_t active, made, capacity;
    size_t bytes, whole_bytes; /* of the active ones */
    bool deflate;              /* new datasets */
    int threads;
    txd_packer *packers; /* one per thread */
    unsigned char *row;
    size_t row_bytes;
} txd_h5_tiles;

#define TXD_H5_MAX_COLUMNS 64

typedef struct txd_h5_table {
    char *path;
    size_t columns, rows;
    bool is_dirty; /* appended to since the last flush */
    char *names[TXD_H5_MAX_COLUMNS];
    bool text[TXD_H5_MAX_COLUMNS];
    hid_t ids[TXD_H5_MAX_COLUMNS];
} txd_h5_table;

/* A dimension scale: the numbers 0 ... length - 1 of one axis letter. */
typedef struct txd_h5_back_reference {
    hobj_ref_t dataset;
    int axis;
} txd_h5_back_reference;

typedef struct txd_h5_scale {
    char letter;
    hid_t id;
    hobj_ref_t reference;
    size_t length;
    txd_h5_back_reference *users;
    size_t count, capacity;
    bool changed; /* users not yet in the file */
} txd_h5_scale;

#define TXD_H5_MAX_SCALES 16

struct txd_h5_writer {
    txd_arena *arena;
    const char *file; /* for messages */
    hid_t id, links;  /* the file; link creation with missing groups */
    hid_t steps_id;   /* attribute: steps that are whole in the file */
    txd_h5_types types;
    txd_h5_dataset *datasets;
    size_t count, capacity;
    txd_h5_table *tables;
    size_t table_count, table_capacity;
    txd_h5_scale scales[TXD_H5_MAX_SCALES];
    size_t scale_count;
    txd_h5_tiles tiles;
    unsigned char *chunk; /* for blocks of whole chunks */
    size_t chunk_bytes;
    size_t cached; /* bytes that open datasets with large chunks may hold */
    size_t steps, flushed_steps;
    size_t flushed_bytes; /* up to here the file has all its room */
};

/* Makes sure that there is room on the disk for what a flush will write (h5_room.c):
 * HDF5 writes the rest even if it could not write all, which would spoil the steps that
 * are there. And gives back what was too much. */
txd_status txd_h5_room_take(txd_h5_writer *writer);
void txd_h5_room_give(const txd_h5_writer *writer);

/* Grows an array of `size`-byte items to hold one more than `count`. */
txd_status txd_h5_grow(void *items, size_t *capacity, size_t count, size_t size);

/* Opens part `part` of a dataset for writing, making it (and those before it) if it
 * is not there (h5_dataset.c). */
txd_status txd_h5_dataset_open(txd_h5_writer *writer, txd_h5_dataset *dataset,
                               size_t part);
/* Closes the open part; this is where a full disk can show. */
txd_status txd_h5_dataset_close(txd_h5_writer *writer, txd_h5_dataset *dataset);

/* A block of one step on its way into tiles (h5_tile_collect.c); its dataset is open,
 * and reaches around it. */
typedef struct txd_h5_block {
    size_t dataset;
    const hsize_t *start, *count; /* in the open part */
    const unsigned char *data;
    txd_dtype dtype;
} txd_h5_block;
txd_status txd_h5_tiles_write(txd_h5_writer *writer, const txd_h5_block *block);

/* True if the block, whose dataset is open and reaches around it, is all there is of
 * its chunks: then they can be written as they are (h5_whole.c). */
bool txd_h5_is_whole(const txd_h5_dataset *dataset, const txd_h5_block *block);
txd_status txd_h5_whole_write(txd_h5_writer *writer, const txd_h5_block *block);

/* Packs and writes tiles (h5_tiles.c): all, whole or not; or, when there are enough,
 * the whole ones, and the oldest if it must be. */
txd_status txd_h5_tiles_flush(txd_h5_writer *writer);
txd_status txd_h5_tiles_drain(txd_h5_writer *writer);
/* Forgets what was not flushed and frees everything. */
void txd_h5_tiles_finish(txd_h5_writer *writer);

/* Labels the axes of a new dataset and attaches scales (h5_dims.c). */
txd_status txd_h5_dims_describe(txd_h5_writer *writer, hid_t dataset,
                                const txd_dataset_spec *spec, const size_t *limit);
/* Writes the scales' lists of users, where they changed. */
txd_status txd_h5_dims_flush(txd_h5_writer *writer);
void txd_h5_dims_close(txd_h5_writer *writer);

/* --- the reader --- */

#define TXD_H5_MAX_OPEN 32

/* A dataset that is open for reading. */
typedef struct txd_h5_open {
    hid_t id;
    size_t entry, part, used;
    int rank;
    size_t extent[TXD_MAX_RANK];
} txd_h5_open;

typedef struct txd_h5_strings {
    const char *name;
    const char **values; /* NULL = not read yet */
    size_t count;
} txd_h5_strings;

typedef struct txd_h5_meta {
    const char *key, *value;
} txd_h5_meta;

struct txd_h5_reader {
    txd_arena *arena;
    const char *file;
    hid_t id;
    txd_h5_types types;
    bool whole;    /* closed cleanly: whatever cannot be read is an error */
    int64_t steps; /* whole steps of an interrupted recording; -1 = not said */
    txd_h5_entry *entries;
    size_t count, capacity;
    txd_h5_strings *strings;
    size_t string_count, string_capacity;
    txd_h5_meta *meta;
    size_t meta_count, meta_capacity;
    txd_h5_open open[TXD_H5_MAX_OPEN];
    size_t open_count, clock;
    txd_h5_pool pool; /* its lock: whoever is in the library holds it */
};

/* Where a part can be read directly; NULL if it cannot (h5_direct.c). */
txd_h5_direct *txd_h5_direct_make(const txd_h5_reader *reader, const txd_h5_open *open,
                                  const char *path, hid_t memory_type);
void txd_h5_direct_free(txd_h5_direct *direct); /* NULL is allowed */

/* Lists all datasets of the file (h5_index.c). */
txd_status txd_h5_index(txd_h5_reader *reader);
/* Joins NAME, NAME.1, ... to one entry (h5_join.c). */
txd_status txd_h5_join(txd_h5_reader *reader);

#endif
