/* SPDX-License-Identifier: MIT
 *
 * One operation of a faulty layer on the bench: its forward entry and its backward
 * entry over flat vectors of doubles (ref64), so that one can be held against finite
 * differences of the other.
 */
#ifndef TXD_TESTS_BENCH_H
#define TXD_TESTS_BENCH_H

#include "../model/observe.h"
#include "model/plan.h"

typedef struct bench bench;

/* An operation: how long its input and output vectors are, and its two entries. */
typedef struct bench_op {
    const char *name;
    size_t inputs, outputs;
    void (*forward)(bench *b, double *out, const double *in);
    void (*backward)(bench *b, double *d_in, const double *d_out, const double *in);
    bool adds; /* backward adds to what stands in d_in */
} bench_op;

struct bench {
    observed o;
    struct txd_layer_ops layer; /* of ref64, with the faults' replacements */
    txd_ctx ctx;
    txd_point point; /* where the operation is called */
    txd_mask_view mask;
    int first_query;
    double *entropy; /* that the softmax is asked for; NULL = none */
};

/* Layer 1 of a model, and what stands outside of layers, with the faults planted ("{
 * name = ... }", or "" for none). */
void bench_begin(bench *b, const char *faults);
/* The same with more keys of the model. */
void bench_begin_in(bench *b, const char *more, const char *faults);
void bench_end(bench *b);

/* Where an operation is called. */
txd_op_site bench_at(const bench *b, txd_op op);

extern const bench_op bench_norm, bench_rms, bench_add, bench_split, bench_merge,
    bench_scores, bench_softmax, bench_linear, bench_rotate, bench_softcap, bench_sink,
    bench_activate, bench_scale;

/* Largest |finite difference - <backward, v>| over random directions v and random
 * gradients of the output, in units of the larger of the two. `truth`: the layer whose
 * forward is differenced; usually `b` itself. */
double bench_error(bench *b, bench *truth, const bench_op *op);

#endif
