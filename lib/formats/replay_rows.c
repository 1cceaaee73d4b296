/* SPDX-License-Identifier: MIT
 *
 * Row statistics of a tile: recorded ones, or those of the reference over recorded
 * weights. The largest score and the log-sum-exp come from recorded masked scores;
 * without these they are NaN.
 */
#include <math.h>

#include "formats/replay_internal.h"
#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* Rows of a layer that are read at once: few reads, and some megabytes. */
#define MAX_LAYER_ROWS ((size_t)1 << 19)

/* ---- recorded ---- */

/* Rows of a layer, if they are few enough to be held. */
static bool are_held(const txd_feed *feed, size_t *cells)
{
    *cells = feed->inputs.batch * feed->replay->config.n_heads * feed->inputs.length;
    return *cells <= MAX_LAYER_ROWS;
}

/* True if the recording has row statistics of this layer, head and step. */
static bool has_recorded(const txd_feed *feed, txd_attention_kind kind, int layer,
                         int head)
{
    const txd_replay *replay = feed->replay;
    size_t stop =
        txd_replay_stop_of(replay, txd_point_in(kind, TXD_POINT_ATTN_WEIGHTS), layer);
    txd_trace_info info;

    return replay->has_rows[kind] &&
           txd_replay_recorded(replay, "rows", &replay->stops[stop].site,
                               feed->pass.step, head) &&
           txd_trace_get(replay->trace, &info, replay->rows[kind][0]) == TXD_OK &&
           (size_t)feed->pass.step < info.dims[0];
}

/* All columns of a layer as (column, b, h, q). */
txd_status txd_feed_load_rows(txd_feed *feed, txd_attention_kind kind, int layer)
{
    const txd_replay *replay = feed->replay;
    const size_t start[5] = {(size_t)feed->pass.step, (size_t)layer, 0, 0, 0};
    const size_t count[5] = {1, 1, feed->inputs.batch, replay->config.n_heads,
                             feed->inputs.length};
    int rows_layer = 2 * layer + (int)kind;
    size_t cells;

    if (feed->rows_layer == rows_layer || !are_held(feed, &cells) ||
        !has_recorded(feed, kind, layer, TXD_REPLAY_ANY_HEAD))
        return TXD_OK;
    TXD_TRY(txd_replay_reserve(&feed->rows, cells * TXD_ROW_COUNT, sizeof(double)));
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        TXD_TRY(txd_trace_read(replay->trace,
                               (double *)feed->rows.data + (size_t)c * cells,
                               replay->rows[kind][c], start, count, TXD_F64));
    feed->rows_layer = rows_layer;
    return TXD_OK;
}

/* One tile of every column: for layers too large to be held. */
static txd_status load_tile(txd_replay_tile *tile)
{
    const txd_replay_attention *job = tile->band->job;
    const txd_replay *replay = job->feed->replay;
    const size_t start[5] = {(size_t)job->feed->pass.step, (size_t)job->layer,
                             tile->band->batch, tile->band->head, tile->first};
    const size_t count[5] = {1, 1, 1, 1, tile->rows};

    TXD_TRY(txd_replay_reserve(&tile->recorded, tile->rows * TXD_ROW_COUNT,
                               sizeof(double)));
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        TXD_TRY(txd_trace_read(replay->trace,
                               (double *)tile->recorded.data + (size_t)c * tile->rows,
                               replay->rows[job->kind][c], start, count, TXD_F64));
    return TXD_OK;
}

static txd_status recorded_rows(double *out, txd_replay_tile *tile)
{
    const txd_feed *feed = tile->band->job->feed;
    size_t heads = feed->replay->config.n_heads, length = feed->inputs.length, cells;
    size_t place =
        (tile->band->batch * heads + tile->band->head) * length + tile->first;
    const double *columns = feed->rows.data;

    if (!are_held(feed, &cells)) {
        TXD_TRY(load_tile(tile));
        columns = tile->recorded.data;
        place = 0;
        cells = tile->rows;
    }
    for (size_t r = 0; r < tile->rows; r++)
        for (size_t c = 0; c < TXD_ROW_COUNT; c++)
            out[r * TXD_ROW_COUNT + c] = columns[c * cells + place + r];
    return TXD_OK;
}

/* ---- computed ---- */

/* What the rows of a tile follow from; max and lse per row. */
typedef struct row_job {
    txd_replay_tile *tile;
    txd_tensor weights, masked;
    double *rows, *max, *lse;
    size_t keys;
} row_job;

/* A hidden cell that was left out of the file is NaN and took no part. */
static bool takes_part(const row_job *job, size_t row, size_t key, double x)
{
    return !isnan(x) ||
           txd_replay_hides(&job->tile->marks, row, key, job->keys) == TXD_SEEN;
}

/* By kernels, as softmax has it; false where a cell is NaN. */
static bool scan_floats(const row_job *job, size_t row)
{
    const txd_kernels *k = txd_kernels_here();
    const float *x = (const float *)job->masked.data + row * job->keys;
    float max = k->largest(x, job->keys);
    double sum;

    if (isnan(max))
        return false;
    job->max[row] = job->lse[row] = (double)max;
    if (!isinf(max)) {
        sum = (double)k->exp_sums(NULL, x, job->keys, max).sum;
        job->lse[row] += log(ldexp(sum, -TXD_EXP_SHIFT));
    }
    return true;
}

/* What a sink has of a row is not recorded: the largest weight tells of what all of
 * them were divided by. */
static void scan_by_weights(const row_job *job, size_t row)
{
    double best = 0;

    for (size_t j = 0; j < job->keys; j++) {
        double w = txd_tensor_get(&job->weights, row * job->keys + j);

        if (!(w > best))
            continue;
        best = w;
        job->lse[row] = txd_tensor_get(&job->masked, row * job->keys + j) - log(w);
    }
}

static void scan_scores(const row_job *job, size_t row)
{
    double max = -INFINITY, sum = 0;

    if (job->masked.dtype == TXD_F32 && scan_floats(job, row))
        return;
    for (size_t j = 0; j < job->keys; j++) {
        double x = txd_tensor_get(&job->masked, row * job->keys + j);

        if ((x > max || isnan(x)) && takes_part(job, row, j, x))
            max = x;
    }
    for (size_t j = 0; j < job->keys && !(max == -INFINITY); j++) {
        double x = txd_tensor_get(&job->masked, row * job->keys + j);

        if (takes_part(job, row, j, x))
            sum += exp(x - max);
    }
    job->max[row] = max;
    job->lse[row] = max == -INFINITY ? max : max + log(sum);
}

/* With evaluate_hidden = "never" a hidden zero was not computed: it is not counted. */
static void uncount(const row_job *job, size_t r)
{
    double *row = job->rows + r * TXD_ROW_COUNT;
    bool any = row[TXD_ROW_HIDDEN_KEY] >= 0;

    row[TXD_ROW_FUTURE_COUNT] = row[TXD_ROW_PADDING_COUNT] = 0;
    for (size_t j = 0; any && j < job->keys; j++) {
        double w = txd_tensor_get(&job->weights, r * job->keys + j);
        txd_hidden why;

        if (w == 0)
            continue;
        why = txd_replay_hides(&job->tile->marks, r, j, job->keys);
        row[TXD_ROW_FUTURE_COUNT] += why == TXD_HIDDEN_FUTURE;
        row[TXD_ROW_PADDING_COUNT] += why == TXD_HIDDEN_PADDING;
    }
}

static void blank_padded(double *out, const txd_replay_tile *tile)
{
    const txd_feed *feed = tile->band->job->feed;
    const uint8_t *padded =
        (const uint8_t *)feed->padded.data + tile->band->batch * feed->inputs.length;

    for (size_t r = 0; r < tile->rows; r++)
        for (int c = 0; padded[tile->first + r] && c < TXD_ROW_COUNT; c++)
            out[r * TXD_ROW_COUNT + (size_t)c] =
                txd_row_get((txd_row)c)->is_key ? -1 : (double)NAN;
}

static txd_status compute(const row_job *job, const struct txd_stats_args *measure)
{
    const txd_replay_tile *tile = job->tile;
    const txd_replay_attention *attention = tile->band->job;
    const txd_replay_marks *marks = &tile->marks;
    struct txd_rows_args args = {
        .at = {.layer = attention->layer,
               .point = txd_point_in(attention->kind, TXD_POINT_ATTN_WEIGHTS),
               .batch = (int)tile->band->batch,
               .head = (int)tile->band->head,
               .first_query = (int)tile->first},
        .rows = job->rows,
        .weights = job->weights.data,
        .max = job->max,
        .lse = job->lse,
        .hidden = marks->hidden,
        .spans = marks->hidden ? NULL : &marks->spans,
        .sides = marks->sides,
        .seen = marks->seen,
        .first_seen = marks->first_seen,
        .row_count = tile->rows,
        .keys = job->keys,
        .stride = job->keys,
        .measure = measure,
    };

    if (attention->kind == TXD_ATTENTION_SELF) /* its place among the keys */
        args.at.first_query += (int)attention->feed->inputs.past;
    return attention->feed->pass.dtype == TXD_F64 ? txd_ref64_rows(NULL, &args)
                                                  : txd_cpu32_rows(NULL, &args);
}

static txd_status computed_rows(double *out, txd_replay_tile *tile,
                                const struct txd_stats_args *measure)
{
    const txd_replay_attention *attention = tile->band->job;
    const txd_replay *replay = attention->feed->replay;
    txd_point weights = txd_point_in(attention->kind, TXD_POINT_ATTN_WEIGHTS);
    txd_point masked = txd_point_in(attention->kind, TXD_POINT_ATTN_MASKED);
    row_job job = {.tile = tile, .rows = out, .keys = attention->keys};
    bool has_scores;
    size_t stop;

    TXD_TRY(txd_feed_tile_value(&job.weights, tile,
                                txd_replay_stop_of(replay, weights, attention->layer)));
    TXD_TRY(txd_feed_marks(tile));
    TXD_TRY(txd_replay_reserve(&tile->recorded, 2 * tile->rows, sizeof(double)));
    job.max = tile->recorded.data;
    job.lse = job.max + tile->rows;
    stop = txd_replay_stop_of(replay, masked, attention->layer);
    has_scores = stop != TXD_REPLAY_NONE &&
                 txd_feed_has(attention->feed, stop, (int)tile->band->head) &&
                 txd_feed_tile_value(&job.masked, tile, stop) == TXD_OK;
    for (size_t r = 0; r < tile->rows; r++) {
        job.max[r] = job.lse[r] = (double)NAN;
        if (has_scores)
            scan_scores(&job, r);
        if (has_scores && replay->config.sinks && attention->kind == TXD_ATTENTION_SELF)
            scan_by_weights(&job, r);
    }
    TXD_TRY(compute(&job, measure));
    for (size_t r = 0;
         replay->config.evaluate_hidden == TXD_HIDDEN_NEVER && r < tile->rows; r++)
        uncount(&job, r);
    if (attention->kind == TXD_ATTENTION_CROSS)
        txd_rows_without_places(out, tile->rows);
    blank_padded(out, tile);
    return TXD_OK;
}

txd_status txd_feed_rows(const double **out, txd_replay_tile *tile,
                         const struct txd_stats_args *measure)
{
    const txd_replay_attention *job = tile->band->job;
    const txd_feed *feed = job->feed;
    size_t stop = txd_replay_stop_of(
        feed->replay, txd_point_in(job->kind, TXD_POINT_ATTN_WEIGHTS), job->layer);
    int head = (int)tile->band->head;

    *out = NULL;
    TXD_TRY(txd_replay_reserve(&tile->rows_out, tile->rows * TXD_ROW_COUNT,
                               sizeof(double)));
    if (!has_recorded(feed, job->kind, job->layer, head) &&
        txd_feed_has(feed, stop, head)) {
        TXD_TRY(computed_rows(tile->rows_out.data, tile, measure));
        *out = tile->rows_out.data;
        return TXD_OK;
    }
    if (measure)
        txd_feed_take(feed, measure);
    if (!has_recorded(feed, job->kind, job->layer, head))
        return TXD_OK;
    TXD_TRY(recorded_rows(tile->rows_out.data, tile));
    *out = tile->rows_out.data;
    return TXD_OK;
}
