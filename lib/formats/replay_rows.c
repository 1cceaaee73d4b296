/* SPDX-License-Identifier: MIT
 *
 * Row statistics of a tile: recorded ones, or those of the reference over recorded
 * weights. The largest score and the log-sum-exp come from recorded masked scores;
 * without these they are NaN.
 */
#include <math.h>

#include "formats/replay_internal.h"
#include "ops/cpu.h"
#include "ops/ref.h"

/* Rows of a layer that are read at once: few reads, and some megabytes. */
#define MAX_LAYER_ROWS ((size_t)1 << 19)

txd_status txd_feed_marks(txd_feed *feed, txd_replay_marks *out,
                          const txd_replay_tile *tile, int layer)
{
    size_t keys = tile->keys, cells = tile->rows * keys, bytes;
    txd_mask_view mask = txd_mask_of_attention(
        tile->kind, &feed->replay->config.layers[layer], &feed->inputs, tile->batch);

    bytes = tile->rows * (2 * sizeof(double) + 2 * sizeof(int32_t)) + cells;
    TXD_TRY(txd_replay_reserve(&feed->marks, bytes, 1));
    out->max = feed->marks.data;
    out->lse = out->max + tile->rows;
    out->seen = (int32_t *)(out->lse + tile->rows);
    out->first_seen = out->seen + tile->rows;
    out->hidden = (uint8_t *)(out->first_seen + tile->rows);
    for (size_t r = 0; r < tile->rows; r++) {
        out->seen[r] = 0;
        out->first_seen[r] = -1;
        for (size_t j = 0; j < keys; j++) {
            txd_hidden why = txd_mask_hides(&mask, tile->first + r, j);

            if (why == TXD_SEEN && out->seen[r]++ == 0)
                out->first_seen[r] = (int32_t)j;
            out->hidden[r * keys + j] = (uint8_t)why;
        }
    }
    return TXD_OK;
}

/* ---- recorded ---- */

/* Reads all columns of a layer as (column, b, h, q). */
static txd_status load_layer(txd_feed *feed, txd_attention_kind kind, int layer)
{
    const txd_replay *replay = feed->replay;
    size_t batch = feed->inputs.batch, heads = replay->config.n_heads;
    const size_t start[5] = {(size_t)feed->pass.step, (size_t)layer, 0, 0, 0};
    const size_t count[5] = {1, 1, batch, heads, feed->inputs.length};
    size_t cells = batch * heads * feed->inputs.length;
    int rows_layer = 2 * layer + (int)kind;

    if (feed->rows_layer == rows_layer)
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
static txd_status load_tile(txd_feed *feed, const txd_replay_tile *tile, int layer)
{
    const txd_replay *replay = feed->replay;
    const size_t start[5] = {(size_t)feed->pass.step, (size_t)layer, tile->batch,
                             tile->head, tile->first};
    const size_t count[5] = {1, 1, 1, 1, tile->rows};

    TXD_TRY(
        txd_replay_reserve(&feed->rows, tile->rows * TXD_ROW_COUNT, sizeof(double)));
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        TXD_TRY(txd_trace_read(replay->trace,
                               (double *)feed->rows.data + (size_t)c * tile->rows,
                               replay->rows[tile->kind][c], start, count, TXD_F64));
    return TXD_OK;
}

static txd_status recorded_rows(txd_feed *feed, const txd_replay_tile *tile, int layer)
{
    size_t heads = feed->replay->config.n_heads, length = feed->inputs.length;
    size_t cells = feed->inputs.batch * heads * length;
    size_t place = (tile->batch * heads + tile->head) * length + tile->first;
    const double *columns;
    double *out;

    if (cells > MAX_LAYER_ROWS) {
        TXD_TRY(load_tile(feed, tile, layer));
        place = 0;
        cells = tile->rows;
    } else {
        TXD_TRY(load_layer(feed, tile->kind, layer));
    }
    columns = feed->rows.data;
    out = feed->computed.data;
    for (size_t r = 0; r < tile->rows; r++)
        for (size_t c = 0; c < TXD_ROW_COUNT; c++)
            out[r * TXD_ROW_COUNT + c] = columns[c * cells + place + r];
    return TXD_OK;
}

/* ---- computed ---- */

/* A hidden cell that was left out of the file is NaN and took no part. */
static void scan_scores(const txd_replay_marks *marks, const txd_tensor *masked,
                        size_t row, size_t keys)
{
    double max = -INFINITY, sum = 0;

    for (size_t j = 0; j < keys; j++) {
        double x = txd_tensor_get(masked, row * keys + j);

        if (isnan(x) && marks->hidden[row * keys + j] != TXD_SEEN)
            continue;
        if (x > max || isnan(x))
            max = x;
    }
    for (size_t j = 0; j < keys; j++) {
        double x = txd_tensor_get(masked, row * keys + j);

        if (!(isnan(x) && marks->hidden[row * keys + j] != TXD_SEEN) && max > -INFINITY)
            sum += exp(x - max);
    }
    marks->max[row] = max;
    marks->lse[row] = isnan(max) || max > -INFINITY ? max + log(sum) : -INFINITY;
}

/* With evaluate_hidden = "never" a hidden zero was not computed: it is not counted. */
static void uncount(double *row, const txd_replay_marks *marks,
                    const txd_tensor *weights, size_t r, size_t keys)
{
    row[TXD_ROW_FUTURE_COUNT] = row[TXD_ROW_PADDING_COUNT] = 0;
    for (size_t j = 0; j < keys; j++) {
        double w = txd_tensor_get(weights, r * keys + j);

        if (w == 0)
            continue;
        row[TXD_ROW_FUTURE_COUNT] += marks->hidden[r * keys + j] == TXD_HIDDEN_FUTURE;
        row[TXD_ROW_PADDING_COUNT] += marks->hidden[r * keys + j] == TXD_HIDDEN_PADDING;
    }
}

static void blank_padded(const txd_feed *feed, const txd_replay_tile *tile, double *out)
{
    const uint8_t *padded =
        (const uint8_t *)feed->padded.data + tile->batch * feed->inputs.length;

    for (size_t r = 0; r < tile->rows; r++)
        for (int c = 0; padded[tile->first + r] && c < TXD_ROW_COUNT; c++)
            out[r * TXD_ROW_COUNT + (size_t)c] =
                txd_row_get((txd_row)c)->is_key ? -1 : (double)NAN;
}

static txd_status computed_rows(txd_feed *feed, txd_replay_tile *tile, int layer)
{
    txd_point point = txd_point_in(tile->kind, TXD_POINT_ATTN_WEIGHTS);
    size_t keys = tile->keys;
    bool never = feed->replay->config.evaluate_hidden == TXD_HIDDEN_NEVER;
    txd_tensor weights, masked;
    txd_replay_marks marks;
    struct txd_rows_args args = {
        .at = {.layer = layer,
               .point = point,
               .batch = (int)tile->batch,
               .head = (int)tile->head,
               .first_query = (int)tile->first},
        .rows = feed->computed.data,
        .row_count = tile->rows,
        .keys = keys,
        .stride = keys,
    };
    bool has_scores;

    TXD_TRY(txd_feed_tile_value(feed, &weights, tile,
                                txd_replay_stop_of(feed->replay, point, layer)));
    TXD_TRY(txd_feed_marks(feed, &marks, tile, layer));
    point = txd_point_in(tile->kind, TXD_POINT_ATTN_MASKED);
    has_scores =
        txd_feed_tile_value(feed, &masked, tile,
                            txd_replay_stop_of(feed->replay, point, layer)) == TXD_OK;
    for (size_t r = 0; r < tile->rows; r++) {
        marks.max[r] = marks.lse[r] = (double)NAN;
        if (has_scores)
            scan_scores(&marks, &masked, r, keys);
    }
    args.weights = weights.data;
    args.max = marks.max;
    args.lse = marks.lse;
    args.hidden = marks.hidden;
    args.seen = marks.seen;
    args.first_seen = marks.first_seen;
    TXD_TRY(feed->pass.dtype == TXD_F64 ? txd_ref64_rows(NULL, &args)
                                        : txd_cpu32_rows(NULL, &args));
    for (size_t r = 0; never && r < tile->rows; r++)
        uncount(args.rows + r * TXD_ROW_COUNT, &marks, &weights, r, keys);
    if (tile->kind == TXD_ATTENTION_CROSS)
        txd_rows_without_places(args.rows, tile->rows);
    blank_padded(feed, tile, args.rows);
    return TXD_OK;
}

txd_status txd_feed_rows(txd_feed *feed, const double **out, txd_replay_tile *tile,
                         int layer)
{
    const txd_replay *replay = feed->replay;
    size_t stop = txd_replay_stop_of(
        replay, txd_point_in(tile->kind, TXD_POINT_ATTN_WEIGHTS), layer);
    const txd_site *site = &replay->stops[stop].site;
    txd_trace_info info;

    *out = NULL;
    TXD_TRY(txd_replay_reserve(&feed->computed, tile->rows * TXD_ROW_COUNT,
                               sizeof(double)));
    if (replay->has_rows[tile->kind] &&
        txd_replay_recorded(replay, "rows", site, feed->pass.step, (int)tile->head) &&
        txd_trace_get(replay->trace, &info, replay->rows[tile->kind][0]) == TXD_OK &&
        (size_t)feed->pass.step < info.dims[0])
        TXD_TRY(recorded_rows(feed, tile, layer));
    else if (txd_feed_has(feed, stop, (int)tile->head))
        TXD_TRY(computed_rows(feed, tile, layer));
    else
        return TXD_OK;
    *out = feed->computed.data;
    return TXD_OK;
}
