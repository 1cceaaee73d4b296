/* SPDX-License-Identifier: MIT
 *
 * Reference mask and softmax over tiles of query rows, the row statistics of what came
 * out, and the token loss. The largest value is subtracted first, so that exp never
 * overflows; a NaN anywhere in a row makes the whole row NaN, as it does in the
 * formula.
 */
#include <string.h>

#include "ops/real.h"

/* In the order of txd_masked_row (model/config.h). */
enum { ROW_ZERO, ROW_NAN, ROW_UNIFORM };

txd_status REF(visible)(txd_ctx *ctx, const struct txd_visible_args *a)
{
    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++)
            a->out[r * a->keys + j] =
                txd_mask_hides(a->mask, (size_t)a->at.first_query + r, j) == TXD_SEEN;
    return TXD_OK;
}

txd_status REF(mask)(txd_ctx *ctx, const struct txd_mask_args *a)
{
    const real *scores = a->scores;
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            size_t i = r * a->stride + j;

            out[i] = CELL(a, visible, r, j) ? scores[i] : (real)a->fill;
        }
    return TXD_OK;
}

txd_status REF(mask_back)(txd_ctx *ctx, const struct txd_mask_back_args *a)
{
    const real *d_out = a->d_out;
    real *d_scores = a->d_scores;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            size_t i = r * a->stride + j;

            d_scores[i] = CELL(a, visible, r, j) ? d_out[i] : 0;
        }
    return TXD_OK;
}

static real largest(const real *row, size_t begin, size_t end)
{
    real max = (real)-INFINITY;

    for (size_t j = begin; j < end; j++)
        if (row[j] > max || isnan(row[j]))
            max = row[j];
    return max;
}

static void empty_row(real *out, const struct txd_softmax_args *a)
{
    real value = 0;

    if (a->masked_row == ROW_NAN)
        value = (real)NAN;
    else if (a->masked_row == ROW_UNIFORM)
        value = 1 / (real)a->keys;
    for (size_t j = 0; j < a->keys; j++)
        out[j] = value;
}

static double entropy_term(double w)
{
    return w > 0 ? -w * log(w) : (isnan(w) ? w : 0);
}

static double entropy_of(const real *weights, size_t keys)
{
    double entropy = 0;

    for (size_t j = 0; j < keys; j++)
        entropy += entropy_term((double)weights[j]);
    return entropy;
}

static void softmax_row(const struct txd_softmax_args *a, size_t r)
{
    const real *masked = (const real *)a->masked + r * a->stride;
    real *out = (real *)a->out + r * a->stride, sum = 0;
    txd_span part = txd_span_of(a->spans, r, a->begin, a->end);
    real max = largest(masked, part.begin, part.end);

    a->max[r] = (double)max;
    if (max == (real)-INFINITY) {
        a->lse[r] = -INFINITY;
        empty_row(out, a);
        return;
    }
    if (a->sink != NULL && *(const real *)a->sink > max)
        max = *(const real *)a->sink;
    for (size_t j = 0; j < a->keys; j++) {
        bool inside = j >= part.begin && j < part.end;

        out[j] = inside ? REAL(exp)(masked[j] - max) : 0;
        sum += out[j];
    }
    if (a->sink != NULL)
        sum += REAL(exp)(*(const real *)a->sink - max);
    for (size_t j = 0; j < a->keys; j++)
        out[j] /= sum;
    a->lse[r] = (double)(max + REAL(log)(sum));
}

txd_status REF(softmax)(txd_ctx *ctx, const struct txd_softmax_args *a)
{
    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        softmax_row(a, r);
        if (a->entropy != NULL)
            a->entropy[r] = entropy_of((const real *)a->out + r * a->stride, a->keys);
    }
    return TXD_OK;
}

static void softmax_back_row(const struct txd_softmax_back_args *a, size_t r)
{
    const real *weights = (const real *)a->weights + r * a->stride;
    const real *d_out = (const real *)a->d_out + r * a->stride;
    real *d_masked = (real *)a->d_masked + r * a->stride, mean = 0;
    txd_span part = txd_span_of(a->spans, r, a->begin, a->end);
    bool empty = isinf(a->max[r]) && a->max[r] < 0;

    for (size_t j = part.begin; j < part.end && !empty; j++)
        mean += d_out[j] * weights[j];
    for (size_t j = 0; j < a->keys; j++) {
        bool inside = j >= part.begin && j < part.end && !empty;

        d_masked[j] = inside ? weights[j] * (d_out[j] - mean) : 0;
    }
}

txd_status REF(softmax_back)(txd_ctx *ctx, const struct txd_softmax_back_args *a)
{
    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        softmax_back_row(a, r);
    return TXD_OK;
}

txd_status REF(sink_back)(txd_ctx *ctx, const struct txd_sink_back_args *a)
{
    real sink = *(const real *)a->sink, sum = 0;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        const real *weights = (const real *)a->weights + r * a->stride;
        const real *d_out = (const real *)a->d_out + r * a->stride;
        txd_span part = txd_span_of(a->spans, r, a->begin, a->end);
        real mean = 0;

        if (isinf(a->max[r]) && a->max[r] < 0)
            continue;
        for (size_t j = part.begin; j < part.end; j++)
            mean += d_out[j] * weights[j];
        sum += REAL(exp)(sink - (real)a->lse[r]) * mean;
    }
    *(real *)a->d_sink -= sum;
    return TXD_OK;
}

/* Raises a maximum of |weight| and remembers its key; a NaN beats every number. */
static void raise(double *max, double *key, double size, size_t place)
{
    if (size > *max || (isnan(size) && !isnan(*max))) {
        *max = size;
        *key = (double)place;
    }
}

static void add_hidden(double *row, double size, size_t place, txd_hidden reason)
{
    row[TXD_ROW_HIDDEN_SUM] += size;
    raise(&row[TXD_ROW_HIDDEN_MAX], &row[TXD_ROW_HIDDEN_KEY], size, place);
    if (reason == TXD_HIDDEN_FUTURE) {
        row[TXD_ROW_FUTURE_COUNT]++;
        raise(&row[TXD_ROW_FUTURE_MAX], &row[TXD_ROW_FUTURE_KEY], size, place);
    } else if (reason == TXD_HIDDEN_PADDING) {
        row[TXD_ROW_PADDING_COUNT]++;
        raise(&row[TXD_ROW_PADDING_MAX], &row[TXD_ROW_PADDING_KEY], size, place);
    }
}

static void add_weight(double *row, double w, size_t place, size_t query)
{
    row[TXD_ROW_SUM] += w;
    row[TXD_ROW_ENTROPY] += entropy_term(w);
    row[TXD_ROW_NONFINITE] += isfinite(w) ? 0 : 1;
    row[TXD_ROW_DISTANCE] += w * ((double)query - (double)place);
    raise(&row[TXD_ROW_PEAK], &row[TXD_ROW_PEAK_KEY], w, place);
    if (place == query)
        row[TXD_ROW_SELF] = w;
}

/* Why a cell is hidden, by the spans if there are any, else by the map. */
static txd_hidden reason_of(const struct txd_rows_args *a, size_t r, size_t j)
{
    return a->spans != NULL ? txd_span_hides(a->spans, &a->sides, r, j)
                            : (txd_hidden)a->hidden[r * a->stride + j];
}

static void statistics_row(double *row, const struct txd_rows_args *a, size_t r)
{
    const real *weights = (const real *)a->weights + r * a->stride;
    size_t query = (size_t)a->at.first_query + r;

    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = txd_row_get((txd_row)c)->is_key ? -1 : 0;
    row[TXD_ROW_PEAK] = -INFINITY;
    for (size_t j = 0; j < a->keys; j++) {
        double w = (double)weights[j];
        size_t place = a->key_begin + j;
        txd_hidden reason = reason_of(a, r, j);

        add_weight(row, w, place, query);
        if (reason != TXD_SEEN)
            add_hidden(row, fabs(w), place, reason);
        if ((int64_t)place == a->first_seen[r])
            row[TXD_ROW_FIRST] = w;
    }
    if (a->keys == 0)
        row[TXD_ROW_PEAK] = 0;
    row[TXD_ROW_MAX] = a->max[r];
    row[TXD_ROW_LSE] = a->lse[r];
    if (a->entropy != NULL)
        row[TXD_ROW_ENTROPY] = a->entropy[r];
    row[TXD_ROW_SEEN] = a->seen[r];
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = (double)(real)row[c];
}

txd_status REF(rows)(txd_ctx *ctx, const struct txd_rows_args *a)
{
    for (size_t r = 0; r < a->row_count; r++)
        statistics_row(a->rows + r * TXD_ROW_COUNT, a, r);
    return a->measure == NULL ? TXD_OK : REF(stats)(ctx, a->measure);
}

txd_status REF(loss)(txd_ctx *ctx, const struct txd_loss_args *a)
{
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        const real *logits = (const real *)a->logits + r * a->vocab;
        real max = largest(logits, 0, a->vocab), sum = 0;

        for (size_t j = 0; j < a->vocab; j++)
            sum += REAL(exp)(logits[j] - max);
        out[r] = a->targets[r] < 0 ? (real)NAN
                                   : max + REAL(log)(sum) - logits[a->targets[r]];
    }
    return TXD_OK;
}

/* Each element is read before it is written: d_logits may be logits. */
static txd_status loss_back_row(void *self, size_t r, int worker)
{
    const struct txd_loss_back_args *a = self;
    const real *logits = (const real *)a->logits + r * a->vocab;
    real *d_logits = (real *)a->d_logits + r * a->vocab, sum = 0;
    real d = ((const real *)a->d_out)[r], max = largest(logits, 0, a->vocab);

    (void)worker;
    if (a->targets[r] < 0) {
        memset(d_logits, 0, a->vocab * sizeof(real));
        return TXD_OK;
    }
    for (size_t j = 0; j < a->vocab; j++) {
        d_logits[j] = REAL(exp)(logits[j] - max);
        sum += d_logits[j];
    }
    for (size_t j = 0; j < a->vocab; j++) {
        real p = d_logits[j] / sum;

        d_logits[j] = d * (j == (size_t)a->targets[r] ? p - 1 : p);
    }
    return TXD_OK;
}

txd_status REF(loss_back)(txd_ctx *ctx, const struct txd_loss_back_args *a)
{
    struct txd_loss_back_args copy = *a;

    return txd_parallel(ctx, a->rows, 24.0 * (double)a->vocab, loss_back_row, &copy);
}
