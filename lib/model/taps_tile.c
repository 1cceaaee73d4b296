/* SPDX-License-Identifier: MIT
 *
 * Offering attention tiles, and their gradients, to taps: reduced on the workers that
 * make them, merged in index order.
 */
#include <string.h>

#include "model/bias.h"
#include "model/images.h"

/* More rows waste what is hidden at the end of them, and the cache; fewer cost a BLAS
 * more in packing the keys (measured up to 16384 keys). For many keys memory decides.
 */
#define TILE_ROWS 128
#define TILE_ROWS_LONG 64
#define LONG_LENGTH 4096

size_t txd_attention_tile_rows(size_t longest)
{
    return longest > LONG_LENGTH ? TILE_ROWS_LONG : TILE_ROWS;
}

txd_tensor txd_tile_tensor(const txd_run *run, const struct txd_tile *tile,
                           txd_site_kind kind, txd_point point)
{
    const size_t dims[4] = {1, 1, tile->rows, tile->keys};
    int which = txd_point_which(point);

    return txd_tensor_make(run->model->backend->dtype,
                           kind == TXD_SITE_GRADIENT ? tile->gradient[which]
                                                     : tile->value[which],
                           4, dims);
}

static int stop_of(const txd_run *run, const struct txd_tile *tile, int which,
                   int layer)
{
    return txd_run_stop(run, txd_point_of_tile(tile->kind, which), layer);
}

/* That of nobody where the model has no such point. */
static const struct txd_wish *wish_of(const txd_run *run, const struct txd_tile *tile,
                                      txd_site_kind kind, int which, int layer)
{
    static const struct txd_wish nothing = {0, NULL};
    int stop = stop_of(run, tile, which, layer);

    return stop < 0 ? &nothing : &run->watch[kind].wishes[stop];
}

static txd_block tile_block(const struct txd_block_source *source, txd_site_kind kind,
                            int which, int layer)
{
    const txd_run *run = source->run;
    const struct txd_tile *tile = source->tile;
    txd_point point = txd_point_of_tile(tile->kind, which);
    txd_block block = txd_taps_block(source, kind, stop_of(run, tile, which, layer));
    const size_t start[4] = {tile->batch, tile->head, tile->first, tile->key_begin};
    const txd_extent extent = txd_run_extent(run);
    unsigned wants = wish_of(run, tile, kind, which, layer)->all;

    block.value = txd_tile_tensor(run, tile, kind, point);
    block.value.data = txd_image_of(run, block.value.data);
    if (!(wants & TXD_ASK_VALUE))
        block.value.data = NULL; /* it may be overwritten by the time of the merge */
    txd_point_dims(block.dims, run->model->config, point, &extent);
    memcpy(block.start, start, sizeof start);
    block.part = wants & TXD_ASK_MEASURES ? &tile->parts[which] : NULL;
    block.seen = tile->is_regular ? &tile->spans.seen : NULL;
    if (kind == TXD_SITE_VALUE && which == TXD_TILE_WEIGHTS &&
        (txd_run_wants(run, point, layer) & TXD_ASK_ROWS))
        block.rows = tile->row_statistics;
    return block;
}

static void *tile_slot(const txd_run *run, const struct txd_tile *tile, int which,
                       size_t tap)
{
    return tile->slots + (size_t)which * run->slot_offset[run->tap_count] +
           run->slot_offset[tap];
}

struct txd_stats_args txd_tile_counted(const txd_run *run, struct txd_tile *tile,
                                       int which, const void *data)
{
    size_t n = run->length, heads = run->model->config->n_heads;
    size_t keys = txd_run_keys(run, tile->kind);

    return (struct txd_stats_args){
        .part = &tile->parts[which],
        .x = data,
        .skip_row = run->padded + tile->batch * n + tile->first,
        .skip_cell = tile->is_regular ? NULL : tile->hidden,
        .spans = tile->is_regular ? &tile->spans.seen : NULL,
        .rows = tile->rows,
        .width = tile->keys,
        .stride = tile->keys,
        .flat_start = ((tile->batch * heads + tile->head) * n + tile->first) * keys +
                      tile->key_begin,
        .flat_stride = keys,
    };
}

/* Masked scores are the scores wherever the mask shows them, unless something is done
 * to them before, the operation was replaced, or somebody edited them. */
static bool are_the_scores(const txd_run *run, const struct txd_tile *tile, int layer)
{
    const struct txd_ops *here = &run->layer_ops[layer].ops;
    const txd_spans *visible = &tile->spans.visible, *seen = &tile->spans.seen;
    size_t bytes = tile->rows * sizeof *seen->begin;
    unsigned scores = wish_of(run, tile, TXD_SITE_VALUE, TXD_TILE_SCORES, layer)->all;
    unsigned masked = wish_of(run, tile, TXD_SITE_VALUE, TXD_TILE_MASKED, layer)->all;
    bool enough = (scores & TXD_ASK_STATS) ||
                  ((scores & TXD_ASK_FINITE) && !(masked & TXD_ASK_STATS));

    return tile->is_regular && enough && !txd_layer_caps(run, layer) &&
           !txd_has_bias(run->model->config, tile->kind) &&
           run->planes[2 * (size_t)layer + tile->kind] == NULL &&
           here->mask == run->model->backend->ops.mask &&
           memcmp(visible->begin, seen->begin, bytes) == 0 &&
           memcmp(visible->end, seen->end, bytes) == 0;
}

static txd_status count_tile(const txd_run *run, struct txd_tile *tile, int layer,
                             txd_site_kind kind, int which)
{
    txd_point point = txd_point_of_tile(tile->kind, which);
    txd_tensor value = txd_tile_tensor(run, tile, kind, point);
    struct txd_stats_args args = txd_tile_counted(run, tile, which, value.data);
    bool there = kind == TXD_SITE_VALUE;

    if (there && which == TXD_TILE_WEIGHTS && tile->measured)
        return TXD_OK;
    if (!there || which != TXD_TILE_MASKED || !are_the_scores(run, tile, layer))
        return txd_taps_measure(run->model->backend, &args,
                                wish_of(run, tile, kind, which, layer)->all);
    tile->parts[TXD_TILE_MASKED] = tile->parts[TXD_TILE_SCORES];
    return TXD_OK;
}

/* What taps are shown of a tile, there and at the merge. */
static txd_status read_tile(const txd_run *run, const struct txd_tile *tile,
                            txd_site_kind kind, int which)
{
    txd_tensor value =
        txd_tile_tensor(run, tile, kind, txd_point_of_tile(tile->kind, which));

    return txd_image_read(&value.data, run, value.data, txd_tensor_count(&value));
}

txd_status txd_taps_reduce_tile(const txd_run *run, struct txd_tile *tile, int layer,
                                txd_site_kind kind, int which)
{
    struct txd_block_source source = {run, tile, NULL};
    const struct txd_wish *wish;
    txd_block block;

    if (run->watch[kind].count == 0)
        return TXD_OK;
    wish = wish_of(run, tile, kind, which, layer);
    if (wish->all == 0)
        return TXD_OK;
    block = tile_block(&source, kind, which, layer);
    if ((wish->all & TXD_ASK_MEASURES) && !tile->is_counted)
        TXD_TRY(count_tile(run, tile, layer, kind, which));
    if (wish->all & TXD_ASK_VALUE)
        TXD_TRY(read_tile(run, tile, kind, which));
    for (size_t t = 0; t < run->tap_count; t++) {
        const txd_tap *tap = run->taps[t];
        void *slot = tile_slot(run, tile, which, t);

        if (!(wish->of_tap[t] & TXD_ASK_READS) || tap->reduce == NULL ||
            tap->slot_bytes == 0)
            continue;
        block.tap = tap;
        memset(slot, 0, tap->slot_bytes);
        tap->reduce(slot, tap->self, &block);
    }
    return TXD_OK;
}

static txd_status merge_point(txd_run *run, const struct txd_tile *tile, int which,
                              const struct txd_wish *wish, txd_block *block)
{
    for (size_t t = 0; t < run->tap_count; t++) {
        const txd_tap *tap = run->taps[t];
        bool reduced = tap->reduce != NULL && tap->slot_bytes > 0;

        block->tap = tap;
        if ((wish->of_tap[t] & TXD_ASK_READS) && tap->merge != NULL)
            TXD_TRY(tap->merge(tap->self, block,
                               reduced ? tile_slot(run, tile, which, t) : NULL));
    }
    return TXD_OK;
}

txd_status txd_taps_merge_tile(txd_run *run, struct txd_tile *tile, int layer,
                               txd_site_kind kind, bool last)
{
    struct txd_block_source source = {run, tile, NULL};
    double stats[TXD_STAT_COUNT_OF];

    for (int i = 0; i < TXD_TILE_POINTS && run->watch[kind].count > 0; i++) {
        int which = kind == TXD_SITE_GRADIENT ? TXD_TILE_WEIGHTS - i : i;
        const struct txd_wish *wish = wish_of(run, tile, kind, which, layer);
        txd_block block;

        if (wish->all == 0)
            continue;
        if (wish->all & TXD_ASK_MEASURES)
            txd_stats_merge(&run->tile_stats[which], &tile->parts[which]);
        block = tile_block(&source, kind, which, layer);
        block.last = last;
        if (last && (wish->all & TXD_ASK_MEASURES)) {
            txd_stats_final(stats, &run->tile_stats[which]);
            block.stats = stats;
        }
        TXD_TRY(merge_point(run, tile, which, wish, &block));
    }
    return TXD_OK;
}
