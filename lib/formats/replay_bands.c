/* SPDX-License-Identifier: MIT
 *
 * Attention in bands of rows: threads take one after the other, read and measure it,
 * and whoever completes the next in order merges it, and what waited behind it, so that
 * merging costs no time of its own. Memory is that of a few bands, however long the
 * recording is.
 */
#include "formats/replay_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* About as many rows as a chunk of our recordings has, so that none is unpacked twice;
 * but a tile alone where one is already large. Of what is not packed a few rows are
 * read, and measured while they are in a cache. */
#define BAND_ROWS 256
#define FEW_ROWS 128
#define LARGE_BAND ((size_t)16 << 20)
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
    txd_point point = txd_point_of_tile(job->kind, i);
    size_t stop = txd_replay_stop_at(replay, job->is_gradient, point, job->layer);
    bool is_weights = i == TXD_TILE_WEIGHTS;

    job->stops[i] = stop;
    job->wants[i] = 0;
    if (stop == TXD_REPLAY_NONE)
        return TXD_OK;
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
    for (int i = 0; i < TXD_TILE_POINTS; i++)
        TXD_TRY(prepare_point(feed, job, i));
    TXD_TRY(txd_feed_cells(feed, job->kind, job->layer));
    if (!job->is_gradient && (job->wants[TXD_TILE_WEIGHTS] & TXD_ASK_ROWS))
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

static bool is_packed(const txd_replay *replay, const txd_replay_attention *job)
{
    txd_trace_info info;

    for (int i = 0; i < TXD_TILE_POINTS; i++) {
        size_t value =
            job->wants[i] ? replay->stops[job->stops[i]].value : TXD_REPLAY_NONE;

        if (value != TXD_REPLAY_NONE &&
            txd_trace_get(replay->trace, &info, value) == TXD_OK && info.packed)
            return true;
    }
    return false;
}

static geometry divide(const txd_feed *feed, const txd_replay_attention *job)
{
    size_t length = feed->inputs.length, memory = feed->inputs.memory_length;
    size_t rows = is_packed(feed->replay, job) ? BAND_ROWS : FEW_ROWS;
    geometry g = {.tile = txd_attention_tile_rows(length > memory ? length : memory)};
    size_t tiles = least(rows / g.tile, TXD_REPLAY_BAND_TILES);
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
        for (int which = 0; which < TXD_TILE_POINTS; which++)
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
    feed->spare_memory = calloc(count, sizeof *feed->spare_memory);
    if (!feed->bands || !feed->spare_memory)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a replay");
    feed->band_capacity = count;
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
    free(feed->spare_memory);
    for (int kind = 0; kind < 2; kind++)
        for (int which = 0; which < TXD_TILE_POINTS; which++)
            txd_memory_give(feed->band_memory[kind][which]);
}

/* ---- taking turns ---- */

/* Bands by number: those below `merged` are done, those below `taken` begun. Number i
 * has place i % capacity, once that of i - capacity was merged. */
typedef struct turns {
    txd_feed *feed;
    txd_replay_attention *job;
    const geometry *g;
    pthread_mutex_t lock;
    pthread_cond_t moved; /* `merged` or `failed` */
    size_t taken, merged;
    size_t spare;  /* entries of feed->spare_memory */
    size_t failed; /* the first that did; g->total: none */
    bool is_merging;
    txd_status status;
    char message[TXD_MESSAGE_BYTES];
} turns;

/* With the lock held. Those before it go on: one of them may fail, too. */
static void fail_band(turns *t, size_t i, txd_status status)
{
    if (i >= t->failed)
        return;
    t->failed = i;
    t->status = status;
    snprintf(t->message, sizeof t->message, "%s", txd_message());
    pthread_cond_broadcast(&t->moved);
}

static txd_status measure_band(txd_replay_band *band)
{
    for (size_t i = 0; i < band->tile_count; i++)
        TXD_TRY(txd_tile_measure(&band->tiles[i]));
    return TXD_OK;
}

static txd_status merge_band(txd_replay_band *band)
{
    for (size_t i = 0; i < band->tile_count; i++)
        TXD_TRY(txd_tile_merge(&band->tiles[i]));
    return TXD_OK;
}

static txd_replay_band *place_of(const turns *t, size_t i)
{
    return &t->feed->bands[i % t->feed->band_capacity];
}

/* Memory that was given back last is taken first: it is still in a cache. */
static void take_memory(turns *t, txd_replay_band *band)
{
    band->index = t->feed->spare_memory[--t->spare];
}

/* Of band `i`, which was merged. */
static void give_memory(turns *t, size_t i)
{
    t->feed->spare_memory[t->spare++] = place_of(t, i)->index;
    t->merged++;
}

/* Merges what is complete, with the lock held but while it merges. */
static void merge_complete(turns *t)
{
    if (t->is_merging)
        return;
    t->is_merging = true;
    while (t->merged < t->failed && t->merged < t->taken &&
           place_of(t, t->merged)->is_complete) {
        size_t i = t->merged;
        txd_status status;

        pthread_mutex_unlock(&t->lock);
        status = merge_band(place_of(t, i));
        pthread_mutex_lock(&t->lock);
        place_of(t, i)->is_complete = false;
        if (status != TXD_OK)
            fail_band(t, i, status);
        else
            give_memory(t, i);
        pthread_cond_broadcast(&t->moved);
    }
    t->is_merging = false;
}

static txd_status take_turn(void *self, size_t nth, int worker)
{
    turns *t = self;
    txd_replay_band *band;
    txd_status status;
    size_t i;

    (void)nth; /* must not be in order */
    (void)worker;
    pthread_mutex_lock(&t->lock);
    i = t->taken++;
    while (i < t->failed && i >= t->merged + t->feed->band_capacity)
        pthread_cond_wait(&t->moved, &t->lock);
    if (i < t->failed) {
        band = place_of(t, i);
        place_band(band, t->job, t->g, i);
        take_memory(t, band);
        pthread_mutex_unlock(&t->lock);
        status = measure_band(band);
        pthread_mutex_lock(&t->lock);
        if (status != TXD_OK)
            fail_band(t, i, status);
        else
            band->is_complete = true;
        merge_complete(t);
    }
    pthread_mutex_unlock(&t->lock);
    return TXD_OK;
}

/* Some thread merges: that must not matter to those who are shown the bands. */
static int threads_of(const txd_feed *feed)
{
    for (size_t t = 0; t < feed->count; t++)
        if (!feed->taps[t]->independent)
            return 1;
    return feed->ctx.threads;
}

static txd_status take_turns(txd_feed *feed, txd_replay_attention *job,
                             const geometry *g)
{
    turns t = {.feed = feed,
               .job = job,
               .g = g,
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .moved = PTHREAD_COND_INITIALIZER,
               .failed = g->total,
               .spare = feed->band_capacity};
    txd_ctx ctx = {.threads = threads_of(feed)};

    for (size_t i = 0; i < feed->band_capacity; i++) {
        feed->bands[i].is_complete = false;
        feed->spare_memory[i] = i;
    }
    (void)txd_parallel(&ctx, g->total,
                       CELL_OPERATIONS * (double)g->band * (double)job->keys, take_turn,
                       &t);
    pthread_mutex_destroy(&t.lock);
    pthread_cond_destroy(&t.moved);
    return t.failed == g->total ? TXD_OK : txd_fail(t.status, "%s", t.message);
}

txd_status txd_feed_attention(txd_feed *feed, const txd_site *site)
{
    txd_replay_attention job = {.feed = feed,
                                .kind = txd_point_attention(site->point),
                                .layer = site->layer,
                                .is_gradient = txd_site_is_gradient(site->kind),
                                .keys = feed->inputs.past + feed->inputs.length};
    unsigned wants = 0;
    geometry g;

    if (job.kind == TXD_ATTENTION_CROSS)
        job.keys = feed->inputs.memory_length;
    TXD_TRY(prepare(feed, &job));
    for (int i = 0; i < TXD_TILE_POINTS; i++)
        wants |= job.wants[i];
    if (!wants)
        return TXD_OK;
    TXD_TRY(make_bands(feed));
    g = divide(feed, &job);
    feed->band_rows = g.band;
    return take_turns(feed, &job, &g);
}
