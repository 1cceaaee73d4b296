/* SPDX-License-Identifier: MIT
 *
 * Slopes of scores, masks, softmax, weighted sums and losses, on tiles whose rows are
 * longer than what they hold.
 */
#include <math.h>

#include "ops/ref.h"
#include "slope.h"

#define GAP 3 /* cells between the rows of a tile */

SLOPE_FORWARD(scores)
SLOPE_FORWARD(mask)
SLOPE_FORWARD(softmax)
SLOPE_FORWARD(mix)

static struct slope_input tile_of(const char *name, double *x, size_t rows, size_t keys)
{
    struct slope_input input = {.name = name,
                                .x = x,
                                .count = rows * (keys + GAP),
                                .keys = keys,
                                .stride = keys + GAP};

    return input;
}

/* Hidden cells have no part in f. The backward entry is given NaN there. */
static double *hide(struct trial *t, double *d_out, const uint8_t *visible,
                    size_t count)
{
    double *hidden = trial_keep(t, count * sizeof *hidden);

    for (size_t i = 0; i < count; i++) {
        d_out[i] = visible[i] ? d_out[i] : 0;
        hidden[i] = visible[i] ? d_out[i] : NAN;
    }
    return hidden;
}

static void scores_kind(struct trial *t, bool masked, bool add)
{
    size_t rows = 3, keys = trial_sizes[t->size], width = 5, stride = keys + GAP;
    struct slope s = {.name = "scores", .forward = forward_scores};
    double *q = slope_numbers(t, "q", rows * width),
           *k = slope_numbers(t, "k", keys * width);
    struct txd_scores_args f = {.q = q,
                                .k = k,
                                .rows = rows,
                                .keys = keys,
                                .width = width,
                                .stride = stride,
                                .scale = -1 / 3.0};
    struct txd_scores_back_args b = {.q = q,
                                     .k = k,
                                     .rows = rows,
                                     .keys = keys,
                                     .width = width,
                                     .stride = stride,
                                     .scale = f.scale,
                                     .visible = trial_cells(t, rows * stride),
                                     .add = add};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s, (struct slope_input){"q", .x = q, .count = rows * width}, &b.d_q,
                add);
    slope_input(t, &s, (struct slope_input){"k", .x = k, .count = keys * width}, &b.d_k,
                true);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_scores(s.allowed, &f, txd_roundoff_of(t->backend));
    if (masked)
        b.d_out = hide(t, s.d_out, b.visible, rows * stride);
    else
        b.visible = NULL;
    (void)txd_ref64_scores_back(&t->ctx, &b);
    txd_bound_scores_back(s.input[0].allowed, s.input[1].allowed, &b,
                          txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_scores_back(struct trial *t)
{
    scores_kind(t, false, false);
    scores_kind(t, false, true);
    scores_kind(t, true, false);
    scores_kind(t, true, true);
}

void slope_mask_back(struct trial *t)
{
    size_t rows = 3, keys = trial_sizes[t->size], stride = keys + GAP;
    struct slope s = {.name = "mask", .forward = forward_mask};
    double *x = slope_numbers(t, "scores", rows * stride);
    struct txd_mask_args f = {.scores = x,
                              .visible = trial_cells(t, rows * stride),
                              .rows = rows,
                              .keys = keys,
                              .stride = stride,
                              .fill = -30};
    struct txd_mask_back_args b = {
        .visible = f.visible, .rows = rows, .keys = keys, .stride = stride};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s, tile_of("scores", x, rows, keys), &b.d_scores, false);
    f.out = s.out;
    b.d_out = s.d_out;
    (void)txd_ref64_mask_back(&t->ctx, &b);
    slope_check(t, &s);
}

/* Some scores are -inf, all of them in the last row if `empty`. */
static double *some_hidden(struct trial *t, size_t rows, size_t stride, bool empty)
{
    double *x = slope_numbers(t, "masked", rows * stride);
    const uint8_t *seen = trial_cells(t, rows * stride);

    for (size_t i = 0; i < rows * stride; i++)
        if (!seen[i] || (empty && i / stride == rows - 1))
            x[i] = -INFINITY;
    return x;
}

static void softmax_kind(struct trial *t, int masked_row, bool empty, bool partial)
{
    size_t rows = 4, keys = trial_sizes[t->size], stride = keys + GAP;
    struct slope s = {.name = "softmax", .forward = forward_softmax};
    double *x = some_hidden(t, rows, stride, empty), max[4], lse[4], base_max[4];
    struct txd_softmax_args f = {.masked = x,
                                 .max = max,
                                 .lse = lse,
                                 .rows = rows,
                                 .keys = keys,
                                 .stride = stride,
                                 .begin = partial ? keys / 4 : 0,
                                 .end = partial ? keys - keys / 3 : keys,
                                 .masked_row = masked_row};
    struct txd_softmax_back_args b = {.masked = x,
                                      .max = base_max,
                                      .rows = rows,
                                      .keys = keys,
                                      .stride = stride,
                                      .begin = f.begin,
                                      .end = f.end};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s, tile_of("masked", x, rows, keys), &b.d_masked, false);
    f.out = s.out;
    b.weights = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    for (size_t r = 0; r < rows; r++)
        base_max[r] = max[r];
    txd_bound_softmax(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_softmax_back(&t->ctx, &b);
    txd_bound_softmax_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_softmax_back(struct trial *t)
{
    softmax_kind(t, 0, false, false);
    softmax_kind(t, 0, true, true);
    softmax_kind(t, 2, true, false);
    softmax_kind(t, 2, false, true);
}

/* Of masked scores, which softmax_back gives, and of the sink. */
void slope_sink_back(struct trial *t)
{
    size_t rows = 4, keys = trial_sizes[t->size], stride = keys + GAP;
    struct slope s = {.name = "softmax with a sink", .forward = forward_softmax};
    double *x = some_hidden(t, rows, stride, true), max[4], lse[4], base[2][4];
    double *sink = slope_numbers(t, "sink", 1);
    struct txd_softmax_args f = {.masked = x,
                                 .sink = sink,
                                 .max = max,
                                 .lse = lse,
                                 .rows = rows,
                                 .keys = keys,
                                 .stride = stride,
                                 .end = keys};
    struct txd_softmax_back_args b = {.masked = x,
                                      .max = base[0],
                                      .rows = rows,
                                      .keys = keys,
                                      .stride = stride,
                                      .end = keys};
    struct txd_sink_back_args of_sink = {.sink = sink,
                                         .max = base[0],
                                         .lse = base[1],
                                         .rows = rows,
                                         .keys = keys,
                                         .stride = stride,
                                         .end = keys};

    s.args = &f;
    slope_outputs(t, &s, rows * stride);
    slope_input(t, &s, tile_of("masked", x, rows, keys), &b.d_masked, false);
    slope_input(t, &s, (struct slope_input){"sink", .x = sink, .count = 1},
                &of_sink.d_sink, true);
    f.out = s.out;
    b.weights = of_sink.weights = s.out;
    b.d_out = of_sink.d_out = s.d_out;
    s.forward(&f);
    for (size_t r = 0; r < rows; r++) {
        base[0][r] = max[r];
        base[1][r] = lse[r];
    }
    txd_bound_softmax(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_softmax_back(&t->ctx, &b);
    (void)txd_ref64_sink_back(&t->ctx, &of_sink);
    txd_bound_softmax_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    txd_bound_sink_back(s.input[1].allowed, &of_sink, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_mix_back(struct trial *t)
{
    size_t rows = 3, keys = trial_sizes[t->size], width = 4, stride = keys + GAP;
    struct slope s = {.name = "mix", .forward = forward_mix};
    double *w = slope_numbers(t, "weights", rows * stride),
           *v = slope_numbers(t, "v", keys * width);
    struct txd_mix_args f = {.weights = w,
                             .v = v,
                             .used = trial_cells(t, rows * stride),
                             .rows = rows,
                             .keys = keys,
                             .stride = stride,
                             .width = width};
    struct txd_mix_back_args b = {.weights = w,
                                  .v = v,
                                  .used = f.used,
                                  .rows = rows,
                                  .keys = keys,
                                  .stride = stride,
                                  .width = width};

    s.args = &f;
    slope_outputs(t, &s, rows * width);
    slope_input(t, &s, tile_of("weights", w, rows, keys), &b.d_weights, false);
    slope_input(t, &s, (struct slope_input){"v", .x = v, .count = keys * width}, &b.d_v,
                true);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_mix(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_mix_back(&t->ctx, &b);
    txd_bound_mix_back(s.input[0].allowed, s.input[1].allowed, &b,
                       txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

/* The losses of rows without a target are NaN, and no part of f. */
static void forward_loss(void *args)
{
    const struct txd_loss_args *a = args;
    double *out = a->out;
    txd_ctx ctx = {1};

    (void)txd_ref64_loss(&ctx, a);
    for (size_t r = 0; r < a->rows; r++)
        out[r] = a->targets[r] < 0 ? 0 : out[r];
}

void slope_loss_back(struct trial *t)
{
    size_t rows = 4, vocab = trial_sizes[t->size];
    struct slope s = {.name = "loss", .forward = forward_loss};
    double *x = slope_numbers(t, "logits", rows * vocab);
    int32_t *targets = trial_integers(t, rows, (int32_t)vocab);
    struct txd_loss_args f = {
        .logits = x, .targets = targets, .rows = rows, .vocab = vocab};
    struct txd_loss_back_args b = {
        .logits = x, .targets = targets, .rows = rows, .vocab = vocab};

    targets[2] = -1;
    s.args = &f;
    slope_outputs(t, &s, rows);
    slope_input(t, &s, (struct slope_input){"logits", .x = x, .count = rows * vocab},
                &b.d_logits, false);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_loss(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_loss_back(&t->ctx, &b);
    txd_bound_loss_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}
