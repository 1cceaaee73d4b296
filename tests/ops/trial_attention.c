/* SPDX-License-Identifier: MIT
 *
 * Trials of masks, scores, softmax and its rows, weighted sums, losses, statistics.
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
    txd_mask_view mask = {true, 5, positions, document, positions, document, valid};

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

void trial_mask(struct trial *t)
{
    size_t rows = 4, keys = trial_sizes[t->size], count = rows * keys;
    double *x = trial_doubles(t, "x", count),
           *exact = trial_keep(t, count * sizeof *exact);
    struct txd_mask_args a = {
        .rows = rows, .keys = keys, .stride = keys, .visible = trial_cells(t, count)};

    for (int finite = 0; finite < 2; finite++) {
        a.fill = finite ? -1234.5678 : -INFINITY;
        a.scores = x;
        a.out = exact;
        (void)txd_ref64_mask(&t->ctx, &a);
        for (size_t i = 0; i < count; i++)
            if (!a.visible[i] && t->backend->format != TXD_F64)
                exact[i] = trial_rounded(t, a.fill);
        a.scores = trial_narrowed(t, x, count);
        a.out = trial_real_output(t, count);
        (void)t->ops->mask(&t->ctx, &a);
        trial_compare(t, "mask", a.out, exact, NULL, count);
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

void trial_softmax(struct trial *t)
{
    size_t rows = 4, keys = trial_sizes[t->size], count = rows * keys;

    for (int policy = 0; policy < 6; policy++) {
        double *x = trial_masked_scores(t, rows, keys);
        double *exact = trial_keep(t, count * sizeof *exact);
        double *allowed = trial_keep(t, count * sizeof *allowed);
        struct txd_softmax_args a = {.out = exact,
                                     .masked = x,
                                     .rows = rows,
                                     .keys = keys,
                                     .stride = keys,
                                     .end = keys,
                                     .masked_row = policy % 3,
                                     .same = policy >= 3,
                                     .max = trial_keep(t, rows * sizeof(double)),
                                     .lse = trial_keep(t, rows * sizeof(double))};

        (void)txd_ref64_softmax(&t->ctx, &a);
        txd_bound_softmax(allowed, &a, txd_roundoff_of(t->backend));
        a.masked = trial_narrowed(t, x, count);
        a.out = trial_real_output(t, count);
        (void)t->ops->softmax(&t->ctx, &a);
        trial_compare(t, "softmax", a.out, exact, allowed, count);
    }
}

void trial_rows(struct trial *t)
{
    size_t rows = 3, keys = trial_sizes[t->size], wide = TXD_ROW_COUNT;
    double *w = trial_doubles(t, "weights", rows * keys),
           *max = trial_doubles(t, "max", rows);
    uint8_t *hidden = trial_keep(t, rows * keys);
    double *got = trial_output(t, rows * wide, sizeof(double));
    double *exact = trial_keep(t, rows * wide * sizeof *exact);
    txd_roundoff u = txd_roundoff_of(t->backend);
    struct txd_rows_args a = {.at = {.first_query = 1},
                              .rows = exact,
                              .weights = w,
                              .max = max,
                              .lse = max,
                              .hidden = hidden,
                              .seen = trial_integers(t, rows, 9),
                              .first_seen = trial_integers(t, rows, 3),
                              .row_count = rows,
                              .keys = keys,
                              .stride = keys,
                              .key_begin = 1};

    for (size_t i = 0; i < rows * keys; i++) {
        hidden[i] = (uint8_t)(i % 5);
        w[i] = fabs(w[i]);
    }
    (void)txd_ref64_rows(&t->ctx, &a);
    a.weights = trial_narrowed(t, w, rows * keys);
    a.rows = got;
    (void)t->ops->rows(&t->ctx, &a);
    trial_guards(t, "rows", got, rows * wide * sizeof(double));
    for (size_t i = 0; i < rows * wide; i++) {
        double room = 2 * u.accumulate * fabs(exact[i]) + u.lost;

        t->compared++;
        if (!trial_agrees(got[i], exact[i], room))
            trial_fail(t, txd_row_get((txd_row)(i % wide))->name, i, got[i], exact[i],
                       room);
    }
}

void trial_mix(struct trial *t)
{
    size_t rows = 4, keys = trial_sizes[t->size], width = 5;
    double *w = trial_doubles(t, "w", rows * keys),
           *v = trial_doubles(t, "v", keys * width);
    double *exact = trial_keep(t, rows * width * sizeof *exact);
    double *allowed = trial_keep(t, rows * width * sizeof *allowed);
    uint8_t *used = trial_cells(t, rows * keys);
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
        used[i] = used[i] && i % keys != 2;
        w[i] = used[i] ? w[i] : 0;
    }
    for (size_t f = 0; f < width && keys > 2; f++)
        v[2 * width + f] = t->fill == FILL_NORMAL ? (double)NAN : v[2 * width + f];
    (void)txd_ref64_mix(&t->ctx, &a);
    txd_bound_mix(allowed, &a, txd_roundoff_of(t->backend));
    a.weights = trial_narrowed(t, w, rows * keys);
    a.v = trial_narrowed(t, v, keys * width);
    a.out = trial_real_output(t, rows * width);
    (void)t->ops->mix(&t->ctx, &a);
    trial_compare(t, "mix", a.out, exact, allowed, rows * width);
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

void trial_stats(struct trial *t)
{
    size_t rows = 3, width = trial_sizes[t->size], count = rows * width;
    double *x = trial_doubles(t, "x", count), exact[TXD_STAT_COUNT_OF],
           got[TXD_STAT_COUNT_OF];
    struct txd_stats_part part;
    struct txd_stats_args a = {.part = &part,
                               .x = x,
                               .rows = rows,
                               .width = width,
                               .stride = width,
                               .flat_stride = width,
                               .skip_cell = trial_cells(t, count)};

    if (count > 4 && t->fill == FILL_NORMAL)
        x[4] = INFINITY;
    (void)txd_ref64_stats(&t->ctx, &a);
    txd_stats_final(exact, &part);
    a.x = trial_narrowed(t, x, count);
    memset(&part, 0xff, sizeof part);
    (void)t->ops->stats(&t->ctx, &a);
    txd_stats_final(got, &part);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++) {
        double room = 1e-9 * fabs(exact[i]);

        t->compared++;
        if (!trial_agrees(got[i], exact[i], room))
            trial_fail(t, txd_stat_get((txd_stat)i)->name, 0, got[i], exact[i], room);
    }
}
