/* SPDX-License-Identifier: MIT
 *
 * Means and quantiles of what heads do. Row statistics are small and exact; weights are
 * read only where these cannot answer.
 */
#include "viz/read/heads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/read/slice.h"

/* One number per (batch row, head, query) of a layer. */
typedef struct table {
    double *values[TXD_MEASURES];
    double *seen; /* NaN: no such query was recorded, or it is padding */
    unsigned char
        *unknown; /* 1: there is no key before the query, or no weight of it */
    size_t batches, heads, queries, past;
} table;

static size_t table_at(const table *of, size_t batch, size_t head, size_t query)
{
    return (batch * of->heads + head) * of->queries + query;
}

static txd_status make_table(table *out, txd_arena *arena)
{
    size_t count = out->batches * out->heads * out->queries;

    for (int i = 0; i < TXD_MEASURES; i++) {
        out->values[i] = txd_arena_alloc(arena, count, sizeof **out->values);
        if (!out->values[i])
            return TXD_ERR_MEMORY;
    }
    out->seen = txd_arena_alloc(arena, count, sizeof *out->seen);
    out->unknown = txd_arena_alloc(arena, count, 1);
    if (!out->seen || !out->unknown)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        out->seen[i] = NAN;
        out->unknown[i] = i % out->queries + out->past == 0;
    }
    return TXD_OK;
}

/* --- from row statistics --- */

static void name_rows(char out[64], txd_attention_kind kind, const char *column)
{
    snprintf(out, 64, "%s/%s", kind == TXD_ATTENTION_CROSS ? "cross_rows" : "rows",
             column);
}

/* The column's entry, if it is there and has the axes of row statistics. */
static bool find_rows(size_t *entry, txd_trace_info *info, const txd_heads *heads,
                      const char *column)
{
    const txd_trace *recording = heads->claim->recording;
    char name[64];

    name_rows(name, heads->kind, column);
    return txd_trace_find(recording, entry, name) == TXD_OK &&
           txd_trace_get(recording, info, *entry) == TXD_OK && info->rank == 5 &&
           strcmp(info->axes, "slbhq") == 0;
}

/* The step, the first batch row and their number, and the queries of the step. */
static txd_status find_place(size_t out[4], const txd_heads *heads,
                             const txd_trace_info *info)
{
    size_t filled = heads->claim->length_q;

    TXD_TRY(txd_choice(&out[0], "step", heads->request.step, info->dims[0]));
    TXD_TRY(txd_choice(&out[1], "batch", heads->request.batch, info->dims[2]));
    out[2] = heads->request.batch < 0 ? info->dims[2] : 1;
    out[3] = filled && filled < info->dims[4] ? filled : info->dims[4];
    return TXD_OK;
}

/* All of a layer, in the order of the table. */
static txd_status read_rows(double *out, const table *of, const txd_heads *heads,
                            int layer, const char *column)
{
    size_t place[4], entry;
    txd_trace_info info;

    if (!find_rows(&entry, &info, heads, column))
        return txd_fail(TXD_ERR_MISSING, "rows/%s: not recorded", column);
    TXD_TRY(find_place(place, heads, &info));
    if ((size_t)layer >= info.dims[1] || place[2] != of->batches ||
        info.dims[3] != of->heads || place[3] != of->queries)
        return txd_fail(TXD_ERR_FORMAT, "%s: its shape is not that of the column seen",
                        info.name);
    {
        const size_t start[5] = {place[0], (size_t)layer, place[1], 0, 0};
        const size_t count[5] = {1, 1, of->batches, of->heads, of->queries};

        return txd_trace_read(heads->claim->recording, out, entry, start, count,
                              TXD_F64);
    }
}

static void normalise(const table *of)
{
    size_t count = of->batches * of->heads * of->queries;

    for (size_t i = 0; i < count; i++)
        of->values[TXD_MEASURE_ENTROPY][i] /= log(of->seen[i]);
}

/* The weight of the key before, where it is the largest of its row. */
static txd_status read_peaks(const table *of, const txd_heads *heads, int layer,
                             txd_arena *scratch)
{
    double *previous = of->values[TXD_MEASURE_PREVIOUS];
    size_t count = of->batches * of->heads * of->queries;
    double *keys = txd_arena_alloc(scratch, count, sizeof *keys);

    if (!keys)
        return TXD_ERR_MEMORY;
    TXD_TRY(read_rows(previous, of, heads, layer, "peak"));
    TXD_TRY(read_rows(keys, of, heads, layer, "peak_key"));
    for (size_t i = 0; i < count; i++) {
        size_t query = i % of->queries + of->past;

        if (isfinite(previous[i]) && keys[i] != (double)query - 1)
            previous[i] = 0;
    }
    return TXD_OK;
}

static txd_status fill_rows(table *out, const txd_heads *heads, int layer,
                            unsigned wanted, txd_arena *scratch)
{
    static const char *const columns[] = {"entropy", "first", "self"};
    txd_trace_info info;
    size_t place[4], entry;

    if (!find_rows(&entry, &info, heads, "seen"))
        return txd_fail(TXD_ERR_MISSING, "rows/seen: not recorded");
    TXD_TRY(find_place(place, heads, &info));
    out->batches = place[2];
    out->heads = heads->heads;
    out->queries = place[3];
    if (heads->claim->length_k > heads->claim->length_q)
        out->past = heads->claim->length_k - heads->claim->length_q;
    TXD_TRY(make_table(out, scratch));
    TXD_TRY(read_rows(out->seen, out, heads, layer, "seen"));
    for (int i = 0; i < 3; i++)
        if (wanted & 1u << i)
            TXD_TRY(read_rows(out->values[i], out, heads, layer, columns[i]));
    if (wanted & 1u << TXD_MEASURE_ENTROPY)
        normalise(out);
    return TXD_OK;
}

/* --- from weights in full --- */

static double entropy_of(const txd_weights_row *row)
{
    double sum = 0;

    for (size_t k = 0; k < row->keys; k++)
        if (row->weights[k] != 0)
            sum -= row->weights[k] * log(row->weights[k]);
    return sum;
}

typedef struct filling {
    table *to;
    bool entropy;
} filling;

static void fill_row(void *context, const txd_weights_row *row)
{
    const filling *fill = context;
    const table *to = fill->to;
    size_t at = table_at(to, row->batch, row->head, row->query), seen = 0;
    size_t own = row->query + to->past, first = row->keys;

    for (size_t k = row->keys; k-- > 0;) {
        seen += !row->hidden[k];
        first = row->hidden[k] ? first : k;
    }
    to->seen[at] = (double)seen;
    if (seen < 2)
        return;
    if (fill->entropy)
        to->values[TXD_MEASURE_ENTROPY][at] = entropy_of(row) / log((double)seen);
    to->values[TXD_MEASURE_SINK][at] = row->weights[first];
    if (own < row->keys)
        to->values[TXD_MEASURE_OWN][at] = row->weights[own];
    if (own > 0 && own - 1 < row->keys)
        to->values[TXD_MEASURE_PREVIOUS][at] = row->weights[own - 1];
}

static txd_status fill_whole(table *out, const txd_heads *heads, int layer,
                             unsigned wanted, txd_arena *scratch)
{
    const txd_weights *weights = &heads->whole;
    filling fill = {out, (wanted & 1u << TXD_MEASURE_ENTROPY) != 0};

    out->batches = weights->batches;
    out->heads = weights->heads;
    out->queries = weights->queries;
    out->past = weights->past;
    TXD_TRY(make_table(out, scratch));
    return txd_weights_walk(weights, layer, scratch, fill_row, &fill);
}

static bool layer_is_whole(const txd_heads *heads, int layer)
{
    for (size_t i = 0; heads->has_weights && i < heads->whole.layer_count; i++)
        if (heads->whole.layers[i] == layer)
            return true;
    return false;
}

/* Of the keys before the queries [query, query + rows) of a head: one tile. */
static txd_status read_tile(double *previous, const table *of, double *tile,
                            const txd_heads *heads, txd_weights_place from, size_t rows)
{
    size_t own = from.query + of->past, width;

    from.key = own ? own - 1 : 0;
    width = own + rows - from.key;
    TXD_TRY(txd_weights_read(tile, &heads->whole, &from, rows, width));
    for (size_t r = 0; r < rows; r++)
        if (own + r > 0)
            previous[r] = tile[r * width + own + r - 1 - from.key];
    return TXD_OK;
}

/* The key before a query lies beside the diagonal: small tiles along it hold all. */
static txd_status read_diagonal(const table *of, const txd_heads *heads, int layer,
                                txd_arena *scratch)
{
    enum { TILE = 64 };
    double *tile = txd_arena_alloc(scratch, (size_t)TILE * (TILE + 1), sizeof *tile);

    if (!tile)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < of->batches * of->heads; i++) {
        txd_weights_place from = {layer, heads->whole.first_batch + i / of->heads,
                                  i % of->heads, 0, 0};
        size_t rows;

        for (; from.query < of->queries; from.query += rows) {
            size_t at = i * of->queries + from.query, left = of->queries - from.query;

            rows = left < TILE ? left : TILE;
            if (txd_weights_has_head(&heads->whole, from.head))
                TXD_TRY(read_tile(of->values[TXD_MEASURE_PREVIOUS] + at, of, tile,
                                  heads, from, rows));
            else
                memset(of->unknown + at, 1, rows);
        }
    }
    return TXD_OK;
}

/* --- sums --- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static txd_head_sum sum_head(double *room, const table *of, int measure, size_t head)
{
    txd_head_sum out = {NAN, NAN, NAN, 0, 0};
    double total = 0;

    for (size_t batch = 0; batch < of->batches; batch++)
        for (size_t q = 0; q < of->queries; q++) {
            size_t at = table_at(of, batch, head, q);
            double value = of->values[measure][at];
            bool is_unknown = measure == TXD_MEASURE_PREVIOUS && of->unknown[at];

            if (!(of->seen[at] >= 2) || is_unknown)
                continue;
            if (!isfinite(value)) {
                out.nonfinite++;
                continue;
            }
            room[out.queries++] = value;
            total += value;
        }
    if (out.queries != 0) {
        size_t tenth = (out.queries + 9) / 10;

        qsort(room, out.queries, sizeof *room, by_value);
        out.mean = total / (double)out.queries;
        out.low = room[tenth - 1];
        out.high = room[out.queries - tenth];
    }
    return out;
}

static txd_status fill_table(table *out, const txd_heads *heads, int layer,
                             unsigned wanted, txd_arena *scratch)
{
    if (!heads->by_rows)
        return layer_is_whole(heads, layer)
                   ? fill_whole(out, heads, layer, wanted, scratch)
                   : TXD_OK;
    TXD_TRY(fill_rows(out, heads, layer, wanted, scratch));
    if (!(wanted & 1u << TXD_MEASURE_PREVIOUS))
        return TXD_OK;
    return txd_heads_at_least(heads, layer) ? read_peaks(out, heads, layer, scratch)
                                            : read_diagonal(out, heads, layer, scratch);
}

txd_status txd_heads_sum(txd_head_sum **sums, const txd_heads *heads, int layer,
                         unsigned wanted, txd_arena *out, txd_arena *scratch)
{
    table of = {.batches = 0};
    double *room;

    *sums = txd_arena_alloc(out, TXD_MEASURES * heads->heads, sizeof **sums);
    if (!*sums)
        return TXD_ERR_MEMORY;
    TXD_TRY(fill_table(&of, heads, layer, wanted, scratch));
    room = txd_arena_alloc(scratch, of.batches * of.queries, sizeof *room);
    if (!room)
        return TXD_ERR_MEMORY;
    for (int measure = 0; measure < TXD_MEASURES; measure++)
        for (size_t head = 0; head < heads->heads; head++)
            if (wanted & 1u << measure)
                (*sums)[(size_t)measure * heads->heads + head] =
                    sum_head(room, &of, measure, head);
    return TXD_OK;
}

/* --- what is there --- */

bool txd_heads_at_least(const txd_heads *heads, int layer)
{
    return heads->by_rows && !layer_is_whole(heads, layer);
}

static txd_status list_layers(txd_heads *out, size_t recorded)
{
    size_t first;

    TXD_TRY(txd_choice(&first, "layer", out->request.layer, recorded));
    out->layer_count = out->request.layer < 0 ? recorded : 1;
    out->layers =
        txd_arena_alloc(out->claim->arena, out->layer_count, sizeof *out->layers);
    if (!out->layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < out->layer_count; i++)
        out->layers[i] = (int)(first + i);
    return TXD_OK;
}

static txd_status nothing(txd_attention_kind kind)
{
    const char *site = txd_weights_site(kind);

    return txd_fail(TXD_ERR_MISSING,
                    "neither the row statistics of %s nor these weights in full were "
                    "recorded; to record the first, in model.cfg: record = ( { probe = "
                    "\"rows\"; } );",
                    site);
}

txd_status txd_heads_open(txd_heads *out, const txd_claim *claim,
                          txd_attention_kind kind, const txd_figure_request *request)
{
    txd_trace_info info, other;
    size_t entry, place[4];

    *out = (txd_heads){.claim = claim, .kind = kind, .request = *request};
    out->by_rows = find_rows(&entry, &other, out, "entropy") &&
                   find_rows(&entry, &other, out, "first") &&
                   find_rows(&entry, &other, out, "self") &&
                   find_rows(&entry, &info, out, "seen");
    if (txd_weights_recorded(claim->recording, kind))
        out->has_weights =
            txd_weights_open(&out->whole, claim, kind, request) == TXD_OK;
    if (out->by_rows) {
        out->heads = info.dims[3];
        TXD_TRY(find_place(place, out, &info));
        return list_layers(out, info.dims[1]);
    }
    if (!txd_weights_recorded(claim->recording, kind))
        return nothing(kind);
    TXD_TRY(txd_weights_open(&out->whole, claim, kind, request));
    out->layers = out->whole.layers;
    out->layer_count = out->whole.layer_count;
    out->heads = out->whole.heads;
    return TXD_OK;
}
