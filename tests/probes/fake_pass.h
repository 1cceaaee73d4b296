/* SPDX-License-Identifier: MIT
 *
 * A pass that never ran: made-up values at every point, fed to taps block by block as
 * a decoder would, so that what a probe records can be foretold without one.
 */
#ifndef TXD_TESTS_FAKE_PASS_H
#define TXD_TESTS_FAKE_PASS_H

#include "probes/recorder.h"

typedef struct fake_pass {
    txd_arena *arena;
    txd_config config;
    txd_params *params;
    txd_stop *order;
    size_t stops;
    txd_inputs inputs;
    double **values; /* one per stop, dense */
    double **rows;   /* one per layer: (b, h, q, column) */
    double **stats;  /* one per stop */
    double **param_stats;
    double **gradients; /* one per stop, like the values */
    double **param_gradients;
    double loss_scale; /* as the pass says */
    txd_dtype dtype;
    size_t tile_rows;
    bool whole;       /* attention comes as one block of all heads */
    bool skip_hidden; /* keys after a tile's last query are not computed */
} fake_pass;

/* `model` is the group of model.cfg; batch x length tokens. */
void fake_make(fake_pass *fake, const char *cfg, size_t batch, size_t length);
void fake_free(fake_pass *fake);

/* Other tokens, other values, another length; before them the last `padding` tokens of
 * the last batch row are declared padding. */
void fake_fill(fake_pass *fake, size_t batch, size_t length, size_t padding,
               unsigned seed);

/* The whole value at a point, to be read or changed. */
double *fake_value(const fake_pass *fake, txd_point point, int layer);
double *fake_gradient(const fake_pass *fake, txd_point point, int layer);
size_t fake_count(const fake_pass *fake, txd_point point);

/* A context for `steps` steps of at most this shape. */
txd_probe_context fake_context(const fake_pass *fake, size_t steps);

/* Offers parameters (before step 0), all values of a step, and to those who want them
 * all gradients. Statistics of gradients are a hundred thousand above the values'. */
void fake_feed(const fake_pass *fake, txd_tap *const *taps, size_t count, int step);

/* Records one step per call of fake_step; `uses` as in model.cfg's record. */
txd_recorder *fake_record(const fake_pass *fake, const char *path, const char *record,
                          size_t steps);
void fake_step(const fake_pass *fake, txd_recorder *recorder, int step);

/* Completes and opens the recording. */
txd_trace *fake_finish(txd_recorder *recorder, const char *path);

/* All in one for a single step. */
txd_trace *fake_one_step(const fake_pass *fake, const char *path, const char *record);

/* A whole entry as doubles, allocated; dims may be NULL. */
double *fake_read(const txd_trace *trace, const char *name, size_t dims[TXD_MAX_RANK]);
bool fake_has(const txd_trace *trace, const char *name);

/* The strings of an entry; their number is asserted. */
const char *const *fake_strings(const txd_trace *trace, const char *name, size_t count);

/* Equal, NaN included. */
void fake_same(double value, double expected, const char *what, size_t index);

#endif
