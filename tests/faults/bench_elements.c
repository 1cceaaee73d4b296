/* SPDX-License-Identifier: MIT
 *
 * The operations of single elements that faults replace, as functions of one vector.
 */
#include "bench.h"
#include "suite.h"

enum { VALUES = 120 };

static void activate(bench *b, double *out, const double *in)
{
    struct txd_activate_args args = {.at = bench_at(b, TXD_OP_activate),
                                     .out = out,
                                     .x = in,
                                     .count = VALUES,
                                     .kind = TXD_ACTIVATION_GELU_TANH};

    OK(b->layer.ops.activate(&b->ctx, &args));
}

static void activate_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_activate_back_args args = {.at = bench_at(b, TXD_OP_activate_back),
                                          .d_x = d_in,
                                          .d_out = d_out,
                                          .x = in,
                                          .count = VALUES,
                                          .kind = TXD_ACTIVATION_GELU_TANH};

    OK(b->layer.ops.activate_back(&b->ctx, &args));
}

const bench_op bench_activate = {"activate", VALUES,        VALUES,
                                 activate,   activate_back, false};

static struct txd_scale_args scale_args(const bench *b, txd_op op, double *out,
                                        const double *in)
{
    return (struct txd_scale_args){
        .at = bench_at(b, op), .out = out, .x = in, .factor = 1.3, .count = VALUES};
}

static void scale(bench *b, double *out, const double *in)
{
    struct txd_scale_args args = scale_args(b, TXD_OP_scale, out, in);

    OK(b->layer.ops.scale(&b->ctx, &args));
}

static void scale_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_scale_args args = scale_args(b, TXD_OP_scale_back, d_in, d_out);

    (void)in;
    OK(b->layer.ops.scale_back(&b->ctx, &args));
}

const bench_op bench_scale = {"scale", VALUES, VALUES, scale, scale_back, false};
