/* SPDX-License-Identifier: MIT
 *
 * NaN and infinities planted in real passes: in the value or the gradient at any point,
 * at one element.
 */
#ifndef TXD_TESTS_CHECKS_POISON_H
#define TXD_TESTS_CHECKS_POISON_H

#include "live.h"

typedef struct poison {
    txd_site_kind kind; /* TXD_SITE_VALUE or TXD_SITE_GRADIENT */
    txd_point point;
    int layer;
    double value;
    bool backward;           /* a pass has a backward half in any case */
    size_t at[TXD_MAX_RANK]; /* in the whole value; chosen by poison_run */
    double forward;          /* the value there, in the pass forward; NaN until seen */
    double before;           /* what stood there */
    size_t planted;          /* how often */
    struct txd_layer_ops below;
} poison;

/* Three layers, two batch rows of 6 and 4 tokens: a gated, rotary, grouped model; one
 * with cross-attention; one with post-norm; one with what families do besides. */
extern const char *const poison_models[];
enum {
    POISON_LLAMA,
    POISON_CROSS,
    POISON_POST,
    POISON_FAMILY,
    POISON_SCORES,
    POISON_MODELS
};
enum { POISON_LAYERS = 3 };

/* Runs the model in `backend` under `finite`, with a backward half for gradients. The
 * element is one in the second batch row that is judged. Records to `path` if not
 * NULL. */
void poison_run(live *l, poison *p, int model, const char *backend, const char *path);

/* The one finding of `finite`: at the site and the element, or the test fails. */
const txd_finding *poison_expect(const live *l, const poison *p);

/* Calls back for every value of the model that a pass forms, tokens left out. */
void poison_every(int model, void (*use)(int model, poison *p));

#endif
