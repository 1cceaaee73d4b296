/* SPDX-License-Identifier: MIT
 *
 * Figure: what heads are known for, by layer and head: how much of its weight a query
 * gives to the first key (a sink), to its own key and to the one before.
 */
#include "viz/figures/figures.h"
#include "viz/figures/head_blocks.h"

enum { LINES = 4 };

static txd_status describe(txd_map *map, const txd_heads *heads)
{
    txd_text text;
    txd_status status;

    map->title = "Weight on the first, the own and the previous key";
    txd_text_init(&text);
    txd_heads_words(&text, heads);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note_scale(map, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_map_note_recording(map, heads->claim->recording)
                            : status;
}

static txd_status note_at_least(txd_map *map)
{
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        "previous, at least: weights were not recorded in full (probe "
                        "\"full\"), so that it counts only where it is the largest of "
                        "its row");
}

/* Lines of the self-attention: exact where weights are there in full. */
static txd_status add_self(txd_head_line *lines, size_t *count, txd_heads *heads,
                           txd_arena *arena, bool *at_least)
{
    const char *const titles[] = {"first key", "own key", "previous key"};
    const unsigned wanted =
        1u << TXD_MEASURE_SINK | 1u << TXD_MEASURE_OWN | 1u << TXD_MEASURE_PREVIOUS;
    txd_head_sum **sums;

    for (size_t i = 0; i < heads->layer_count; i++)
        *at_least |= txd_heads_at_least(heads, heads->layers[i]);
    TXD_TRY(txd_head_sums(&sums, heads, wanted, arena));
    for (int i = 0; i < 3; i++)
        lines[(*count)++] = (txd_head_line){
            .title = i == 2 && *at_least ? "previous, at least" : titles[i],
            .heads = heads,
            .measure = (txd_measure)(TXD_MEASURE_SINK + i),
            .sums = sums};
    return TXD_OK;
}

static txd_status add_cross(txd_head_line *lines, size_t *count, txd_heads *heads,
                            txd_arena *arena)
{
    txd_head_line *line = &lines[(*count)++];

    *line = (txd_head_line){
        .title = "first memory row", .heads = heads, .measure = TXD_MEASURE_SINK};
    return txd_head_sums(&line->sums, heads, 1u << TXD_MEASURE_SINK, arena);
}

static txd_status draw_claimed(txd_drawing *out, const txd_claim *claim,
                               const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_head_line lines[LINES];
    txd_heads self, cross;
    bool at_least = false;
    size_t count = 0;
    txd_status status = txd_heads_open(&self, claim, TXD_ATTENTION_SELF, request);

    if (status != TXD_OK && status != TXD_ERR_MISSING)
        return status;
    if (status == TXD_OK)
        TXD_TRY(add_self(lines, &count, &self, out->arena, &at_least));
    status = txd_heads_open(&cross, claim, TXD_ATTENTION_CROSS, request);
    if (status == TXD_OK)
        TXD_TRY(add_cross(lines, &count, &cross, out->arena));
    else if (status != TXD_ERR_MISSING || count == 0)
        return status;
    if (at_least)
        TXD_TRY(note_at_least(&map));
    TXD_TRY(txd_head_blocks(&map, lines, count, false, request));
    TXD_TRY(describe(&map, lines[0].heads));
    return txd_map_draw(out, &map);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_draw_claimed(out, recording, request, draw_claimed);
}

const txd_figure txd_figure_profiles = {
    .name = "profiles",
    .heading = "Sinks, own and previous tokens",
    .laws = "sink_heads",
    .sentence = "weight on the first, the own and the previous key, by layer and head",
    .usage = "txdiag plot REC.h5 profiles -o FILE",
    .choices = "step layer batch scale",
    .draw = draw,
};
