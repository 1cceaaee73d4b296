/* SPDX-License-Identifier: MIT
 *
 * Gradients of a recording: their stops, which follow those of the values, and the
 * gradients of parameters, which come last.
 */
#include <stdio.h>

#include "formats/replay_internal.h"

static txd_status add_stop(txd_replay *replay, txd_site site, const char *of)
{
    txd_replay_stop *stop = &replay->stops[replay->stop_count++];
    char name[112];

    snprintf(name, sizeof name, "%s%s", of, TXD_GRADIENT_SUFFIX);
    *stop = (txd_replay_stop){.site = site, .value = TXD_REPLAY_NONE};
    for (int s = 0; s < TXD_REPLAY_SERIES; s++)
        stop->row[s] = TXD_REPLAY_NONE;
    stop->site.name = txd_arena_string(replay->arena, name);
    return stop->site.name ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_replay_add_gradients(txd_replay *replay)
{
    size_t values = replay->value_count;

    for (size_t i = 0; i < values; i++) {
        const txd_site *of = &replay->stops[values - 1 - i].site;
        const txd_site site = {.kind = TXD_SITE_GRADIENT,
                               .point = of->point,
                               .layer = of->layer,
                               .index = i};

        TXD_TRY(add_stop(replay, site, of->name));
    }
    for (size_t i = 0; i < txd_params_count(replay->shapes); i++) {
        const txd_param *param = txd_params_at(replay->shapes, i);
        const txd_site site = {.kind = TXD_SITE_PARAMETER_GRADIENT,
                               .point = TXD_POINT_COUNT,
                               .layer = param->layer,
                               .index = i};

        TXD_TRY(add_stop(replay, site, param->name));
    }
    return TXD_OK;
}

size_t txd_replay_parse(const txd_replay *replay, const char *name)
{
    txd_point point;
    size_t param;
    int layer;

    if (txd_point_of_name(&point, &layer, name))
        return txd_replay_stop_at(replay, false, point, layer);
    if (txd_point_of_gradient(&point, &layer, name))
        return txd_replay_stop_at(replay, true, point, layer);
    param = txd_params_gradient(replay->shapes, name);
    return param == SIZE_MAX ? TXD_REPLAY_NONE : 2 * replay->value_count + param;
}

/* As a pass has it: before the layers nothing of them, behind them the last one, and at
 * the end of the way back the first. */
int txd_feed_layer(const txd_feed *feed, const txd_site *site, txd_point point)
{
    bool is_before = site->point < TXD_POINT_RESID_PRE;

    if (!txd_point_per_layer(point))
        return -1;
    if (site->layer >= 0)
        return site->layer;
    if (is_before)
        return site->kind == TXD_SITE_GRADIENT ? 0 : -1;
    return (int)feed->replay->config.n_layers - 1;
}

/* Of its value, as a pass takes them. */
static void compute_stats(const txd_feed *feed, double *out, const txd_tensor *value)
{
    size_t count = txd_tensor_count(value);
    struct txd_stats_part part;
    struct txd_stats_args args = {
        .part = &part, .x = value->data, .rows = 1, .width = count, .stride = count};

    txd_feed_take(feed, &args);
    txd_stats_final(out, &part);
}

txd_status txd_feed_parameter_gradient(txd_feed *feed, size_t stop)
{
    const size_t start[TXD_MAX_RANK] = {0};
    unsigned wants = txd_feed_wants(feed, stop);
    txd_block block = txd_feed_block(feed, stop);
    txd_feed_offer offer;

    if (wants == 0)
        return TXD_OK;
    TXD_TRY(txd_feed_offers(feed, &offer, stop));
    if (!(wants & offer.bits))
        return TXD_OK;
    block.last = true;
    if (offer.has_value && ((wants & TXD_ASK_VALUE) || offer.can_take)) {
        TXD_TRY(txd_replay_reserve(&feed->part, txd_tensor_count(&block.value),
                                   sizeof(double)));
        TXD_TRY(
            txd_feed_load_block(feed, feed->part.data, stop, start, block.value.dims));
        block.value.data = feed->part.data;
        if (offer.can_take)
            compute_stats(feed, offer.stats, &block.value);
    }
    if (wants & offer.bits & TXD_ASK_STATS)
        block.stats = offer.stats;
    return txd_feed_read(feed, feed->asks + stop * feed->count, offer.bits, &block);
}
