/* SPDX-License-Identifier: MIT
 *
 * Trials of masks, scores, softmax, weighted sums, losses.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "trial.h"

/* A mask with everything in it: causal, a window, padding, two documents. */
static txd_mask_view some_mask(struct trial *t, size_t keys)
{
    int32_t *positions = trial_keep(t, keys * sizeof *positions);
    int32_t *valid = trial_keep(t, keys * sizeof *valid);
    int32_t *document = trial_keep(t, keys * sizeof *document);
    txd_mask_view mask = {.causal = true,
                          .window = 5,
                          .query_positions = positions,
                          .query_document = document,
                          .key_positions = positions,
                          .key_document = document,
                          .key_valid = valid};

    for (size_t i = 0; i < keys; i++) {
        positions[i] = (int32_t)i;
        valid[i] = i % 11 != 3;
        document[i] = i > keys / 2;
    }
    return mask;
}

void trial_visible(struct trial *t)
{
    size_t keys = trial_sizes[t->size];
    txd_mask_view mask = some_mask(t, keys);
    uint8_t *exact = trial_keep(t, keys * keys);
    struct txd_visible_args a = {.at = {.first_query = 0},
                                 .out = exact,
                                 .mask = &mask,
                                 .rows = keys,
                                 .keys = keys};

    (void)txd_ref64_visible(&t->ctx, &a);
    a.out = trial_output(t, keys * keys, 1);
    (void)t->ops->visible(&t->ctx, &a);
    trial_guards(t, "visible", a.out, keys * keys);
    for (size_t i = 0; i < keys * keys; i++) {
        t->compared++;
        if (a.out[i] != exact[i])
            trial_fail(t, "visible", i, a.out[i], exact[i], 0);
    }
}

void trial_scores(struct trial *t)
{
    size_t rows = 4, keys = trial_sizes[t->size], width = 9;
    double *q = trial_doubles(t, "q", rows * width),
           *k = trial_doubles(t, "k", keys * width);
    double *exact = trial_keep(t, rows * keys * sizeof *exact);
    double *allowed = trial_keep(t, rows * keys * sizeof *allowed);
    struct txd_scores_args a = {.out = exact,
                                .q = q,
                                .k = k,
                                .rows = rows,
                                .keys = keys,
                                .width = width,
                                .stride = keys,
                                .scale = 1 / 3.0};

    (void)txd_ref64_scores(&t->ctx, &a);
    txd_bound_scores(allowed, &a, txd_roundoff_of(t->backend));
    a.q = trial_narrowed(t, q, rows * width);
    a.k = trial_narrowed(t, k, keys * width);
    a.out = trial_real_output(t, rows * keys);
    (void)t->ops->scores(&t->ctx, &a);
    trial_compare(t, "scores", a.out, exact, allowed, rows * keys);
}

static void mask(struct trial *t, double fill, bool by_spans)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], count = rows * keys;
    double *x = trial_doubles(t, "x", count),
           *exact = trial_keep(t, count * sizeof *exact);
    uint8_t *map = by_spans ? trial_spans_map(t, keys, keys) : trial_cells(t, count);
    struct txd_mask_args a = {.out = exact,
                              .scores = x,
                              .visible = map,
                              .rows = rows,
                              .keys = keys,
                              .stride = keys,
                              .fill = fill};

    (void)txd_ref64_mask(&t->ctx, &a);
    for (size_t i = 0; i < count; i++)
        if (!map[i] && t->backend->format != TXD_F64)
            exact[i] = trial_rounded(t, fill);
    if (by_spans) {
        a.visible = NULL;
        a.spans = trial_spans(t, keys);
    }
    a.scores = trial_narrowed(t, x, count);
    a.out = trial_real_output(t, count);
    (void)t->ops->mask(&t->ctx, &a);
    trial_compare(t, "mask", a.out, exact, NULL, count);
    a.out = trial_real_output(t, count);
    memcpy(a.out, a.scores, count * txd_dtype_bytes(t->backend->dtype));
    a.scores = a.out;
    (void)t->ops->mask(&t->ctx, &a);
    trial_compare(t, "mask in place", a.out, exact, NULL, count);
}

void trial_mask(struct trial *t)
{
    for (int by_spans = 0; by_spans < 2; by_spans++) {
        mask(t, -INFINITY, by_spans);
        mask(t, -1234.5678, by_spans);
    }
}

double *trial_masked_scores(struct trial *t, size_t rows, size_t keys)
{
    double *x = trial_doubles(t, "masked", rows * keys);
    const uint8_t *seen = trial_cells(t, rows * keys);

    for (size_t i = 0; i < rows * keys; i++) {
        if (t->fill == FILL_HUGE)
            x[i] = trial_rounded(t, x[i] * 1e4 / trial_huge(t));
        if (!seen[i] || (t->fill == FILL_MASKED_ROW && i / keys == rows - 1))
            x[i] = -INFINITY;
    }
    return x;
}

/* The largest value is one of the row; the log is off as its sum is, and by a roundoff
 * of each number that takes part. (Of steps that are stored, bit by bit:
 * test_emulated.c.) */
static void compare_sums(struct trial *t, const struct txd_softmax_args *a,
                         const struct txd_softmax_args *exact)
{
    double u = txd_roundoff_of(t->backend).accumulate;
    double relative = txd_gamma((double)a->keys + 10, u) + 2 * u * 105;

    trial_guards(t, "max", a->max, a->rows * sizeof *a->max);
    trial_guards(t, "lse", a->lse, a->rows * sizeof *a->lse);
    for (size_t r = 0; r < a->rows; r++) {
        double room = relative + 4 * u * (fabs(exact->max[r]) + fabs(exact->lse[r]));

        t->compared++;
        if (!trial_agrees(a->max[r], exact->max[r], 0))
            trial_fail(t, "max", r, a->max[r], exact->max[r], 0);
        if (!trial_agrees(a->lse[r], exact->lse[r], room) &&
            !(a->same && t->backend->format != t->backend->dtype))
            trial_fail(t, "lse", r, a->lse[r], exact->lse[r], room);
    }
}

/* One of six policies: what becomes of an empty row, and which precision. With spans
 * the cells outside of them hold scores that must not matter. `sink`: a logit more, or
 * NULL. */
static void softmax(struct trial *t, int policy, bool by_spans, const double *sink)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], count = rows * keys;
    double *x = trial_masked_scores(t, rows, keys);
    double *inside = trial_keep(t, count * sizeof *inside);
    double *exact = trial_keep(t, count * sizeof *exact), *entropy, *got;
    double *allowed = trial_keep(t, count * sizeof *allowed), room[TRIAL_SPANS];
    struct txd_softmax_args first;
    struct txd_softmax_args a = {.out = exact,
                                 .masked = inside,
                                 .rows = rows,
                                 .keys = keys,
                                 .stride = keys,
                                 .end = keys,
                                 .masked_row = policy % 3,
                                 .sink = sink,
                                 .same = policy >= 3,
                                 .max = trial_keep(t, rows * sizeof(double)),
                                 .lse = trial_keep(t, rows * sizeof(double))};

    for (size_t i = 0; i < count; i++)
        inside[i] =
            by_spans && !trial_counts(i / keys, i % keys, keys) ? -INFINITY : x[i];
    a.entropy = entropy = trial_keep(t, rows * sizeof *entropy);
    (void)txd_ref64_softmax(&t->ctx, &a);
    first = a;
    txd_bound_softmax(allowed, &a, txd_roundoff_of(t->backend));
    txd_bound_entropy(room, &a, txd_roundoff_of(t->backend));
    a.spans = by_spans ? trial_spans(t, keys) : NULL;
    a.masked = trial_narrowed(t, x, count);
    a.sink = trial_narrowed(t, sink, 1);
    a.out = trial_real_output(t, count);
    a.max = trial_output(t, rows, sizeof *a.max);
    a.lse = trial_output(t, rows, sizeof *a.lse);
    a.entropy = got = trial_output(t, rows, sizeof *got);
    (void)t->ops->softmax(&t->ctx, &a);
    trial_compare(t, "softmax", a.out, exact, allowed, count);
    compare_sums(t, &a, &first);
    trial_guards(t, "entropy", got, rows * sizeof *got);
    for (size_t r = 0; r < rows; r++)
        if (!trial_agrees(got[r], entropy[r], room[r]))
            trial_fail(t, "entropy", r, got[r], entropy[r], room[r]);
}

void trial_softmax(struct trial *t)
{
    for (int policy = 0; policy < 6; policy++) {
        const double sinks[] = {0.75, 12, -30};

        softmax(t, policy, false, NULL);
        softmax(t, policy, true, NULL);
        for (int i = 0; i < 3 && policy % 3 == 0; i++)
            softmax(t, policy, i == 1, &sinks[i]);
    }
}

static void mix(struct trial *t, bool by_spans)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], width = 5;
    double *w = trial_doubles(t, "w", rows * keys),
           *v = trial_doubles(t, "v", keys * width);
    double *exact = trial_keep(t, rows * width * sizeof *exact);
    double *allowed = trial_keep(t, rows * width * sizeof *allowed);
    uint8_t *used =
        by_spans ? trial_spans_map(t, keys, keys) : trial_cells(t, rows * keys);
    struct txd_mix_args a = {.out = exact,
                             .weights = w,
                             .v = v,
                             .used = used,
                             .rows = rows,
                             .keys = keys,
                             .stride = keys,
                             .width = width};

    /* Hidden weights are zero, and one hidden key has a NaN value, as behind a mask. */
    for (size_t i = 0; i < rows * keys; i++) {
        used[i] = used[i] && (by_spans || i % keys != 2);
        w[i] = used[i] ? w[i] : 0;
    }
    for (size_t f = 0; f < width && keys > 2; f++)
        v[2 * width + f] = t->fill == FILL_NORMAL ? (double)NAN : v[2 * width + f];
    (void)txd_ref64_mix(&t->ctx, &a);
    txd_bound_mix(allowed, &a, txd_roundoff_of(t->backend));
    if (by_spans) {
        a.used = NULL;
        a.spans = trial_spans(t, keys);
    }
    a.weights = trial_narrowed(t, w, rows * keys);
    a.v = trial_narrowed(t, v, keys * width);
    a.out = trial_real_output(t, rows * width);
    (void)t->ops->mix(&t->ctx, &a);
    trial_compare(t, "mix", a.out, exact, allowed, rows * width);
}

void trial_mix(struct trial *t)
{
    mix(t, false);
    mix(t, true);
}

void trial_loss(struct trial *t)
{
    size_t rows = 4, vocab = trial_sizes[t->size] + 1;
    double *x = trial_doubles(t, "logits", rows * vocab), exact[4], allowed[4];
    int32_t *targets = trial_integers(t, rows, (int32_t)vocab);
    struct txd_loss_args a = {
        .out = exact, .logits = x, .targets = targets, .rows = rows, .vocab = vocab};

    targets[1] = -1;
    (void)txd_ref64_loss(&t->ctx, &a);
    txd_bound_loss(allowed, &a, txd_roundoff_of(t->backend));
    a.logits = trial_narrowed(t, x, rows * vocab);
    a.out = trial_real_output(t, rows);
    (void)t->ops->loss(&t->ctx, &a);
    trial_compare(t, "loss", a.out, exact, allowed, rows);
}
