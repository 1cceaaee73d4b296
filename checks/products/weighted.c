/* SPDX-License-Identifier: MIT
 *
 * Weighted sums in double. Which other values explain a wrong one is only looked for
 * once something is wrong.
 */
#include "checks/products/weighted.h"
#include "checks/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells of a layer that are kept per step; queries of a head at least. */
#define CELLS_KEPT 8192
#define QUERIES_LEAST 2
/* Broken rows of a part for which other values are tried. */
#define ROWS_TRIED 64

/* ---- weights ---- */

static txd_status grow(void **memory, size_t *room, size_t count, size_t size)
{
    size_t wanted = *room;
    void *fresh;

    if (count <= *room)
        return TXD_OK;
    while (wanted < count)
        wanted = wanted < 64 ? 64 : 2 * wanted;
    fresh = realloc(*memory, wanted * size);
    if (!fresh)
        return txd_fail(TXD_ERR_MEMORY, "weighted_values: no memory");
    *memory = fresh;
    *room = wanted;
    return TXD_OK;
}

/* Row `at` of the block, counted over batch, heads and queries of the block. */
static txd_status take_row(txd_weighted_rows *rows, const txd_block *block, size_t at,
                           txd_weighted_row row)
{
    size_t keys = block->value.dims[3], begin = 0, end = keys;
    void *cells = rows->cells, *list = rows->row;
    txd_status status;
    double *to;

    status = grow(&cells, &rows->cell_room, rows->cell_count + keys, sizeof *to);
    rows->cells = cells;
    TXD_TRY(status);
    status = grow(&list, &rows->room, rows->count + 1, sizeof row);
    rows->row = list;
    TXD_TRY(status);
    to = rows->cells + rows->cell_count;
    txd_kept_read(to, &block->value, at * keys, keys);
    while (begin < end && to[begin] == 0)
        begin++;
    while (end > begin && to[end - 1] == 0)
        end--;
    memmove(to, to + begin, (end - begin) * sizeof *to);
    row.first = rows->cell_count;
    row.begin = block->start[3] + begin;
    row.count = end - begin;
    rows->row[rows->count++] = row;
    rows->cell_count += row.count;
    return TXD_OK;
}

txd_status txd_weighted_take(txd_weighted_rows *rows, const txd_block *block)
{
    const size_t *dims = block->value.dims;
    size_t wanted = txd_picks_queries(block, CELLS_KEPT, QUERIES_LEAST);
    size_t part = txd_law_part(block->site);

    if (rows->part != part || rows->step != block->site->step) {
        rows->count = rows->cell_count = 0;
        rows->part = part;
        rows->step = block->site->step;
    }
    for (size_t b = 0; block->value.data && b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++) {
            txd_picks picks = txd_picks_of_head(block, b, h, wanted);
            size_t before = (b * dims[1] + h) * dims[2], query;

            while (txd_picks_next(&query, &picks))
                TXD_TRY(take_row(rows, block, before + query - block->start[2],
                                 (txd_weighted_row){.batch = block->start[0] + b,
                                                    .head = block->start[1] + h,
                                                    .query = query}));
        }
    return TXD_OK;
}

void txd_weighted_finish(txd_weighted_rows *rows)
{
    free(rows->row);
    free(rows->cells);
    *rows = (txd_weighted_rows){0};
}

/* ---- sums ---- */

/* sums += w x, sizes += |w x| over a row of values. */
static void add_value(const txd_weighted_values *v, double w, const txd_tensor *of,
                      size_t first)
{
    size_t width = of->dims[3];

    for (size_t f = 0; f < width; f++) {
        double x = of->dtype == TXD_F32   ? (double)((const float *)of->data)[first + f]
                   : of->dtype == TXD_F64 ? ((const double *)of->data)[first + f]
                                          : txd_tensor_get(of, first + f);
        double term = w * x;

        v->sums[f] += term;
        v->sizes[f] += fabs(term);
    }
}

/* The weighted sum of the rows of KV head `group`; key j counts as row j / each. */
static void weigh(const txd_weighted_values *v, const txd_weighted_rows *rows,
                  const txd_weighted_row *row, const txd_tensor *of,
                  const size_t group_each[2])
{
    size_t length = of->dims[2], width = of->dims[3];
    size_t start = (row->batch * of->dims[1] + group_each[0]) * length;

    memset(v->sums, 0, width * sizeof *v->sums);
    memset(v->sizes, 0, width * sizeof *v->sizes);
    for (size_t j = 0; j < row->count; j++) {
        double w = rows->cells[row->first + j];

        if (w != 0)
            add_value(v, w, of, (start + (row->begin + j) / group_each[1]) * width);
    }
}

static double allowed_for(const txd_weighted_values *v, size_t keys, size_t lane)
{
    txd_roundoff u = txd_roundoff_of_format(v->pass->format);
    double n = (double)keys;
    double error =
        (txd_law_gamma(n, u.accumulate) + txd_law_gamma(n, 0x1p-53)) * v->sizes[lane] +
        n * u.lost;

    return error + u.store * (fabs(v->sums[lane]) + error) + u.tiny;
}

static double found_at(const txd_weighted_values *v, const txd_weighted_row *row,
                       size_t lane)
{
    const txd_tensor *heads = &v->heads;

    return txd_tensor_get(
        heads,
        ((row->batch * heads->dims[1] + row->head) * heads->dims[2] + row->query) *
                heads->dims[3] +
            lane);
}

/* All lanes are what the sums at hand say. */
static bool fits(const txd_weighted_values *v, const txd_weighted_row *row)
{
    for (size_t f = 0; f < v->heads.dims[3]; f++)
        if (!txd_within(fabs(found_at(v, row, f) - v->sums[f]),
                        allowed_for(v, row->count, f)))
            return false;
    return true;
}

/* ---- judging ---- */

static void look_for_source(txd_weighted_tally *t, const txd_weighted_rows *rows,
                            const txd_weighted_row *row, const txd_weighted_values *v)
{
    const txd_config *c = v->claimed;
    size_t own = txd_kv_head_of(c, row->head), share = c->n_heads / c->n_kv_heads;
    txd_weighted_head *head = &t->heads[row->head];

    t->tried++;
    head->tried++;
    for (size_t f = 0; f < v->heads.dims[3]; f++) {
        double found = found_at(v, row, f);

        t->yy += v->sums[f] * v->sums[f];
        t->fy += found * v->sums[f];
        t->ff += found * found;
    }
    for (size_t g = 0; g < c->n_kv_heads; g++) {
        weigh(v, rows, row, &v->v, (const size_t[]){g, 1});
        head->group[g] += fits(v, row);
    }
    if (share > 1) {
        weigh(v, rows, row, &v->v, (const size_t[]){own, share});
        t->is_twice += fits(v, row);
    }
    if (v->k.data && v->k.dims[3] == v->v.dims[3] && v->k.dims[2] == v->v.dims[2]) {
        weigh(v, rows, row, &v->k, (const size_t[]){own, 1});
        t->is_keys += fits(v, row);
    }
}

static bool judge_lane(txd_weighted_tally *t, const txd_weighted_values *v,
                       const txd_weighted_row *row, size_t lane)
{
    double expected = v->sums[lane], found = found_at(v, row, lane);
    double measured = fabs(found - expected);
    double allowed = allowed_for(v, row->count, lane);
    bool is_broken = !txd_within(measured, allowed);

    if (!isfinite(expected) ||
        (isinf(found) && fabs(expected) + allowed > v->pass->largest)) {
        t->inherited++;
        return false;
    }
    t->broken += is_broken;
    if (t->judged++ > 0 &&
        (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
         !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
        return is_broken;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->found = found;
    t->expected = expected;
    t->lane = lane;
    t->at = (txd_law_place){.step = v->step,
                            .batch = (int64_t)row->batch,
                            .head = (int64_t)row->head,
                            .query = (int64_t)row->query,
                            .key = -1};
    return is_broken;
}

void txd_weighted_judge(txd_weighted_tally *tally, const txd_weighted_rows *rows,
                        const txd_weighted_values *values)
{
    for (size_t i = 0; i < rows->count; i++) {
        const txd_weighted_row *row = &rows->row[i];
        const size_t own[2] = {txd_kv_head_of(values->claimed, row->head), 1};
        bool is_broken = false;

        weigh(values, rows, row, &values->v, own);
        for (size_t f = 0; f < values->heads.dims[3]; f++)
            is_broken |= judge_lane(tally, values, row, f);
        tally->rows += is_broken;
        if (is_broken && tally->tried < ROWS_TRIED)
            look_for_source(tally, rows, row, values);
    }
}
