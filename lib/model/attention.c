/* SPDX-License-Identifier: MIT
 *
 * Attention, forward: projections, rotation, then scores, mask, softmax and weighted
 * sum in tiles of query rows of one head, so that memory grows with the length and not
 * with its square. Positions, validity and documents are data; nothing here knows what
 * "causal" means.
 *
 * Which cells of a tile are computed, and which take part, are two things. Hidden cells
 * with an infinite fill take no part: they are never multiplied with v. They may still
 * be computed, so that laws have something to judge; their scores are separate products
 * so that computing them cannot change a bit of the others.
 */
#include <math.h>
#include <string.h>

#include "model/run_private.h"

struct job {
    txd_run *run;
    int layer;
    bool hidden; /* compute hidden cells too */
    size_t blocks, first_tile;
    struct txd_tile *tiles;
};

static const txd_layer_config *layer_config(const txd_run *run, int layer)
{
    return &run->model->config->layers[layer];
}

static char *row_of(const txd_run *run, void *data, size_t row, size_t width)
{
    return (char *)data + row * width * txd_dtype_bytes(run->model->backend->dtype);
}

/* ---- projections ---- */

static txd_status project(txd_run *run, int layer, txd_point out,
                          const struct txd_linear_map *map, size_t heads)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_heads_args split = {
        .at = txd_op_at(ops, TXD_OP_split_heads, layer, out),
        .out = run->own[out],
        .x = run->scratch,
        .batch = run->batch,
        .length = run->length,
        .heads = heads,
        .width = map->n / heads,
    };

    TXD_TRY(txd_layer_linear(run, layer, map));
    TXD_TRY(ops->ops.split_heads(&run->ctx, &split));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, layer);
}

/* The rotated value, or the projection itself where nothing turns. */
static txd_status rotate(txd_run *run, int layer, txd_point out, txd_point in,
                         size_t heads)
{
    const txd_layer_config *c = layer_config(run, layer);
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    size_t width = run->model->config->head_dim;
    struct txd_rotate_args args = {
        .at = txd_op_at(ops, TXD_OP_rotate, layer, out),
        .out = run->own[out],
        .x = run->value[in],
        .positions = run->actual.positions,
        .batch = run->batch,
        .heads = heads,
        .length = run->length,
        .width = width,
        .rope_width = c->rotary ? c->rope_width : 0,
        .base = c->rope_base,
        .adjacent = c->rope_pairing == TXD_PAIRING_ADJACENT,
    };

    run->value[out] = run->value[in];
    if (c->rotary || (txd_run_wants(run, out, layer) & TXD_ASK_EDIT)) {
        TXD_TRY(ops->ops.rotate(&run->ctx, &args));
        run->value[out] = run->own[out];
    }
    return txd_taps_offer(run, out, layer);
}

static txd_status project_all(txd_run *run, int layer, const void *x)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    struct txd_linear_map q = {
        TXD_POINT_COUNT,          run->scratch, x, w->q, w->q_bias,
        c->n_heads * c->head_dim, c->d_model};
    struct txd_linear_map k = {
        TXD_POINT_COUNT, run->scratch, x, w->k, w->k_bias, c->n_kv_heads * c->head_dim,
        c->d_model};
    struct txd_linear_map v = {
        TXD_POINT_COUNT, run->scratch, x, w->v, w->v_bias, c->n_kv_heads * c->value_dim,
        c->d_model};

    TXD_TRY(project(run, layer, TXD_POINT_ATTN_Q_PROJ, &q, c->n_heads));
    TXD_TRY(project(run, layer, TXD_POINT_ATTN_K_PROJ, &k, c->n_kv_heads));
    TXD_TRY(rotate(run, layer, TXD_POINT_ATTN_Q, TXD_POINT_ATTN_Q_PROJ, c->n_heads));
    TXD_TRY(rotate(run, layer, TXD_POINT_ATTN_K, TXD_POINT_ATTN_K_PROJ, c->n_kv_heads));
    return project(run, layer, TXD_POINT_ATTN_V, &v, c->n_kv_heads);
}

/* ---- which cells ---- */

/* used = the cells that take part: seen ones; all of a row if hidden scores become a
 * finite number, or if an empty row gets weights all the same. */
static void mark_used(const txd_run *run, struct txd_tile *tile, int layer)
{
    const txd_layer_config *c = layer_config(run, layer);
    size_t n = run->length;

    memcpy(tile->used, tile->visible, tile->rows * n);
    for (size_t r = 0; r < tile->rows; r++) {
        bool empty = memchr(tile->visible + r * n, 1, n) == NULL;

        if (isfinite(c->fill) || (empty && c->masked_row != TXD_MASKED_ROW_ZERO))
            memset(tile->used + r * n, 1, n);
    }
}

/* The smallest range of keys that holds every used cell of the tile. */
static void hull(size_t *begin, size_t *end, const struct txd_tile *tile, size_t n)
{
    *begin = n;
    *end = 0;
    for (size_t r = 0; r < tile->rows; r++) {
        const uint8_t *row = tile->used + r * n;
        const uint8_t *first = memchr(row, 1, n);
        size_t last = n;

        if (first == NULL)
            continue;
        while (!row[last - 1])
            last--;
        *begin = (size_t)(first - row) < *begin ? (size_t)(first - row) : *begin;
        *end = last > *end ? last : *end;
    }
    if (*end == 0)
        *begin = 0;
}

/* Keeps only the computed keys of a byte map that was made over all keys. */
static void compact(uint8_t *map, const struct txd_tile *tile, size_t n)
{
    if (tile->keys == n)
        return;
    for (size_t r = 0; r < tile->rows; r++)
        memmove(map + r * tile->keys, map + r * n + tile->key_begin, tile->keys);
}

/* What the claimed mask hides, and how many keys it lets each query see. */
static void mark_hidden(const txd_run *run, struct txd_tile *tile, int layer)
{
    txd_mask_view claimed = txd_mask_of(&run->options.claimed->layers[layer],
                                        run->pass.inputs, tile->batch);

    for (size_t r = 0; r < tile->rows; r++) {
        tile->seen[r] = 0;
        tile->first_seen[r] = -1;
        for (size_t j = 0; j < run->length; j++) {
            txd_hidden why = txd_mask_hides(&claimed, tile->first + r, j);

            if (why == TXD_SEEN && tile->seen[r]++ == 0)
                tile->first_seen[r] = (int32_t)j;
            if (j >= tile->key_begin && j - tile->key_begin < tile->keys)
                tile->hidden[r * tile->keys + j - tile->key_begin] = (uint8_t)why;
        }
    }
}

static txd_status find_cells(const struct job *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    struct txd_layer_ops *ops = &run->layer_ops[job->layer];
    txd_mask_view mask =
        txd_mask_of(layer_config(run, job->layer), &run->actual, tile->batch);
    struct txd_visible_args args = {
        .at = txd_op_at(ops, TXD_OP_visible, job->layer, TXD_POINT_ATTN_MASKED),
        .out = tile->visible,
        .mask = &mask,
        .rows = tile->rows,
        .keys = run->length,
    };
    size_t begin, end;

    args.at.batch = (int)tile->batch;
    args.at.head = (int)tile->head;
    args.at.first_query = (int)tile->first;
    TXD_TRY(ops->ops.visible(&run->ctx, &args));
    mark_used(run, tile, job->layer);
    hull(&begin, &end, tile, run->length);
    tile->key_begin = job->hidden ? 0 : begin;
    tile->keys = job->hidden ? run->length : end - begin;
    tile->begin = begin - tile->key_begin;
    tile->end = end - tile->key_begin;
    compact(tile->visible, tile, run->length);
    compact(tile->used, tile, run->length);
    mark_hidden(run, tile, job->layer);
    return TXD_OK;
}

/* ---- the operations on a tile ---- */

static txd_op_site tile_at(const struct job *job, const struct txd_tile *tile,
                           txd_op op, txd_point point)
{
    txd_op_site at = txd_op_at(&job->run->layer_ops[job->layer], op, job->layer, point);

    at.batch = (int)tile->batch;
    at.head = (int)tile->head;
    at.first_query = (int)tile->first;
    return at;
}

static size_t kv_row(const txd_run *run, const struct txd_tile *tile)
{
    const txd_config *c = run->model->config;
    size_t group = tile->head / (c->n_heads / c->n_kv_heads);

    return (tile->batch * c->n_kv_heads + group) * run->length;
}

static size_t query_row(const txd_run *run, const struct txd_tile *tile)
{
    return (tile->batch * run->model->config->n_heads + tile->head) * run->length +
           tile->first;
}

static txd_status tile_scores(const struct job *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->head_dim;
    const size_t edges[4] = {0, tile->begin, tile->end, tile->keys};
    struct txd_scores_args args = {
        .at = tile_at(job, tile, TXD_OP_scores, TXD_POINT_ATTN_SCORES),
        .q = row_of(run, run->value[TXD_POINT_ATTN_Q], query_row(run, tile), width),
        .rows = tile->rows,
        .width = width,
        .stride = tile->keys,
        .scale = layer_config(run, job->layer)->score_scale,
    };

    for (int part = 0; part < 3; part++) {
        size_t row = kv_row(run, tile) + tile->key_begin + edges[part];

        args.out = row_of(run, tile->scores, edges[part], 1);
        args.k = row_of(run, run->value[TXD_POINT_ATTN_K], row, width);
        args.keys = edges[part + 1] - edges[part];
        if (args.keys > 0)
            TXD_TRY(run->layer_ops[job->layer].ops.scores(&run->ctx, &args));
    }
    return TXD_OK;
}

static txd_status tile_mask(const struct job *job, struct txd_tile *tile)
{
    struct txd_mask_args args = {
        .at = tile_at(job, tile, TXD_OP_mask, TXD_POINT_ATTN_MASKED),
        .out = tile->masked,
        .scores = tile->scores,
        .visible = tile->visible,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .fill = layer_config(job->run, job->layer)->fill,
    };

    return job->run->layer_ops[job->layer].ops.mask(&job->run->ctx, &args);
}

static txd_status tile_softmax(const struct job *job, struct txd_tile *tile)
{
    size_t row = query_row(job->run, tile);
    struct txd_softmax_args args = {
        .at = tile_at(job, tile, TXD_OP_softmax, TXD_POINT_ATTN_WEIGHTS),
        .out = tile->weights,
        .masked = tile->masked,
        .max = job->run->max + row,
        .lse = job->run->lse + row,
        .rows = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .begin = tile->begin,
        .end = tile->end,
        .masked_row = (int)layer_config(job->run, job->layer)->masked_row,
    };

    return job->run->layer_ops[job->layer].ops.softmax(&job->run->ctx, &args);
}

/* Rows of padded queries say nothing: NaN, and no key. */
static void blank_padded(const txd_run *run, struct txd_tile *tile)
{
    const uint8_t *padded = run->padded + tile->batch * run->length + tile->first;

    for (size_t r = 0; r < tile->rows; r++)
        for (int c = 0; padded[r] && c < TXD_ROW_COUNT; c++)
            tile->row_statistics[r * TXD_ROW_COUNT + (size_t)c] =
                txd_row_get((txd_row)c)->is_key ? -1 : (double)NAN;
}

static txd_status tile_rows(const struct job *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t row = query_row(run, tile);
    struct txd_rows_args args = {
        .at = tile_at(job, tile, TXD_OP_rows, TXD_POINT_ATTN_WEIGHTS),
        .rows = tile->row_statistics,
        .weights = tile->weights,
        .max = run->max + row,
        .lse = run->lse + row,
        .hidden = tile->hidden,
        .seen = tile->seen,
        .first_seen = tile->first_seen,
        .row_count = tile->rows,
        .keys = tile->keys,
        .stride = tile->keys,
        .key_begin = tile->key_begin,
    };

    if (!(txd_run_wants(run, TXD_POINT_ATTN_WEIGHTS, job->layer) & TXD_ASK_ROWS))
        return TXD_OK;
    TXD_TRY(run->layer_ops[job->layer].ops.rows(&run->ctx, &args));
    blank_padded(run, tile);
    return TXD_OK;
}

static txd_status tile_mix(const struct job *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t width = run->model->config->value_dim;
    size_t row = kv_row(run, tile) + tile->key_begin + tile->begin;
    struct txd_mix_args args = {
        .at = tile_at(job, tile, TXD_OP_mix, TXD_POINT_ATTN_HEADS),
        .out = row_of(run, run->own[TXD_POINT_ATTN_HEADS], query_row(run, tile), width),
        .weights = row_of(run, tile->weights, tile->begin, 1),
        .v = row_of(run, run->value[TXD_POINT_ATTN_V], row, width),
        .used = tile->used + tile->begin,
        .rows = tile->rows,
        .keys = tile->end - tile->begin,
        .stride = tile->keys,
        .width = width,
    };

    return run->layer_ops[job->layer].ops.mix(&run->ctx, &args);
}

/* ---- tiles in waves ---- */

static void locate(const struct job *job, struct txd_tile *tile, size_t index)
{
    const txd_run *run = job->run;
    size_t rows = run->tile_rows;

    tile->first = index % job->blocks * rows;
    tile->head = index / job->blocks % run->model->config->n_heads;
    tile->batch = index / job->blocks / run->model->config->n_heads;
    tile->rows = run->length - tile->first < rows ? run->length - tile->first : rows;
}

static txd_status stream_tile(void *self, size_t i, int worker)
{
    const struct job *job = self;
    struct txd_tile *tile = &job->tiles[i];

    (void)worker;
    locate(job, tile, job->first_tile + i);
    TXD_TRY(find_cells(job, tile));
    TXD_TRY(tile_scores(job, tile));
    TXD_TRY(tile_mask(job, tile));
    TXD_TRY(tile_softmax(job, tile));
    TXD_TRY(tile_rows(job, tile));
    txd_taps_reduce_tile(job->run, tile, job->layer);
    return tile_mix(job, tile);
}

/* Runs `body` over all tiles in waves; merges each wave in index order if asked. */
static txd_status in_waves(struct job *job,
                           txd_status (*body)(void *self, size_t i, int worker),
                           bool merge)
{
    txd_run *run = job->run;
    size_t count = run->batch * run->model->config->n_heads * job->blocks;

    for (size_t first = 0; first < count; first += run->wave) {
        size_t wave = count - first < run->wave ? count - first : run->wave;

        job->first_tile = first;
        TXD_TRY(txd_parallel(&run->ctx, wave, body, job));
        for (size_t i = 0; merge && i < wave; i++)
            TXD_TRY(txd_taps_merge_tile(run, &job->tiles[i], job->layer,
                                        first + i + 1 == count));
    }
    return TXD_OK;
}

/* ---- the whole matrix, where somebody edits it ---- */

static void aim_at_formed(const struct job *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    size_t n = run->length, row = query_row(run, tile);
    size_t plane = run->batch * run->model->config->n_heads * n;

    tile->scores = row_of(run, run->formed, row, n);
    tile->masked = row_of(run, run->formed, plane + row, n);
    tile->weights = row_of(run, run->formed, 2 * plane + row, n);
}

static txd_status formed_tile(const struct job *job, struct txd_tile *tile, size_t i)
{
    locate(job, tile, job->first_tile + i);
    aim_at_formed(job, tile);
    return find_cells(job, tile);
}

static txd_status formed_scores(void *self, size_t i, int worker)
{
    const struct job *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return tile_scores(job, &job->tiles[i]);
}

static txd_status formed_mask(void *self, size_t i, int worker)
{
    const struct job *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return tile_mask(job, &job->tiles[i]);
}

static txd_status formed_softmax(void *self, size_t i, int worker)
{
    const struct job *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    return tile_softmax(job, &job->tiles[i]);
}

static txd_status formed_rest(void *self, size_t i, int worker)
{
    const struct job *job = self;

    (void)worker;
    TXD_TRY(formed_tile(job, &job->tiles[i], i));
    TXD_TRY(tile_rows(job, &job->tiles[i]));
    txd_taps_reduce_tile(job->run, &job->tiles[i], job->layer);
    return tile_mix(job, &job->tiles[i]);
}

static txd_status form(txd_run *run, size_t *plane_bytes)
{
    size_t rows = run->batch * run->model->config->n_heads * run->length, bytes;
    size_t limit =
        run->options.form_limit > 0 ? run->options.form_limit : (size_t)1 << 30;

    TXD_TRY(txd_size_mul(&bytes, rows, run->length));
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

static txd_status formed_attention(struct job *job)
{
    txd_run *run = job->run;
    size_t plane;
    char *formed;

    TXD_TRY(form(run, &plane));
    formed = run->formed;
    job->hidden = true;
    TXD_TRY(in_waves(job, formed_scores, false));
    TXD_TRY(txd_taps_edit(run, TXD_POINT_ATTN_SCORES, job->layer, formed));
    TXD_TRY(in_waves(job, formed_mask, false));
    TXD_TRY(txd_taps_edit(run, TXD_POINT_ATTN_MASKED, job->layer, formed + plane));
    TXD_TRY(in_waves(job, formed_softmax, false));
    TXD_TRY(txd_taps_edit(run, TXD_POINT_ATTN_WEIGHTS, job->layer, formed + 2 * plane));
    return in_waves(job, formed_rest, true);
}

/* ---- the whole part ---- */

static bool compute_hidden(const txd_run *run, int layer)
{
    unsigned wants = txd_run_wants(run, TXD_POINT_ATTN_WEIGHTS, layer);

    switch (run->model->config->evaluate_hidden) {
    case TXD_HIDDEN_ALWAYS:
        return true;
    case TXD_HIDDEN_NEVER:
        return false;
    default:
        return run->length <= TXD_SHORT_LENGTH || (wants & TXD_ASK_HIDDEN) != 0;
    }
}

static txd_status attend(txd_run *run, int layer)
{
    struct txd_tile *wave = run->tiles;
    unsigned wants = txd_run_wants(run, TXD_POINT_ATTN_SCORES, layer) |
                     txd_run_wants(run, TXD_POINT_ATTN_MASKED, layer) |
                     txd_run_wants(run, TXD_POINT_ATTN_WEIGHTS, layer);
    struct job job = {run, layer, compute_hidden(run, layer), 0, 0, wave};

    if (run->length == 0)
        return TXD_OK;
    job.blocks = (run->length + run->tile_rows - 1) / run->tile_rows;
    memset(run->tile_stats, 0, sizeof run->tile_stats);
    if (!(wants & TXD_ASK_EDIT))
        return in_waves(&job, stream_tile, true);
    job.tiles = run->formed_tiles;
    memcpy(job.tiles, wave, run->wave * sizeof *wave);
    return formed_attention(&job);
}

static txd_status merge_heads(txd_run *run, int layer)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_heads_args args = {
        .at = txd_op_at(ops, TXD_OP_merge_heads, layer, TXD_POINT_ATTN_MERGED),
        .out = run->own[TXD_POINT_ATTN_MERGED],
        .x = run->value[TXD_POINT_ATTN_HEADS],
        .batch = run->batch,
        .length = run->length,
        .heads = c->n_heads,
        .width = c->value_dim,
    };

    TXD_TRY(ops->ops.merge_heads(&run->ctx, &args));
    run->value[TXD_POINT_ATTN_MERGED] = run->own[TXD_POINT_ATTN_MERGED];
    return txd_taps_offer(run, TXD_POINT_ATTN_MERGED, layer);
}

txd_status txd_attention_forward(txd_run *run, int layer)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    bool pre = c->norm_placement == TXD_PLACEMENT_PRE;
    struct txd_linear_map out = {
        TXD_POINT_ATTN_OUT,       NULL, NULL, w->o, w->o_bias, c->d_model,
        c->n_heads * c->value_dim};

    if (pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM1_OUT, TXD_POINT_RESID_PRE));
    TXD_TRY(project_all(run, layer,
                        run->value[pre ? TXD_POINT_NORM1_OUT : TXD_POINT_RESID_PRE]));
    TXD_TRY(attend(run, layer));
    run->value[TXD_POINT_ATTN_HEADS] = run->own[TXD_POINT_ATTN_HEADS];
    TXD_TRY(txd_taps_offer(run, TXD_POINT_ATTN_HEADS, layer));
    TXD_TRY(merge_heads(run, layer));
    out.x = run->value[TXD_POINT_ATTN_MERGED];
    TXD_TRY(txd_layer_linear(run, layer, &out));
    TXD_TRY(txd_layer_branch(run, layer, TXD_POINT_ATTN_BRANCH, TXD_POINT_ATTN_OUT));
    TXD_TRY(txd_layer_residual(run, layer, TXD_POINT_RESID_MID, TXD_POINT_ATTN_BRANCH,
                               TXD_POINT_RESID_PRE));
    if (!pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM1_OUT, TXD_POINT_RESID_MID));
    return TXD_OK;
}
