/* SPDX-License-Identifier: MIT
 *
 * Attention, as many bands at a time as there are threads for: each is read and
 * measured by one of them, then all are merged in order. Memory is that of these
 * bands, however long the recording is.
 */
#include "formats/replay_internal.h"

#include <stdlib.h>

#include "base/memory.h"

static const txd_point points[3] = {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED,
                                    TXD_POINT_ATTN_WEIGHTS};

/* About as many rows as a chunk of our recordings has, so that none is unpacked twice;
 * but a tile alone where one is already large. */
#define BAND_ROWS 256
#define LARGE_BAND ((size_t)8 << 20)
/* About what is done to a cell. */
#define CELL_OPERATIONS 20.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- what is asked for ---- */

static txd_status prepare_point(const txd_feed *feed, txd_replay_attention *job, int i)
{
    const txd_replay *replay = feed->replay;
    txd_point point = txd_point_in(job->kind, points[i]);
    size_t stop = txd_replay_stop_at(replay, job->is_gradient, point, job->layer);
    bool is_weights = points[i] == TXD_POINT_ATTN_WEIGHTS;

    job->stops[i] = stop;
    job->wants[i] = txd_feed_wants(feed, stop) & txd_replay_offers_at(replay, stop);
    TXD_TRY(txd_feed_offers(feed, &job->offers[i], stop));
    job->any_head[i] = txd_feed_has(feed, stop, TXD_REPLAY_ANY_HEAD);
    if (is_weights && !job->is_gradient)
        job->has_rows = job->any_head[i] ||
                        (replay->has_rows[job->kind] &&
                         txd_replay_recorded(replay, "rows", &replay->stops[stop].site,
                                             feed->pass.step, TXD_REPLAY_ANY_HEAD));
    /* Nothing of this site was recorded in this step. */
    if (job->offers[i].bits == 0 && !job->any_head[i] && !(is_weights && job->has_rows))
        job->wants[i] = 0;
    return TXD_OK;
}

static txd_status prepare(txd_feed *feed, txd_replay_attention *job)
{
    for (int i = 0; i < 3; i++)
        TXD_TRY(prepare_point(feed, job, i));
    TXD_TRY(txd_feed_cells(feed, job->kind, job->layer));
    if (!job->is_gradient && (job->wants[2] & TXD_ASK_ROWS))
        TXD_TRY(txd_feed_load_rows(feed, job->kind, job->layer));
    return TXD_OK;
}

/* ---- bands ---- */

/* How the rows of a head are divided. */
typedef struct geometry {
    size_t tile, band; /* rows */
    size_t per_head;   /* bands */
    size_t total;
} geometry;

static geometry divide(const txd_feed *feed, const txd_replay_attention *job)
{
    size_t length = feed->inputs.length, memory = feed->inputs.memory_length;
    geometry g = {.tile = txd_attention_tile_rows(length > memory ? length : memory)};
    size_t tiles = least(BAND_ROWS / g.tile, TXD_REPLAY_BAND_TILES);
    double bytes =
        (double)job->keys * BAND_ROWS * (double)txd_dtype_bytes(feed->pass.dtype);

    if (tiles < 1 || bytes > (double)LARGE_BAND)
        tiles = 1;
    g.band = tiles * g.tile;
    g.per_head = (length + g.band - 1) / g.band;
    g.total = feed->inputs.batch * feed->replay->config.n_heads * g.per_head;
    return g;
}

static void place_band(txd_replay_band *band, txd_replay_attention *job,
                       const geometry *g, size_t i)
{
    const txd_feed *feed = job->feed;
    size_t length = feed->inputs.length, heads = feed->replay->config.n_heads;

    band->job = job;
    band->first = i % g->per_head * g->band;
    band->head = i / g->per_head % heads;
    band->batch = i / g->per_head / heads;
    band->rows = least(g->band, length - band->first);
    band->tile_count = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int which = 0; which < 3; which++)
            band->loaded[kind][which] = false;
    for (size_t at = 0; at < band->rows; at += g->tile) {
        txd_replay_tile *tile = &band->tiles[band->tile_count++];

        tile->band = band;
        tile->first = band->first + at;
        tile->rows = least(g->tile, band->rows - at);
        tile->last = i + 1 == g->total && at + tile->rows == band->rows;
    }
}

static txd_status make_bands(txd_feed *feed)
{
    size_t count = feed->ctx.threads > 1 ? 2 * (size_t)feed->ctx.threads : 1;

    if (feed->bands)
        return TXD_OK;
    feed->bands = calloc(count, sizeof *feed->bands);
    if (!feed->bands)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a replay");
    feed->band_capacity = count;
    for (size_t i = 0; i < count; i++)
        feed->bands[i].index = i;
    return TXD_OK;
}

void txd_feed_free_bands(txd_feed *feed)
{
    for (size_t i = 0; i < feed->band_capacity; i++)
        for (size_t t = 0; t < TXD_REPLAY_BAND_TILES; t++) {
            txd_replay_tile *tile = &feed->bands[i].tiles[t];

            free(tile->map.data);
            free(tile->rows_out.data);
            free(tile->recorded.data);
            free(tile->slots.data);
        }
    free(feed->bands);
    for (int kind = 0; kind < 2; kind++)
        for (int which = 0; which < 3; which++)
            txd_memory_give(feed->band_memory[kind][which]);
}

static txd_status measure_band(void *self, size_t i, int worker)
{
    txd_replay_band *band = &((txd_feed *)self)->bands[i];

    (void)worker;
    for (size_t t = 0; t < band->tile_count; t++)
        TXD_TRY(txd_tile_measure(&band->tiles[t]));
    return TXD_OK;
}

/* The bands from `first` on, as many as there is room for. */
static txd_status feed_wave(txd_feed *feed, txd_replay_attention *job,
                            const geometry *g, size_t first)
{
    size_t count = least(feed->band_capacity, g->total - first);

    for (size_t i = 0; i < count; i++)
        place_band(&feed->bands[i], job, g, first + i);
    TXD_TRY(txd_parallel(&feed->ctx, count,
                         CELL_OPERATIONS * (double)g->band * (double)job->keys,
                         measure_band, feed));
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < feed->bands[i].tile_count; t++)
            TXD_TRY(txd_tile_merge(&feed->bands[i].tiles[t]));
    return TXD_OK;
}

txd_status txd_feed_attention(txd_feed *feed, const txd_site *site)
{
    txd_replay_attention job = {.feed = feed,
                                .kind = txd_point_attention(site->point),
                                .layer = site->layer,
                                .is_gradient = txd_site_is_gradient(site->kind),
                                .keys = feed->inputs.length};
    geometry g;

    if (job.kind == TXD_ATTENTION_CROSS)
        job.keys = feed->inputs.memory_length;
    TXD_TRY(prepare(feed, &job));
    if (!(job.wants[0] | job.wants[1] | job.wants[2]))
        return TXD_OK;
    TXD_TRY(make_bands(feed));
    g = divide(feed, &job);
    feed->band_rows = g.band;
    for (size_t first = 0; first < g.total; first += feed->band_capacity)
        TXD_TRY(feed_wave(feed, &job, &g, first));
    return TXD_OK;
}
