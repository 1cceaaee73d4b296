/* SPDX-License-Identifier: MIT
 *
 * Trials of what measures: row statistics of weights, statistics of values.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "trial.h"

/* Reasons in turn; or those on the sides of spans, where keys are padding from the last
 * ninth on. */
static uint8_t reason_of(size_t row, size_t column, size_t keys, bool by_spans)
{
    if (!by_spans)
        return (uint8_t)((row * keys + column) % 5);
    if (trial_counts(row, column, keys))
        return TXD_SEEN;
    if (column == 0 || column >= keys - keys / 9)
        return TXD_HIDDEN_PADDING;
    return row == 1 || (row == 2 && column < keys / 2) ? TXD_HIDDEN_WINDOW
                                                       : TXD_HIDDEN_FUTURE;
}

static uint8_t *reasons(struct trial *t, size_t rows, size_t keys, bool by_spans)
{
    uint8_t *hidden = trial_keep(t, rows * keys);

    for (size_t i = 0; i < rows * keys; i++)
        hidden[i] = reason_of(i / keys, i % keys, keys, by_spans);
    return hidden;
}

/* What is hidden is 0, as behind a mask, or not. */
struct rows_way {
    bool by_spans, hidden_zero, entropy_given;
};

static double *weights_of(struct trial *t, const uint8_t *hidden, size_t count,
                          bool hidden_zero)
{
    double *w = trial_doubles(t, "weights", count);

    for (size_t i = 0; i < count; i++)
        w[i] = hidden_zero && hidden[i] != TXD_SEEN ? 0 : fabs(w[i]);
    return w;
}

static void compare_rows(struct trial *t, const double *got, const double *exact,
                         size_t count)
{
    txd_roundoff u = txd_roundoff_of(t->backend);

    trial_guards(t, "rows", got, count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        double room = 2 * u.accumulate * fabs(exact[i]) + u.lost;

        t->compared++;
        if (!trial_agrees(got[i], exact[i], room))
            trial_fail(t, txd_row_get((txd_row)(i % TXD_ROW_COUNT))->name, i, got[i],
                       exact[i], room);
    }
}

static void compare_stats(struct trial *t, const struct txd_stats_part *got,
                          const struct txd_stats_part *exact)
{
    double is[TXD_STAT_COUNT_OF], should_be[TXD_STAT_COUNT_OF];

    trial_note(t, got, sizeof *got);
    txd_stats_final(is, got);
    txd_stats_final(should_be, exact);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++) {
        double room = 1e-9 * fabs(should_be[i]);

        t->compared++;
        if (!trial_agrees(is[i], should_be[i], room))
            trial_fail(t, txd_stat_get((txd_stat)i)->name, 0, is[i], should_be[i],
                       room);
    }
}

static void rows(struct trial *t, struct rows_way way)
{
    size_t rows = TRIAL_SPANS, keys = trial_sizes[t->size], wide = TXD_ROW_COUNT;
    uint8_t *hidden = reasons(t, rows, keys, way.by_spans);
    double *w = weights_of(t, hidden, rows * keys, way.hidden_zero);
    double *max = trial_doubles(t, "max", rows);
    double *got = trial_output(t, rows * wide, sizeof(double));
    double *exact = trial_keep(t, rows * wide * sizeof *exact);
    const uint8_t skip_row[TRIAL_SPANS] = {0, 0, 0, 1};
    struct txd_stats_part measured, measured_exact;
    struct txd_stats_args measure = {.skip_row = skip_row,
                                     .rows = rows,
                                     .width = keys,
                                     .stride = keys,
                                     .flat_start = 3,
                                     .flat_stride = 2 * keys};
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

    measure.part = &measured_exact;
    measure.skip_cell = hidden;
    measure.x = w;
    a.measure = &measure;
    (void)txd_ref64_rows(&t->ctx, &a);
    for (size_t r = 0; way.entropy_given && r < rows; r++)
        exact[r * wide + TXD_ROW_ENTROPY] = max[r];
    if (way.by_spans) {
        a.hidden = NULL;
        a.spans = trial_spans(t, keys);
        a.sides = (struct txd_hidden_sides){
            TXD_HIDDEN_WINDOW, TXD_HIDDEN_FUTURE, a.spans->first + 1,
            a.spans->first + (int32_t)(keys - keys / 9)};
    }
    a.entropy = way.entropy_given ? max : NULL;
    a.weights = trial_narrowed(t, w, rows * keys);
    a.rows = got;
    measure.part = &measured;
    measure.x = a.weights;
    measure.skip_cell = a.hidden;
    measure.spans = a.spans;
    memset(&measured, 0xff, sizeof measured);
    (void)t->ops->rows(&t->ctx, &a);
    compare_stats(t, &measured, &measured_exact);
    compare_rows(t, got, exact, rows * wide);
}

void trial_rows(struct trial *t)
{
    for (int i = 0; i < 8; i++)
        rows(t, (struct rows_way){i & 1, i & 2, i & 4});
}

static void stats(struct trial *t, struct txd_stats_args a, const uint8_t *skip_cell)
{
    size_t width = trial_sizes[t->size], count = TRIAL_SPANS * width;
    double *x = trial_doubles(t, "x", count);
    struct txd_stats_part part, exact;
    const uint8_t *given = a.skip_cell;

    if (count > 4 && t->fill == FILL_NORMAL)
        x[4] = INFINITY;
    a.part = &exact;
    a.x = x;
    a.skip_cell = skip_cell;
    a.rows = TRIAL_SPANS;
    a.width = a.stride = width;
    a.flat_start = 3;
    a.flat_stride = 2 * width;
    (void)txd_ref64_stats(&t->ctx, &a);
    a.part = &part;
    a.x = trial_narrowed(t, x, count);
    a.skip_cell = given;
    a.spans = given == skip_cell ? NULL : trial_spans(t, width);
    memset(&part, 0xff, sizeof part);
    (void)t->ops->stats(&t->ctx, &a);
    compare_stats(t, &part, &exact);
}

void trial_stats(struct trial *t)
{
    size_t width = trial_sizes[t->size];
    const uint8_t skip_row[TRIAL_SPANS] = {0, 0, 0, 1};
    const uint8_t *cells = trial_cells(t, TRIAL_SPANS * width);
    uint8_t *outside = trial_spans_map(t, width, width);

    for (size_t i = 0; i < TRIAL_SPANS * width; i++)
        outside[i] = !outside[i];
    for (int skip = 0; skip < 2; skip++) {
        struct txd_stats_args a = {.skip_row = skip ? skip_row : NULL};

        stats(t, a, outside); /* by spans */
        a.skip_cell = cells;
        stats(t, a, cells);
        a.skip_cell = NULL;
        stats(t, a, NULL);
    }
}
