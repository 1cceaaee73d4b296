/* SPDX-License-Identifier: MIT
 *
 * More operations as functions of one vector: turns of queries and keys, capping, and a
 * softmax beside a sink.
 */
#include "bench.h"

#include "suite.h"

enum { BATCH = 2, HEADS = 3, TOKENS = 5, LANES = 8, TURNING = 6 };
enum { VALUES = BATCH * HEADS * TOKENS * LANES };
enum { ROWS = 3, KEYS = 7, CELLS = ROWS * KEYS };

static const int32_t positions[BATCH * TOKENS] = {0, 1, 2, 3, 4, 0, 0, 0, 7, 31};

static struct txd_rotate_args turn_args(const bench *b, txd_op op, double *out,
                                        const double *x)
{
    struct txd_rotate_args args = {.at = bench_at(b, op),
                                   .out = out,
                                   .x = x,
                                   .positions = positions,
                                   .batch = BATCH,
                                   .heads = HEADS,
                                   .length = TOKENS,
                                   .width = LANES,
                                   .rope_width = TURNING,
                                   .base = 50};

    args.at.point = TXD_POINT_ATTN_Q;
    return args;
}

static void turn(bench *b, double *out, const double *in)
{
    struct txd_rotate_args args = turn_args(b, TXD_OP_rotate, out, in);

    OK(b->layer.ops.rotate(&b->ctx, &args));
}

static void turn_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_rotate_args args = turn_args(b, TXD_OP_rotate_back, d_in, d_out);

    (void)in;
    OK(b->layer.ops.rotate_back(&b->ctx, &args));
}

const bench_op bench_rotate = {"rotate", VALUES, VALUES, turn, turn_back, false};

static void cap(bench *b, double *out, const double *in)
{
    struct txd_softcap_args args = {.at = bench_at(b, TXD_OP_softcap),
                                    .out = out,
                                    .x = in,
                                    .cap = 1.5,
                                    .rows = ROWS,
                                    .width = KEYS,
                                    .stride = KEYS};

    OK(b->layer.ops.softcap(&b->ctx, &args));
}

static void cap_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_softcap_back_args args = {.at = bench_at(b, TXD_OP_softcap_back),
                                         .d_x = d_in,
                                         .d_out = d_out,
                                         .x = in,
                                         .cap = 1.5,
                                         .rows = ROWS,
                                         .width = KEYS,
                                         .stride = KEYS};

    OK(b->layer.ops.softcap_back(&b->ctx, &args));
}

const bench_op bench_softcap = {"softcap", CELLS, CELLS, cap, cap_back, false};

/* Masked scores, then the sink. */
static void soften(bench *b, double *out, double max[ROWS], double lse[ROWS],
                   const double *in)
{
    struct txd_softmax_args args = {.at = bench_at(b, TXD_OP_softmax),
                                    .out = out,
                                    .masked = in,
                                    .max = max,
                                    .lse = lse,
                                    .sink = in + CELLS,
                                    .rows = ROWS,
                                    .keys = KEYS,
                                    .stride = KEYS,
                                    .end = KEYS - 1,
                                    .mask = &b->mask};

    OK(b->layer.ops.softmax(&b->ctx, &args));
}

static void sink(bench *b, double *out, const double *in)
{
    double max[ROWS], lse[ROWS];

    soften(b, out, max, lse, in);
}

static void sink_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    double weights[CELLS], max[ROWS], lse[ROWS];
    struct txd_softmax_back_args args = {.at = bench_at(b, TXD_OP_softmax_back),
                                         .d_masked = d_in,
                                         .d_out = d_out,
                                         .weights = weights,
                                         .masked = in,
                                         .sink = in + CELLS,
                                         .max = max,
                                         .rows = ROWS,
                                         .keys = KEYS,
                                         .stride = KEYS,
                                         .end = KEYS - 1,
                                         .mask = &b->mask};
    struct txd_sink_back_args of_sink = {.at = bench_at(b, TXD_OP_sink_back),
                                         .d_sink = d_in + CELLS,
                                         .d_out = d_out,
                                         .weights = weights,
                                         .sink = in + CELLS,
                                         .max = max,
                                         .lse = lse,
                                         .rows = ROWS,
                                         .keys = KEYS,
                                         .stride = KEYS,
                                         .end = KEYS - 1};

    soften(b, weights, max, lse, in);
    d_in[CELLS] = 0;
    OK(b->layer.ops.sink_back(&b->ctx, &of_sink));
    OK(b->layer.ops.softmax_back(&b->ctx, &args));
}

const bench_op bench_sink = {
    "softmax beside a sink", CELLS + 1, CELLS, sink, sink_back, false};
