/* SPDX-License-Identifier: MIT
 *
 * Row statistics of attention by kernels. A row is runs of cells with one reason to be
 * hidden, or none. Where weights are finite and hidden ones 0, as they are in a healthy
 * model, each run comes to a few sums; any other row is the reference's.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
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

/* False if one of these weights is no number. */
static bool add_seen(double *row, const struct txd_rows_args *a, const float *weights,
                     const struct run *run, double query)
{
    const txd_kernels *k = txd_kernels_here();
    size_t count = run->end - run->begin, place = a->key_begin + run->begin;
    struct txd_weight_sums sums;

    if (!k->weights(&sums, weights + run->begin, count, query - (double)place))
        return false;
    row[TXD_ROW_SUM] += sums.sum;
    row[TXD_ROW_DISTANCE] += sums.distance;
    raise(row, (double)sums.peak, place + (size_t)sums.peak_at);
    if (a->entropy == NULL)
        row[TXD_ROW_ENTROPY] += k->entropy(weights + run->begin, count);
    return true;
}

/* The weight of a key, 0 where it was not computed. */
static double weight_at(const struct txd_rows_args *a, const float *weights,
                        int64_t key)
{
    int64_t column = key - (int64_t)a->key_begin;

    return column >= 0 && column < (int64_t)a->keys ? (double)weights[column] : 0;
}

static bool healthy_row(double *row, const struct txd_rows_args *a, size_t r)
{
    const float *weights = (const float *)a->weights + r * a->stride;
    int64_t query = a->at.first_query + (int64_t)r;

    memcpy(row, nothing, sizeof nothing);
    row[TXD_ROW_PEAK] = a->keys > 0 ? -INFINITY : 0;
    for (size_t j = 0; j < a->keys;) {
        struct run run = a->spans != NULL ? run_of_spans(a, r, j) : run_of_map(a, r, j);

        if (run.reason == TXD_SEEN ? !add_seen(row, a, weights, &run, (double)query)
                                   : !add_hidden(row, a, weights, &run))
            return false;
        j = run.end;
    }
    row[TXD_ROW_MAX] = a->max[r];
    row[TXD_ROW_LSE] = a->lse[r];
    if (a->entropy != NULL)
        row[TXD_ROW_ENTROPY] = a->entropy[r];
    row[TXD_ROW_SELF] = weight_at(a, weights, query);
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

txd_status txd_cpu32_rows(txd_ctx *ctx, const struct txd_rows_args *a)
{
    (void)ctx;
    for (size_t r = 0; r < a->row_count; r++) {
        double *row = a->rows + r * TXD_ROW_COUNT;

        if (!healthy_row(row, a, r))
            TXD_TRY(any_row(row, a, r));
    }
    return TXD_OK;
}
