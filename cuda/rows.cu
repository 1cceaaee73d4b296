/* SPDX-License-Identifier: MIT
 *
 * The row statistics of attention weights (ops/rows.def), by the rules of
 * statistics_row in ops/ref_softmax.c. A block has a row and reads each weight once;
 * sums are doubles. What the host knows (max, lse, seen) it writes itself.
 */
#include "cuda/largest.h"
#include "cuda/launch.h"
#include "cuda/tiles.h"

/* Cells that a thread loads at once, side by side: 16 bytes where they are aligned. */
#define AT_ONCE 4

struct rows_job {
    double *rows; /* (rows, TXD_ROW_COUNT), to be fetched */
    const float *weights;
    const uint8_t *hidden; /* dense; or NULL: by spans */
    struct txd_cuda_spans spans;
    struct txd_hidden_sides sides;
    const int32_t *first_seen;
    size_t row_count, keys, stride, key_begin;
    int64_t first_query;
    bool aligned, entropy; /* entropy: to be found here */
};

/* ---- why cells are hidden ---- */

/* Of one row, in columns of the tile. */
struct reasons {
    const uint8_t *map; /* or NULL: by the numbers below */
    unsigned begin, end, real_begin, real_end;
    txd_hidden before, after;
};

/* A key as a column: 0 what is before the tile, `keys` what is behind it. */
static __device__ unsigned column_of(const rows_job &job, int32_t key)
{
    int64_t column = (int64_t)key - job.spans.first;

    return column < 0
               ? 0
               : (unsigned)(column < (int64_t)job.keys ? (size_t)column : job.keys);
}

static __device__ reasons reasons_of(const rows_job &job, size_t r)
{
    reasons why = {};

    if (job.spans.begin == NULL) {
        why.map = job.hidden + r * job.keys;
        return why;
    }
    why.begin = column_of(job, job.spans.begin[r]);
    why.end = column_of(job, job.spans.end[r]);
    why.real_begin = column_of(job, job.sides.real_begin);
    why.real_end = column_of(job, job.sides.real_end);
    why.before = job.sides.before;
    why.after = job.sides.after;
    return why;
}

static __device__ txd_hidden reason_of(const reasons &why, unsigned j)
{
    if (why.map != NULL)
        return (txd_hidden)why.map[j];
    if (j >= why.begin && j < why.end)
        return TXD_SEEN;
    if (j < why.real_begin || j >= why.real_end)
        return TXD_HIDDEN_PADDING;
    return j < why.begin ? why.before : why.after;
}

/* Whether no reason ends within columns j to j + AT_ONCE - 1. */
static __device__ bool alike(const reasons &why, unsigned j)
{
    const unsigned ends[] = {why.begin, why.end, why.real_begin, why.real_end};
    bool same = true;

    if (why.map != NULL) {
        for (unsigned i = 1; i < AT_ONCE; i++)
            same = same && why.map[j + i] == why.map[j];
        return same;
    }
    for (int i = 0; i < 4; i++)
        same = same && (ends[i] <= j || ends[i] >= j + AT_ONCE);
    return same;
}

/* ---- the sums of a row ---- */

struct row_sums {
    double sum, entropy, distance, hidden;
    unsigned nonfinite, future, padding;
    txd_largest peak, hidden_peak, future_peak, padding_peak;
};

static __device__ row_sums no_sums()
{
    row_sums s = {};

    s.peak = {-INFINITY, TXD_NO_COLUMN};
    s.hidden_peak = s.future_peak = s.padding_peak = {0, TXD_NO_COLUMN};
    return s;
}

static __device__ double entropy_term(double w)
{
    return w > 0 ? -w * log(w) : (isnan(w) ? w : 0);
}

/* away: how far the key is before the query. */
static __device__ void add_weight(row_sums *s, float w, unsigned column, double away,
                                  bool entropy)
{
    s->sum += (double)w;
    s->distance += (double)w * away;
    s->nonfinite += isfinite(w) ? 0 : 1;
    txd_raise(&s->peak, w, column);
    if (entropy)
        s->entropy += entropy_term((double)w);
}

static __device__ void add_hidden(row_sums *s, float size, unsigned column,
                                  txd_hidden reason)
{
    s->hidden += (double)size;
    txd_raise(&s->hidden_peak, size, column);
    if (reason == TXD_HIDDEN_FUTURE) {
        s->future++;
        txd_raise(&s->future_peak, size, column);
    } else if (reason == TXD_HIDDEN_PADDING) {
        s->padding++;
        txd_raise(&s->padding_peak, size, column);
    }
}

/* A group of seen cells that are all finite: the same in fewer steps. */
static __device__ void add_seen(row_sums *s, const float w[AT_ONCE], unsigned column,
                                double away, bool entropy)
{
    float peak = fmaxf(fmaxf(w[0], w[1]), fmaxf(w[2], w[3]));
    double sum = 0, later = 0;

    for (int i = 0; i < AT_ONCE; i++) {
        sum += (double)w[i];
        later += i * (double)w[i];
    }
    s->sum += sum;
    s->distance += away * sum - later;
    for (unsigned i = 0; peak > s->peak.size && i < AT_ONCE; i++)
        txd_raise(&s->peak, w[i], column + i);
    for (int i = 0; entropy && i < AT_ONCE; i++)
        s->entropy += entropy_term((double)w[i]);
}

/* A group of hidden cells that are all 0. */
static __device__ void add_zeros(row_sums *s, unsigned column, txd_hidden reason)
{
    txd_raise(&s->peak, 0, column);
    s->future += reason == TXD_HIDDEN_FUTURE ? AT_ONCE : 0;
    s->padding += reason == TXD_HIDDEN_PADDING ? AT_ONCE : 0;
}

static __device__ void add_group(row_sums *s, const float w[AT_ONCE], unsigned column,
                                 double away, const reasons &why, bool entropy)
{
    txd_hidden first = reason_of(why, column);
    bool same = alike(why, column);

    /* An infinite sum of finite ones is no harm: they are added one by one. */
    if (same && first == TXD_SEEN && isfinite(w[0] + w[1] + w[2] + w[3])) {
        add_seen(s, w, column, away, entropy);
        return;
    }
    if (same && first != TXD_SEEN && w[0] == 0 && w[1] == 0 && w[2] == 0 && w[3] == 0) {
        add_zeros(s, column, first);
        return;
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        txd_hidden reason = reason_of(why, column + i);

        add_weight(s, w[i], column + i, away - i, entropy);
        if (reason != TXD_SEEN)
            add_hidden(s, fabsf(w[i]), column + i, reason);
    }
}

static __device__ void load(float out[AT_ONCE], const float *from, bool aligned)
{
    if (aligned) {
        float4 four = *reinterpret_cast<const float4 *>(from);

        out[0] = four.x;
        out[1] = four.y;
        out[2] = four.z;
        out[3] = four.w;
        return;
    }
    for (int i = 0; i < AT_ONCE; i++)
        out[i] = from[i];
}

/* The thread's own share of a row: groups side by side, then single columns of what is
 * left. */
static __device__ row_sums share_of(const rows_job &job, size_t r)
{
    const float *row = job.weights + r * job.stride;
    const reasons why = reasons_of(job, r);
    const double away = (double)(job.first_query + (int64_t)r - (int64_t)job.key_begin);
    const unsigned keys = (unsigned)job.keys, whole = keys - keys % AT_ONCE;
    row_sums s = no_sums();

    for (unsigned j = threadIdx.x * AT_ONCE; j < whole; j += blockDim.x * AT_ONCE) {
        float w[AT_ONCE];

        load(w, row + j, job.aligned);
        add_group(&s, w, j, away - j, why, job.entropy);
    }
    for (unsigned j = whole + threadIdx.x; j < keys; j += blockDim.x) {
        txd_hidden reason = reason_of(why, j);

        add_weight(&s, row[j], j, away - j, job.entropy);
        if (reason != TXD_SEEN)
            add_hidden(&s, fabsf(row[j]), j, reason);
    }
    return s;
}

/* The block's, told to every thread. */
static __device__ void add_shares(row_sums *s, bool entropy)
{
    s->sum = txd_block_sum(s->sum);
    s->distance = txd_block_sum(s->distance);
    s->hidden = txd_block_sum(s->hidden);
    s->entropy = entropy ? txd_block_sum(s->entropy) : 0;
    s->nonfinite = txd_block_sum(s->nonfinite);
    s->future = txd_block_sum(s->future);
    s->padding = txd_block_sum(s->padding);
    txd_block_largest(&s->peak, -INFINITY);
    txd_block_largest(&s->hidden_peak, 0);
    txd_block_largest(&s->future_peak, 0);
    txd_block_largest(&s->padding_peak, 0);
}

/* ---- what is written ---- */

/* The weight of a key, 0 where it was not computed. */
static __device__ double weight_at(const rows_job &job, size_t r, int64_t key)
{
    int64_t column = key - (int64_t)job.key_begin;

    return column >= 0 && column < (int64_t)job.keys
               ? (double)job.weights[r * job.stride + (size_t)column]
               : 0;
}

static __device__ double narrow(double value)
{
    return (double)(float)value;
}

static __device__ void write_largest(double *size, double *key, const txd_largest &l,
                                     size_t key_begin)
{
    *size = (double)l.size;
    *key = l.column == TXD_NO_COLUMN ? -1 : narrow((double)(key_begin + l.column));
}

static __device__ void write_row(const rows_job &job, const row_sums &s, size_t r)
{
    double *row = job.rows + r * TXD_ROW_COUNT;

    for (int c = 0; c < TXD_ROW_COUNT; c++)
        row[c] = 0;
    row[TXD_ROW_SUM] = narrow(s.sum);
    row[TXD_ROW_ENTROPY] = narrow(s.entropy);
    row[TXD_ROW_FIRST] = weight_at(job, r, job.first_seen[r]);
    row[TXD_ROW_SELF] = weight_at(job, r, job.first_query + (int64_t)r);
    row[TXD_ROW_HIDDEN_SUM] = narrow(s.hidden);
    row[TXD_ROW_DISTANCE] = narrow(s.distance);
    row[TXD_ROW_NONFINITE] = narrow(s.nonfinite);
    row[TXD_ROW_FUTURE_COUNT] = narrow(s.future);
    row[TXD_ROW_PADDING_COUNT] = narrow(s.padding);
    write_largest(&row[TXD_ROW_PEAK], &row[TXD_ROW_PEAK_KEY], s.peak, job.key_begin);
    write_largest(&row[TXD_ROW_HIDDEN_MAX], &row[TXD_ROW_HIDDEN_KEY], s.hidden_peak,
                  job.key_begin);
    write_largest(&row[TXD_ROW_FUTURE_MAX], &row[TXD_ROW_FUTURE_KEY], s.future_peak,
                  job.key_begin);
    write_largest(&row[TXD_ROW_PADDING_MAX], &row[TXD_ROW_PADDING_KEY], s.padding_peak,
                  job.key_begin);
    if (job.keys == 0)
        row[TXD_ROW_PEAK] = 0;
}

static __global__ void rows_kernel(rows_job job)
{
    for (size_t r = blockIdx.x; r < job.row_count; r += gridDim.x) {
        row_sums s = share_of(job, r);

        add_shares(&s, job.entropy);
        if (threadIdx.x == 0)
            write_row(job, s, r);
    }
}

/* ---- the entry ---- */

static txd_status job_of(rows_job *job, const struct txd_rows_args *a)
{
    size_t count = a->row_count;

    *job = rows_job();
    job->rows = (double *)txd_cuda_result(count * TXD_ROW_COUNT * sizeof *job->rows);
    job->weights = (const float *)a->weights;
    job->sides = a->sides;
    job->first_seen =
        (const int32_t *)txd_cuda_stage(a->first_seen, count * sizeof *a->first_seen);
    job->row_count = count;
    job->keys = a->keys;
    job->stride = a->stride;
    job->key_begin = a->key_begin;
    job->first_query = a->at.first_query;
    job->aligned = a->stride % AT_ONCE == 0 &&
                   (uintptr_t)a->weights % (AT_ONCE * sizeof(float)) == 0;
    job->entropy = a->entropy == NULL;
    if (a->spans == NULL)
        job->hidden =
            (const uint8_t *)txd_cuda_stage_rows(a->hidden, count, a->keys, a->stride);
    if (job->rows == NULL || job->first_seen == NULL ||
        (a->spans == NULL && job->hidden == NULL))
        return TXD_ERR_MEMORY;
    return txd_cuda_spans_stage(&job->spans, a->spans, count);
}

/* What was not measured here. */
static void complete(const struct txd_rows_args *a)
{
    for (size_t r = 0; r < a->row_count; r++) {
        double *row = a->rows + r * TXD_ROW_COUNT;

        row[TXD_ROW_MAX] = (double)(float)a->max[r];
        row[TXD_ROW_LSE] = (double)(float)a->lse[r];
        row[TXD_ROW_SEEN] = (double)(float)a->seen[r];
        if (a->entropy != NULL)
            row[TXD_ROW_ENTROPY] = (double)(float)a->entropy[r];
    }
}

static txd_status measure_rows(const struct txd_rows_args *a)
{
    rows_job job;

    if (a->row_count == 0)
        return TXD_OK;
    TXD_TRY(job_of(&job, a));
    TXD_LAUNCH(rows_kernel, txd_cuda_row_blocks(a->row_count),
               txd_cuda_row_threads(a->keys), 0, job);
    TXD_TRY(txd_cuda_check("rows"));
    TXD_TRY(txd_cuda_fetch(a->rows, job.rows,
                           a->row_count * TXD_ROW_COUNT * sizeof *a->rows));
    complete(a);
    return TXD_OK;
}

static txd_status rows_any(const struct txd_rows_args *a)
{
    TXD_TRY(measure_rows(a));
    return a->measure == NULL ? TXD_OK : txd_cuda32_stats(NULL, a->measure);
}

TXD_CUDA_ENTRIES_ANY(rows, rows)
