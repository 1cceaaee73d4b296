/* SPDX-License-Identifier: MIT
 *
 * What the probes share: their descriptors, the sites that a use selects, series of
 * scalars per site, tables of events. For the files of this folder only.
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

typedef txd_status (*txd_probe_add)(void *self, const txd_probe_dataset *dataset);

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

/* The number of a site in the list; its count if it is not there. */
size_t txd_probe_sites_index(const txd_probe_sites *sites, const txd_site *site);

/* True if one of the uses selects all heads and all steps of the site. */
bool txd_probe_use_is_whole(const txd_probe *probe, const txd_probe_use *use,
                            const char *name, int layer);

/* The setting `key` of the last use that has it. */
txd_status txd_probe_use_size(size_t *out, const txd_probe_use *use, const char *key,
                              size_t low, size_t high);

/* True if the probe can record the site and a use selects it in its step. */
bool txd_probe_takes_site(const txd_probe *probe, const txd_probe_use *use,
                          const txd_site *site);

/* "no memory for the probe NAME" */
txd_status txd_probe_no_memory(const char *name);

/* Rows of the block's last axis. */
size_t txd_block_rows(const txd_block *block);

/* True if the token is a real one, not padding. */
bool txd_block_is_valid(const txd_block *block, size_t batch, size_t token);

/* Elements first to first + count - 1 of the block's own value as doubles. */
void txd_block_read(double *out, const txd_block *block, size_t first, size_t count);

/* Makes an axis of a dataset grow with the data, to at most `longest`. In a dry run
 * (no recording) it has that length at once. */
void txd_probe_grow(txd_dataset_spec *spec, const txd_probe_context *context, int axis,
                    size_t longest);

/* Bytes of a dataset's chunks that stay unwritten if only `selected` of `all` equal
 * parts along its leading axes are recorded. */
size_t txd_probe_left_out(const txd_dataset_spec *spec, size_t selected, size_t all);

/* How many (layer, step) pairs of attention weights the uses select. */
size_t txd_probe_layer_steps(const txd_probe *probe, const txd_probe_use *use,
                             const txd_probe_context *context);

/* A (site, field) table of float64 per step, or once: /series/<name>. */
typedef struct txd_series {
    txd_recording *recording;
    txd_probe_sites sites;
    size_t dataset, fields;
    double *values; /* NaN where nothing was set since the last write */
    bool is_set;
} txd_series;

typedef struct txd_series_spec {
    const char *name;   /* "stats" */
    const char *fields; /* "count,mean" */
    bool per_step;
} txd_series_spec;

/* Without sites nothing is made. */
txd_status txd_series_create(txd_series *out, txd_arena *arena,
                             const txd_probe_context *context,
                             const txd_series_spec *spec, const txd_probe_sites *sites);
/* The fields of a site, to be set; NULL if the site is not in the series. */
double *txd_series_row(txd_series *series, const txd_site *site);
/* Writes what was set, if anything, and starts afresh. */
txd_status txd_series_write(txd_series *series, int step);
txd_status txd_series_plan(const txd_probe_context *context,
                           const txd_series_spec *spec, const txd_probe_sites *sites,
                           txd_probe_add add, void *self);

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
    const char *path; /* "events/leaks" */
    const txd_table_column *columns;
    size_t column_count, rows, capacity;
    void *data[TXD_TABLE_COLUMNS];
} txd_table;

void txd_table_init(txd_table *table, const char *path, const txd_table_column *columns,
                    size_t count);
void txd_table_finish(txd_table *table);
txd_status txd_table_add(txd_table *table, const txd_cell *cells);
/* Appends all rows to the recording and forgets them. */
txd_status txd_table_write(txd_table *table, txd_recording *recording);

#ifdef __cplusplus
}
#endif

#endif
