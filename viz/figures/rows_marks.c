/* SPDX-License-Identifier: MIT
 *
 * Leaks on pooled maps. Next to the diagonal a pooled cell holds pairs that the mask
 * lets see and pairs that it hides, so that the cell itself cannot tell; the row
 * statistics of the same recording name the worst hidden key of every query.
 */
#include <string.h>

#include "viz/figures/figures.h"

/* One row of statistics (s, l, b, h, q) of the slice's layer and head. */
static txd_status read_rows(double **out, size_t *count, const txd_claim *claim,
                            const txd_slice *slice, const char *name)
{
    const size_t start[5] = {slice->step, (size_t)slice->layer, slice->batch,
                             (size_t)slice->head, 0};
    size_t block[5] = {1, 1, 1, 1, 0};
    txd_trace_info info;
    size_t entry;

    *out = NULL;
    if (slice->layer < 0 || slice->head < 0 ||
        txd_trace_find(claim->recording, &entry, name) != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_trace_get(claim->recording, &info, entry));
    if (info.rank != 5 || strcmp(info.axes, "slbhq") != 0)
        return TXD_OK;
    for (int axis = 0; axis < 4; axis++)
        if (start[axis] >= info.dims[axis])
            return TXD_OK;
    block[4] = info.dims[4];
    *out = txd_arena_alloc(claim->arena, block[4], sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    *count = block[4];
    return txd_trace_read(claim->recording, *out, entry, start, block, TXD_F64);
}

/* The drawn cell of a place that is itself a pooled cell; false if not drawn. */
static bool find_cell(size_t *out, const txd_axis *axis, size_t place)
{
    for (size_t i = 0; i < axis->count; i++) {
        if (axis->places[i] != place)
            continue;
        *out = i * axis->cells / axis->count;
        return true;
    }
    return false;
}

static void mark_row(txd_map *map, size_t query, size_t key, double weight,
                     const txd_pooling *pooling)
{
    const size_t *cells = pooling->cells, *tokens = pooling->tokens;
    size_t row, column;

    if (!find_cell(&row, &map->rows, txd_pooled_cell(query, cells[0], tokens[0])) ||
        !find_cell(&column, &map->columns, txd_pooled_cell(key, cells[1], tokens[1])))
        return;
    map->flags[row * map->columns.cells + column] |= TXD_FLAG_LEAK;
    if (map->leaks.total == 0 || weight > map->leaks.worst) {
        map->leaks.row = query;
        map->leaks.column = key;
        map->leaks.worst = weight;
    }
    map->leaks.total++;
}

static void forget_leaks(txd_map *map)
{
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        map->flags[i] &= (unsigned char)~TXD_FLAG_LEAK;
    map->leaks = (txd_marks){.total = 0};
}

txd_status txd_mark_rows(txd_map *map, const txd_claim *claim, const txd_slice *slice,
                         const txd_pooling *pooling, bool *known)
{
    bool cross = txd_site_attention(slice->site) == TXD_ATTENTION_CROSS;
    size_t count = 0, keys = 0;
    txd_pooling of = *pooling;
    double *weights, *places;

    *known = false;
    TXD_TRY(read_rows(&weights, &count, claim, slice,
                      cross ? "cross_rows/hidden_max" : "rows/hidden_max"));
    TXD_TRY(read_rows(&places, &keys, claim, slice,
                      cross ? "cross_rows/hidden_key" : "rows/hidden_key"));
    if (!weights || !places || keys != count)
        return TXD_OK;
    if (of.tokens[0] == 0 || of.tokens[0] > count)
        of.tokens[0] = count;
    if (of.tokens[1] == 0 && !cross)
        of.tokens[1] = count;
    if (of.tokens[0] < of.cells[0] || of.tokens[1] < of.cells[1])
        return TXD_OK;
    *known = true;
    forget_leaks(map);
    for (size_t q = 0; q < of.tokens[0]; q++)
        if (weights[q] > 0 && places[q] >= 0 && places[q] < (double)of.tokens[1])
            mark_row(map, q, (size_t)places[q], weights[q], &of);
    return TXD_OK;
}

txd_status txd_peak_of_rows(txd_peak *out, const txd_claim *claim,
                            const txd_slice *slice)
{
    static const char *const columns[2][3] = {
        {"rows/peak", "rows/peak_key", "rows/seen"},
        {"cross_rows/peak", "cross_rows/peak_key", "cross_rows/seen"}};
    bool cross = txd_site_attention(slice->site) == TXD_ATTENTION_CROSS;
    double *values[3];
    size_t count[3] = {0};

    *out = (txd_peak){.times = 0};
    for (int i = 0; i < 3; i++) {
        TXD_TRY(read_rows(&values[i], &count[i], claim, slice, columns[cross][i]));
        if (!values[i] || count[i] != count[0])
            return TXD_OK;
    }
    for (size_t q = 0; q < count[0]; q++) {
        double times = values[0][q] * values[2][q];

        if (times > out->times && values[1][q] >= 0)
            *out = (txd_peak){times, values[0][q], q, (size_t)values[1][q],
                              (size_t)values[2][q]};
    }
    return TXD_OK;
}
