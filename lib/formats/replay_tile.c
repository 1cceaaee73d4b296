/* SPDX-License-Identifier: MIT
 *
 * A tile of an attention: scores to weights of a few query rows of one
 * head, as a live pass offers them; of gradients the other way round. Measured on a
 * worker, merged on the calling thread.
 */
#include <string.h>

#include "base/memory.h"
#include "formats/replay_internal.h"

/* ---- values ---- */

/* Where the values of all bands lie. Whoever is the first of an attention to ask may
 * find too little: then nobody has any of it yet. */
static txd_status find_memory(void **out, txd_feed *feed, bool is_gradient, int which,
                              size_t bytes)
{
    size_t all;
    void *memory;

    if (feed->band_bytes[is_gradient][which] < bytes) {
        TXD_TRY(txd_size_mul(&all, bytes, feed->band_capacity));
        memory = txd_memory_take(all);
        if (!memory)
            return txd_fail(TXD_ERR_MEMORY,
                            "out of memory: %zu bytes of recorded attention", all);
        txd_memory_give(feed->band_memory[is_gradient][which]);
        feed->band_memory[is_gradient][which] = memory;
        feed->band_bytes[is_gradient][which] = bytes;
    }
    *out = feed->band_memory[is_gradient][which];
    return TXD_OK;
}

/* The rows of a band at a stop, of which one thread asks. */
static txd_status load_band(void **out, txd_replay_band *band, size_t stop, int which)
{
    txd_feed *feed = band->job->feed;
    const size_t start[4] = {band->batch, band->head, band->first, 0};
    const size_t count[4] = {1, 1, band->rows, band->job->keys};
    bool is_gradient = txd_site_is_gradient(feed->replay->stops[stop].site.kind);
    bool *loaded = &band->loaded[is_gradient][which];
    txd_status status;
    size_t bytes;
    void *memory = NULL;

    TXD_TRY(txd_size_mul(&bytes, feed->band_rows, band->job->keys));
    TXD_TRY(txd_size_mul(&bytes, bytes, txd_dtype_bytes(feed->pass.dtype)));
    pthread_mutex_lock(&feed->lock);
    status = find_memory(&memory, feed, is_gradient, which, bytes);
    bytes = feed->band_bytes[is_gradient][which];
    pthread_mutex_unlock(&feed->lock);
    TXD_TRY(status);
    *out = (char *)memory + band->index * bytes;
    if (!*loaded)
        TXD_TRY(txd_feed_load_block(feed, *out, stop, start, count));
    *loaded = true;
    return TXD_OK;
}

txd_status txd_feed_tile_value(txd_tensor *out, txd_replay_tile *tile, size_t stop)
{
    txd_replay_band *band = tile->band;
    const txd_feed *feed = band->job->feed;
    const size_t dims[4] = {1, 1, tile->rows, band->job->keys};
    size_t row = dims[3] * txd_dtype_bytes(feed->pass.dtype);
    const txd_site *site;
    void *data;

    if (stop == TXD_REPLAY_NONE)
        return txd_fail(TXD_ERR_MISSING, "it does not exist in this model");
    site = &feed->replay->stops[stop].site;
    if (!txd_feed_has(feed, stop, (int)band->head))
        return txd_fail(TXD_ERR_MISSING, "%s was not recorded", site->name);
    TXD_TRY(load_band(&data, band, stop, txd_point_which(site->point)));
    *out = txd_tensor_make(feed->pass.dtype,
                           (char *)data + (tile->first - band->first) * row, 4, dims);
    return TXD_OK;
}

static txd_status look_up(txd_tensor *out, const txd_block *block, txd_point point,
                          bool is_gradient)
{
    /* `source` is const for taps; it is this tile, whose band caches what it reads. */
    union {
        const void *source;
        txd_replay_tile *tile;
    } from = {block->source};
    txd_feed *feed = from.tile->band->job->feed;
    size_t stop = txd_replay_stop_at(feed->replay, is_gradient, point,
                                     txd_feed_layer(feed, block->site, point));
    txd_status status;

    if (txd_point_get(point)->place != TXD_PLACE_TILE) {
        pthread_mutex_lock(&feed->lock);
        status = txd_feed_load(feed, out, stop);
        pthread_mutex_unlock(&feed->lock);
        return status;
    }
    if (txd_point_attention(point) != from.tile->band->job->kind)
        return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                        txd_point_get(point)->name, block->site->name);
    return txd_feed_tile_value(out, from.tile, stop);
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, false);
}

static txd_status gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, true);
}

/* ---- measuring ---- */

/* What is to be measured of a value; the marks of the tile must stay. */
static txd_status plan_stats(struct txd_stats_args *out, txd_replay_tile *tile,
                             int which, const txd_tensor *value)
{
    const txd_replay_band *band = tile->band;
    const txd_feed *feed = band->job->feed;
    size_t length = feed->inputs.length, heads = feed->replay->config.n_heads;
    size_t keys = band->job->keys;

    *out = (struct txd_stats_args){
        .part = &tile->parts[which],
        .x = value->data,
        .skip_row =
            (const uint8_t *)feed->padded.data + band->batch * length + tile->first,
        .rows = tile->rows,
        .width = keys,
        .stride = keys,
        .flat_start =
            ((band->batch * heads + band->head) * length + tile->first) * keys,
        .flat_stride = keys,
    };

    TXD_TRY(txd_feed_marks(tile));
    out->skip_cell = tile->marks.hidden;
    out->spans = tile->marks.hidden ? NULL : &tile->marks.spans;
    tile->has_part[which] = true;
    tile->blocks[which].part = &tile->parts[which];
    return TXD_OK;
}

static txd_status start_block(txd_replay_tile *tile, int which)
{
    const txd_replay_attention *job = tile->band->job;
    txd_block *block = &tile->blocks[which];

    *block = txd_feed_block(job->feed, job->stops[which]);
    block->earlier = earlier;
    block->gradient = job->is_gradient ? gradient : NULL;
    block->source = tile;
    block->start[0] = tile->band->batch;
    block->start[1] = tile->band->head;
    block->start[2] = tile->first;
    block->value.dims[0] = block->value.dims[1] = 1;
    block->value.dims[2] = tile->rows;
    block->last = tile->last;
    /* A map is made only for whoever needs one. */
    if (job->feed->cells.is_regular[tile->band->batch]) {
        TXD_TRY(txd_feed_marks(tile));
        block->seen = &tile->marks.spans;
    }
    return TXD_OK;
}

/* Statistics that follow from the values. */
static bool computes(const txd_replay_attention *job, int which)
{
    const txd_feed_offer *offer = &job->offers[which];

    return (job->wants[which] & TXD_ASK_STATS) && offer->can_take;
}

static txd_status measure_point(txd_replay_tile *tile, int which)
{
    const txd_replay_attention *job = tile->band->job;
    unsigned wants = job->wants[which], bits = job->offers[which].bits;
    txd_block *block = &tile->blocks[which];
    bool compute = computes(job, which);
    bool rows =
        !job->is_gradient && which == TXD_TILE_WEIGHTS && (wants & TXD_ASK_ROWS);
    struct txd_stats_args stats;

    TXD_TRY(start_block(tile, which));
    tile->has_part[which] = false;
    if (txd_feed_has(job->feed, job->stops[which], (int)tile->band->head) &&
        ((wants & TXD_ASK_VALUE) || compute)) {
        TXD_TRY(txd_feed_tile_value(&block->value, tile, job->stops[which]));
        bits |= TXD_ASK_VALUE;
        if (compute)
            TXD_TRY(plan_stats(&stats, tile, which, &block->value));
    }
    if (rows) /* one sweep over the weights gives both */
        TXD_TRY(
            txd_feed_rows(&block->rows, tile, tile->has_part[which] ? &stats : NULL));
    else if (tile->has_part[which])
        txd_feed_take(job->feed, &stats);
    if (block->rows)
        bits |= TXD_ASK_ROWS;
    /* The last block is offered even if this head was not recorded: it closes the
     * site for those who gathered the others. */
    if (tile->last && (job->any_head[which] || job->has_rows))
        bits |= TXD_ASK_VALUE | TXD_ASK_ROWS;
    tile->bits[which] = bits;
    return TXD_OK;
}

/* ---- taps ---- */

static const unsigned *asks_of(const txd_replay_attention *job, int which)
{
    return job->feed->asks + job->stops[which] * job->feed->count;
}

static void *slot_of(const txd_replay_tile *tile, int which, size_t tap)
{
    const txd_feed *feed = tile->band->job->feed;

    return (char *)tile->slots.data + (size_t)which * feed->slots + feed->slot_at[tap];
}

static bool reduces(const txd_tap *tap)
{
    return tap->reduce && tap->slot_bytes > 0;
}

static void reduce_point(txd_replay_tile *tile, int which)
{
    const txd_feed *feed = tile->band->job->feed;
    const unsigned *asks = asks_of(tile->band->job, which);

    for (size_t t = 0; t < feed->count; t++) {
        const txd_tap *tap = feed->taps[t];
        void *slot = slot_of(tile, which, t);

        if (!(asks[t] & tile->bits[which] & TXD_REPLAY_READS) || !reduces(tap))
            continue;
        memset(slot, 0, tap->slot_bytes);
        tap->reduce(slot, tap->self, &tile->blocks[which]);
    }
}

static txd_status merge_point(txd_replay_tile *tile, int which)
{
    txd_replay_attention *job = tile->band->job;
    const txd_feed *feed = job->feed;
    const unsigned *asks = asks_of(job, which);
    txd_feed_offer *offer = &job->offers[which];
    txd_block *block = &tile->blocks[which];

    if (tile->has_part[which])
        txd_stats_merge(&job->stats[which], &tile->parts[which]);
    if (tile->last && computes(job, which))
        txd_stats_final(offer->stats, &job->stats[which]);
    if (tile->last && (job->wants[which] & TXD_ASK_STATS) &&
        (offer->bits & TXD_ASK_STATS))
        block->stats = offer->stats;
    for (size_t t = 0; t < feed->count; t++) {
        const txd_tap *tap = feed->taps[t];

        if ((asks[t] & tile->bits[which] & TXD_REPLAY_READS) && tap->merge)
            TXD_TRY(tap->merge(tap->self, block,
                               reduces(tap) ? slot_of(tile, which, t) : NULL));
    }
    return TXD_OK;
}

/* In the order in which a pass forms them. */
static int nth_point(const txd_replay_attention *job, int i)
{
    return job->is_gradient ? TXD_TILE_WEIGHTS - i : i;
}

txd_status txd_tile_measure(txd_replay_tile *tile)
{
    const txd_replay_attention *job = tile->band->job;

    tile->is_marked = false;
    TXD_TRY(txd_replay_reserve(&tile->slots, job->feed->slots, TXD_TILE_POINTS));
    for (int i = 0; i < TXD_TILE_POINTS; i++) {
        int which = nth_point(job, i);

        if (!job->wants[which])
            continue;
        TXD_TRY(measure_point(tile, which));
        reduce_point(tile, which);
    }
    return TXD_OK;
}

txd_status txd_tile_merge(txd_replay_tile *tile)
{
    const txd_replay_attention *job = tile->band->job;

    for (int i = 0; i < TXD_TILE_POINTS; i++) {
        int which = nth_point(job, i);

        if (job->wants[which])
            TXD_TRY(merge_point(tile, which));
    }
    return TXD_OK;
}
