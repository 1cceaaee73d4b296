/* SPDX-License-Identifier: MIT
 *
 * Which cells of a tile of attention are computed, and which take part: two things.
 * Hidden cells with an infinite fill take no part: they are never multiplied with v.
 * They may still be computed, so that laws have something to judge; their scores are
 * separate products so that computing them cannot change a bit of the others.
 *
 * Most masks are one run of keys per query (ops/mask.h). These spans are found once per
 * attention and batch row, and tiles look at their rows of them. Where they are not of
 * that kind, where a tap edits cells, and where an operation that decides on cells or
 * reads maps of them is replaced, every tile has byte maps instead.
 */
#include "model/attention.h"

#include <math.h>
#include <string.h>

static const txd_layer_config *layer_config(const txd_run *run, int layer)
{
    return &run->model->config->layers[layer];
}

/* True if a row without seen keys gets weights all the same. */
static bool fills_empty_rows(const txd_layer_config *c)
{
    return c->masked_row != TXD_MASKED_ROW_ZERO;
}

static txd_mask_view actual_mask(const struct txd_attention *job, size_t batch)
{
    return txd_mask_of_attention(job->kind, layer_config(job->run, job->layer),
                                 &job->run->actual, batch);
}

static txd_mask_view claimed_mask(const struct txd_attention *job, size_t batch)
{
    return txd_mask_of_attention(job->kind,
                                 &job->run->options.claimed->layers[job->layer],
                                 job->run->pass.inputs, batch);
}

txd_mask_view txd_tile_mask_view(const struct txd_attention *job,
                                 const struct txd_tile *tile)
{
    return actual_mask(job, tile->batch);
}

/* ---- spans of an attention ---- */

static bool needs_maps(const struct txd_attention *job)
{
    const struct txd_ops *here = &job->run->layer_ops[job->layer].ops;
    const struct txd_ops *own = &job->run->model->backend->ops;

    return job->planes != NULL || here->visible != own->visible ||
           here->mask != own->mask || here->mask_back != own->mask_back ||
           here->mix != own->mix || here->mix_back != own->mix_back ||
           here->scores_back != own->scores_back || here->rows != own->rows;
}

/* Cells that take part: seen ones; all of a row if hidden scores become a finite
 * number, or if an empty row gets weights all the same. */
static void use(const struct txd_attention *job, const struct txd_cells *cells,
                size_t at)
{
    const txd_layer_config *c = layer_config(job->run, job->layer);
    bool empty = cells->visible[0][at] >= cells->visible[1][at];
    bool all = isfinite(c->fill) || (empty && fills_empty_rows(c));

    cells->used[0][at] = all ? 0 : cells->visible[0][at];
    cells->used[1][at] = all ? (int32_t)job->keys : cells->visible[1][at];
}

static bool form_row(const struct txd_attention *job, size_t batch)
{
    const txd_run *run = job->run;
    const struct txd_cells *cells = &run->cells;
    const size_t shape[2] = {run->length, job->keys};
    size_t at = batch * run->length;
    txd_mask_view actual = actual_mask(job, batch), claimed = claimed_mask(job, batch);
    struct txd_hidden_sides sides;

    if (!txd_mask_spans(cells->visible[0] + at, cells->visible[1] + at, &sides, &actual,
                        shape) ||
        !txd_mask_spans(cells->seen[0] + at, cells->seen[1] + at, &cells->sides[batch],
                        &claimed, shape))
        return false;
    for (size_t q = 0; q < run->length; q++)
        use(job, cells, at + q);
    return true;
}

void txd_cells_form(const struct txd_attention *job)
{
    const txd_run *run = job->run;
    bool maps = needs_maps(job);

    for (size_t b = 0; b < run->batch; b++)
        run->cells.is_regular[b] = !maps && form_row(job, b);
}

/* ---- byte maps of a tile ---- */

/* As use() does. */
static void mark_used(const struct txd_attention *job, struct txd_tile *tile)
{
    const txd_layer_config *c = layer_config(job->run, job->layer);
    size_t n = job->keys;

    memcpy(tile->used, tile->visible, tile->rows * n);
    for (size_t r = 0; r < tile->rows; r++) {
        bool empty = memchr(tile->visible + r * n, 1, n) == NULL;

        if (isfinite(c->fill) || (empty && fills_empty_rows(c)))
            memset(tile->used + r * n, 1, n);
    }
}

/* The smallest range of keys that holds every used cell of the tile. */
static void hull_of_map(size_t *begin, size_t *end, const struct txd_tile *tile,
                        size_t n)
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
static void mark_hidden(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_mask_view claimed = claimed_mask(job, tile->batch);

    for (size_t r = 0; r < tile->rows; r++) {
        tile->seen[r] = 0;
        tile->first_seen[r] = -1;
        for (size_t j = 0; j < job->keys; j++) {
            txd_hidden why = txd_mask_hides(&claimed, tile->first + r, j);

            if (why == TXD_SEEN && tile->seen[r]++ == 0)
                tile->first_seen[r] = (int32_t)j;
            if (j >= tile->key_begin && j - tile->key_begin < tile->keys)
                tile->hidden[r * tile->keys + j - tile->key_begin] = (uint8_t)why;
        }
    }
}

static txd_mask_view mask_of(const void *job, size_t batch)
{
    return actual_mask(job, batch);
}

static txd_status make_maps(const struct txd_attention *job, struct txd_tile *tile)
{
    txd_run *run = job->run;
    txd_mask_view mask = txd_tile_mask_view(job, tile);
    struct txd_visible_args args = {
        .at = txd_tile_at(job, tile, TXD_OP_visible, TXD_POINT_ATTN_MASKED),
        .out = tile->visible,
        .mask = &mask,
        .rows = tile->rows,
        .keys = job->keys,
        .observed = (txd_run_wants(run, txd_point_in(job->kind, TXD_POINT_ATTN_WEIGHTS),
                                   job->layer) &
                     TXD_ASK_READS) != 0,
        .mask_of = mask_of,
        .job = job,
        .batch = run->batch,
    };

    TXD_TRY(run->layer_ops[job->layer].ops.visible(&run->ctx, &args));
    mark_used(job, tile);
    return TXD_OK;
}

/* ---- spans of a tile ---- */

static void hull_of_spans(size_t *begin, size_t *end, const txd_spans *used,
                          size_t rows)
{
    int32_t from = INT32_MAX, to = 0;

    for (size_t r = 0; r < rows; r++)
        if (used->begin[r] < used->end[r]) {
            from = used->begin[r] < from ? used->begin[r] : from;
            to = used->end[r] > to ? used->end[r] : to;
        }
    *begin = to > 0 ? (size_t)from : 0;
    *end = (size_t)to;
}

static txd_spans rows_of(int32_t *const spans[2], size_t at, size_t first)
{
    return (txd_spans){spans[0] + at, spans[1] + at, (int32_t)first};
}

static void count_seen(struct txd_tile *tile)
{
    const txd_spans *seen = &tile->spans.seen;

    for (size_t r = 0; r < tile->rows; r++) {
        bool some = seen->begin[r] < seen->end[r];

        tile->seen[r] = some ? seen->end[r] - seen->begin[r] : 0;
        tile->first_seen[r] = some ? seen->begin[r] : -1;
    }
}

static void take_spans(const struct txd_attention *job, struct txd_tile *tile)
{
    const struct txd_cells *cells = &job->run->cells;
    size_t at = tile->batch * job->run->length + tile->first;
    size_t inside = tile->key_begin + tile->begin;

    tile->spans = (struct txd_tile_spans){
        .visible = rows_of(cells->visible, at, tile->key_begin),
        .used = rows_of(cells->used, at, tile->key_begin),
        .seen = rows_of(cells->seen, at, tile->key_begin),
        .visible_inside = rows_of(cells->visible, at, inside),
        .used_inside = rows_of(cells->used, at, inside),
        .sides = cells->sides[tile->batch],
    };
}

/* ---- both ---- */

static void compute(const struct txd_attention *job, struct txd_tile *tile,
                    size_t begin, size_t end)
{
    tile->key_begin = job->hidden ? 0 : begin;
    tile->keys = job->hidden ? job->keys : end - begin;
    tile->begin = begin - tile->key_begin;
    tile->end = end - tile->key_begin;
}

txd_status txd_tile_cells(const struct txd_attention *job, struct txd_tile *tile)
{
    const struct txd_cells *cells = &job->run->cells;
    size_t begin, end;

    tile->is_regular = cells->is_regular[tile->batch];
    if (tile->is_regular) {
        txd_spans used =
            rows_of(cells->used, tile->batch * job->run->length + tile->first, 0);

        hull_of_spans(&begin, &end, &used, tile->rows);
        compute(job, tile, begin, end);
        take_spans(job, tile);
        count_seen(tile);
        return TXD_OK;
    }
    TXD_TRY(make_maps(job, tile));
    hull_of_map(&begin, &end, tile, job->keys);
    compute(job, tile, begin, end);
    compact(tile->visible, tile, job->keys);
    compact(tile->used, tile, job->keys);
    mark_hidden(job, tile);
    return TXD_OK;
}
