/* SPDX-License-Identifier: MIT
 *
 * Recordings as HDF5 files, in terms that need no HDF5 header. Internal to formats/:
 * recording*.c says what a recording promises, h5_*.c makes HDF5 keep it.
 */
#ifndef TXD_FORMATS_H5_INTERNAL_H
#define TXD_FORMATS_H5_INTERNAL_H

#include "formats/recording.h"

/* HDF5 prints its errors by itself unless told not to. Every entry into h5_*.c lies
 * between begin and end, which restore what the caller had. */
typedef struct txd_h5_quiet {
    void (*function)(void);
    void *data;
} txd_h5_quiet;
void txd_h5_quiet_begin(txd_h5_quiet *quiet);
void txd_h5_quiet_end(const txd_h5_quiet *quiet);

/* How a dataset lies in the file. Axes include the step. */
typedef struct txd_h5_plan {
    int rank;
    bool chunked;
    bool tiled; /* chunks are collected and written whole (h5_tile_collect.c) */
    size_t chunk[TXD_MAX_RANK];
    size_t limit[TXD_MAX_RANK]; /* longest the axis can become; 0 = unknown (steps) */
    size_t bytes;               /* of an element in the file */
    size_t chunk_bytes;
    size_t chunks_per_step; /* of all axes but the step, when grown to the limit */
    size_t steps_per_part;  /* the next step axis continues in NAME.1, ... */
    size_t parts;           /* for the declared steps */
} txd_h5_plan;

/* ERR_ARGUMENT for a spec that cannot be, ERR_LIMIT for sizes that overflow. */
txd_status txd_h5_plan_make(txd_h5_plan *out, const txd_dataset_spec *spec);
/* Whether numbers lie in the file as they lie in memory. */
bool txd_h5_is_little_endian(void);

/* The chunk cache of an open dataset. Those above the small one share a budget: the
 * datasets that hold them are closed when it is spent. */
#define TXD_H5_SMALL_CACHE ((size_t)64 << 10)
#define TXD_H5_CACHE_BUDGET ((size_t)32 << 20)
size_t txd_h5_cache_bytes(const txd_h5_plan *plan);

/* Chunks that are being collected take so many bytes, all together, and are packed and
 * written when so many are whole. Smaller ones are left to HDF5, unless their zeros
 * are to be left out. */
#define TXD_H5_TILES_BUDGET ((size_t)32 << 20)
#define TXD_H5_TILES_BATCH ((size_t)8 << 20)
#define TXD_H5_TILE_LEAST ((size_t)16 << 10)

/* --- writing --- */

typedef struct txd_h5_writer txd_h5_writer;

/* An existing `file` is emptied. The writer keeps no pointer to it. */
txd_status txd_h5_writer_create(txd_h5_writer **out, const char *file);
/* Of the datasets that are made from here on; threads 0 = all. */
void txd_h5_writer_pack(txd_h5_writer *writer, bool deflate, int threads);
txd_status txd_h5_writer_text(txd_h5_writer *writer, const char *key,
                              const char *value);
txd_status txd_h5_writer_int(txd_h5_writer *writer, const char *key, int64_t value);
txd_status txd_h5_writer_dataset(txd_h5_writer *writer, size_t *out,
                                 const txd_dataset_spec *spec);
txd_status txd_h5_writer_write(txd_h5_writer *writer, size_t dataset, size_t step,
                               const size_t *start, const size_t *count,
                               const void *data, txd_dtype dtype);
txd_status txd_h5_writer_append(txd_h5_writer *writer, const char *path,
                                const txd_column *columns, size_t column_count,
                                size_t rows);
txd_status txd_h5_writer_table(txd_h5_writer *writer, const char *path,
                               const txd_column *columns, size_t column_count,
                               size_t rows);
txd_status txd_h5_writer_strings(txd_h5_writer *writer, const char *path,
                                 const char *const *strings, size_t count);
txd_status txd_h5_writer_flush(txd_h5_writer *writer);
size_t txd_h5_writer_bytes(const txd_h5_writer *writer);
/* Flushes, checks every close and frees. `complete` is set only once everything
 * before it reached the file. With `abandon` failures do not matter. */
typedef enum txd_h5_ending {
    TXD_H5_COMPLETE,
    TXD_H5_PARTIAL,
    TXD_H5_ABANDON
} txd_h5_ending;
txd_status txd_h5_writer_close(txd_h5_writer *writer, txd_h5_ending ending);

/* --- reading --- */

typedef struct txd_h5_reader txd_h5_reader;

/* How a part of an entry is read: NULL = by HDF5. */
typedef struct txd_h5_way {
    bool is_known;
    struct txd_h5_direct *direct;
} txd_h5_way;

/* One array of numbers: a dataset, or several that continue each other's steps. */
typedef struct txd_h5_entry {
    txd_trace_info info;
    const char *path;   /* of the (first) dataset in the file */
    size_t parts;       /* datasets: path, path.1, ... */
    size_t *part_begin; /* first step of each; parts + 1 values */
    txd_h5_way *ways;   /* (parts); NULL before the first large read */
    double fill;        /* of what no part holds */
    const char *fields; /* names of the last axis, or NULL */
    bool is_value;      /* below /value or /grad: info.name is a site */
    size_t order;       /* for the caller's sorting */
} txd_h5_entry;

/* Opens, checks the schema, and indexes all datasets. */
txd_status txd_h5_reader_open(txd_h5_reader **out, const char *file);
void txd_h5_reader_close(txd_h5_reader *reader); /* NULL is allowed */
size_t txd_h5_reader_count(const txd_h5_reader *reader);
/* Entry i; may be sorted by the caller before the first read. */
txd_h5_entry *txd_h5_reader_entries(txd_h5_reader *reader);
/* From any number of threads at once; needs no txd_h5_quiet around it. */
txd_status txd_h5_reader_read(txd_h5_reader *reader, void *out, size_t i,
                              const size_t *start, const size_t *count,
                              txd_dtype dtype);
txd_status txd_h5_reader_strings(const char *const **out, size_t *count,
                                 txd_h5_reader *reader, const char *name);
/* The path that it was opened by. */
const char *txd_h5_reader_file(const txd_h5_reader *reader);
/* A root attribute as text, or NULL. */
const char *txd_h5_reader_meta(const txd_h5_reader *reader, const char *key);
/* True for a file with the attribute txdiag_schema. */
bool txd_h5_is_recording(const char *file);

#endif
