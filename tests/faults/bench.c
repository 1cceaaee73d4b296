/* SPDX-License-Identifier: MIT
 *
 * The operations that faults replace, as functions of one vector.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "suite.h"
#include "worst.h"

/* Shapes: all odd and different, so that axes cannot be mistaken. */
enum { BATCH = 2, TOKENS = 5, HEADS = 4, LANES = 3, WIDTH = HEADS * LANES };
enum { ROWS = 3, KEYS = 7, ROW_BYTES = KEYS, CELLS = ROWS * KEYS };
enum { VALUES = BATCH * TOKENS * WIDTH };

txd_op_site bench_at(const bench *b, txd_op op)
{
    return (txd_op_site){1, (int)b->point, 0, 1, b->first_query, b->layer.self[op]};
}

/* ---- norms: x, gain, bias ---- */

static struct txd_norm_args norm_args(const bench *b, const double *in, bool rms)
{
    return (struct txd_norm_args){.at = bench_at(b, TXD_OP_norm),
                                  .x = in,
                                  .gain = in + VALUES,
                                  .bias = rms ? NULL : in + VALUES + WIDTH,
                                  .rows = BATCH * TOKENS,
                                  .width = WIDTH,
                                  .sequence = TOKENS,
                                  .eps = 1e-3,
                                  .offset = rms ? 0.5 : 0,
                                  .root_mean_square = rms};
}

static void norm_either(bench *b, double *out, const double *in, bool rms)
{
    struct txd_norm_args args = norm_args(b, in, rms);

    args.out = out;
    OK(b->layer.ops.norm(&b->ctx, &args));
}

/* d_x is added to as well, as the decoder may ask. */
static void norm_either_back(bench *b, double *d_in, const double *d_out,
                             const double *in, bool rms)
{
    struct txd_norm_args forward = norm_args(b, in, rms);
    struct txd_norm_back_args args = {.at = bench_at(b, TXD_OP_norm_back),
                                      .d_x = d_in,
                                      .d_gain = d_in + VALUES,
                                      .d_bias = rms ? NULL : d_in + VALUES + WIDTH,
                                      .d_out = d_out,
                                      .x = forward.x,
                                      .gain = forward.gain,
                                      .rows = forward.rows,
                                      .width = forward.width,
                                      .sequence = forward.sequence,
                                      .eps = forward.eps,
                                      .offset = forward.offset,
                                      .root_mean_square = rms,
                                      .add = true};

    OK(b->layer.ops.norm_back(&b->ctx, &args));
}

static void norm(bench *b, double *out, const double *in)
{
    norm_either(b, out, in, false);
}

static void norm_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    norm_either_back(b, d_in, d_out, in, false);
}

static void rms(bench *b, double *out, const double *in)
{
    norm_either(b, out, in, true);
}

static void rms_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    norm_either_back(b, d_in, d_out, in, true);
}

const bench_op bench_norm = {"norm", VALUES + 2 * WIDTH, VALUES, norm, norm_back, true};
const bench_op bench_rms = {
    "norm, root mean square", VALUES + WIDTH, VALUES, rms, rms_back, true};

/* ---- residual sums: stream, branch ---- */

static void add(bench *b, double *out, const double *in)
{
    struct txd_pair_args args = {.at = bench_at(b, TXD_OP_add),
                                 .out = out,
                                 .a = in,
                                 .b = in + VALUES,
                                 .count = VALUES};

    OK(b->layer.ops.add(&b->ctx, &args));
}

static void add_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_pair_back_args args = {.at = bench_at(b, TXD_OP_add_back),
                                      .d_a = d_in,
                                      .d_b = d_in + VALUES,
                                      .d_out = d_out,
                                      .a = in,
                                      .b = in + VALUES,
                                      .count = VALUES};

    OK(b->layer.ops.add_back(&b->ctx, &args));
}

const bench_op bench_add = {"add", 2 * VALUES, VALUES, add, add_back, false};

/* ---- heads ---- */

static struct txd_heads_args heads_args(const bench *b, txd_op op, double *out,
                                        const double *in)
{
    return (struct txd_heads_args){.at = bench_at(b, op),
                                   .out = out,
                                   .x = in,
                                   .batch = BATCH,
                                   .length = TOKENS,
                                   .heads = HEADS,
                                   .width = LANES};
}

static void split(bench *b, double *out, const double *in)
{
    struct txd_heads_args args = heads_args(b, TXD_OP_split_heads, out, in);

    OK(b->layer.ops.split_heads(&b->ctx, &args));
}

static void split_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_heads_args args = heads_args(b, TXD_OP_split_heads_back, d_in, d_out);

    (void)in;
    OK(b->layer.ops.split_heads_back(&b->ctx, &args));
}

static void merge(bench *b, double *out, const double *in)
{
    struct txd_heads_args args = heads_args(b, TXD_OP_merge_heads, out, in);

    OK(b->layer.ops.merge_heads(&b->ctx, &args));
}

static void merge_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_heads_args args = heads_args(b, TXD_OP_merge_heads_back, d_in, d_out);

    (void)in;
    OK(b->layer.ops.merge_heads_back(&b->ctx, &args));
}

const bench_op bench_split = {"split_heads", VALUES, VALUES, split, split_back, false};
const bench_op bench_merge = {"merge_heads", VALUES, VALUES, merge, merge_back, false};

/* ---- attention tiles: q, k; masked scores ---- */

static void scores(bench *b, double *out, const double *in)
{
    struct txd_scores_args args = {.at = bench_at(b, TXD_OP_scores),
                                   .out = out,
                                   .q = in,
                                   .k = in + ROWS * LANES,
                                   .rows = ROWS,
                                   .keys = KEYS,
                                   .width = LANES,
                                   .stride = KEYS,
                                   .scale = 0.6};

    OK(b->layer.ops.scores(&b->ctx, &args));
}

static void scores_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_scores_back_args args = {.at = bench_at(b, TXD_OP_scores_back),
                                        .d_q = d_in,
                                        .d_k = d_in + ROWS * LANES,
                                        .d_out = d_out,
                                        .q = in,
                                        .k = in + ROWS * LANES,
                                        .rows = ROWS,
                                        .keys = KEYS,
                                        .width = LANES,
                                        .stride = KEYS,
                                        .scale = 0.6,
                                        .add = true};

    OK(b->layer.ops.scores_back(&b->ctx, &args));
}

const bench_op bench_scores = {"scores", (ROWS + KEYS) * LANES, CELLS,
                               scores,   scores_back,           true};

static void softmax_into(bench *b, double *out, double max[ROWS], const double *in)
{
    double lse[ROWS];
    struct txd_softmax_args args = {.at = bench_at(b, TXD_OP_softmax),
                                    .out = out,
                                    .masked = in,
                                    .max = max,
                                    .lse = lse,
                                    .entropy = b->entropy,
                                    .rows = ROWS,
                                    .keys = KEYS,
                                    .stride = KEYS,
                                    .begin = 0,
                                    .end = KEYS - 1,
                                    .mask = &b->mask};

    OK(b->layer.ops.softmax(&b->ctx, &args));
}

static void softmax(bench *b, double *out, const double *in)
{
    double max[ROWS];

    softmax_into(b, out, max, in);
}

static void softmax_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    double weights[CELLS], max[ROWS];
    struct txd_softmax_back_args args = {.at = bench_at(b, TXD_OP_softmax_back),
                                         .d_masked = d_in,
                                         .d_out = d_out,
                                         .weights = weights,
                                         .masked = in,
                                         .max = max,
                                         .rows = ROWS,
                                         .keys = KEYS,
                                         .stride = KEYS,
                                         .begin = 0,
                                         .end = KEYS - 1,
                                         .mask = &b->mask};

    softmax_into(b, weights, max, in);
    OK(b->layer.ops.softmax_back(&b->ctx, &args));
}

const bench_op bench_softmax = {"softmax", CELLS, CELLS, softmax, softmax_back, false};

/* ---- linear maps: x, weight, bias; square, as the output projection may be ---- */

static void linear(bench *b, double *out, const double *in)
{
    const double *weight = in + VALUES, *bias = weight + WIDTH * WIDTH;
    struct txd_linear_args args = {.at = bench_at(b, TXD_OP_linear),
                                   .out = out,
                                   .x = in,
                                   .weight = weight,
                                   .bias = bias,
                                   .rows = BATCH * TOKENS,
                                   .n = WIDTH,
                                   .k = WIDTH};

    OK(b->layer.ops.linear(&b->ctx, &args));
}

static void linear_back(bench *b, double *d_in, const double *d_out, const double *in)
{
    struct txd_linear_back_args args = {.at = bench_at(b, TXD_OP_linear_back),
                                        .d_x = d_in,
                                        .d_weight = d_in + VALUES,
                                        .d_bias = d_in + VALUES + WIDTH * WIDTH,
                                        .d_out = d_out,
                                        .x = in,
                                        .weight = in + VALUES,
                                        .rows = BATCH * TOKENS,
                                        .n = WIDTH,
                                        .k = WIDTH,
                                        .add = true};

    OK(b->layer.ops.linear_back(&b->ctx, &args));
}

const bench_op bench_linear = {
    "linear", VALUES + WIDTH *WIDTH + WIDTH, VALUES, linear, linear_back, true};

/* ---- the bench ---- */

void bench_begin(bench *b, const char *faults)
{
    bench_begin_in(b, "", faults);
}

void bench_begin_in(bench *b, const char *more, const char *faults)
{
    char text[512];

    *b = (bench){.ctx = {1}, .point = TXD_POINT_RESID_MID, .first_query = 2};
    snprintf(text, sizeof text,
             "model : { preset = \"gpt2\"; vocab = 17; d_model = 12; n_heads = 4; "
             "n_layers = 3; d_ff = 8; max_seq_len = 16; embed_scale = 1.3; "
             "logit_scale = 0.7; logit_softcap = 2.0; norm_offset = 0.5; %s };",
             more);
    OK(observe_cfg(&b->o, text, "ref64"));
    OK(observe_random(&b->o, 1, KEYS));
    snprintf(text, sizeof text, "faults = ( %s );", faults);
    OK(observe_faults(&b->o, text));
    OK(txd_backend_find(&b->layer.backend, "ref64"));
    b->layer.ops = b->layer.backend->ops;
    for (struct txd_override *f = b->o.plan->overrides; f; f = f->next)
        if (f->layer == 1 || f->layer == 3) /* or what stands outside of layers */
            f->install(&b->layer, f->self);
    b->mask = txd_mask_of(&b->o.config.layers[1], &b->o.inputs, 0);
}

void bench_end(bench *b)
{
    observe_finish(&b->o);
}

static void draw(double *out, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        out[i] = txd_rng_normal(txd_rng_key(3, name), i);
}

static double dot(const double *x, const double *y, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* <d_out, f(in + h v)> */
static double along(bench *b, const bench_op *op, double *const v[4], double h)
{
    double *in = malloc(op->inputs * sizeof *in),
           *out = malloc(op->outputs * sizeof *in);
    double sum;

    for (size_t i = 0; i < op->inputs; i++)
        in[i] = v[0][i] + h * v[1][i];
    op->forward(b, out, in);
    sum = dot(v[2], out, op->outputs);
    free(in);
    free(out);
    return sum;
}

/* <what backward gives, v>; what it is added to is taken away again. */
static double given_by(bench *b, const bench_op *op, double *const v[4])
{
    double before = op->adds ? dot(v[3], v[1], op->inputs) : 0;

    op->backward(b, v[3], v[2], v[0]);
    return dot(v[3], v[1], op->inputs) - before;
}

double bench_error(bench *b, bench *truth, const bench_op *op)
{
    const double h = 1e-5;
    double worst = 0;

    for (int trial = 0; trial < 4; trial++) {
        static const char *const names[] = {"in", "direction", "d_out", "d_in before"};
        double *v[4], slope, given, size;
        char name[32];

        for (int i = 0; i < 4; i++) {
            size_t count = i == 2 ? op->outputs : op->inputs;

            v[i] = calloc(count, sizeof *v[i]);
            snprintf(name, sizeof name, "%s %d", names[i], trial);
            draw(v[i], count, name);
        }
        given = given_by(b, op, v);
        slope = (along(truth, op, v, h) - along(truth, op, v, -h)) / (2 * h);
        size = fmax(fabs(slope), fabs(given));
        worst = worst_of(worst, fabs(slope - given) / size);
        for (int i = 0; i < 4; i++)
            free(v[i]);
    }
    return worst;
}
