/* SPDX-License-Identifier: MIT
 *
 * A pass with everything kept: the values at every site by name, for tests of the
 * decoder.
 */
#ifndef TXD_TESTS_OBSERVE_H
#define TXD_TESTS_OBSERVE_H

#include "txd.h"

#define OBSERVE_SITES 1024

typedef struct observed {
    txd_arena *arena;
    txd_checkpoint *checkpoint;
    txd_params *params;
    txd_config config;
    txd_plan *plan;
    const txd_backend *backend;
    txd_model *model;
    txd_run *run;
    txd_inputs inputs;
    txd_encoder *encoder; /* of the last pass; NULL without a source */
    txd_inputs source;    /* what the encoder reads; batch 0 = the memory is data */
    txd_tap tap;
    txd_tap *before;  /* a tap that comes before it; NULL = none */
    unsigned extra;   /* further bits to ask for at attention weights */
    const char *only; /* globs of sites to keep; NULL = all */
    int threads;
    bool backward; /* passes have a backward half, and its sites are kept too */
    bool streamed; /* attention may be had without its matrix */
    bool exact;    /* parameters drawn from a cfg are kept in double */
    size_t sites;
    struct observed_site {
        char name[96];
        size_t count, cells; /* elements of the whole; those that came */
        double *values;      /* NaN where nothing came */
        double *rows;        /* of weights: (b, h, q, TXD_ROW_COUNT) */
        double stats[TXD_STAT_COUNT_OF];
    } * site;
} observed;

/* A model folder below the real models; false (message in txd_message) on failure. */
txd_status observe_model(observed *o, const char *folder, const char *backend);
/* A model of a cfg text ("model : {...}; weights...;"), parameters drawn. */
txd_status observe_cfg(observed *o, const char *cfg, const char *backend);
/* Rows of tokens from a .npy of rank 1 or 2. */
txd_status observe_npy(observed *o, const char *path);
/* batch x length tokens drawn at random, all valid. */
txd_status observe_random(observed *o, size_t batch, size_t length);
/* A memory of normal numbers beside these tokens; the first `real[b]` of its rows are
 * no padding (NULL: all). */
txd_status observe_memory(observed *o, size_t length, const size_t *real);
/* Such a memory that the encoder makes: of tokens drawn at random. */
txd_status observe_source(observed *o, size_t length, const size_t *real);
/* Plants faults by cfg text: "faults = ( { name = ... } );" */
txd_status observe_faults(observed *o, const char *cfg);
/* Takes parameters that were changed. */
txd_status observe_rebind(observed *o);
/* Runs one pass with the tap. */
txd_status observe_pass(observed *o);
void observe_finish(observed *o);

/* The values at a site; NULL if it was not offered. */
struct observed_site *observe_site(observed *o, const char *name);

/* A tap's ask and edit (`self`: a uint64_t seed): every element of the float32
 * embeddings to its neighbour, above or below. */
unsigned observe_ulp_ask(void *self, const txd_site *site);
txd_status observe_ulp_edit(void *self, txd_block *block);

/* Reads a .npy as doubles into the arena; *count elements. */
txd_status observe_golden(double **out, size_t *count, observed *o, const char *path);

#endif
