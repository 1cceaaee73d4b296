/* SPDX-License-Identifier: MIT
 *
 * Offering values to taps: who is asked, in which order edits and reads run, and how
 * blocks are reduced on workers and merged in index order on the calling thread.
 */
#include <math.h>
#include <string.h>

#include "model/run_private.h"

/* The tiled points in the order in which a tile offers them. */
static txd_point tiled(const struct txd_tile *tile, int which)
{
    static const txd_point points[3] = {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED,
                                        TXD_POINT_ATTN_WEIGHTS};

    return txd_point_in(tile->kind, points[which]);
}

void txd_pass_set_format(txd_pass *pass, txd_dtype format)
{
    txd_roundoff u = txd_roundoff_of_format(format);

    pass->dtype = format == TXD_F64 ? TXD_F64 : TXD_F32;
    pass->u_store = u.store;
    pass->u_accumulate = u.accumulate;
    pass->tiny = u.tiny;
    pass->largest = u.largest;
}

/* What `earlier` may look into: whole values, or one tile. */
struct source {
    const txd_run *run;
    const struct txd_tile *tile;
};

/* What a tap does not name may be gone: memory is kept only for what is named. */
static bool names(const txd_tap *tap, txd_point at, txd_point point)
{
    const txd_point *need = tap->needs == NULL ? NULL : tap->needs(tap->self, at);

    for (; need != NULL && *need != TXD_POINT_COUNT; need++)
        if (*need == point)
            return true;
    return false;
}

txd_status txd_block_earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    if (block->tap != NULL && !names(block->tap, block->site->point, point))
        return txd_fail(
            TXD_ERR_MISSING, "the tap %s does not name %s in its needs at %s",
            block->tap->name, txd_point_get(point)->name, block->site->name);
    return block->earlier(out, block, point);
}

txd_status txd_block_gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    if (block->tap != NULL && !names(block->tap, block->site->point, point))
        return txd_fail(
            TXD_ERR_MISSING, "the tap %s does not name %s in its needs at %s",
            block->tap->name, txd_point_get(point)->name, block->site->name);
    if (block->gradient == NULL)
        return txd_fail(TXD_ERR_MISSING, "%s@grad is not at hand at %s",
                        txd_point_get(point)->name, block->site->name);
    return block->gradient(out, block, point);
}

bool txd_site_is_gradient(txd_site_kind kind)
{
    return kind == TXD_SITE_GRADIENT || kind == TXD_SITE_PARAMETER_GRADIENT;
}

bool txd_site_is_parameter(txd_site_kind kind)
{
    return kind == TXD_SITE_PARAMETER || kind == TXD_SITE_PARAMETER_GRADIENT;
}

int txd_run_stop(const txd_run *run, txd_point point, int layer)
{
    size_t layers = run->model->config->n_layers + 1;

    return run->stop_of[(size_t)point * layers + (size_t)(layer + 1)];
}

unsigned txd_run_wants(const txd_run *run, txd_point point, int layer)
{
    int stop = txd_run_stop(run, point, layer);

    return stop < 0 ? 0 : run->wishes[stop].all;
}

void txd_taps_ask(txd_run *run, int step)
{
    for (size_t s = 0; s < run->stops; s++) {
        struct txd_wish *wish = &run->wishes[s];

        run->sites[s].step = step;
        wish->all = 0;
        for (size_t t = 0; t < run->tap_count; t++) {
            const txd_tap *tap = run->taps[t];

            wish->of_tap[t] =
                tap->ask == NULL ? 0 : tap->ask(tap->self, &run->sites[s]);
            wish->all |= wish->of_tap[t];
        }
    }
}

static void *tile_value(const struct txd_tile *tile, txd_point point)
{
    txd_point own = txd_point_in_self(point);

    if (own == TXD_POINT_ATTN_SCORES)
        return tile->scores;
    return own == TXD_POINT_ATTN_MASKED ? tile->masked : tile->weights;
}

static txd_tensor tile_tensor(const txd_run *run, const struct txd_tile *tile,
                              txd_point point)
{
    const size_t dims[4] = {1, 1, tile->rows, tile->keys};

    return txd_tensor_make(run->model->backend->dtype, tile_value(tile, point), 4,
                           dims);
}

static txd_tensor whole_tensor(const txd_run *run, txd_point point, void *data)
{
    size_t dims[TXD_MAX_RANK];
    const txd_extent extent = txd_run_extent(run);
    int rank = txd_point_dims(dims, run->model->config, point, &extent);
    bool input = txd_point_get(point)->place == TXD_PLACE_INPUT;
    txd_dtype dtype = input ? TXD_I32 : run->model->backend->dtype;

    return txd_tensor_make(dtype, data, rank, dims);
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    const struct source *source = block->source;
    char name[96];

    if (txd_point_get(point)->place == TXD_PLACE_TILE && source->tile != NULL &&
        txd_point_attention(point) == source->tile->kind) {
        *out = tile_tensor(source->run, source->tile, point);
        return TXD_OK;
    }
    if (source->run->value[point] == NULL)
        return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                        txd_point_name(name, sizeof name, point, block->site->layer),
                        block->site->name);
    *out = whole_tensor(source->run, point, source->run->value[point]);
    return TXD_OK;
}

txd_block txd_taps_block(const txd_run *run, int stop)
{
    txd_block block = {0};

    block.site = &run->sites[stop];
    block.pass = &run->pass;
    return block;
}

static txd_block block_at(const txd_run *run, int stop, const struct source *source)
{
    txd_block block = txd_taps_block(run, stop);

    block.earlier = earlier;
    block.source = source;
    return block;
}

static void set_whole(txd_block *block, const txd_tensor *value)
{
    block->value = *value;
    memcpy(block->dims, value->dims, sizeof block->dims);
    block->last = true;
}

/* ---- whole values ---- */

/* What was edited is stored: rounded to the format of the backend. */
static txd_status store_edited(txd_run *run, const txd_tensor *value)
{
    const txd_backend *backend = run->model->backend;
    struct txd_scale_args same = {.out = value->data,
                                  .x = value->data,
                                  .factor = 1,
                                  .count = txd_tensor_count(value)};

    if (backend->format == backend->dtype || value->dtype != backend->dtype)
        return TXD_OK;
    return backend->ops.scale(&run->ctx, &same);
}

static txd_status edit_all(txd_run *run, int stop, txd_block *block)
{
    if (!(run->wishes[stop].all & TXD_ASK_EDIT))
        return TXD_OK;
    for (size_t t = 0; t < run->tap_count; t++)
        if (run->wishes[stop].of_tap[t] & TXD_ASK_EDIT) {
            block->tap = run->taps[t];
            TXD_TRY(run->taps[t]->edit(run->taps[t]->self, block));
        }
    return store_edited(run, &block->value);
}

/* Reduces and merges at once: for blocks that no worker made. */
txd_status txd_taps_read(txd_run *run, const unsigned *asks, txd_block *block)
{
    const unsigned reads = TXD_ASK_VALUE | TXD_ASK_STATS | TXD_ASK_ROWS;

    for (size_t t = 0; t < run->tap_count; t++) {
        const txd_tap *tap = run->taps[t];
        void *slot = run->slot + run->slot_offset[t];

        if (!(asks[t] & reads))
            continue;
        block->tap = tap;
        if (tap->reduce != NULL && tap->slot_bytes > 0) {
            memset(slot, 0, tap->slot_bytes);
            tap->reduce(slot, tap->self, block);
        } else {
            slot = NULL;
        }
        if (tap->merge != NULL)
            TXD_TRY(tap->merge(tap->self, block, slot));
    }
    return TXD_OK;
}

txd_status txd_taps_offer(txd_run *run, txd_point point, int layer)
{
    int stop = txd_run_stop(run, point, layer);
    struct source source = {run, NULL};
    double stats[TXD_STAT_COUNT_OF];
    txd_tensor value;
    txd_block block;

    if (stop < 0 || run->wishes[stop].all == 0)
        return TXD_OK;
    value = whole_tensor(run, point, run->value[point]);
    block = block_at(run, stop, &source);
    set_whole(&block, &value);
    TXD_TRY(edit_all(run, stop, &block));
    if (run->wishes[stop].all & TXD_ASK_STATS) {
        TXD_TRY(txd_taps_stats(stats, run, point, &value));
        block.stats = stats;
    }
    return txd_taps_read(run, run->wishes[stop].of_tap, &block);
}

txd_status txd_taps_edit(txd_run *run, txd_point point, int layer, void *data)
{
    int stop = txd_run_stop(run, point, layer);
    struct source source = {run, NULL};
    txd_tensor value;
    txd_block block;

    if (stop < 0 || !(run->wishes[stop].all & TXD_ASK_EDIT))
        return TXD_OK;
    value = whole_tensor(run, point, data);
    block = block_at(run, stop, &source);
    set_whole(&block, &value);
    return edit_all(run, stop, &block);
}

txd_status txd_taps_step_end(txd_run *run)
{
    for (size_t t = 0; t < run->tap_count; t++)
        if (run->taps[t]->step_end != NULL)
            TXD_TRY(run->taps[t]->step_end(run->taps[t]->self, &run->pass));
    return TXD_OK;
}

/* ---- attention tiles ---- */

static txd_block tile_block(const txd_run *run, const struct source *source,
                            txd_point point, int layer)
{
    const struct txd_tile *tile = source->tile;
    txd_block block = block_at(run, txd_run_stop(run, point, layer), source);
    const size_t start[4] = {tile->batch, tile->head, tile->first, tile->key_begin};
    const txd_extent extent = txd_run_extent(run);

    block.value = tile_tensor(run, tile, point);
    txd_point_dims(block.dims, run->model->config, point, &extent);
    memcpy(block.start, start, sizeof start);
    if (txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS &&
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

static void tile_stats(const txd_run *run, struct txd_tile *tile, int which, int layer)
{
    size_t n = run->length, heads = run->model->config->n_heads;
    size_t keys = tile->kind == TXD_ATTENTION_CROSS ? run->memory_length : n;
    struct txd_stats_args args = {
        .part = &tile->parts[which],
        .x = tile_value(tile, tiled(tile, which)),
        .skip_row = run->padded + tile->batch * n + tile->first,
        .skip_cell = tile->hidden,
        .rows = tile->rows,
        .width = tile->keys,
        .stride = tile->keys,
        .flat_start = ((tile->batch * heads + tile->head) * n + tile->first) * keys +
                      tile->key_begin,
        .flat_stride = keys,
    };

    if (txd_run_wants(run, tiled(tile, which), layer) & TXD_ASK_STATS)
        (void)run->model->backend->ops.stats(NULL, &args);
}

void txd_taps_reduce_tile(const txd_run *run, struct txd_tile *tile, int layer)
{
    struct source source = {run, tile};

    for (int which = 0; which < 3; which++) {
        int stop = txd_run_stop(run, tiled(tile, which), layer);
        txd_block block;

        if (run->wishes[stop].all == 0)
            continue;
        tile_stats(run, tile, which, layer);
        block = tile_block(run, &source, tiled(tile, which), layer);
        for (size_t t = 0; t < run->tap_count; t++) {
            const txd_tap *tap = run->taps[t];
            void *slot = tile_slot(run, tile, which, t);

            if (run->wishes[stop].of_tap[t] == 0 || tap->reduce == NULL ||
                tap->slot_bytes == 0)
                continue;
            block.tap = tap;
            memset(slot, 0, tap->slot_bytes);
            tap->reduce(slot, tap->self, &block);
        }
    }
}

static txd_status merge_point(txd_run *run, struct txd_tile *tile, int which,
                              txd_block *block)
{
    int stop = txd_run_stop(run, tiled(tile, which), block->site->layer);
    const unsigned reads = TXD_ASK_VALUE | TXD_ASK_STATS | TXD_ASK_ROWS;

    for (size_t t = 0; t < run->tap_count; t++) {
        const txd_tap *tap = run->taps[t];
        bool reduced = tap->reduce != NULL && tap->slot_bytes > 0;

        block->tap = tap;
        if ((run->wishes[stop].of_tap[t] & reads) && tap->merge != NULL)
            TXD_TRY(tap->merge(tap->self, block,
                               reduced ? tile_slot(run, tile, which, t) : NULL));
    }
    return TXD_OK;
}

txd_status txd_taps_merge_tile(txd_run *run, struct txd_tile *tile, int layer,
                               bool last)
{
    struct source source = {run, tile};
    double stats[TXD_STAT_COUNT_OF];

    for (int which = 0; which < 3; which++) {
        unsigned wants = txd_run_wants(run, tiled(tile, which), layer);
        txd_block block;

        if (wants == 0)
            continue;
        if (wants & TXD_ASK_STATS)
            txd_stats_merge(&run->tile_stats[which], &tile->parts[which]);
        block = tile_block(run, &source, tiled(tile, which), layer);
        block.last = last;
        if (last && (wants & TXD_ASK_STATS)) {
            txd_stats_final(stats, &run->tile_stats[which]);
            block.stats = stats;
        }
        TXD_TRY(merge_point(run, tile, which, &block));
    }
    return TXD_OK;
}
