/* SPDX-License-Identifier: MIT
 *
 * Figure: how many keys heads look at, by layer and head: the entropy of a query's
 * weights as a share of what it could be, log(keys seen). 0 is one key, 1 all alike.
 */
#include "viz/figures/figures.h"
#include "viz/figures/head_blocks.h"

#include <string.h>

static txd_status describe(txd_map *map, const txd_heads *heads)
{
    txd_text text;
    txd_status status;

    map->title = "Entropy of attention by layer and head";
    txd_text_init(&text);
    txd_text_add(&text,
                 "Entropy of a query's weights over the logarithm of the keys it "
                 "sees: 0 is one key alone, 1 is all alike. ");
    txd_heads_words(&text, heads);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_map_note_scale(map, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_map_note_recording(map, heads->claim->recording)
                            : status;
}

static txd_status add_line(txd_head_line *out, txd_heads *heads, const txd_claim *claim,
                           txd_attention_kind kind, const txd_figure_request *request,
                           txd_arena *arena)
{
    static const char *const titles[] = {"self-attention", "cross-attention"};

    TXD_TRY(txd_heads_open(heads, claim, kind, request));
    *out = (txd_head_line){
        .title = titles[kind], .heads = heads, .measure = TXD_MEASURE_ENTROPY};
    return txd_head_sums(&out->sums, heads, 1u << TXD_MEASURE_ENTROPY, arena);
}

static txd_status draw_claimed(txd_drawing *out, const txd_claim *claim,
                               const txd_figure_request *request)
{
    txd_map map = {.arena = out->arena};
    txd_head_line lines[2];
    txd_heads heads[2];
    size_t count = 0;
    txd_status status = TXD_OK;

    for (int kind = 0; kind < 2; kind++) {
        status = add_line(&lines[count], &heads[count], claim, (txd_attention_kind)kind,
                          request, out->arena);
        if (status == TXD_OK)
            count++;
        else if (status != TXD_ERR_MISSING)
            return status;
    }
    if (count == 0)
        return status;
    TXD_TRY(txd_head_blocks(&map, lines, count, true, request));
    TXD_TRY(describe(&map, &heads[0]));
    return txd_map_draw(out, &map);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_draw_claimed(out, recording, request, draw_claimed);
}

const txd_figure txd_figure_entropy = {
    .name = "entropy",
    .heading = "Entropy of attention",
    .laws = "attention_collapse",
    .sentence = "how many keys heads look at: entropy by layer and head, with spread",
    .usage = "txdiag plot REC.h5 entropy -o FILE",
    .choices = "step layer batch scale",
    .draw = draw,
};
