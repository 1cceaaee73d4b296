/* SPDX-License-Identifier: MIT
 *
 * Row statistics of attention by kernels. A row is runs of cells with one reason to be
 * hidden, or none. Where weights are finite and hidden ones 0, as they are in a healthy
 * model, each run comes to a few sums; any other row is the reference's.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/cpu_pieces.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* Of a row without cells. */
static const double nothing[TXD_ROW_COUNT] = {
#define TXD_ROW(id, name, is_key, unit, meaning) (is_key) ? -1 : 0,
#include "ops/rows.def"
#undef TXD_ROW
};

struct run {
    size_t begin, end; /* columns */
    txd_hidden reason;
};

/* The least of what lies above; as keys, in columns. */
static void cut(size_t *end, size_t above, int64_t key, const txd_spans *spans)
{
    int64_t column = key - spans->first;

    if (column > (int64_t)above && column < (int64_t)*end)
        *end = (size_t)column;
}

static struct run run_of_spans(const struct txd_rows_args *a, size_t r, size_t begin)
{
    struct run run = {begin, a->keys, txd_span_hides(a->spans, &a->sides, r, begin)};

    cut(&run.end, begin, a->spans->begin[r], a->spans);
    cut(&run.end, begin, a->spans->end[r], a->spans);
    cut(&run.end, begin, a->sides.real_begin, a->spans);
    cut(&run.end, begin, a->sides.real_end, a->spans);
    return run;
}

static struct run run_of_map(const struct txd_rows_args *a, size_t r, size_t begin)
{
    const uint8_t *hidden = a->hidden + r * a->stride;
    struct run run = {begin, begin, (txd_hidden)hidden[begin]};
    uint8_t same[32];

    memset(same, hidden[begin], sizeof same);
    while (a->keys - run.end >= sizeof same &&
           memcmp(hidden + run.end, same, sizeof same) == 0)
        run.end += sizeof same;
    while (run.end < a->keys && hidden[run.end] == hidden[begin])
        run.end++;
    return run;
}

/* The first of the largest weights so far. */
static void raise(double *row, double size, size_t place)
{
    if (size > row[TXD_ROW_PEAK]) {
        row[TXD_ROW_PEAK] = size;
        row[TXD_ROW_PEAK_KEY] = (double)place;
    }
}

/* False if there is more to say than that these cells are 0. */
static bool add_hidden(double *row, const struct txd_rows_args *a, const float *weights,
                       const struct run *run)
{
    size_t count = run->end - run->begin;

    if (!txd_kernels_here()->zero(weights + run->begin, count))
        return false;
    raise(row, 0, a->key_begin + run->begin);
    if (run->reason == TXD_HIDDEN_FUTURE)
        row[TXD_ROW_FUTURE_COUNT] += (double)count;
    else if (run->reason == TXD_HIDDEN_PADDING)
        row[TXD_ROW_PADDING_COUNT] += (double)count;
    return true;
}

/* A row that is being measured: how far, and what it adds to the statistics of the seen
 * cells if these are wanted (else NULL). */
struct sweep {
    const struct txd_rows_args *a;
    struct txd_piece *piece;
    size_t r, done; /* cells before that column are measured */
};

/* Of at most TXD_PIECE cells; false if one of these weights is no number. */
static bool add_weights(double *row, struct sweep *s, const float *weights,
                        struct run run)
{
    const txd_kernels *k = txd_kernels_here();
    size_t count = run.end - run.begin, place = s->a->key_begin + run.begin;
    double away = (double)s->a->at.first_query + (double)s->r - (double)place;
    struct txd_piece_run measured = {s->r, run.begin, 1, count};
    struct txd_weight_sums sums;

    if (!k->weights(&sums, weights + run.begin, count, away))
        return false;
    if (s->piece != NULL)
        txd_piece_add(s->piece, &measured, &sums.total);
    s->done = run.end;
    row[TXD_ROW_SUM] += sums.total.sum;
    row[TXD_ROW_DISTANCE] += sums.distance;
    raise(row, (double)sums.peak, place + (size_t)sums.peak_at);
    if (s->a->entropy == NULL)
        row[TXD_ROW_ENTROPY] += k->entropy(weights + run.begin, count);
    return true;
}

static bool add_seen(double *row, struct sweep *s, const float *weights,
                     const struct run *run)
{
    struct run part = *run;

    for (; part.begin < run->end; part.begin = part.end) {
        part.end =
            run->end - part.begin < TXD_PIECE ? run->end : part.begin + TXD_PIECE;
        if (!add_weights(row, s, weights, part))
            return false;
    }
    return true;
}

/* The weight of a key, 0 where it was not computed. */
static double weight_at(const struct txd_rows_args *a, const float *weights,
                        int64_t key)
{
    int64_t column = key - (int64_t)a->key_begin;

    return column >= 0 && column < (int64_t)a->keys ? (double)weights[column] : 0;
}

static struct run next_run(const struct txd_rows_args *a, size_t r, size_t begin)
{
    return a->spans != NULL ? run_of_spans(a, r, begin) : run_of_map(a, r, begin);
}

static bool healthy_row(double *row, struct sweep *s)
{
    const struct txd_rows_args *a = s->a;
    const size_t r = s->r;
    const float *weights = (const float *)a->weights + r * a->stride;

    memcpy(row, nothing, sizeof nothing);
    row[TXD_ROW_PEAK] = a->keys > 0 ? -INFINITY : 0;
    for (size_t j = 0; j < a->keys;) {
        struct run run = next_run(a, r, j);

        if (run.reason == TXD_SEEN ? !add_seen(row, s, weights, &run)
                                   : !add_hidden(row, a, weights, &run))
            return false;
        j = run.end;
    }
    row[TXD_ROW_MAX] = a->max[r];
    row[TXD_ROW_LSE] = a->lse[r];
    if (a->entropy != NULL)
        row[TXD_ROW_ENTROPY] = a->entropy[r];
    row[TXD_ROW_SELF] = weight_at(a, weights, a->at.first_query + (int64_t)r);
    row[TXD_ROW_FIRST] = weight_at(a, weights, a->first_seen[r]);
    row[TXD_ROW_SEEN] = a->seen[r];
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = (double)(float)row[c];
    return true;
}

static txd_status any_row(double *row, const struct txd_rows_args *a, size_t r)
{
    struct txd_rows_args one = *a;
    txd_spans spans;

    one.at.first_query += (int)r;
    one.rows = row;
    one.row_count = 1;
    one.measure = NULL;
    one.weights = (const float *)a->weights + r * a->stride;
    one.max += r;
    one.lse += r;
    one.entropy = a->entropy == NULL ? NULL : a->entropy + r;
    one.hidden = a->hidden == NULL ? NULL : a->hidden + r * a->stride;
    one.seen += r;
    one.first_seen += r;
    if (a->spans != NULL) {
        spans = (txd_spans){a->spans->begin + r, a->spans->end + r, a->spans->first};
        one.spans = &spans;
    }
    return txd_ref32_rows(NULL, &one);
}

/* The seen cells of a row that no sweep has reached. */
static void measure_rest(const struct sweep *s)
{
    struct run run;

    for (size_t j = 0; s->piece != NULL && j < s->a->keys; j = run.end) {
        run = next_run(s->a, s->r, j);
        if (run.reason == TXD_SEEN && run.end > s->done)
            txd_piece_add_columns(s->piece, s->r,
                                  run.begin > s->done ? run.begin : s->done, run.end);
    }
}

txd_status txd_cpu32_rows(txd_ctx *ctx, const struct txd_rows_args *a)
{
    const struct txd_stats_args *measure = a->measure;
    struct txd_piece piece;

    (void)ctx;
    if (measure != NULL)
        txd_piece_begin(&piece, measure);
    for (size_t r = 0; r < a->row_count; r++) {
        double *row = a->rows + r * TXD_ROW_COUNT;
        bool skip = measure == NULL || (measure->skip_row && measure->skip_row[r] != 0);
        struct sweep sweep = {a, skip ? NULL : &piece, r, 0};

        if (healthy_row(row, &sweep))
            continue;
        measure_rest(&sweep);
        TXD_TRY(any_row(row, a, r));
    }
    if (measure != NULL)
        txd_piece_end(&piece);
    return TXD_OK;
}
