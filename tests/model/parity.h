/* SPDX-License-Identifier: MIT
 *
 * A fixture of parity (tests/fixtures/parity): a model of another library and what it
 * forms, in float64, against passes of this one. What padding gives is not compared.
 */
#ifndef TXD_TESTS_PARITY_H
#define TXD_TESTS_PARITY_H

#include "observe.h"

/* How far ref64 may be from the other library, of the largest magnitude of a value. */
#define PARITY_CLAIM 1e-10

typedef struct parity_case {
    const char *folder; /* of the fixture */
    const char *file;   /* of the model in it; NULL = config.json beside safetensors */
} parity_case;

/* Every fixture in every file; those as transformers saves them come first. */
size_t parity_count(void);
parity_case parity_at(size_t i);

/* A golden value, and how far passes are from it: `exact` is ref64's error over the
 * largest magnitude; `floor` what rounding may do in float32 (4 times the worst of
 * three passes of ref32 whose embeddings are moved by one ULP each), `rounded` cpu32's
 * error. */
typedef struct parity_value {
    char name[96];
    size_t count, width, queries, batch; /* elements; those of a row; rows of a batch */
    double *values, largest;
    const int32_t *valid; /* (b, t): of queries */
    double exact, floor, rounded;
} parity_value;

typedef struct parity {
    const parity_case *which;
    char family[32];
    txd_arena *arena;
    txd_inputs inputs, source; /* source: of an encoder; batch 0 = none */
    parity_value value[64];
    size_t count;
} parity;

/* A path in the fixture's folder. */
const char *parity_path(const parity_case *which, const char *file);
/* The tokens, and what an encoder reads, into arena and p->inputs, p->source. */
void parity_read_inputs(parity *p, const txd_trace *golden);
/* Opens the model and makes a pass that keeps o->only. */
void parity_run(observed *o, const parity *p, const char *backend);

/* Reads the golden values, makes five passes. Asserts that all can be made and that all
 * golden values are offered. */
void parity_measure(parity *p, const parity_case *which);
void parity_finish(parity *p);

/* The worst by `exact`, and the worst by `rounded` over `floor`. */
const parity_value *parity_worst_exact(const parity *p);
const parity_value *parity_worst_rounded(const parity *p);
/* cpu32's error over the floor. */
double parity_ratio(const parity_value *value);
/* Both hold for every value; NaN fails. */
bool parity_holds(const parity *p);

#endif
