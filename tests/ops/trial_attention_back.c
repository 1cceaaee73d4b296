/* SPDX-License-Identifier: MIT
 *
 * Trials of the backward entries of scores, masks, softmax, weighted sums and losses,
 * on tiles whose rows are longer than what they hold.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "trial.h"

#define GAP 3 /* cells between the rows of a tile */

/* Whether hidden cells and what meets them are clean, or there is no mask at all. */
enum hidden { NO_MASK, HIDDEN_ZERO, HIDDEN_NUMBERS };

static uint8_t *cells_of(struct trial *t, size_t keys, size_t stride, bool by_spans)
{
    return by_spans ? trial_spans_map(t, keys, stride)
                    : trial_cells(t, TRIAL_SPANS * stride);
}

static void scores_back(struct trial *t, enum hidden hidden, bool add, bool by_spans)
{
    size_t rows = 4, keys = trial_sizes[t->size], width = 9, stride = keys + GAP;
    double *d_out = trial_doubles(t, "d_out", rows * stride);
    double *q = trial_doubles(t, "q", rows * width),
           *k = trial_doubles(t, "k", keys * width);
    uint8_t *visible = cells_of(t, keys, stride, by_spans);
    struct txd_scores_back_args a = {.d_out = d_out,
                                     .q = q,
                                     .k = k,
                                     .visible = hidden == NO_MASK ? NULL : visible,
                                     .rows = rows,
                                     .keys = keys,
                                     .width = width,
                                     .stride = stride,
                                     .scale = 1 / 3.0,
                                     .add = add};
    struct trial_result r[] = {
        {.name = "d_q", .slot = &a.d_q, .count = rows * width, .added = add},
        {.name = "d_k", .slot = &a.d_k, .count = keys * width, .added = true}};

    for (size_t i = 0; hidden == HIDDEN_ZERO && i < rows * stride; i++)
        d_out[i] = visible[i] ? d_out[i] : 0;
    trial_results_begin(t, r, 2);
    (void)txd_ref64_scores_back(&t->ctx, &a);
    txd_bound_scores_back(r[0].allowed, r[1].allowed, &a, txd_roundoff_of(t->backend));
    if (by_spans) {
        a.visible = NULL;
        a.spans = trial_spans(t, keys);
    }
    a.d_out = trial_narrowed(t, d_out, rows * stride);
    a.q = trial_narrowed(t, q, rows * width);
    a.k = trial_narrowed(t, k, keys * width);
    trial_results_check(t, TXD_OP_scores_back, &a, r, 2);
}

void trial_scores_back(struct trial *t)
{
    scores_back(t, NO_MASK, false, false);
    scores_back(t, NO_MASK, true, false);
    for (int by_spans = 0; by_spans < 2; by_spans++) {
        scores_back(t, HIDDEN_ZERO, false, by_spans);
        scores_back(t, HIDDEN_ZERO, true, by_spans);
        scores_back(t, HIDDEN_NUMBERS, false, by_spans);
    }
}

static void mask_back(struct trial *t, bool by_spans)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], stride = keys + GAP;
    double *d_out = trial_doubles(t, "d_out", rows * stride);
    struct txd_mask_back_args a = {.d_out = d_out,
                                   .rows = rows,
                                   .keys = keys,
                                   .stride = stride,
                                   .visible = cells_of(t, keys, stride, by_spans)};
    struct trial_result r = {.name = "d_scores",
                             .slot = &a.d_scores,
                             .count = rows * stride,
                             .keys = keys,
                             .stride = stride};

    trial_results_begin(t, &r, 1);
    r.allowed = NULL;
    (void)txd_ref64_mask_back(&t->ctx, &a);
    if (by_spans) {
        a.visible = NULL;
        a.spans = trial_spans(t, keys);
    }
    a.d_out = trial_narrowed(t, d_out, rows * stride);
    trial_results_check(t, TXD_OP_mask_back, &a, &r, 1);
}

void trial_mask_back(struct trial *t)
{
    mask_back(t, false);
    mask_back(t, true);
}

/* Weights as softmax makes them, as float32 numbers, the largest values and the
 * log-sum-exps. */
static double *weights_of(struct trial *t, const struct txd_softmax_back_args *a,
                          double *max, double *lse, const double *sink)
{
    double *masked = trial_masked_scores(t, a->rows, a->stride);
    double *weights = trial_keep(t, a->rows * a->stride * sizeof *weights);
    struct txd_softmax_args forward = {.out = weights,
                                       .masked = masked,
                                       .rows = a->rows,
                                       .keys = a->keys,
                                       .stride = a->stride,
                                       .begin = a->begin,
                                       .end = a->end,
                                       .spans = a->spans,
                                       .max = max,
                                       .lse = lse,
                                       .sink = sink,
                                       .masked_row = 2};

    (void)txd_ref64_softmax(&t->ctx, &forward);
    for (size_t i = 0; i < a->rows * a->stride; i++)
        weights[i] = trial_rounded(t, weights[i]);
    return weights;
}

/* With spans: that of ref64 over the rows one by one, each from begin to end. */
static void exact_softmax_back(struct trial *t, struct txd_softmax_back_args a)
{
    for (size_t r = 0; r < TRIAL_SPANS; r++) {
        struct txd_softmax_back_args row = a;

        row.rows = 1;
        row.spans = NULL;
        row.d_masked = (double *)a.d_masked + r * a.stride;
        row.d_out = (const double *)a.d_out + r * a.stride;
        row.weights = (const double *)a.weights + r * a.stride;
        row.max = a.max + r;
        row.begin = row.end = a.begin;
        for (size_t j = a.begin; j < a.end; j++)
            if (a.spans == NULL || trial_counts(r, j, a.keys)) {
                row.begin = row.end == a.begin ? j : row.begin;
                row.end = j + 1;
            }
        (void)txd_ref64_softmax_back(&t->ctx, &row);
    }
}

static void softmax_back(struct trial *t, bool by_spans)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], stride = keys + GAP;
    double *d_out = trial_doubles(t, "d_out", rows * stride), max[4], lse[4], *weights;
    struct txd_softmax_back_args a = {.d_out = d_out,
                                      .max = max,
                                      .spans = by_spans ? trial_spans(t, keys) : NULL,
                                      .rows = rows,
                                      .keys = keys,
                                      .stride = stride,
                                      .begin = keys / 5,
                                      .end = keys - keys / 7};
    struct trial_result r = {.name = "d_masked",
                             .slot = &a.d_masked,
                             .count = rows * stride,
                             .keys = keys,
                             .stride = stride};

    a.weights = weights = weights_of(t, &a, max, lse, NULL);
    trial_results_begin(t, &r, 1);
    exact_softmax_back(t, a);
    txd_bound_softmax_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows * stride);
    a.weights = trial_narrowed(t, weights, rows * stride);
    trial_results_check(t, TXD_OP_softmax_back, &a, &r, 1);
}

void trial_softmax_back(struct trial *t)
{
    softmax_back(t, false);
    softmax_back(t, true);
}

/* The gradient of one number over all rows. */
void trial_sink_back(struct trial *t)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], stride = keys + GAP;
    double *d_out = trial_doubles(t, "d_out", rows * stride), max[4], lse[4];
    const double sink = 1.25;
    struct txd_softmax_back_args like = {.rows = rows,
                                         .keys = keys,
                                         .stride = stride,
                                         .begin = keys / 5,
                                         .end = keys - keys / 7};
    double *weights = weights_of(t, &like, max, lse, &sink);
    struct txd_sink_back_args a = {.d_out = d_out,
                                   .weights = weights,
                                   .sink = &sink,
                                   .max = max,
                                   .lse = lse,
                                   .rows = rows,
                                   .keys = keys,
                                   .stride = stride,
                                   .begin = like.begin,
                                   .end = like.end};
    struct trial_result r = {
        .name = "d_sink", .slot = &a.d_sink, .count = 1, .added = true};

    for (size_t i = 0; i < rows; i++)
        lse[i] = trial_rounded(t, lse[i]);
    trial_results_begin(t, &r, 1);
    (void)txd_ref64_sink_back(&t->ctx, &a);
    txd_bound_sink_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows * stride);
    a.weights = trial_narrowed(t, weights, rows * stride);
    a.sink = trial_narrowed(t, &sink, 1);
    trial_results_check(t, TXD_OP_sink_back, &a, &r, 1);
}

static void mix_back(struct trial *t, enum hidden hidden, bool by_spans)
{
    size_t rows = 4, keys = trial_sizes[t->size], width = 5, stride = keys + GAP;
    double *d_out = trial_doubles(t, "d_out", rows * width);
    double *w = trial_doubles(t, "w", rows * stride),
           *v = trial_doubles(t, "v", keys * width);
    uint8_t *used = cells_of(t, keys, stride, by_spans);
    struct txd_mix_back_args a = {.d_out = d_out,
                                  .weights = w,
                                  .v = v,
                                  .used = used,
                                  .rows = rows,
                                  .keys = keys,
                                  .stride = stride,
                                  .width = width};
    struct trial_result r[] = {
        {.name = "d_weights",
         .slot = &a.d_weights,
         .count = rows * stride,
         .keys = keys,
         .stride = stride},
        {.name = "d_v", .slot = &a.d_v, .count = keys * width, .added = true}};

    /* One key is used by nobody, and has NaN values. */
    for (size_t i = 0; i < rows * stride; i++) {
        used[i] = hidden == NO_MASK || (used[i] && (by_spans || i % stride != 2));
        w[i] = used[i] || hidden == HIDDEN_NUMBERS ? w[i] : 0;
    }
    for (size_t f = 0; f < width && keys > 2 && hidden == HIDDEN_ZERO; f++)
        v[2 * width + f] = t->fill == FILL_NORMAL ? (double)NAN : v[2 * width + f];
    trial_results_begin(t, r, 2);
    (void)txd_ref64_mix_back(&t->ctx, &a);
    txd_bound_mix_back(r[0].allowed, r[1].allowed, &a, txd_roundoff_of(t->backend));
    if (by_spans) {
        a.used = NULL;
        a.spans = trial_spans(t, keys);
    }
    a.d_out = trial_narrowed(t, d_out, rows * width);
    a.weights = trial_narrowed(t, w, rows * stride);
    a.v = trial_narrowed(t, v, keys * width);
    trial_results_check(t, TXD_OP_mix_back, &a, r, 2);
}

void trial_mix_back(struct trial *t)
{
    mix_back(t, NO_MASK, false);
    for (int by_spans = 0; by_spans < 2; by_spans++) {
        mix_back(t, HIDDEN_ZERO, by_spans);
        mix_back(t, HIDDEN_NUMBERS, by_spans);
    }
}

void trial_loss_back(struct trial *t)
{
    size_t rows = 4, vocab = trial_sizes[t->size] + 1;
    double *d_out = trial_doubles(t, "d_out", rows);
    double *logits = trial_doubles(t, "logits", rows * vocab);
    int32_t *targets = trial_integers(t, rows, (int32_t)vocab);
    struct txd_loss_back_args a = {.d_out = d_out,
                                   .logits = logits,
                                   .targets = targets,
                                   .rows = rows,
                                   .vocab = vocab};
    struct trial_result r = {
        .name = "d_logits", .slot = &a.d_logits, .count = rows * vocab};

    targets[1] = -1;
    d_out[1] = NAN;
    trial_results_begin(t, &r, 1);
    (void)txd_ref64_loss_back(&t->ctx, &a);
    txd_bound_loss_back(r.allowed, &a, txd_roundoff_of(t->backend));
    a.d_out = trial_narrowed(t, d_out, rows);
    a.logits = trial_narrowed(t, logits, rows * vocab);
    trial_results_check(t, TXD_OP_loss_back, &a, &r, 1);
}
