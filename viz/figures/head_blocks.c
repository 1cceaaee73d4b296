/* SPDX-License-Identifier: MIT
 *
 * Means over queries beside their spread: a head that does one thing always and one
 * that does two things in turns have the same mean.
 */
#include "viz/figures/head_blocks.h"

#include <math.h>
#include <stdio.h>

#include "viz/figures/figures.h"

#define BLACK 0.05 /* on a scale to 1 */

txd_status txd_head_sums(txd_head_sum ***out, const txd_heads *heads, unsigned wanted,
                         txd_arena *arena)
{
    txd_arena *scratch;
    txd_status status = TXD_OK;

    *out = txd_arena_alloc(arena, heads->layer_count, sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_arena_create(&scratch));
    for (size_t i = 0; status == TXD_OK && i < heads->layer_count; i++) {
        txd_arena_reset(scratch);
        status =
            txd_heads_sum(&(*out)[i], heads, heads->layers[i], wanted, arena, scratch);
    }
    txd_arena_destroy(scratch);
    return status;
}

void txd_heads_words(txd_text *out, const txd_heads *heads)
{
    const txd_figure_request *request = &heads->request;

    txd_text_addf(
        out,
        "Mean over the queries that see two keys or more, and its spread: a "
        "tenth of them lie at or below the low tenth, a tenth at or above the "
        "high one; step %d, ",
        request->step < 0 ? 0 : request->step);
    if (request->batch < 0)
        txd_text_add(out, "all batch rows");
    else
        txd_text_addf(out, "batch %d", request->batch);
    if (!heads->by_rows && heads->whole.every > 1)
        txd_text_addf(out, ", one of %zu blocks of queries", heads->whole.every);
}

static const txd_head_sum *sum_of(const txd_head_line *line, size_t layer, size_t head)
{
    return &line->sums[layer][line->measure * line->heads->heads + head];
}

static txd_status title_all(const char ***out, txd_arena *arena,
                            const txd_head_line *lines, size_t count)
{
    static const char *const parts[TXD_HEAD_BLOCKS] = {"mean", "low tenth",
                                                       "high tenth"};
    const char **titles =
        txd_arena_alloc(arena, count * TXD_HEAD_BLOCKS, sizeof *titles);
    char text[80];

    if (!titles)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count * TXD_HEAD_BLOCKS; i++) {
        snprintf(text, sizeof text, "%s%s%s",
                 count > 1 ? lines[i / TXD_HEAD_BLOCKS].title : "",
                 count > 1 ? ": " : "", parts[i % TXD_HEAD_BLOCKS]);
        titles[i] = txd_arena_string(arena, text);
        if (!titles[i])
            return TXD_ERR_MEMORY;
    }
    *out = titles;
    return TXD_OK;
}

static size_t most_heads(const txd_head_line *lines, size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        if (lines[i].heads->heads > most)
            most = lines[i].heads->heads;
    return most;
}

static txd_status lay(txd_blocks *blocks, const txd_head_line *lines, size_t count)
{
    txd_arena *arena = blocks->map->arena;
    size_t heads = most_heads(lines, count);
    int *numbers = txd_arena_alloc(arena, heads, sizeof *numbers);
    const char **titles;

    blocks->rows = txd_arena_alloc(arena, count, sizeof *blocks->rows);
    blocks->columns = txd_arena_alloc(arena, TXD_HEAD_BLOCKS, sizeof *blocks->columns);
    if (!numbers || !blocks->rows || !blocks->columns)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < heads; i++)
        numbers[i] = (int)i;
    for (size_t i = 0; i < count; i++)
        blocks->rows[i] = (txd_strip){.cells = lines[i].heads->layer_count,
                                      .numbers = lines[i].heads->layers};
    for (size_t i = 0; i < TXD_HEAD_BLOCKS; i++)
        blocks->columns[i] = (txd_strip){.cells = heads, .numbers = numbers};
    TXD_TRY(title_all(&titles, arena, lines, count));
    blocks->titles = titles;
    blocks->row_count = count;
    blocks->column_count = TXD_HEAD_BLOCKS;
    return txd_blocks_lay(blocks);
}

/* What the words under the map are about. */
typedef struct extremes {
    const txd_head_sum *low, *high;
    size_t low_layer, low_head, high_layer, high_head, blank, nonfinite, cells;
    int bad_layer;
    size_t bad_head;
} extremes;

static void note_cell(extremes *seen, const txd_head_line *line, size_t layer,
                      size_t head)
{
    const txd_head_sum *sum = sum_of(line, layer, head);

    if (sum->nonfinite != 0 && seen->nonfinite++ == 0) {
        seen->bad_layer = line->heads->layers[layer];
        seen->bad_head = head;
    }
    seen->cells++;
    seen->blank += sum->queries == 0 && sum->nonfinite == 0;
    if (sum->queries == 0)
        return;
    if (!seen->low || sum->mean < seen->low->mean) {
        seen->low = sum;
        seen->low_layer = (size_t)line->heads->layers[layer];
        seen->low_head = head;
    }
    if (!seen->high || sum->mean > seen->high->mean) {
        seen->high = sum;
        seen->high_layer = (size_t)line->heads->layers[layer];
        seen->high_head = head;
    }
}

static void fill_line(const txd_blocks *blocks, size_t row, const txd_head_line *line,
                      extremes *seen)
{
    txd_map *map = blocks->map;

    for (size_t layer = 0; layer < line->heads->layer_count; layer++)
        for (size_t head = 0; head < line->heads->heads; head++) {
            const txd_head_sum *sum = sum_of(line, layer, head);
            const double values[TXD_HEAD_BLOCKS] = {sum->mean, sum->low, sum->high};

            for (size_t i = 0; i < TXD_HEAD_BLOCKS; i++)
                map->cells[txd_blocks_at(blocks, row, i, layer, head)] = values[i];
            if (sum->nonfinite != 0)
                map->flags[txd_blocks_at(blocks, row, 0, layer, head)] |=
                    TXD_FLAG_NONFINITE;
            note_cell(seen, line, layer, head);
        }
}

static txd_status note_extremes(txd_map *map, const txd_head_line *line,
                                const extremes *seen)
{
    char text[240];

    if (!seen->low)
        return TXD_OK;
    snprintf(text, sizeof text,
             "%s: lowest mean %.3g in layer %zu, head %zu (%.3g to %.3g); highest %.3g "
             "in layer %zu, head %zu (%.3g to %.3g)",
             line->title, seen->low->mean, seen->low_layer, seen->low_head,
             seen->low->low, seen->low->high, seen->high->mean, seen->high_layer,
             seen->high_head, seen->high->low, seen->high->high);
    return txd_map_note(map, false, TXD_COLOUR_INK, text);
}

static txd_status note_rest(txd_map *map, const extremes *all)
{
    char text[200];

    if (all->nonfinite != 0) {
        snprintf(text, sizeof text,
                 "Marked in this colour: %zu head%s of which rows with NaN or infinite "
                 "weights are left out; first in layer %d, head %zu",
                 all->nonfinite, all->nonfinite == 1 ? "" : "s", all->bad_layer,
                 all->bad_head);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_NONFINITE, text));
        map->nonfinite.total = all->nonfinite;
    }
    if (all->blank == 0)
        return TXD_OK;
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        "Blank: not recorded, or no query sees two keys");
}

txd_status txd_head_blocks(txd_map *map, const txd_head_line *lines, size_t count,
                           bool whole, const txd_figure_request *request)
{
    txd_blocks blocks = {.map = map};
    extremes all = {.low = NULL};
    double most = 0;

    map->rows.title = "layer";
    map->columns.title = "head";
    TXD_TRY(lay(&blocks, lines, count));
    for (size_t i = 0; i < count; i++) {
        extremes seen = {.low = NULL};

        fill_line(&blocks, i, &lines[i], &seen);
        TXD_TRY(note_extremes(map, &lines[i], &seen));
        if (seen.nonfinite && !all.nonfinite) {
            all.bad_layer = seen.bad_layer;
            all.bad_head = seen.bad_head;
        }
        all.nonfinite += seen.nonfinite;
        all.blank += seen.blank;
        all.cells += seen.cells;
        if (seen.high)
            most = fmax(most, seen.high->high);
    }
    if (all.blank == all.cells)
        return txd_fail(TXD_ERR_MISSING,
                        "of no head a query that sees two keys was recorded");
    TXD_TRY(note_rest(map, &all));
    TXD_TRY(txd_map_scale(
        map, request->scale == TXD_SCALE_LOG ? TXD_SCALE_LOG : TXD_SCALE_LINEAR, true));
    if (!map->logarithmic &&
        (whole || most >= BLACK || request->scale != TXD_SCALE_AUTO))
        map->high = fmax(most, 1);
    return TXD_OK;
}

txd_status txd_draw_claimed(txd_drawing *out, const txd_trace *recording,
                            const txd_figure_request *request,
                            txd_status (*draw)(txd_drawing *out, const txd_claim *claim,
                                               const txd_figure_request *request))
{
    size_t step = request->step < 0 ? 0 : (size_t)request->step;
    txd_claim claim;
    txd_status status = txd_claim_init(&claim, recording, step);

    if (status == TXD_OK)
        status = draw(out, &claim, request);
    txd_claim_finish(&claim);
    return status;
}
