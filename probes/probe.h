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
    const txd_setting *setting;     /* probe-specific keys and messages; may be NULL */
    const struct txd_probe_use *next; /* a further use of the same probe, so that both
                                         fill one dataset; NULL = none */
} txd_probe_use;

/* What a probe knows when it is set up. */
typedef struct txd_probe_context {
    const txd_config *claimed;
    const txd_stop *order; /* the stops of a pass in order of execution */
    size_t stops;
    const txd_params *params; /* names and shapes; NULL when they are not recorded */
    txd_dtype dtype;
    size_t batch, length, steps; /* the longest over all steps */
    txd_recording *recording;    /* NULL in a dry run: only `plan` is called */
} txd_probe_context;

/* One line of a dry run: a dataset and its cost. */
typedef struct txd_probe_dataset {
    const char *name; /* point or table */
    txd_dataset_spec spec;
    size_t left_out; /* bytes of tiles that the claimed mask leaves at zero */
    size_t names;    /* bytes of the list of site names beside it */
} txd_probe_dataset;

typedef struct txd_probe txd_probe;

/* Descriptor, last thing in each probe's file. */
struct txd_probe {
    const char *name;
    const char *sentence; /* `list probes` */
    const char *points;   /* default globs */
    /* True if it can record a site of this kind (and, for values, of this point). */
    bool (*takes)(txd_site_kind kind, txd_point point);
    bool by_head; /* a use may select heads */
    /* Lists every dataset that a use would make, calling add for each. */
    txd_status (*plan)(const txd_probe_context *context, const txd_probe_use *use,
                       txd_status (*add)(void *self, const txd_probe_dataset *dataset),
                       void *self);
    /* Makes state, datasets and tap. On success the state is owned by the caller and
     * freed by destroy. */
    txd_status (*create)(void **state, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use);
    void (*destroy)(void *state);
};

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
