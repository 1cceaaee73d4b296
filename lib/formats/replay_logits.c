/* SPDX-License-Identifier: MIT
 *
 * The logits of a recording in row tiles, with what the output head made where that is
 * another value: both of a tile, then those of the next, as a pass offers them.
 */
#include "formats/replay_internal.h"

static txd_status load_logits(txd_feed *feed, txd_block *block, size_t stop,
                              struct txd_stats_part *all)
{
    size_t rows = block->value.dims[1], vocab = block->value.dims[2];
    struct txd_stats_part part;
    struct txd_stats_args args = {
        .part = &part,
        .skip_row = (const uint8_t *)feed->padded.data +
                    block->start[0] * feed->inputs.length + block->start[1],
        .rows = rows,
        .width = vocab,
        .stride = vocab,
        .flat_start = (block->start[0] * feed->inputs.length + block->start[1]) * vocab,
        .flat_stride = vocab,
    };

    TXD_TRY(txd_replay_reserve(&feed->part, rows * vocab, sizeof(double)));
    TXD_TRY(txd_feed_load_block(feed, feed->part.data, stop, block->start,
                                block->value.dims));
    args.x = block->value.data = feed->part.data;
    txd_feed_take(feed, &args);
    txd_stats_merge(all, &part);
    return TXD_OK;
}

/* The tiles of one stop of the logits. */
typedef struct logits_stop {
    size_t stop;
    txd_feed_offer offer;
    struct txd_stats_part all;
    bool is_offered;
} logits_stop;

static txd_status begin_logits(logits_stop *out, txd_feed *feed, size_t stop)
{
    *out = (logits_stop){.stop = stop};
    if (txd_feed_wants(feed, stop) == 0)
        return TXD_OK;
    TXD_TRY(txd_feed_offers(feed, &out->offer, stop));
    out->is_offered = (txd_feed_wants(feed, stop) & out->offer.bits) != 0;
    return TXD_OK;
}

static txd_status offer_logits(txd_feed *feed, logits_stop *of, size_t batch,
                               size_t first)
{
    unsigned wants = txd_feed_wants(feed, of->stop);
    size_t left = feed->inputs.length - first;
    txd_block block = txd_feed_block(feed, of->stop);

    txd_feed_look_back(&block, feed);
    block.start[0] = batch;
    block.start[1] = first;
    block.value.dims[0] = 1;
    block.value.dims[1] = left < TXD_REPLAY_ROWS ? left : TXD_REPLAY_ROWS;
    block.last = batch + 1 == feed->inputs.batch && block.value.dims[1] == left;
    if (of->offer.has_value && ((wants & TXD_ASK_VALUE) || of->offer.can_take))
        TXD_TRY(load_logits(feed, &block, of->stop, &of->all));
    if (block.last && of->offer.can_take)
        txd_stats_final(of->offer.stats, &of->all);
    if (block.last && (wants & of->offer.bits & TXD_ASK_STATS))
        block.stats = of->offer.stats;
    return txd_feed_read(feed, feed->asks + of->stop * feed->count, of->offer.bits,
                         &block);
}

static bool is_of_rows(const txd_feed *feed, size_t stop)
{
    const txd_site *site = &feed->replay->stops[stop].site;

    return !txd_site_is_parameter(site->kind) &&
           txd_point_get(site->point)->place == TXD_PLACE_ROWS;
}

txd_status txd_feed_logits(txd_feed *feed, size_t stop)
{
    size_t length = feed->inputs.length, count = 1;
    logits_stop of[2];

    if (stop > 0 && is_of_rows(feed, stop - 1))
        return TXD_OK; /* with the one before it, tile by tile */
    count += stop + 1 < feed->replay->stop_count && is_of_rows(feed, stop + 1);
    for (size_t k = 0; k < count; k++)
        TXD_TRY(begin_logits(&of[k], feed, stop + k));
    for (size_t i = 0; i < feed->inputs.batch; i++)
        for (size_t first = 0; first < length; first += TXD_REPLAY_ROWS)
            for (size_t k = 0; k < count; k++)
                if (of[k].is_offered)
                    TXD_TRY(offer_logits(feed, &of[k], i, first));
    return TXD_OK;
}
