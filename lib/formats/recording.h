/* SPDX-License-Identifier: MIT
 *
 * Recordings: HDF5 files of schema 1 (docs/recording.md). Writing is safe against
 * kill -9: everything goes to PATH.part with a flush per step; a clean close renames it
 * over PATH. Reading gives a trace.
 */
#ifndef TXD_FORMATS_RECORDING_H
#define TXD_FORMATS_RECORDING_H

#include "base/trace.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_recording txd_recording;

/* What recordings call a dtype: "bf16" for TXD_BF16, else its name. And the format that
 * a root attribute `dtype` names ("bfloat16" too); TXD_F32 for NULL and other names. */
const char *txd_recording_dtype(txd_dtype dtype);
txd_dtype txd_recording_format(const char *name);
/* Bytes that an element takes in the file. */
size_t txd_recording_element(txd_dtype dtype);

/* How the probe `full` stores values: as they were computed, or with fewer digits: as
 * float32; as float32 rounded to 12 bits of mantissa (to nearest, ties to even, finite
 * numbers stay finite); as float16 (above 65504 an infinity, below 2^-25 a zero). */
typedef enum txd_storage {
    TXD_STORAGE_EXACT,
    TXD_STORAGE_F32,
    TXD_STORAGE_F32R12,
    TXD_STORAGE_F16,
    TXD_STORAGES
} txd_storage;

/* "exact", "f32", "f32r12", "f16"; TXD_STORAGE_EXACT for NULL and other names. */
const char *txd_storage_name(txd_storage storage);
txd_storage txd_storage_find(const char *name);
/* The dtype in the file of values of a dtype; false if no digit is lost by it. */
bool txd_storage_apply(txd_dtype *dtype, txd_storage storage);
/* What it loses beside what `dtype` does: the unit roundoff and the smallest number,
 * zeros if nothing; and beyond what finite values become infinite, INFINITY if none. */
typedef struct txd_storage_loss {
    double roundoff, tiny, largest;
} txd_storage_loss;
txd_storage_loss txd_storage_loss_of(txd_storage storage, txd_dtype dtype);

/* Creates PATH.part with the root attributes txdiag_schema = 1, producer, created and
 * complete = 0. An existing PATH stays until the clean close; if it exists and is no
 * txdiag recording, ERR_IO unless `force`. The caller owns *out. */
txd_status txd_recording_create(txd_recording **out, const char *path, bool force);

/* A root attribute (variable-length UTF-8, or a number). Replaces an older value. */
txd_status txd_recording_meta(txd_recording *recording, const char *key,
                              const char *value);
txd_status txd_recording_meta_int(txd_recording *recording, const char *key,
                                  int64_t value);

/* How the chunks of datasets made from here on are stored: shuffled and deflated, as
 * every HDF5 reads them, by `threads` threads (0 = all), or plain. Chunks of less than
 * 16 KiB, and those of several steps, are never deflated. */
txd_status txd_recording_pack(txd_recording *recording, bool deflate, int threads);

/* A dataset to be made. Axis 0 is the step unless `per_step` is false. */
typedef struct txd_dataset_spec {
    const char *path;  /* "value/layers/3/attn/weights/full"; groups are made */
    const char *axes;  /* a letter per axis, the step 's' included if per_step */
    const char *point; /* "" if it belongs to none */
    const char *unit;  /* "" if it has none */
    txd_dtype dtype;   /* of the file; TXD_BF16 is stored as float32, marked */
    bool per_step;
    int rank;                         /* axes without the step */
    size_t dims[TXD_MAX_RANK];        /* extents now (without the step) */
    bool growing[TXD_MAX_RANK];       /* unlimited axes (positions, queries, keys) */
    size_t chunk_limit[TXD_MAX_RANK]; /* longest this axis can become, 0 = dims: chunk
                                         sides never exceed it */
    size_t steps;                     /* declared steps: bounds the number of chunks */
    bool fill_zero;      /* fill 0 (weights with hidden tiles left out); else NaN, -1
                            for integers */
    txd_storage storage; /* said in an attribute, and done: numbers are rounded to 12
                            bits; `dtype` must be that of txd_storage_apply */
    const char *fields;  /* comma-separated names of the last axis; NULL = none */
} txd_dataset_spec;

/* Makes a dataset; *out is its handle within this recording. */
txd_status txd_recording_dataset(txd_recording *recording, size_t *out,
                                 const txd_dataset_spec *spec);

/* Writes a block of one step (start and count without the step axis), extending the
 * step axis and growing axes as needed. `dtype` is the memory's. Large chunks are
 * collected and written when they are whole, at the latest by the next flush. */
txd_status txd_recording_write(txd_recording *recording, size_t dataset, size_t step,
                               const size_t *start, const size_t *count,
                               const void *data, txd_dtype dtype);

/* Appends rows to a table: a group of equal-length 1-D columns below `path`
 * ("events/nonfinite"). Columns are made at the first append; `rows` may be 0. */
typedef struct txd_column {
    const char *name;
    txd_dtype dtype;            /* TXD_I32, TXD_I64, TXD_F64; ignored for strings */
    const void *data;           /* `rows` values */
    const char *const *strings; /* `rows` UTF-8 strings, instead of data */
} txd_column;
txd_status txd_recording_append(txd_recording *recording, const char *path,
                                const txd_column *columns, size_t column_count,
                                size_t rows);

/* A table that is complete: it costs no chunk indices, and nothing is appended to it.
 */
txd_status txd_recording_table(txd_recording *recording, const char *path,
                               const txd_column *columns, size_t column_count,
                               size_t rows);

/* A fixed list of strings as a 1-D dataset ("series/stats_sites"). */
txd_status txd_recording_strings(txd_recording *recording, const char *path,
                                 const char *const *strings, size_t count);

/* Hands the finished step to the operating system: from here on it survives kill -9. */
txd_status txd_recording_flush(txd_recording *recording);

/* Bytes that the file has now. */
size_t txd_recording_bytes(const txd_recording *recording);

/* Bytes that a dataset of this spec will take in the file after `steps` steps,
 * metadata and chunk index included; and of an empty recording (docs/recording.md). */
size_t txd_recording_estimate(const txd_dataset_spec *spec);
size_t txd_recording_estimate_empty(void);

/* A dataset that costs what one column of a table of `rows` rows does. */
txd_dataset_spec txd_recording_column(size_t rows);

/* The same of a table that is written once. */
txd_dataset_spec txd_recording_complete_column(size_t rows);

/* What writing keeps in memory: chunk indices and descriptions, which never leave it,
 * cached chunks, and those that are being collected. Start with zeros, add the
 * datasets, ask for the total. */
typedef struct txd_recording_memory {
    size_t kept, small, large, tiles, tile;
} txd_recording_memory;
void txd_recording_memory_add(txd_recording_memory *memory,
                              const txd_dataset_spec *spec);
size_t txd_recording_memory_total(const txd_recording_memory *memory);

/* Closes. With `complete`, sets complete = 1, fsyncs and renames over PATH; else leaves
 * PATH.part, where steps that were not flushed do not count. After a failure (a full
 * disk) PATH is as it was, and PATH.part holds what was flushed. Frees in either case.
 * NULL is allowed. */
txd_status txd_recording_close(txd_recording *recording, bool complete);

/* Closes and removes PATH.part: for failures that leave nothing worth reading. */
void txd_recording_discard(txd_recording *recording);

/* Opens a recording (PATH, or PATH.part if only that exists: *partial, which may be
 * NULL, says so) as a trace. Entry names: "/value/a/b/full" is "a.b",
 * "/grad/a/b/full" is "a.b@grad"; every other dataset is its path without the leading
 * slash ("rows/entropy", "input/tokens"). Axes include the step. Metadata: root
 * attributes as text. Value entries come in the order of execution of the recorded
 * configuration, those of gradients after them in theirs, others after these. */
txd_status txd_recording_open(txd_trace **out, const char *path, bool *partial);

/* A metadata key of opened recordings that is no attribute: the file that is read. */
#define TXD_META_FILE ":file"
/* Behind the name of an entry ("series/stats:fields"): its attribute `fields`, the
 * names of its last axis, comma-separated. */
#define TXD_META_FIELDS ":fields"

/* The strings of an entry ("series/stats_sites", "input/pieces") into *out, an array
 * of *count strings owned by the trace. */
txd_status txd_recording_read_strings(const char *const **out, size_t *count,
                                      const txd_trace *recording, const char *name);

/* True if the file at `path` starts like a recording (HDF5 with txdiag_schema). */
bool txd_recording_is(const char *path);

#ifdef __cplusplus
}
#endif

#endif
