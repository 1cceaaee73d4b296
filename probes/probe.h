/* SPDX-License-Identifier: MIT
 *
 * Probes: what is recorded of a pass. A probe turns blocks into datasets of a
 * recording. Each is one file plus one line of registry.def.
 */
#ifndef TXD_PROBES_PROBE_H
#define TXD_PROBES_PROBE_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of `record`: which probe, where. */
typedef struct txd_probe_use {
    const char *probe;
    const char *points; /* comma-separated globs over full names; NULL = its default */
    txd_range layers, heads, steps; /* empty = all */
    txd_range queries, keys;        /* of a tile: one part at most; empty = all */
    const txd_setting *setting;     /* probe-specific keys and messages; may be NULL */
    const struct txd_probe_use *next; /* a further use of the same probe, so that both
                                         fill one dataset; NULL = none */
} txd_probe_use;

/* How a recording stores what the probes see: the group `recording` of model.cfg. */
typedef struct txd_record_how {
    txd_storage storage; /* of values, by `full` */
    bool deflate;
    int threads;      /* that pack; 0 = all */
    size_t max_bytes; /* of the file; 0 = any */
} txd_record_how;

/* What a probe knows when it is set up. */
typedef struct txd_probe_context {
    const txd_config *claimed;
    const txd_stop *order; /* the stops of a pass in order of execution */
    size_t stops;
    const txd_params *params; /* names and shapes; NULL when they are not recorded */
    txd_dtype dtype; /* of values as they are stored: TXD_F16 and TXD_BF16, too */
    size_t batch, length, memory, steps; /* the longest over all steps */
    bool has_pieces, has_memory_pieces;  /* of tokens; of rows of the memory */
    bool is_faulty; /* faults are planted: what the mask hides may have weight */
    txd_record_how how;
    txd_recording *recording; /* NULL in a dry run, where `listing` is told instead */
    const struct txd_probe_listing *listing;
} txd_probe_context;

/* A number that a use may set: `{ probe = "pooled"; cells = 32; }`. */
typedef struct txd_probe_number {
    const char *key; /* NULL = none */
    size_t usual, low, high;
} txd_probe_number;

/* Descriptor, last thing in each probe's file. The callbacks get the probe's state: a
 * struct whose first member is a txd_probe_frame (common.h), zeroed. A value is offered
 * as one block or more; begin, merge and end are called on one thread, and for such
 * sites alone that a use selects. All but `ask` may be NULL. */
typedef struct txd_probe {
    const char *name;
    const char *sentence; /* `list probes` */
    const char *points;   /* default globs */
    const char *fields;   /* what it records, a line each, for `explain`; or NULL */
    /* The bits (TXD_ASK_) wanted at a site of this kind and, for values, this point;
     * 0: the probe cannot record it. */
    unsigned (*ask)(txd_site_kind kind, txd_point point);
    bool by_head;            /* a use may select heads */
    bool by_tile;            /* a use may select queries and keys */
    txd_probe_number number; /* `frame.number` holds it */
    size_t state_bytes;
    /* Makes the datasets, or lists them in a dry run. */
    txd_status (*fill)(void *state);
    /* Before the first block of a value. */
    txd_status (*begin)(void *state, const txd_block *block);
    /* As those of a tap: reduce runs on worker threads and writes only its slot. */
    size_t slot_bytes; /* `fill` may set frame.tap.slot_bytes instead */
    void (*reduce)(void *slot, const void *state, const txd_block *block);
    txd_status (*merge)(void *state, const txd_block *block, const void *slot);
    /* After the last block of a value; only this one has `stats`. */
    txd_status (*end)(void *state, const txd_block *block);
} txd_probe;

/* The i-th probe, NULL past the end; by name, NULL if there is none. */
const txd_probe *txd_probe_at(size_t i);
const txd_probe *txd_probe_find(const char *name);

/* True if a use, or one after it (`next`), selects a site of this name, layer and step
 * (-1: any). */
bool txd_probe_use_selects(const txd_probe *probe, const txd_probe_use *use,
                           const char *name, int layer, int step);

/* The same for one (query) head of a site, in the site's step. */
bool txd_probe_use_selects_head(const txd_probe *probe, const txd_probe_use *use,
                                const txd_site *site, size_t head);

#ifdef __cplusplus
}
#endif

#endif
