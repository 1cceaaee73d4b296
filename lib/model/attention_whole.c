/* SPDX-License-Identifier: MIT
 *
 * Attention whose matrix is never formed, by backends that can (ops/args_attend.h):
 * where the run's options say so: some heads at a time, so that what is told of their
 * rows fits host memory that does not grow with the heads. Taps get the offers that
 * they get from tiles (taps_tile.c), blocks of query rows in the same order, without
 * values.
 *
 * Tiles stay where something needs them: an operation of theirs that was replaced,
 * values that somebody reads, names or edits, statistics of them, masks that are no
 * spans, hidden cells that are to be computed, biases by a table, a softmax whose steps
 * are rounded. So does a head in which something is not finite, where somebody looks:
 * tiles say where and what.
 */
#include "model/attention.h"
#include "model/backward.h"
#include "model/bias.h"

#include <math.h>
#include <string.h>

/* Query rows of one call, at most, unless one head has more. */
#define ROWS_AT_ONCE 65536

size_t txd_whole_heads(const txd_run *run)
{
    size_t heads = run->length == 0 ? 1 : ROWS_AT_ONCE / run->length;
    size_t most = run->model->config->n_heads;

    most = most < TXD_ATTEND_HEADS ? most : TXD_ATTEND_HEADS;
    return heads < 1 ? 1 : (heads < most ? heads : most);
}

/* ---- whether it can be done so ---- */

static const txd_layer_config *layer_config(const struct txd_attention *job)
{
    return &job->run->model->config->layers[job->layer];
}

/* The entry of the backend at each operation whose work is done here. */
static bool is_own(const struct txd_attention *job, txd_site_kind half)
{
    const struct txd_ops *here = &job->run->layer_ops[job->layer].ops;
    const struct txd_ops *own = &job->run->model->backend->ops;
    bool there = here->visible == own->visible && here->scores == own->scores &&
                 here->softcap == own->softcap && here->bias == own->bias &&
                 here->mask == own->mask && here->softmax == own->softmax &&
                 here->rows == own->rows && here->mix == own->mix;

    if (half == TXD_SITE_VALUE)
        return there;
    return there && here->scores_back == own->scores_back &&
           here->softcap_back == own->softcap_back &&
           here->bias_back == own->bias_back && here->mask_back == own->mask_back &&
           here->softmax_back == own->softmax_back &&
           here->sink_back == own->sink_back && here->mix_back == own->mix_back;
}

static bool is_supported(const struct txd_attention *job)
{
    const txd_run *run = job->run;
    const txd_config *c = run->model->config;
    const txd_backend *backend = run->model->backend;
    bool stepwise = layer_config(job)->softmax == TXD_SOFTMAX_SAME &&
                    backend->format != backend->dtype;
    bool table = run->model->relative != NULL && job->kind == TXD_ATTENTION_SELF;

    for (size_t b = 0; b < run->batch; b++)
        if (!run->cells.is_regular[b])
            return false;
    return job->planes == NULL && !stepwise && !table &&
           c->head_dim <= TXD_ATTEND_WIDTH && c->value_dim <= TXD_ATTEND_WIDTH &&
           run->length > 0 && job->keys > 0;
}

/* The claimed mask shows nothing that is not computed. */
static bool sees_only_visible(const struct txd_attention *job)
{
    const txd_run *run = job->run;
    const struct txd_cells *cells = &run->cells;

    for (size_t i = 0; i < run->batch * run->length; i++)
        if (!run->padded[i] && cells->seen[0][i] < cells->seen[1][i] &&
            (cells->seen[0][i] < cells->visible[0][i] ||
             cells->seen[1][i] > cells->visible[1][i]))
            return false;
    return true;
}

/* What all taps ask for at the tile points together; false if one reads what is not
 * formed here. */
static bool take_wishes(unsigned *all, const struct txd_attention *job,
                        txd_site_kind half)
{
    const txd_run *run = job->run;

    *all = 0;
    for (int which = 0; which < TXD_TILE_POINTS && run->watch[half].count > 0;
         which++) {
        txd_point point = txd_point_of_tile(job->kind, which);
        int stop = txd_run_stop(run, point, job->layer);
        const struct txd_wish *wish;

        if (stop < 0)
            continue;
        wish = &run->watch[half].wishes[stop];
        *all |= wish->all;
        for (size_t t = 0; t < run->tap_count; t++)
            for (int at = 0; (wish->of_tap[t] & TXD_ASK_READS) && at < TXD_TILE_POINTS;
                 at++)
                if (txd_tap_names(run->taps[t], point,
                                  txd_point_of_tile(job->kind, at)))
                    return false;
    }
    return (*all & (TXD_ASK_VALUE | TXD_ASK_STATS | TXD_ASK_EDIT)) == 0;
}

bool txd_attention_is_whole(const struct txd_attention *job, txd_site_kind half)
{
    const txd_backend *backend = job->run->model->backend;
    bool there = half == TXD_SITE_VALUE;
    unsigned all;

    if (!job->run->options.streamed ||
        !(there ? backend->attend != NULL : backend->attend_back != NULL) ||
        !is_own(job, half) || !is_supported(job) || !take_wishes(&all, job, half))
        return false;
    if (!there)
        return all == 0;
    if (all != 0 && job->hidden)
        return false;
    return !(all & TXD_ASK_FINITE) || sees_only_visible(job);
}

/* ---- arguments ---- */

/* Heads `head` to `head + heads - 1` of a batch row. */
struct chunk {
    size_t batch, head, heads;
    uint32_t kv_head[TXD_ATTEND_HEADS];
    double slopes[TXD_ATTEND_HEADS];
};

static void fill_chunk(struct chunk *chunk, const struct txd_attention *job)
{
    const txd_config *c = job->run->model->config;
    const uint32_t *order = layer_config(job)->kv_heads;

    for (size_t i = 0; i < chunk->heads; i++) {
        size_t head = chunk->head + i;

        chunk->kv_head[i] = order ? order[head] : (uint32_t)txd_kv_head_of(c, head);
        chunk->slopes[i] = txd_alibi_slope(head, c->n_heads);
    }
}

static void *query_rows(const struct txd_attention *job, const struct chunk *chunk,
                        void *data, size_t width)
{
    size_t heads = job->run->model->config->n_heads;

    return txd_row_of(job->run, data,
                      (chunk->batch * heads + chunk->head) * job->run->length, width);
}

static void *key_rows(const struct txd_attention *job, const struct chunk *chunk,
                      void *data, size_t width)
{
    size_t rows = job->run->model->config->n_kv_heads * job->key_rows;

    return txd_row_of(job->run, data, chunk->batch * rows, width);
}

static txd_spans spans_of(int32_t *const spans[2], const struct txd_attention *job,
                          const struct chunk *chunk)
{
    size_t at = chunk->batch * job->run->length;

    return (txd_spans){spans[0] + at, spans[1] + at, 0};
}

static struct txd_attend_heads inputs_of(const struct txd_attention *job,
                                         const struct chunk *chunk)
{
    const txd_run *run = job->run;
    const txd_config *c = run->model->config;
    const struct txd_tile tile = {.batch = chunk->batch, .head = chunk->head};
    txd_mask_view mask = txd_tile_mask_view(job, &tile);

    return (struct txd_attend_heads){
        .q = query_rows(job, chunk,
                        run->value[txd_point_in(job->kind, TXD_POINT_ATTN_Q)],
                        c->head_dim),
        .k = key_rows(job, chunk, job->k, c->head_dim),
        .v = key_rows(job, chunk, job->v, c->value_dim),
        .sink = txd_tile_sink(job, &tile),
        .heads = chunk->heads,
        .queries = run->length,
        .keys = job->keys,
        .key_rows = job->key_rows,
        .width = c->head_dim,
        .value_width = c->value_dim,
        .kv_heads = c->n_kv_heads,
        .kv_head = chunk->kv_head,
        .slopes = txd_has_bias(c, job->kind) ? chunk->slopes : NULL,
        .query_positions = mask.query_positions,
        .key_positions = mask.key_positions,
        .visible = spans_of(run->cells.visible, job, chunk),
        .used = spans_of(run->cells.used, job, chunk),
        .scale = layer_config(job)->score_scale,
        .cap = layer_config(job)->score_softcap,
        .fill = layer_config(job)->fill,
        .masked_row = (int)layer_config(job)->masked_row,
    };
}

/* ---- offers ---- */

static void take_rows(const struct txd_attention *job, struct txd_tile *tile)
{
    const txd_run *run = job->run;
    size_t head = tile->head - job->whole_head;
    const double *from =
        run->whole_rows + (head * run->length + tile->first) * TXD_ROW_COUNT;

    if (!job->rows)
        return;
    memcpy(tile->row_statistics, from, tile->rows * TXD_ROW_COUNT * sizeof *from);
    txd_tile_finish_rows(job, tile);
}

/* Of cells that are all finite: how many there are. */
static void count(const struct txd_attention *job, struct txd_tile *tile)
{
    const uint8_t *padded =
        job->run->padded + tile->batch * job->run->length + tile->first;
    struct txd_stats_part part = {.mean = (double)NAN,
                                  .deviation2 = (double)NAN,
                                  .low = (double)NAN,
                                  .high = (double)NAN};

    for (size_t r = 0; r < tile->rows; r++) {
        txd_span span = txd_span_of(&tile->spans.seen, r, 0, tile->keys);

        part.count += padded[r] ? 0 : (double)(span.end - span.begin);
    }
    part.finite = part.count;
    for (int which = 0; which < TXD_TILE_POINTS; which++)
        tile->parts[which] = part;
    tile->is_counted = true;
}

static txd_status offer(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_tile_take_arrays(job, tile);
    TXD_TRY(txd_tile_cells(job, tile));
    take_rows(job, tile);
    count(job, tile);
    for (int which = 0; which < TXD_TILE_POINTS; which++)
        TXD_TRY(
            txd_taps_reduce_tile(job->run, tile, job->layer, TXD_SITE_VALUE, which));
    return TXD_OK;
}

static txd_status merge(const struct txd_attention *job, struct txd_tile *tile)
{
    TXD_TRY(txd_attention_merge(job, tile));
    tile->is_counted = false;
    return TXD_OK;
}

/* ---- forward ---- */

static txd_status attend(const struct txd_attention *job, const struct chunk *chunk,
                         bool *finite)
{
    txd_run *run = job->run;
    size_t width = run->model->config->value_dim;
    void *out = run->own[txd_point_in(job->kind, TXD_POINT_ATTN_HEADS)];
    struct txd_attend_args args = {
        .at = {.batch = (int)chunk->batch,
               .head = (int)chunk->head,
               .layer = job->layer,
               .first_query = (int)run->past},
        .in = inputs_of(job, chunk),
        .out = query_rows(job, chunk, out, width),
        .rows = job->rows ? run->whole_rows : NULL,
        .seen = spans_of(run->cells.seen, job, chunk),
        .sides = run->cells.sides[chunk->batch],
        .finite = finite,
    };

    return run->model->backend->attend(&run->ctx, &args);
}

/* The tiles of a chunk, of which nothing else was offered. */
static txd_status over_chunk(const struct txd_attention *job, const struct chunk *chunk,
                             bool in_tiles)
{
    struct txd_attention part = *job;
    size_t heads = job->run->model->config->n_heads;

    part.first = (chunk->batch * heads + chunk->head) * job->blocks;
    part.count = chunk->heads * job->blocks;
    part.whole_head = chunk->head;
    return in_tiles ? txd_attend_in_tiles(&part) : txd_over_tiles(&part, offer, merge);
}

txd_status txd_attend_whole(const struct txd_attention *job)
{
    txd_run *run = job->run;
    size_t heads = run->model->config->n_heads, most = txd_whole_heads(run);
    unsigned all;

    (void)take_wishes(&all, job, TXD_SITE_VALUE);
    for (size_t b = 0; b < run->batch; b++)
        for (size_t h = 0; h < heads; h += most) {
            struct chunk chunk = {b, h, heads - h < most ? heads - h : most, {0}, {0}};
            bool finite = true;

            fill_chunk(&chunk, job);
            TXD_TRY(attend(job, &chunk, all != 0 ? &finite : NULL));
            if (all != 0)
                TXD_TRY(over_chunk(job, &chunk, !finite));
        }
    return TXD_OK;
}

/* ---- backward ---- */

static void *d_of(const struct txd_attention *job, txd_point point)
{
    return job->run->d_own[txd_point_in(job->kind, point)];
}

txd_status txd_attend_whole_back(const struct txd_attention *job)
{
    txd_run *run = job->run;
    const txd_config *c = run->model->config;
    size_t most = c->n_heads < TXD_ATTEND_HEADS ? c->n_heads : TXD_ATTEND_HEADS;

    for (size_t b = 0; b < run->batch; b++)
        for (size_t h = 0; h < c->n_heads; h += most) {
            struct chunk chunk = {
                b, h, c->n_heads - h < most ? c->n_heads - h : most, {0}, {0}};
            struct txd_attend_back_args args = {
                .at = {.batch = (int)b, .head = (int)h, .layer = job->layer}};

            fill_chunk(&chunk, job);
            args.in = inputs_of(job, &chunk);
            args.d_out =
                query_rows(job, &chunk, d_of(job, TXD_POINT_ATTN_HEADS), c->value_dim);
            args.d_q =
                query_rows(job, &chunk, d_of(job, TXD_POINT_ATTN_Q), c->head_dim);
            args.d_k = key_rows(job, &chunk, d_of(job, TXD_POINT_ATTN_K), c->head_dim);
            args.d_v = key_rows(job, &chunk, d_of(job, TXD_POINT_ATTN_V), c->value_dim);
            if (args.in.sink != NULL)
                args.d_sink = txd_gradient_of(run, args.in.sink);
            TXD_TRY(run->model->backend->attend_back(&run->ctx, &args));
        }
    return TXD_OK;
}
