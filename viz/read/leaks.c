/* SPDX-License-Identifier: MIT
 *
 * The row statistics tell at once whether anything leaks, and the worst key of every
 * query; only if something does, and weights were recorded in full, these are read.
 */
#include "viz/read/leaks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/slice.h"

/* The columns of the row statistics that are read. */
enum { SUM, MAX, KEY, COLUMNS };

/* One head of one layer in one batch row: a number per query. */
typedef struct head_rows {
    double *column[COLUMNS];
    size_t queries;
} head_rows;

static txd_status find_column(size_t *entry, txd_trace_info *info,
                              const txd_leaks *leaks, int column)
{
    static const char *const names[COLUMNS] = {"hidden_sum", "hidden_max",
                                               "hidden_key"};
    char name[64];

    snprintf(name, sizeof name, "%s/%s",
             leaks->kind == TXD_ATTENTION_CROSS ? "cross_rows" : "rows", names[column]);
    if (txd_trace_find(leaks->claim->recording, entry, name) != TXD_OK)
        return TXD_ERR_MISSING;
    TXD_TRY(txd_trace_get(leaks->claim->recording, info, *entry));
    return info->rank == 5 && strcmp(info->axes, "slbhq") == 0 ? TXD_OK
                                                               : TXD_ERR_MISSING;
}

/* Sizes by the row statistics; false if these are not there. */
static bool find_rows(txd_leaks *out, const txd_figure_request *request)
{
    txd_trace_info info[COLUMNS];
    size_t entry;

    for (int i = 0; i < COLUMNS; i++)
        if (find_column(&entry, &info[i], out, i) != TXD_OK ||
            memcmp(info[i].dims, info[0].dims, 5 * sizeof *info[0].dims) != 0)
            return false;
    if (out->step >= info[0].dims[0] ||
        (request->layer >= 0 && (size_t)request->layer >= info[0].dims[1]))
        return false;
    out->layer_count = request->layer < 0 ? info[0].dims[1] : 1;
    out->batches = info[0].dims[2];
    out->heads = info[0].dims[3];
    out->queries = info[0].dims[4];
    return true;
}

static txd_status number_layers(txd_leaks *out, const txd_figure_request *request)
{
    size_t batch;

    TXD_TRY(txd_choice(&batch, "batch", request->batch, out->batches));
    out->layers =
        txd_arena_alloc(out->claim->arena, out->layer_count, sizeof *out->layers);
    if (!out->layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < out->layer_count; i++)
        out->layers[i] = request->layer < 0 ? (int)i : request->layer;
    return TXD_OK;
}

static txd_status read_rows(head_rows *out, const txd_leaks *leaks, int layer,
                            size_t batch, size_t head, txd_arena *scratch)
{
    const size_t start[5] = {leaks->step, (size_t)layer, batch, head, 0};
    const size_t block[5] = {1, 1, 1, 1, leaks->queries};
    txd_trace_info info;
    size_t entry;

    out->queries = leaks->queries;
    for (int i = 0; i < COLUMNS; i++) {
        TXD_TRY(find_column(&entry, &info, leaks, i));
        out->column[i] = txd_arena_alloc(scratch, leaks->queries, sizeof(double));
        if (!out->column[i])
            return TXD_ERR_MEMORY;
        TXD_TRY(txd_trace_read(leaks->claim->recording, out->column[i], entry, start,
                               block, TXD_F64));
    }
    return TXD_OK;
}

/* Sums on the way, (layer, head). */
typedef struct tally {
    txd_leaks *leaks;
    double *counts;
    size_t index; /* of the layer */
} tally;

/* A query whose hidden keys get `sum`, the most of them `largest` at `key`. */
static void count_query(tally *all, size_t batch, size_t head, size_t query, double sum,
                        double largest, double key)
{
    txd_leaks *leaks = all->leaks;
    size_t at = all->index * leaks->heads + head;

    if (!isfinite(sum))
        return;
    all->counts[at]++;
    leaks->shares[at] = (isnan(leaks->shares[at]) ? 0 : leaks->shares[at]) + sum;
    leaks->rows += sum > 0;
    if (!(largest > leaks->largest) || !(key >= 0))
        return;
    leaks->largest = largest;
    leaks->layer = leaks->layers[all->index];
    leaks->batch = batch;
    leaks->head = head;
    leaks->query = query;
    leaks->key = (size_t)key;
}

static void count_row(void *context, const txd_weights_row *row)
{
    tally *all = context;
    double sum = 0, largest = 0, key = -1;

    for (size_t k = 0; k < row->keys; k++) {
        double size = fabs(row->weights[k]);

        if (!row->hidden[k] || size == 0)
            continue;
        sum += size;
        if (size > largest) {
            largest = size;
            key = (double)k;
        }
    }
    count_query(all, all->leaks->whole.first_batch + row->batch, row->head, row->query,
                sum, largest, key);
}

static txd_status count_layer(tally *all, const txd_figure_request *request,
                              txd_arena *scratch)
{
    txd_leaks *leaks = all->leaks;
    int layer = leaks->layers[all->index];

    txd_arena_reset(scratch);
    if (!leaks->by_rows)
        return txd_weights_walk(&leaks->whole, layer, scratch, count_row, all);
    for (size_t batch = 0; batch < leaks->batches; batch++) {
        if (request->batch >= 0 && (size_t)request->batch != batch)
            continue;
        for (size_t head = 0; head < leaks->heads; head++) {
            head_rows rows;

            txd_arena_reset(scratch);
            TXD_TRY(read_rows(&rows, leaks, layer, batch, head, scratch));
            for (size_t q = 0; q < rows.queries; q++)
                count_query(all, batch, head, q, rows.column[SUM][q],
                            rows.column[MAX][q], rows.column[KEY][q]);
        }
    }
    return TXD_OK;
}

static txd_status count_all(txd_leaks *out, const txd_figure_request *request,
                            txd_arena *scratch)
{
    size_t cells = out->layer_count * out->heads;
    tally all = {.leaks = out};

    out->shares = txd_arena_alloc(out->claim->arena, cells, sizeof *out->shares);
    all.counts = txd_arena_alloc(out->claim->arena, cells, sizeof *all.counts);
    if (!out->shares || !all.counts)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++)
        out->shares[i] = NAN;
    for (; all.index < out->layer_count; all.index++)
        TXD_TRY(count_layer(&all, request, scratch));
    for (size_t i = 0; i < cells; i++)
        out->shares[i] /= all.counts[i];
    return TXD_OK;
}

/* Keys of a recording that has none of the weights: as many as there are tokens. */
static size_t count_keys(const txd_leaks *leaks)
{
    const txd_claim *claim = leaks->claim;
    size_t keys = leaks->kind == TXD_ATTENTION_CROSS ? claim->inputs.memory_length
                                                     : claim->inputs.length;

    return keys > 0 ? keys : leaks->queries;
}

txd_status txd_leaks_read(txd_leaks *out, const txd_claim *claim,
                          txd_attention_kind kind, const txd_figure_request *request,
                          txd_arena *scratch)
{
    txd_mask_view mask;
    txd_status status;

    *out = (txd_leaks){.claim = claim,
                       .kind = kind,
                       .step = request->step < 0 ? 0 : (size_t)request->step};
    status = txd_weights_open(&out->whole, claim, kind, request);
    out->has_weights = status == TXD_OK && out->whole.every == 1 &&
                       txd_weights_mask(&mask, &out->whole, out->whole.layers[0],
                                        out->whole.first_batch);
    out->by_rows = find_rows(out, request);
    if (!out->by_rows && !out->has_weights)
        return status != TXD_OK && status != TXD_ERR_MISSING
                   ? status
                   : txd_fail(TXD_ERR_MISSING,
                              "leaks: neither row statistics were recorded, nor "
                              "weights in full with the mask that is claimed; to "
                              "record the first, in model.cfg: record = ( { probe = "
                              "\"rows\"; } );");
    if (out->by_rows) {
        TXD_TRY(number_layers(out, request));
        out->has_weights = out->has_weights && out->whole.heads == out->heads &&
                           out->whole.layer_count >= out->layer_count;
    } else {
        out->layers = out->whole.layers;
        out->layer_count = out->whole.layer_count;
        out->heads = out->whole.heads;
        out->batches = out->whole.first_batch + out->whole.batches;
    }
    if (out->has_weights)
        out->queries = out->whole.queries;
    out->keys = out->has_weights ? out->whole.keys : count_keys(out);
    return count_all(out, request, scratch);
}

/* Of one batch row. */
typedef struct summing {
    txd_leak_sums *sums;
    const txd_leaks *leaks;
    size_t batch;
} summing;

static void add_weight(const summing *all, size_t query, size_t key, double weight)
{
    const txd_leaks *leaks = all->leaks;
    size_t *cells = all->sums->cells;

    if (query >= leaks->queries || key >= leaks->keys || !isfinite(weight))
        return;
    all->sums->sums[query * cells[0] / leaks->queries * cells[1] +
                    key * cells[1] / leaks->keys] += fabs(weight);
}

static void sum_row(void *context, const txd_weights_row *row)
{
    const summing *all = context;

    if (all->leaks->whole.first_batch + row->batch != all->batch)
        return;
    for (size_t k = 0; k < row->keys; k++)
        if (row->hidden[k])
            add_weight(all, row->query, k, row->weights[k]);
}

static txd_status sum_heads(const summing *all, int layer, txd_arena *scratch)
{
    const txd_leaks *leaks = all->leaks;

    for (size_t head = 0; head < leaks->heads; head++) {
        head_rows rows;

        txd_arena_reset(scratch);
        TXD_TRY(read_rows(&rows, leaks, layer, all->batch, head, scratch));
        for (size_t q = 0; q < rows.queries; q++)
            if (rows.column[MAX][q] > 0 && rows.column[KEY][q] >= 0)
                add_weight(all, q, (size_t)rows.column[KEY][q], rows.column[MAX][q]);
    }
    return TXD_OK;
}

txd_status txd_leaks_sum(txd_leak_sums *out, const txd_leaks *leaks, size_t batch,
                         txd_arena *scratch)
{
    summing all = {.sums = out, .leaks = leaks, .batch = batch};
    const int *layers = leaks->has_weights ? leaks->whole.layers : leaks->layers;
    size_t count = leaks->has_weights ? leaks->whole.layer_count : leaks->layer_count;

    out->complete = leaks->has_weights;
    for (size_t i = 0; i < count; i++) {
        txd_arena_reset(scratch);
        TXD_TRY(leaks->has_weights
                    ? txd_weights_walk(&leaks->whole, layers[i], scratch, sum_row, &all)
                    : sum_heads(&all, layers[i], scratch));
    }
    return TXD_OK;
}
