/* SPDX-License-Identifier: MIT
 *
 * A healthy and a faulty pass of the same model over the same ragged batch, to be held
 * against each other: three rows of seven tokens, of which row 1 ends with two of
 * padding; in a model with cross-attention, a memory of five rows, of which batch row 1
 * has four and batch row 2 none. Or one long row, which is more than one tile of
 * queries.
 */
#ifndef TXD_TESTS_PLANTED_H
#define TXD_TESTS_PLANTED_H

#include "../model/observe.h"

enum { PLANTED_BATCH = 3, PLANTED_LENGTH = 7, PLANTED_MEMORY = 5 };
enum { PLANTED_LONG = 300 }; /* tokens, and rows of the memory, the last of padding */

/* Three layers of four heads, 24 wide; `more` are further keys of `model`. */
#define PLANTED_MODEL(more)                                                            \
    "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 4; "             \
    "n_layers = 3; d_ff = 40; max_seq_len = 32; " more " }; "

typedef struct planted {
    observed healthy, faulty;
    bool is_long; /* the long row */
} planted;

/* The batch above into o->inputs. */
void planted_inputs(observed *o);

/* Runs `cfg` with `faults` (text of the list: "{ name = ... }, { ... }") and without.
 * Fails the test unless the faults can act. */
void planted_run(planted *p, const char *cfg, const char *faults);
/* The same with gradients. */
void planted_run_back(planted *p, const char *cfg, const char *faults);
/* A model of one layer over the long row; of its four heads (and of cross-attention)
 * the scores, the masked scores and the weights are kept. */
void planted_run_long(planted *p, const char *faults);
void planted_finish(planted *p);

/* The values at a site of one of the two; fails the test if there are none. */
const struct observed_site *planted_site(observed *o, const char *name);

/* Elements at a site that are not the same number (or NaN) in both. */
size_t planted_differences(planted *p, const char *site);
/* The same, where the index along an axis of (b, h, q, k) is not `kept`; and where it
 * is. */
size_t planted_differences_along(planted *p, const char *site, const size_t dims[4],
                                 int axis, size_t kept, bool at_kept);
/* The sum over all sites whose name begins with `prefix`. */
size_t planted_differences_below(planted *p, const char *prefix);

#endif
