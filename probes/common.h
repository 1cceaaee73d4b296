/* SPDX-License-Identifier: MIT
 *
 * What the probes share: the frame that every one of them lives in, the sites that a
 * use selects, series of scalars per site, tables of events. For the files of this
 * folder only.
 */
#ifndef TXD_PROBES_COMMON_H
#define TXD_PROBES_COMMON_H

#include "probes/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_PROBE(name) extern const txd_probe txd_probe_##name;
#include "probes/registry.def"
#undef TXD_PROBE

#define TXD_SITE_NAME_BYTES 96
#define TXD_SITE_KINDS (TXD_SITE_PARAMETER_GRADIENT + 1)

/* Sets of kinds of sites. */
#define TXD_KIND(kind) (1u << (kind))
#define TXD_KINDS_VALUES (TXD_KIND(TXD_SITE_VALUE) | TXD_KIND(TXD_SITE_GRADIENT))

/* A dataset of a probe, and what a dry run has to know of it. */
typedef struct txd_probe_dataset {
    const char *name; /* point or table */
    txd_dataset_spec spec;
    size_t left_out; /* bytes that stay unwritten */
    size_t names;    /* bytes of the list of site names beside it */
} txd_probe_dataset;

/* Bytes that it will take in the file. */
size_t txd_probe_dataset_bytes(const txd_probe_dataset *dataset);

/* Who hears of the datasets in a dry run. */
typedef struct txd_probe_listing {
    txd_status (*add)(void *self, const txd_probe_dataset *dataset);
    void *self;
} txd_probe_listing;

/* The sites of one kind that a use selects, in order of execution. */
typedef struct txd_probe_sites {
    txd_site *list;
    const char **names; /* the same order */
    size_t count;
} txd_probe_sites;

/* Everything lives in `arena`. */
txd_status txd_probe_sites_find(txd_probe_sites *out, txd_arena *arena,
                                const txd_probe *probe, const txd_probe_use *use,
                                const txd_probe_context *context, txd_site_kind kind);

/* Memory that grows with the blocks. All zero is an empty one. */
typedef struct txd_room {
    void *data;
    size_t bytes;
    struct txd_room *next;
} txd_room;

/* Values that may have begun and not ended, by their point: an attention tile brings
 * several in turn. The last is a parameter's. */
#define TXD_PROBE_OPEN (TXD_POINT_COUNT + 1)

/* A probe that is set up; the first member of its state. Series and tables made in a
 * frame are written at the end of each step, and all that it owns is freed with it. */
typedef struct txd_probe_frame {
    const txd_probe *probe;
    const txd_probe_use *use; /* all of the probe, chained */
    const txd_probe_context *context;
    txd_arena *arena;
    txd_tap tap;
    txd_probe_sites sites[TXD_SITE_KINDS]; /* that the uses select, by their kind */
    size_t number;                         /* of its probe->number.key */
    bool is_open[TXD_PROBE_OPEN];          /* a value has begun and not ended */
    txd_room *rooms;
    struct txd_series *series;
    struct txd_table *tables;
} txd_probe_frame;

/* Sets a probe up; its tap is (*out)->tap. Use and context must outlive it. The caller
 * owns *out; on failure it is untouched. */
txd_status txd_probe_create(txd_probe_frame **out, const txd_probe *probe,
                            const txd_probe_use *use, const txd_probe_context *context);
void txd_probe_destroy(txd_probe_frame *frame);

/* Makes a dataset, or lists it in a dry run, which leaves *number alone. */
txd_status txd_probe_make(size_t *number, const txd_probe_frame *frame,
                          const txd_probe_dataset *dataset);

/* The same for a dataset of attention with an axis for the layers. */
txd_status txd_probe_make_layers(size_t *number, const txd_probe_frame *frame,
                                 const txd_dataset_spec *spec, txd_attention_kind kind);

/* Makes room for `count` elements of `size` bytes, keeping what is there. */
txd_status txd_probe_reserve(txd_room *room, txd_probe_frame *frame, size_t count,
                             size_t size);

/* True if a use selects this point in some layer. */
bool txd_probe_has_point(const txd_probe_frame *frame, txd_point point);

/* The number of an offered site among the frame's, and its name, which outlives it. */
size_t txd_probe_row(const txd_probe_frame *frame, const txd_site *site);
const char *txd_probe_name(const txd_probe_frame *frame, const txd_site *site);

/* True if one of the uses selects all heads and all steps of the site. */
bool txd_probe_is_whole(const txd_probe_frame *frame, const txd_site *site);

/* True if the block's head number `index` (of its batch rows x heads) is selected. */
bool txd_probe_wants_head(const txd_probe_frame *frame, const txd_block *block,
                          size_t index);

/* Of a block (b, h, ...): how many heads it has in all its batch rows, and which one of
 * the whole value's its head number `index` is. */
size_t txd_block_heads(const txd_block *block);
size_t txd_block_head(const txd_block *block, size_t index);

/* Rows of the block's last axis. */
size_t txd_block_rows(const txd_block *block);

/* True if the token (or, of a block of the memory, its row) is a real one, not
 * padding. */
bool txd_block_is_valid(const txd_block *block, size_t batch, size_t token);

/* Elements first to first + count - 1 of the block's own value as doubles. */
void txd_block_read(double *out, const txd_block *block, size_t first, size_t count);

/* The dtype of what is measured of values: never one of 16 bits, which would round it
 * once more. */
txd_dtype txd_probe_real(const txd_probe_context *context);

/* Makes an axis of a dataset grow with the data, to at most `longest`. In a dry run
 * (no recording) it has that length at once. */
void txd_probe_grow(txd_dataset_spec *spec, const txd_probe_context *context, int axis,
                    size_t longest);

/* Bytes of a dataset's chunks that stay unwritten if only `selected` of `all` equal
 * parts along its leading axes are recorded. */
size_t txd_probe_left_out(const txd_dataset_spec *spec, size_t selected, size_t all);

/* A (site, field) table of float64 per step, or once for parameters: /series/<name>. */
typedef struct txd_series_spec {
    const char *name, *fields; /* "stats", "count,mean" */
    unsigned kinds;            /* of sites: TXD_KIND; parameters alone or not at all */
    const char *const *groups; /* names of rows behind those of the sites */
    size_t group_count;
} txd_series_spec;

typedef struct txd_series {
    txd_probe_frame *frame;
    txd_series_spec spec;
    size_t dataset, fields, rows;
    double *values; /* NaN where nothing was set since the last write */
    bool is_set;
    struct txd_series *next;
} txd_series;

/* Without sites nothing is made. The groups of the spec must outlive it. */
txd_status txd_series_create(txd_series *out, txd_probe_frame *frame,
                             const txd_series_spec *spec);
/* The fields of an offered site, or of a group, to be set. */
double *txd_series_row(txd_series *series, const txd_site *site);
double *txd_series_group(txd_series *series, size_t group);
/* Writes what was set, if anything, and starts afresh. */
txd_status txd_series_write(txd_series *series, int step);

/* "count,mean,..." of stats.def, in `arena`, with `more` after it. */
const char *txd_series_stat_fields(txd_arena *arena, const char *more);

/* A table of events that grows over a step and is appended at its end. */
typedef enum txd_cell_kind { TXD_CELL_INT, TXD_CELL_REAL, TXD_CELL_TEXT } txd_cell_kind;

typedef struct txd_cell {
    int64_t integer;
    double real;
    const char *text; /* must live until the table is written */
} txd_cell;

typedef struct txd_table_column {
    const char *name;
    txd_cell_kind kind;
} txd_table_column;

#define TXD_TABLE_COLUMNS 16

typedef struct txd_table {
    txd_probe_frame *frame;
    const char *path; /* "events/leaks" */
    const txd_table_column *columns;
    size_t column_count, rows, capacity; /* rows: since the last write */
    size_t most;                         /* rows per step that there can be */
    txd_room data[TXD_TABLE_COLUMNS];
    struct txd_table *next;
} txd_table;

void txd_table_create(txd_table *out, txd_probe_frame *frame, const char *path,
                      const txd_table_column *columns, size_t count);
txd_status txd_table_add(txd_table *table, const txd_cell *cells);
/* Appends all rows to the recording and forgets them. */
txd_status txd_table_write(txd_table *table);

#ifdef __cplusplus
}
#endif

#endif
