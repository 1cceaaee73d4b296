/* SPDX-License-Identifier: MIT
 *
 * All tiles of a layer: threads compute and reduce them, each in memory that a later
 * one takes over once it is merged, so that memory grows with the length and not with
 * its square. Where a tap edits scores, masked scores or weights, the same tiles fill
 * the whole (b, h, q, k) instead, so that the bits do not change.
 */
#include "model/attention.h"
#include "model/cache_private.h"

#include <string.h>

/* ---- all tiles ---- */

/* Which batch row, head and queries it is. */
static void locate(const struct txd_attention *job, struct txd_tile *tile, size_t index)
{
    const txd_run *run = job->run;
    size_t rows = run->tile_rows;

    tile->index = index;
    tile->first = index % job->blocks * rows;
    tile->head = index / job->blocks % run->model->config->n_heads;
    tile->batch = index / job->blocks / run->model->config->n_heads;
    tile->rows = run->length - tile->first < rows ? run->length - tile->first : rows;
    tile->kind = job->kind;
}

struct over_tiles {
    const struct txd_attention *job;
    txd_on_tile *make, *merge;
};

static txd_status make_in_flight(void *self, size_t i, int worker)
{
    const struct over_tiles *over = self;
    struct txd_tile *tile = &over->job->tiles[i % over->job->run->flight];

    (void)worker;
    locate(over->job, tile, over->job->first + i);
    return over->make(over->job, tile);
}

static txd_status merge_in_flight(void *self, size_t i)
{
    const struct over_tiles *over = self;

    return over->merge(over->job, &over->job->tiles[i % over->job->run->flight]);
}

/* Nothing outlives the task: each worker has a tile. */
static txd_status make_alone(void *self, size_t i, int worker)
{
    const struct over_tiles *over = self;
    struct txd_tile *tile = &over->job->tiles[worker];

    locate(over->job, tile, over->job->first + i);
    return over->make(over->job, tile);
}

txd_status txd_over_tiles(const struct txd_attention *job, txd_on_tile *make,
                          txd_on_tile *merge)
{
    txd_run *run = job->run;
    const txd_config *c = run->model->config;
    double cells = (double)run->tile_rows * (double)job->keys;
    struct over_tiles over = {job, make, merge};
    struct txd_in_order tasks = {
        .count = job->count,
        .room = run->flight,
        .made = run->made,
        .operations = cells * (32 + (double)(c->head_dim + c->value_dim) / 4),
        .make = make_in_flight,
        .merge = merge_in_flight,
        .self = &over,
    };

    return merge != NULL ? txd_parallel_in_order(&run->ctx, &tasks)
                         : txd_parallel(&run->ctx, tasks.count, tasks.operations,
                                        make_alone, &over);
}

/* ---- a tile ---- */

static txd_status reduce(const struct txd_attention *job, struct txd_tile *tile,
                         int which)
{
    return txd_taps_reduce_tile(job->run, tile, job->layer, TXD_SITE_VALUE, which);
}

/* What was made is shown while it is at hand: in place, it is overwritten next. */
static txd_status stream(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_tile_take_arrays(job, tile);
    TXD_TRY(txd_tile_cells(job, tile));
    TXD_TRY(txd_tile_scores(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_SCORES));
    TXD_TRY(txd_tile_cap(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_CAPPED));
    TXD_TRY(txd_tile_bias(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_BIAS));
    TXD_TRY(txd_tile_mask(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_MASKED));
    TXD_TRY(txd_tile_softmax(job, tile));
    TXD_TRY(txd_tile_rows(job, tile));
    TXD_TRY(reduce(job, tile, TXD_TILE_WEIGHTS));
    return txd_tile_mix(job, tile);
}

txd_status txd_attention_merge(const struct txd_attention *job, struct txd_tile *tile)
{
    const txd_run *run = job->run;
    size_t tiles = run->batch * run->model->config->n_heads * job->blocks;

    return txd_taps_merge_tile(job->run, tile, job->layer, TXD_SITE_VALUE,
                               tile->index + 1 == tiles);
}

/* What is to be done with tiles in order: nothing if nobody looks. */
static txd_on_tile *merging(const struct txd_attention *job)
{
    return job->run->watch[TXD_SITE_VALUE].count > 0 ? txd_attention_merge : NULL;
}

/* ---- the whole matrix, where somebody edits it ---- */

void txd_tile_aim_at_planes(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t n = job->keys, row = txd_tile_query_row(run, tile);
    size_t plane = run->batch * run->model->config->n_heads * run->length;

    for (int which = 0; which < TXD_TILE_POINTS; which++)
        tile->value[which] = txd_row_of(
            run, job->planes, txd_run_plane(run, job->kind, which) * plane + row, n);
    if (!txd_point_exists(run->model->config,
                          txd_point_of_tile(job->kind, TXD_TILE_CAPPED)))
        tile->value[TXD_TILE_CAPPED] = tile->value[TXD_TILE_SCORES];
}

static txd_status formed_tile(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_tile_aim_at_planes(job, tile);
    return txd_tile_cells(job, tile);
}

static txd_status formed_scores(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    return txd_tile_scores(job, tile);
}

static txd_status formed_cap(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    return txd_tile_cap(job, tile);
}

static txd_status formed_bias(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    return txd_tile_bias(job, tile);
}

static txd_status formed_mask(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    return txd_tile_mask(job, tile);
}

static txd_status formed_softmax(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    return txd_tile_softmax(job, tile);
}

static txd_status formed_rest(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(formed_tile(job, tile));
    TXD_TRY(txd_tile_rows(job, tile));
    for (int which = 0; which < TXD_TILE_POINTS; which++)
        TXD_TRY(reduce(job, tile, which));
    return txd_tile_mix(job, tile);
}

/* A value of the tiles made whole, then edited. */
static txd_status form(const struct txd_attention *job, int which, txd_on_tile *make)
{
    txd_run *run = job->run;
    txd_point point = txd_point_of_tile(job->kind, which);
    size_t rows = run->batch * run->model->config->n_heads * run->length;
    size_t plane = txd_run_plane(run, job->kind, which);

    if (!txd_point_exists(run->model->config, point))
        return TXD_OK;
    TXD_TRY(txd_over_tiles(job, make, NULL));
    return txd_taps_edit(run, point, job->layer,
                         txd_row_of(run, job->planes, plane * rows, job->keys));
}

static txd_status formed_attention(const struct txd_attention *job)
{
    TXD_TRY(form(job, TXD_TILE_SCORES, formed_scores));
    TXD_TRY(form(job, TXD_TILE_CAPPED, formed_cap));
    TXD_TRY(form(job, TXD_TILE_BIAS, formed_bias));
    TXD_TRY(form(job, TXD_TILE_MASKED, formed_mask));
    TXD_TRY(form(job, TXD_TILE_WEIGHTS, formed_softmax));
    return txd_over_tiles(job, formed_rest, merging(job));
}

static unsigned wanted(const struct txd_attention *job, txd_site_kind kind,
                       txd_point point)
{
    point = txd_point_in(job->kind, point);
    return kind == TXD_SITE_GRADIENT
               ? txd_run_wants_gradient(job->run, point, job->layer)
               : txd_run_wants(job->run, point, job->layer);
}

/* Hidden cells have something to say to observers alone: on the way back they are 0,
 * unless something is wrong. */
static bool compute_hidden(const struct txd_attention *job, txd_site_kind kind)
{
    unsigned weights = wanted(job, kind, TXD_POINT_ATTN_WEIGHTS);
    unsigned all = weights;

    for (int which = 0; which < TXD_TILE_WEIGHTS; which++)
        if (txd_point_exists(job->run->model->config,
                             txd_point_of_tile(job->kind, which)))
            all |= wanted(job, kind, txd_point_of_tile(TXD_ATTENTION_SELF, which));
    if (kind == TXD_SITE_GRADIENT && all == 0)
        return false;
    switch (job->run->model->config->evaluate_hidden) {
    case TXD_HIDDEN_ALWAYS:
        return true;
    case TXD_HIDDEN_NEVER:
        return false;
    default:
        return job->keys <= TXD_SHORT_LENGTH || (weights & TXD_ASK_HIDDEN) != 0;
    }
}

/* A softmax that was replaced, and weights that are edited, have another entropy than
 * the backend's softmax says. */
static void want_rows(struct txd_attention *job, txd_site_kind half)
{
    const txd_run *run = job->run;
    const struct txd_ops *here = &run->layer_ops[job->layer].ops;

    job->rows = half == TXD_SITE_VALUE &&
                (wanted(job, half, TXD_POINT_ATTN_WEIGHTS) & TXD_ASK_ROWS) != 0;
    job->entropy = job->rows && job->planes == NULL &&
                   here->softmax == run->model->backend->ops.softmax;
}

/* With a cache, among those of earlier calls. */
static void take_keys(struct txd_attention *job)
{
    txd_run *run = job->run;
    const txd_cache *cache = run->options.cache;

    job->key_rows = job->keys;
    job->k = run->value[txd_point_in(job->kind, TXD_POINT_ATTN_K)];
    job->v = run->value[txd_point_in(job->kind, TXD_POINT_ATTN_V)];
    if (cache == NULL || job->kind == TXD_ATTENTION_CROSS)
        return;
    job->key_rows = cache->capacity;
    job->k = txd_cache_at(cache, job->layer, TXD_POINT_ATTN_K);
    job->v = txd_cache_at(cache, job->layer, TXD_POINT_ATTN_V);
}

struct txd_attention txd_attention_begin(txd_run *run, int layer,
                                         txd_attention_kind kind, txd_site_kind half)
{
    struct txd_attention job = {
        .run = run, .layer = layer, .kind = kind, .tiles = run->tiles};

    job.keys = txd_run_keys(run, kind);
    take_keys(&job);
    job.planes = run->planes[2 * (size_t)layer + kind];
    job.hidden = job.planes != NULL || compute_hidden(&job, half);
    want_rows(&job, half);
    job.arrays = txd_tile_arrays(run, layer, kind, half);
    job.blocks = (run->length + run->tile_rows - 1) / run->tile_rows;
    job.count = run->batch * run->model->config->n_heads * job.blocks;
    memset(run->tile_stats, 0, sizeof run->tile_stats);
    txd_cells_form(&job);
    if (job.planes == NULL)
        return job;
    job.tiles = run->formed_tiles;
    memcpy(job.tiles, run->tiles, run->flight * sizeof *run->tiles);
    return job;
}

txd_status txd_attend_in_tiles(const struct txd_attention *job)
{
    return txd_over_tiles(job, stream, merging(job));
}

txd_status txd_attend(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_attention job = txd_attention_begin(run, layer, kind, TXD_SITE_VALUE);

    if (job.planes != NULL)
        return formed_attention(&job);
    if (txd_attention_is_whole(&job, TXD_SITE_VALUE))
        return txd_attend_whole(&job);
    return txd_attend_in_tiles(&job);
}
