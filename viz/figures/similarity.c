/* SPDX-License-Identifier: MIT
 *
 * Figure: which heads attend alike, within layers and across them: all heads against
 * all. Below the diagonal the mean over queries, above it how little it can be.
 */
#include <math.h>
#include <stdio.h>

#include "viz/draw/blocks.h"
#include "viz/figures/figures.h"
#include "viz/figures/head_blocks.h"
#include "viz/read/likeness.h"

/* As for the law heads_distinct: what two heads then have in common is no accident. */
#define ALIKE (1 - 1e-4)

/* The heads of one attention against each other. */
typedef struct part {
    txd_weights weights;
    txd_likeness like;
    size_t first; /* its first strip of rows; its columns begin with strip 0 */
} part;

/* Pairs that cannot be told apart, and rows that are no numbers. */
typedef struct marked {
    size_t alike, bad;
    int layers[2], bad_layer;
    size_t heads[2], bad_head;
} marked;

/* Within one layer heads have numbers of their own. */
static txd_status number_heads(txd_blocks *blocks, const part *from)
{
    size_t heads = from->weights.heads;
    int *numbers = txd_arena_alloc(blocks->map->arena, heads, sizeof *numbers);

    if (!numbers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < heads; i++)
        numbers[i] = (int)i;
    blocks->rows[from->first].numbers = numbers;
    blocks->columns[0].numbers = numbers;
    blocks->map->rows.title = blocks->map->columns.title = "head";
    return TXD_OK;
}

static txd_status lay(txd_blocks *blocks, const part *parts, size_t count)
{
    static const char *const titles[] = {"self-attention", "cross-attention"};
    txd_arena *arena = blocks->map->arena;
    size_t rows = 0, columns = 0;
    const char **over;

    for (size_t i = 0; i < count; i++) {
        size_t layers = parts[i].weights.layer_count;

        rows += layers;
        columns = layers > columns ? layers : columns;
    }
    blocks->rows = txd_arena_alloc(arena, rows, sizeof *blocks->rows);
    blocks->columns = txd_arena_alloc(arena, columns, sizeof *blocks->columns);
    over = txd_arena_alloc(arena, rows * columns, sizeof *over);
    if (!blocks->rows || !blocks->columns || !over)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const txd_weights *weights = &parts[i].weights;

        for (size_t layer = 0; layer < weights->layer_count; layer++) {
            blocks->rows[parts[i].first + layer] =
                (txd_strip){.cells = weights->heads,
                            .number = weights->layers[layer],
                            .joined = layer != 0};
            blocks->columns[layer] = blocks->rows[parts[i].first + layer];
        }
        over[parts[i].first * columns] = titles[weights->kind];
        if (columns == 1)
            TXD_TRY(number_heads(blocks, &parts[i]));
    }
    blocks->titles = count > 1 ? over : NULL;
    blocks->row_count = rows;
    blocks->column_count = columns;
    return txd_blocks_lay(blocks);
}

static void mark_pair(marked *out, const part *from, size_t i, size_t j)
{
    size_t heads = from->weights.heads;

    if (out->alike++ != 0)
        return;
    out->layers[0] = from->weights.layers[j / heads];
    out->layers[1] = from->weights.layers[i / heads];
    out->heads[0] = j % heads;
    out->heads[1] = i % heads;
}

static void mark_bad(marked *out, const part *from, size_t i)
{
    size_t heads = from->weights.heads;

    if (!from->like.bad[i] || out->bad++ != 0)
        return;
    out->bad_layer = from->weights.layers[i / heads];
    out->bad_head = i % heads;
}

static void fill(const txd_blocks *blocks, const part *from, marked *out)
{
    const txd_likeness *like = &from->like;
    size_t heads = from->weights.heads;

    for (size_t i = 0; i < like->count; i++) {
        for (size_t j = 0; j < like->count; j++) {
            size_t cell = i * like->count + j;
            size_t at = txd_blocks_at(blocks, from->first + i / heads, j / heads,
                                      i % heads, j % heads);

            blocks->map->cells[at] = i > j ? like->mean[cell] : like->low[cell];
            if (like->low[cell] >= ALIKE) {
                blocks->map->flags[at] |= TXD_FLAG_LEAK;
                blocks->map->leaks.total++;
                if (i > j)
                    mark_pair(out, from, i, j);
            }
            if (i == j && like->bad[i])
                blocks->map->flags[at] |= TXD_FLAG_NONFINITE;
        }
        mark_bad(out, from, i);
    }
    blocks->map->nonfinite.total = out->bad;
}

static txd_status note_marked(txd_map *map, const marked *from)
{
    char text[300];

    if (from->alike != 0) {
        snprintf(text, sizeof text,
                 "Marked in this colour: %zu pair%s of heads with the same weights; "
                 "first layer %d, head %zu and layer %d, head %zu",
                 from->alike, from->alike == 1 ? "" : "s", from->layers[0],
                 from->heads[0], from->layers[1], from->heads[1]);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_LEAK, text));
    }
    if (from->bad != 0) {
        snprintf(text, sizeof text,
                 "Marked in this colour: %zu head%s of which rows with NaN or infinite "
                 "weights are left out; first in layer %d, head %zu",
                 from->bad, from->bad == 1 ? "" : "s", from->bad_layer, from->bad_head);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_NONFINITE, text));
    }
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        "Blank: a head with itself, or not recorded");
}

static txd_status describe(txd_map *map, const part *from,
                           const txd_figure_request *request)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_text_add(&text, "Which heads attend alike");
    if (from->weights.layer_count == 1)
        txd_text_addf(&text, ": layer %d", from->weights.layers[0]);
    map->title = txd_arena_string(map->arena, txd_text_get(&text));
    txd_text_finish(&text);
    if (!map->title)
        return TXD_ERR_MEMORY;
    txd_text_addf(
        &text,
        "The weight that two heads put on the same keys (sum of the smaller of "
        "both): 1 is the same weights, 0 no key in common. Below the diagonal "
        "the mean over %zu of %zu queries that see two keys or more, above it "
        "what a tenth of them lie at or below. Heads in order, layers apart; "
        "step %zu, ",
        from->like.queries, from->like.of, from->weights.step);
    if (request->batch < 0)
        txd_text_add(&text, "all batch rows");
    else
        txd_text_addf(&text, "batch %d", request->batch);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note_scale(map, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK
               ? txd_map_note_recording(map, from->weights.claim->recording)
               : status;
}

static txd_status draw_parts(txd_drawing *out, part *parts, size_t count,
                             const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena, .loud = "alike"};
    txd_blocks blocks = {.map = &map};
    marked all = {.alike = 0};
    bool is_log = request->scale == TXD_SCALE_LOG;

    if (count == 1 && parts[0].like.count == 1)
        return txd_fail(TXD_ERR_MISSING, "one head alone has none to be compared with");
    map.rows.title = map.columns.title = "layer";
    TXD_TRY(lay(&blocks, parts, count));
    for (size_t i = 0; i < count; i++)
        fill(&blocks, &parts[i], &all);
    TXD_TRY(note_marked(&map, &all));
    TXD_TRY(txd_map_scale(&map, is_log ? TXD_SCALE_LOG : TXD_SCALE_LINEAR, true));
    if (!map.logarithmic)
        map.high = fmax(map.high, 1);
    TXD_TRY(describe(&map, &parts[0], request));
    return txd_map_draw(out, &map);
}

static txd_status draw_claimed(txd_drawing *out, const txd_claim *claim,
                               const txd_figure_request *request)
{
    part parts[2] = {{.first = 0}};
    size_t count = 0, first = 0;
    txd_status status = TXD_OK;

    for (int kind = 0; kind < 2; kind++) {
        part *one = &parts[count];

        if (count != 0 &&
            !txd_weights_recorded(claim->recording, (txd_attention_kind)kind))
            break;
        status =
            txd_weights_open(&one->weights, claim, (txd_attention_kind)kind, request);
        if (status == TXD_ERR_MISSING && kind == 0 &&
            txd_weights_recorded(claim->recording, TXD_ATTENTION_CROSS))
            continue;
        TXD_TRY(status);
        TXD_TRY(txd_likeness_read(&one->like, &one->weights, out->arena));
        one->first = first;
        first += one->weights.layer_count;
        count++;
    }
    return draw_parts(out, parts, count, request);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_draw_claimed(out, recording, request, draw_claimed);
}

const txd_figure txd_figure_similarity = {
    .name = "similarity",
    .heading = "Heads that attend alike",
    .laws = "heads_distinct",
    .sentence = "all heads against all: the weight that they put on the same keys",
    .usage = "txdiag plot REC.h5 similarity -o FILE",
    .choices = "step layer batch scale",
    .draw = draw,
};
