/* SPDX-License-Identifier: MIT
 *
 * All tiles of a layer, in waves: workers compute and reduce, then the calling thread
 * merges in index order, so that memory grows with the length and not with its square.
 * Where a tap edits scores, masked scores or weights, the same tiles fill the whole
 * (b, h, q, k) instead, so that the bits do not change.
 */
#include "model/attention.h"

#include <string.h>

/* ---- tiles in waves ---- */

static txd_status stream_tile(void *self, size_t i, int worker)
{
    const struct txd_attention *job = self;
    struct txd_tile *tile = &job->tiles[i];

    (void)worker;
    txd_tile_locate(job, tile, job->first_tile + i);
    TXD_TRY(txd_tile_cells(job, tile));
    TXD_TRY(txd_tile_scores(job, tile));
    TXD_TRY(txd_tile_mask(job, tile));
    TXD_TRY(txd_tile_softmax(job, tile));
    TXD_TRY(txd_tile_rows(job, tile));
    txd_taps_reduce_tile(job->run, tile, job->layer);
    return txd_tile_mix(job, tile);
}

/* Runs `body` over all tiles in waves; merges each wave in index order if asked. */
static txd_status in_waves(struct txd_attention *job,
                           txd_status (*body)(void *self, size_t i, int worker),
                           bool merge)
{
    txd_run *run = job->run;
    const txd_config *c = run->model->config;
    size_t count = run->batch * c->n_heads * job->blocks;
    double cells = (double)run->tile_rows * (double)job->keys;
    double operations = cells * (32 + (double)(c->head_dim + c->value_dim) / 4);

    for (size_t first = 0; first < count; first += run->wave) {
        size_t wave = count - first < run->wave ? count - first : run->wave;

        job->first_tile = first;
        TXD_TRY(txd_parallel(&run->ctx, wave, operations, body, job));
        for (size_t i = 0; merge && i < wave; i++)
            TXD_TRY(txd_taps_merge_tile(run, &job->tiles[i], job->layer,
                                        first + i + 1 == count));
    }
    return TXD_OK;
}

/* ---- the whole matrix, where somebody edits it ---- */

static void aim_at_formed(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t n = job->keys, row = txd_tile_query_row(run, tile);
    size_t plane = run->batch * run->model->config->n_heads * run->length;

    tile->scores = txd_row_of(run, run->formed, row, n);
    tile->masked = txd_row_of(run, run->formed, plane + row, n);
    tile->weights = txd_row_of(run, run->formed, 2 * plane + row, n);
}

static txd_status formed_tile(const struct txd_attention *job, struct txd_tile *tile,
                              size_t i)
{
    txd_tile_locate(job, tile, job->first_tile + i);
    aim_at_formed(job, tile);
    return txd_tile_cells(job, tile);
}

static txd_status formed_scores(void *self, size_t i, int worker)
{
    const struct txd_attention *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return txd_tile_scores(job, &job->tiles[i]);
}

static txd_status formed_mask(void *self, size_t i, int worker)
{
    const struct txd_attention *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return txd_tile_mask(job, &job->tiles[i]);
}

static txd_status formed_softmax(void *self, size_t i, int worker)
{
    const struct txd_attention *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return txd_tile_softmax(job, &job->tiles[i]);
}

static txd_status formed_rest(void *self, size_t i, int worker)
{
    const struct txd_attention *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    TXD_TRY(txd_tile_rows(job, &job->tiles[i]));
    txd_taps_reduce_tile(job->run, &job->tiles[i], job->layer);
    return txd_tile_mix(job, &job->tiles[i]);
}

static txd_status form(txd_run *run, size_t keys, size_t *plane_bytes)
{
    size_t rows = run->batch * run->model->config->n_heads * run->length, bytes;
    size_t limit =
        run->options.form_limit > 0 ? run->options.form_limit : (size_t)1 << 30;

    TXD_TRY(txd_size_mul(&bytes, rows, keys));
    TXD_TRY(txd_size_mul(&bytes, bytes, txd_dtype_bytes(run->model->backend->dtype)));
    *plane_bytes = bytes;
    TXD_TRY(txd_size_mul(&bytes, bytes, 3));
    if (bytes > limit)
        return txd_fail(TXD_ERR_LIMIT,
                        "editing attention forms whole (b, h, q, k) values: %zu bytes, "
                        "more than the limit of %zu; use a shorter sequence",
                        bytes, limit);
    if (run->formed != NULL && run->form_bytes >= bytes)
        return TXD_OK;
    if (run->formed != NULL)
        run->model->backend->free(run->formed);
    run->formed = run->model->backend->alloc(bytes);
    run->form_bytes = run->formed == NULL ? 0 : bytes;
    return run->formed == NULL ? TXD_ERR_MEMORY : TXD_OK;
}

static txd_status formed_attention(struct txd_attention *job)
{
    txd_run *run = job->run;
    size_t plane;
    char *formed;

    TXD_TRY(form(run, job->keys, &plane));
    formed = run->formed;
    job->hidden = true;
    TXD_TRY(in_waves(job, formed_scores, false));
    TXD_TRY(txd_taps_edit(run, txd_point_in(job->kind, TXD_POINT_ATTN_SCORES),
                          job->layer, formed));
    TXD_TRY(in_waves(job, formed_mask, false));
    TXD_TRY(txd_taps_edit(run, txd_point_in(job->kind, TXD_POINT_ATTN_MASKED),
                          job->layer, formed + plane));
    TXD_TRY(in_waves(job, formed_softmax, false));
    TXD_TRY(txd_taps_edit(run, txd_point_in(job->kind, TXD_POINT_ATTN_WEIGHTS),
                          job->layer, formed + 2 * plane));
    return in_waves(job, formed_rest, true);
}

static unsigned wanted(const struct txd_attention *job, txd_point point)
{
    return txd_run_wants(job->run, txd_point_in(job->kind, point), job->layer);
}

static bool compute_hidden(const struct txd_attention *job)
{
    const txd_run *run = job->run;

    switch (run->model->config->evaluate_hidden) {
    case TXD_HIDDEN_ALWAYS:
        return true;
    case TXD_HIDDEN_NEVER:
        return false;
    default:
        return job->keys <= TXD_SHORT_LENGTH ||
               (wanted(job, TXD_POINT_ATTN_WEIGHTS) & TXD_ASK_HIDDEN) != 0;
    }
}

txd_status txd_attend(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_tile *wave = run->tiles;
    struct txd_attention job = {
        .run = run, .layer = layer, .kind = kind, .tiles = wave};
    unsigned wants;

    job.keys = kind == TXD_ATTENTION_CROSS ? run->memory_length : run->length;
    if (run->length == 0)
        return TXD_OK;
    job.hidden = compute_hidden(&job);
    wants = wanted(&job, TXD_POINT_ATTN_SCORES) | wanted(&job, TXD_POINT_ATTN_MASKED) |
            wanted(&job, TXD_POINT_ATTN_WEIGHTS);
    job.blocks = (run->length + run->tile_rows - 1) / run->tile_rows;
    memset(run->tile_stats, 0, sizeof run->tile_stats);
    if (!(wants & TXD_ASK_EDIT))
        return in_waves(&job, stream_tile, true);
    job.tiles = run->formed_tiles;
    memcpy(job.tiles, wave, run->wave * sizeof *wave);
    return formed_attention(&job);
}
