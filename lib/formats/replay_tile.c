/* SPDX-License-Identifier: MIT
 *
 * Attention, tile by tile: scores, masked scores and weights of a few query rows of
 * one head, as a live pass offers them; of gradients the other way round. Memory is
 * that of one tile.
 */
#include "formats/replay_internal.h"

static const txd_point points[3] = {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED,
                                    TXD_POINT_ATTN_WEIGHTS};

/* What `earlier` looks into. */
typedef struct source {
    txd_feed *feed;
    txd_replay_tile *tile;
} source;

/* The three points of a layer in this step. */
typedef struct attention {
    txd_attention_kind kind;
    int layer;
    bool is_gradient;
    size_t keys;
    size_t stops[3];
    unsigned wants[3];
    txd_feed_offer offers[3];
    bool any_head[3]; /* the value of at least some heads is there */
    bool has_rows;
    struct txd_stats_part stats[3];
} attention;

static int which_of(txd_point point)
{
    txd_point own = txd_point_in_self(point);

    return own == TXD_POINT_ATTN_SCORES ? 0 : own == TXD_POINT_ATTN_MASKED ? 1 : 2;
}

txd_status txd_feed_tile_value(txd_feed *feed, txd_tensor *out, txd_replay_tile *tile,
                               size_t stop)
{
    const size_t keys = tile->keys;
    const size_t start[4] = {tile->batch, tile->head, tile->first, 0};
    const size_t count[4] = {1, 1, tile->rows, keys};
    const txd_site *site;
    txd_replay_buffer *buffer;
    bool *loaded;

    if (stop == TXD_REPLAY_NONE)
        return txd_fail(TXD_ERR_MISSING, "it does not exist in this model");
    site = &feed->replay->stops[stop].site;
    if (!txd_feed_has(feed, stop, (int)tile->head))
        return txd_fail(TXD_ERR_MISSING, "%s was not recorded", site->name);
    buffer = &feed->tile[txd_site_is_gradient(site->kind)][which_of(site->point)];
    loaded = &tile->loaded[txd_site_is_gradient(site->kind)][site->point];
    if (!*loaded) {
        TXD_TRY(txd_replay_reserve(buffer, tile->rows * keys, sizeof(double)));
        TXD_TRY(txd_feed_load_block(feed, buffer->data, stop, start, count));
        *loaded = true;
    }
    *out = txd_tensor_make(feed->pass.dtype, buffer->data, 4, count);
    return TXD_OK;
}

static txd_status look_up(txd_tensor *out, const txd_block *block, txd_point point,
                          bool is_gradient)
{
    const source *from = block->source;
    size_t stop = txd_replay_stop_at(from->feed->replay, is_gradient, point,
                                     txd_feed_layer(from->feed, block->site, point));

    if (txd_point_get(point)->place != TXD_PLACE_TILE)
        return txd_feed_load(from->feed, out, stop);
    if (txd_point_attention(point) != from->tile->kind)
        return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                        txd_point_get(point)->name, block->site->name);
    return txd_feed_tile_value(from->feed, out, from->tile, stop);
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, false);
}

static txd_status gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, true);
}

static txd_status add_stats(txd_feed *feed, attention *job, int which,
                            const txd_replay_tile *tile, const txd_tensor *value)
{
    size_t length = feed->inputs.length, heads = feed->replay->config.n_heads;
    size_t keys = tile->keys;
    struct txd_stats_part part;
    txd_replay_marks marks;
    struct txd_stats_args args = {
        .part = &part,
        .x = value->data,
        .skip_row =
            (const uint8_t *)feed->padded.data + tile->batch * length + tile->first,
        .rows = tile->rows,
        .width = keys,
        .stride = keys,
        .flat_start =
            ((tile->batch * heads + tile->head) * length + tile->first) * keys,
        .flat_stride = keys,
    };

    TXD_TRY(txd_feed_marks(feed, &marks, tile, job->layer));
    args.skip_cell = marks.hidden;
    txd_feed_take(feed, &args);
    txd_stats_merge(&job->stats[which], &part);
    return TXD_OK;
}

static void start_block(const txd_feed *feed, txd_block *block, const attention *job,
                        int which, const source *from)
{
    const txd_replay_tile *tile = from->tile;

    *block = txd_feed_block(feed, job->stops[which]);
    block->earlier = earlier;
    block->gradient = job->is_gradient ? gradient : NULL;
    block->source = from;
    block->start[0] = tile->batch;
    block->start[1] = tile->head;
    block->start[2] = tile->first;
    block->value.dims[0] = block->value.dims[1] = 1;
    block->value.dims[2] = tile->rows;
}

static txd_status offer_point(txd_feed *feed, attention *job, int which,
                              txd_replay_tile *tile, bool last)
{
    const unsigned *asks = feed->asks + job->stops[which] * feed->count;
    txd_feed_offer *offer = &job->offers[which];
    unsigned wants = job->wants[which], bits = offer->bits;
    source from = {feed, tile};
    bool compute = (wants & TXD_ASK_STATS) && offer->has_value && !offer->has_stats;
    txd_block block;

    start_block(feed, &block, job, which, &from);
    if (txd_feed_has(feed, job->stops[which], (int)tile->head) &&
        ((wants & TXD_ASK_VALUE) || compute)) {
        TXD_TRY(txd_feed_tile_value(feed, &block.value, tile, job->stops[which]));
        bits |= TXD_ASK_VALUE;
        if (compute)
            TXD_TRY(add_stats(feed, job, which, tile, &block.value));
    }
    if (!job->is_gradient && points[which] == TXD_POINT_ATTN_WEIGHTS &&
        (wants & TXD_ASK_ROWS))
        TXD_TRY(txd_feed_rows(feed, &block.rows, tile, job->layer));
    if (block.rows)
        bits |= TXD_ASK_ROWS;
    block.last = last;
    if (last && compute)
        txd_stats_final(offer->stats, &job->stats[which]);
    if (last && (wants & TXD_ASK_STATS) && (offer->bits & TXD_ASK_STATS))
        block.stats = offer->stats;
    /* The last block is offered even if this head was not recorded: it closes the
     * site for those who gathered the others. */
    if (last && (job->any_head[which] || job->has_rows))
        bits |= TXD_ASK_VALUE | TXD_ASK_ROWS;
    return txd_feed_read(feed, asks, bits, &block);
}

static txd_status offer_tile(txd_feed *feed, attention *job, txd_replay_tile *tile,
                             bool last)
{
    for (int i = 0; i < 3; i++) {
        int which = job->is_gradient ? 2 - i : i;

        if (job->wants[which])
            TXD_TRY(offer_point(feed, job, which, tile, last));
    }
    return TXD_OK;
}

static txd_status prepare(const txd_feed *feed, attention *job)
{
    const txd_replay *replay = feed->replay;

    for (int i = 0; i < 3; i++) {
        txd_point point = txd_point_in(job->kind, points[i]);
        size_t stop = txd_replay_stop_at(replay, job->is_gradient, point, job->layer);
        unsigned offers = txd_replay_offers_at(replay, stop);

        job->stops[i] = stop;
        job->wants[i] = txd_feed_wants(feed, stop) & offers;
        TXD_TRY(txd_feed_offers(feed, &job->offers[i], stop));
        job->any_head[i] = txd_feed_has(feed, stop, TXD_REPLAY_ANY_HEAD);
        if (points[i] == TXD_POINT_ATTN_WEIGHTS && !job->is_gradient)
            job->has_rows =
                job->any_head[i] ||
                (replay->has_rows[job->kind] &&
                 txd_replay_recorded(replay, "rows", &replay->stops[stop].site,
                                     feed->pass.step, TXD_REPLAY_ANY_HEAD));
        /* Nothing of this site was recorded in this step. */
        if (job->offers[i].bits == 0 && !job->any_head[i] &&
            !(points[i] == TXD_POINT_ATTN_WEIGHTS && job->has_rows))
            job->wants[i] = 0;
    }
    return TXD_OK;
}

txd_status txd_feed_attention(txd_feed *feed, const txd_site *site)
{
    size_t batch = feed->inputs.batch, length = feed->inputs.length;
    size_t heads = feed->replay->config.n_heads, rows;
    attention job = {.kind = txd_point_attention(site->point),
                     .layer = site->layer,
                     .is_gradient = txd_site_is_gradient(site->kind),
                     .keys = length};

    if (job.kind == TXD_ATTENTION_CROSS)
        job.keys = feed->inputs.memory_length;
    rows = txd_attention_tile_rows(
        length > feed->inputs.memory_length ? length : feed->inputs.memory_length);
    TXD_TRY(prepare(feed, &job));
    if (!(job.wants[0] | job.wants[1] | job.wants[2]))
        return TXD_OK;
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t first = 0; first < length; first += rows) {
                txd_replay_tile tile = {.kind = job.kind,
                                        .batch = b,
                                        .head = h,
                                        .first = first,
                                        .keys = job.keys};
                size_t left = length - first;
                bool last;

                tile.rows = left < rows ? left : rows;
                last = b + 1 == batch && h + 1 == heads && first + tile.rows == length;
                TXD_TRY(offer_tile(feed, &job, &tile, last));
            }
    return TXD_OK;
}
