/* SPDX-License-Identifier: MIT
 *
 * Figure: two axes of any recorded value: positions by channels of a residual stream,
 * positions by token ids of the logits, heads by queries of a row statistic.
 */
#include <stdio.h>

#include "viz/figures/figures.h"
#include "viz/read/recorded.h"

static bool is_pooled(const txd_slice *slice)
{
    return slice->row_axis >= 0 && slice->info.axes[slice->row_axis] == 'i' &&
           slice->info.axes[slice->column_axis] == 'j';
}

static txd_status set_title(txd_map *map, const txd_slice *slice)
{
    char title[TXD_SITE_BYTES + 80];
    int used = snprintf(title, sizeof title, "%s", slice->site);

    if (slice->layer >= 0 && txd_axis_of(&slice->info, 'l') >= 0)
        used += snprintf(title + used, sizeof title - (size_t)used, ", layer %d",
                         slice->layer);
    if (slice->head >= 0)
        snprintf(title + used, sizeof title - (size_t)used, ", head %d", slice->head);
    map->title = txd_arena_string(map->arena, title);
    return map->title ? TXD_OK : TXD_ERR_MEMORY;
}

/* Numbers of tokens, not of cells: finding 700 in a map of 64 cells is the point. */
static txd_status number_tokens(txd_axis *axis, txd_arena *arena, size_t side,
                                size_t tokens)
{
    size_t step = 1 + axis->count / 9;
    txd_text text;

    if (tokens <= side || axis->cells != axis->count)
        return TXD_OK;
    txd_text_init(&text);
    for (size_t i = 0; i < axis->count; i += step)
        txd_text_addf(&text, "%s'%zu' %zu", i ? ", " : "",
                      axis->places[i] * tokens / side, i);
    axis->tics = txd_arena_string(arena, txd_text_get(&text));
    txd_text_finish(&text);
    return axis->tics ? TXD_OK : TXD_ERR_MEMORY;
}

/* Pooled cells are hidden as a whole or not at all; leaks are where the row statistics
 * say, if they were recorded. */
static txd_status fill_pooled(txd_map *map, const txd_slice *slice,
                              const txd_claim *claim, const txd_pooling *pooling,
                              const char **hidden_by)
{
    unsigned char *hidden =
        txd_arena_alloc(map->arena, pooling->cells[0] * pooling->cells[1], 1);
    bool of_memory = txd_axis_of_memory(slice, slice->column_axis);
    txd_blank blank;
    bool known;

    if (!hidden)
        return TXD_ERR_MEMORY;
    txd_blank_pooled(&blank, hidden, pooling, claim, slice);
    TXD_TRY(txd_map_fill(map, slice, &blank));
    TXD_TRY(txd_mark_rows(map, claim, slice, pooling, &known));
    if (known) {
        map->rows.title = "query";
        map->columns.title = of_memory ? "memory row" : "key";
        map->loud = "not 0, the largest of each query";
    }
    TXD_TRY(
        number_tokens(&map->rows, map->arena, pooling->cells[0], pooling->tokens[0]));
    TXD_TRY(number_tokens(&map->columns, map->arena, pooling->cells[1],
                          pooling->tokens[1]));
    *hidden_by = !blank.pooled ? NULL
                 : known       ? "or not computed"
                               : "or not computed; cells that are hidden in part show "
                                 "no leak";
    return TXD_OK;
}

static txd_status note_peak(txd_map *map, const txd_claim *claim,
                            const txd_slice *slice, const txd_pooling *pooling)
{
    const size_t *cells = pooling->cells, *tokens = pooling->tokens;
    size_t cell[2];

    TXD_TRY(txd_peak_of_rows(&map->peak, claim, slice));
    if (map->peak.row >= tokens[0] || map->peak.column >= tokens[1] ||
        (tokens[0] <= cells[0] && tokens[1] <= cells[1]))
        return TXD_OK;
    cell[0] = txd_pooled_cell(map->peak.row, cells[0], tokens[0]);
    cell[1] = txd_pooled_cell(map->peak.column, cells[1], tokens[1]);
    return txd_map_note_peak(map, cell);
}

static txd_status fill(txd_map *map, const txd_slice *slice, const txd_claim *claim,
                       const txd_figure_request *request)
{
    const size_t lengths[2] = {txd_axis_filled(claim, slice, slice->row_axis),
                               txd_axis_filled(claim, slice, slice->column_axis)};
    txd_pooling pooling = {{0, 0}, {0, 0}};
    txd_figure_request zoomed = *request;
    bool pooled = is_pooled(slice);
    const txd_blank nothing = {.mask = NULL};
    const char *hidden_by = NULL;
    char line[200];

    map->by_size = !pooled;
    map->square = pooled;
    TXD_TRY(set_title(map, slice));
    if (pooled) {
        pooling = txd_pooling_of(claim, slice->site, &slice->info);
        TXD_TRY(txd_pooled_zoom(&zoomed, &pooling, slice));
    }
    TXD_TRY(txd_map_select(map, slice, &zoomed, lengths));
    TXD_TRY(txd_map_label(map, claim, slice));
    if (pooled)
        TXD_TRY(fill_pooled(map, slice, claim, &pooling, &hidden_by));
    else
        TXD_TRY(txd_map_fill(map, slice, &nothing));
    TXD_TRY(txd_map_scale(map, request->scale, pooled));
    snprintf(line, sizeof line, "step %zu, batch %zu", slice->step, slice->batch);
    if (pooling.tokens[0] > pooling.cells[0] || pooling.tokens[1] > pooling.cells[1])
        snprintf(line, sizeof line,
                 "step %zu, batch %zu; %zu x %zu weights in %zu x %zu cells, the probe "
                 "pooled kept the %s of each",
                 slice->step, slice->batch, pooling.tokens[0], pooling.tokens[1],
                 pooling.cells[0], pooling.cells[1],
                 txd_ends_in(slice->site, "/mean") ? "mean" : "largest");
    TXD_TRY(txd_map_note_scale(map, line));
    TXD_TRY(txd_map_note_recording(map, slice->recording));
    if (pooled)
        TXD_TRY(note_peak(map, claim, slice, &pooling));
    return txd_map_note_marks(map, hidden_by);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_slice slice;
    txd_claim claim;
    txd_status status;

    TXD_TRY(txd_slice_find(&slice, recording, request));
    TXD_TRY(txd_recorded_slice(&slice));
    status = txd_claim_init(&claim, recording, slice.step);
    if (status == TXD_OK)
        status = fill(&map, &slice, &claim, request);
    txd_claim_finish(&claim);
    return status == TXD_OK ? txd_map_draw(out, &map) : status;
}

const txd_figure txd_figure_matrix = {
    .name = "matrix",
    .sentence = "two axes of any other recorded value, such as positions by channels",
    .usage = "txdiag plot REC.h5 layers.0.resid.post -o FILE",
    .draw = draw,
};
