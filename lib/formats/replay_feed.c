/* SPDX-License-Identifier: MIT
 *
 * One pass over a recording: every step, every stop in the order of execution, every
 * tap asked and fed as a live pass does it. Attention tiles
 * are read and measured on all threads, all else on one.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/replay_internal.h"

#define SLOT_ALIGNMENT ((size_t)64)

txd_status txd_replay_reserve(txd_replay_buffer *buffer, size_t count, size_t size)
{
    size_t bytes;
    void *grown;

    TXD_TRY(txd_size_mul(&bytes, count ? count : 1, size));
    if (bytes <= buffer->bytes)
        return TXD_OK;
    grown = realloc(buffer->data, bytes);
    if (!grown)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu bytes of a recorded value",
                        bytes);
    buffer->data = grown;
    buffer->bytes = bytes;
    return TXD_OK;
}

unsigned txd_feed_wants(const txd_feed *feed, size_t stop)
{
    const unsigned *asks = feed->asks + stop * feed->count;
    unsigned wants = 0;

    for (size_t t = 0; t < feed->count; t++)
        wants |= asks[t];
    return wants & TXD_REPLAY_READS;
}

static txd_status nothing_earlier(txd_tensor *out, const txd_block *block,
                                  txd_point point)
{
    (void)out;
    return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                    txd_point_get(point)->name, block->site->name);
}

txd_block txd_feed_block(const txd_feed *feed, size_t stop)
{
    const txd_site *site = &feed->replay->stops[stop].site;
    txd_block block = {.site = site, .pass = &feed->pass, .earlier = nothing_earlier};
    const txd_extent extent = txd_inputs_extent(&feed->inputs);
    bool input = site->kind == TXD_SITE_VALUE &&
                 txd_point_get(site->point)->place == TXD_PLACE_INPUT;

    block.value.rank = txd_replay_dims(block.dims, feed->replay, stop, &extent);
    memcpy(block.value.dims, block.dims, sizeof block.dims);
    block.value.dtype = input ? TXD_I32 : feed->pass.dtype;
    return block;
}

txd_status txd_feed_read(txd_feed *feed, const unsigned *asks, unsigned offers,
                         const txd_block *block)
{
    for (size_t t = 0; t < feed->count; t++) {
        const txd_tap *tap = feed->taps[t];
        void *slot = feed->slot.data;

        if (!(asks[t] & offers & TXD_REPLAY_READS))
            continue;
        if (tap->reduce && tap->slot_bytes > 0) {
            memset(slot, 0, tap->slot_bytes);
            tap->reduce(slot, tap->self, block);
        } else {
            slot = NULL;
        }
        if (tap->merge)
            TXD_TRY(tap->merge(tap->self, block, slot));
    }
    return TXD_OK;
}

static unsigned ask_tap(const txd_tap *tap, const txd_site *site)
{
    if (txd_site_is_gradient(site->kind) && !tap->gradients)
        return 0;
    if (site->kind == TXD_SITE_GRADIENT &&
        txd_point_get(site->point)->place == TXD_PLACE_INPUT)
        return 0;
    return tap->ask ? tap->ask(tap->self, site) : 0;
}

static void ask_all(txd_feed *feed, int step)
{
    for (size_t i = 0; i < feed->replay->stop_count; i++) {
        txd_replay_stop *stop = &feed->replay->stops[i];

        stop->site.step = step;
        for (size_t t = 0; t < feed->count; t++)
            feed->asks[i * feed->count + t] = ask_tap(feed->taps[t], &stop->site);
    }
}

/* Of a name that this model does not have nobody knows the layer. */
static int layer_of(const txd_replay *replay, const char *name)
{
    const txd_param *param = txd_params_find(replay->shapes, name);

    return param ? param->layer : -1;
}

static txd_status offer_parameter(txd_feed *feed, size_t i, const double *stats)
{
    const char *name = feed->replay->param_names[i];
    txd_site site = {.kind = TXD_SITE_PARAMETER,
                     .point = TXD_POINT_COUNT,
                     .layer = layer_of(feed->replay, name),
                     .index = i,
                     .name = name};
    txd_block block = {.site = &site,
                       .pass = &feed->pass,
                       .last = true,
                       .stats = stats,
                       .earlier = nothing_earlier};

    /* The shape is not recorded: as many elements as were counted. */
    block.value.dtype = feed->pass.dtype;
    block.value.rank = 1;
    if (stats[TXD_STAT_COUNT] >= 0 && stats[TXD_STAT_COUNT] < 0x1p53)
        block.value.dims[0] = block.dims[0] = (size_t)stats[TXD_STAT_COUNT];
    for (size_t t = 0; t < feed->count; t++)
        feed->param_asks[t] = ask_tap(feed->taps[t], &site);
    return txd_feed_read(feed, feed->param_asks, TXD_ASK_STATS, &block);
}

static txd_status offer_parameters(txd_feed *feed)
{
    const txd_replay *replay = feed->replay;
    txd_trace_info info;

    if (replay->params == TXD_REPLAY_NONE)
        return TXD_OK;
    TXD_TRY(txd_trace_get(replay->trace, &info, replay->params));
    if (info.rank == 3 && info.dims[0] == 0)
        return TXD_OK;
    for (size_t i = 0; i < replay->param_count; i++) {
        const size_t start[3] = {info.rank == 3 ? 0 : i, info.rank == 3 ? i : 0, 0};
        const size_t count[3] = {1, info.rank == 3 ? 1 : TXD_STAT_COUNT_OF,
                                 TXD_STAT_COUNT_OF};
        double stats[TXD_STAT_COUNT_OF];

        TXD_TRY(txd_trace_read(replay->trace, stats, replay->params, start, count,
                               TXD_F64));
        /* A parameter that was left out has no count. */
        if (stats[TXD_STAT_COUNT] >= 0)
            TXD_TRY(offer_parameter(feed, i, stats));
    }
    return TXD_OK;
}

static txd_status offer_stop(txd_feed *feed, size_t i)
{
    const txd_site *site = &feed->replay->stops[i].site;
    bool is_gradient = txd_site_is_gradient(site->kind);

    if (txd_site_is_parameter(site->kind))
        return txd_feed_parameter_gradient(feed, i);
    if (txd_point_in_self(site->point) ==
        (is_gradient ? TXD_POINT_ATTN_WEIGHTS : TXD_POINT_ATTN_SCORES))
        return txd_feed_attention(feed, site);
    switch (txd_point_get(site->point)->place) {
    case TXD_PLACE_TILE:
        return TXD_OK; /* with the first of the three, tile by tile */
    case TXD_PLACE_ROWS:
        return txd_feed_logits(feed, i);
    default:
        return txd_feed_whole(feed, i);
    }
}

static txd_status feed_step(txd_feed *feed, int step)
{
    int layer = -2;

    TXD_TRY(txd_replay_name_file(feed->replay, txd_feed_inputs(feed, step)));
    feed->rows_layer = -1;
    if (step == 0)
        TXD_TRY(offer_parameters(feed));
    ask_all(feed, step);
    for (size_t i = 0; i < feed->replay->stop_count; i++) {
        int now = feed->replay->stops[i].site.layer;

        if (now != layer)
            memset(feed->loaded, 0, sizeof feed->loaded);
        layer = now;
        TXD_TRY(offer_stop(feed, i));
    }
    for (size_t t = 0; t < feed->count; t++)
        if (feed->taps[t]->step_end)
            TXD_TRY(feed->taps[t]->step_end(feed->taps[t]->self, &feed->pass));
    return TXD_OK;
}

static txd_status start(txd_feed *feed)
{
    size_t asks, bytes = 1;

    TXD_TRY(txd_arena_create(&feed->arena));
    TXD_TRY(txd_size_mul(&asks, feed->replay->stop_count, feed->count));
    feed->asks = calloc(asks + 1, sizeof *feed->asks);
    feed->param_asks = calloc(feed->count + 1, sizeof *feed->param_asks);
    feed->slot_at = calloc(feed->count + 1, sizeof *feed->slot_at);
    if (!feed->asks || !feed->param_asks || !feed->slot_at)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a replay");
    for (size_t t = 0; t < feed->count; t++) {
        size_t slot = feed->taps[t]->slot_bytes;

        bytes = slot > bytes ? slot : bytes;
        feed->slot_at[t] = feed->slots;
        feed->slots += (slot + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
    }
    return txd_replay_reserve(&feed->slot, bytes, 1);
}

static void finish(txd_feed *feed)
{
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < TXD_POINT_COUNT; i++)
            free(feed->value[kind][i].data);
    txd_feed_free_bands(feed);
    free(feed->part.data);
    free(feed->rows.data);
    free(feed->marks.data);
    free(feed->cells.memory.data);
    free(feed->padded.data);
    free(feed->padded_memory.data);
    free(feed->slot.data);
    free(feed->asks);
    free(feed->param_asks);
    free(feed->slot_at);
    pthread_mutex_destroy(&feed->lock);
    txd_arena_destroy(feed->arena);
}

txd_status txd_replay_feed(txd_replay *replay, txd_tap *const *taps, size_t count)
{
    txd_feed feed = {.replay = replay,
                     .taps = taps,
                     .count = count,
                     .ctx = {.threads = txd_threads_of(replay->threads)},
                     .lock = PTHREAD_MUTEX_INITIALIZER};
    txd_status status = start(&feed);

    for (size_t step = 0; status == TXD_OK && step < replay->steps; step++)
        status = feed_step(&feed, (int)step);
    finish(&feed);
    return status;
}
