/* SPDX-License-Identifier: MIT
 *
 * The maps of one attention as the page has them: planned, read, and written; again
 * with larger cells if leaks, which come on top, take more than was planned.
 */
#include <stdio.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/report/explorer.h"
#include "viz/report/html.h"

#define VALUES 6e8 /* read from recordings at most */

enum { TRIES = 12 };

/* The number of a mask; the last ones are looked at first. */
static txd_status number_mask(size_t *out, txd_explorer *e, const txd_text *mask)
{
    for (size_t i = e->mask_count; i-- > 0;) {
        const txd_text *known = &e->mask_list[i];

        if (known->length != mask->length ||
            memcmp(known->data, mask->data, mask->length) != 0)
            continue;
        *out = e->masks_before + i;
        return TXD_OK;
    }
    if (e->mask_count == e->mask_room) {
        size_t room = e->mask_room ? 2 * e->mask_room : 8;
        txd_text *list = txd_arena_alloc(e->arena, room, sizeof *list);

        if (!list)
            return TXD_ERR_MEMORY;
        if (e->mask_count)
            memcpy(list, e->mask_list, e->mask_count * sizeof *list);
        e->mask_list = list;
        e->mask_room = room;
    }
    txd_text_init(&e->mask_list[e->mask_count]);
    txd_text_add_bytes(&e->mask_list[e->mask_count], mask->data, mask->length);
    *out = e->masks_before + e->mask_count++;
    return txd_text_status(&e->mask_list[e->mask_count - 1]);
}

static void forget_masks(txd_explorer *e)
{
    for (size_t i = 0; i < e->mask_count; i++)
        txd_text_finish(&e->mask_list[i]);
    e->mask_count = 0;
}

typedef struct holding {
    txd_held held;
    txd_text maps, seen, frames;
    double bytes; /* of maps and masks so far */
} holding;

static size_t filled(size_t length, size_t recorded)
{
    return length && length < recorded ? length : recorded;
}

/* What a step filled of a map. */
static void measure(txd_held_frame *frame, const txd_held *held, const txd_claim *claim)
{
    const size_t dims[2] = {held->rows, held->columns};
    txd_trace_info info = {.rank = 2};
    txd_pooling pooling;

    memcpy(info.dims, dims, sizeof dims);
    if (held->pooled) {
        pooling = txd_pooling_of(claim, txd_pooled_site(held->kind), &info);
        frame->rows = pooling.cells[0];
        frame->columns = pooling.cells[1];
        frame->queries = pooling.tokens[0] ? pooling.tokens[0] : frame->rows;
        frame->keys = pooling.tokens[1] ? pooling.tokens[1] : frame->columns;
        return;
    }
    frame->rows = frame->queries = filled(claim->length_q, held->rows);
    frame->columns = frame->keys = filled(
        held->kind == TXD_ATTENTION_CROSS ? claim->length_memory : claim->length_k,
        held->columns);
}

/* NULL = there is none. */
static void add_map(holding *h, const txd_text *bytes, size_t mask)
{
    txd_explorer_comma(&h->maps);
    txd_text_add(&h->maps, bytes ? "\"" : "null");
    if (bytes) {
        txd_html_base64(&h->maps, bytes->data, bytes->length);
        txd_text_add(&h->maps, "\"");
    }
    txd_explorer_comma(&h->seen);
    txd_text_addf(&h->seen, "%zu", mask);
}

static txd_status add_maps(txd_explorer *e, holding *h, const txd_claim *claim,
                           size_t recording, const txd_held_frame *frame, double most)
{
    const txd_held *held = &h->held;
    txd_held_map map;
    txd_status status = TXD_OK;

    txd_text_init(&map.bytes);
    txd_text_init(&map.mask);
    for (size_t i = 0; i < held->layer_count * held->heads && status == TXD_OK; i++) {
        size_t masks = e->mask_count, mask = 0;

        status = txd_held_fill(&map, held, claim, recording, frame,
                               held->layers[i / held->heads], i % held->heads);
        if (status == TXD_ERR_CONFIG) { /* not selected by `record` */
            status = TXD_OK;
            add_map(h, NULL, 0);
            continue;
        }
        if (status == TXD_OK)
            status = number_mask(&mask, e, &map.mask);
        if (status != TXD_OK)
            break;
        h->bytes += (double)map.bytes.length + TXD_HELD_FRAME;
        if (e->mask_count != masks)
            h->bytes += (double)map.mask.length;
        add_map(h, &map.bytes, mask);
        if (h->bytes > most)
            status = TXD_ERR_LIMIT;
    }
    txd_text_finish(&map.bytes);
    txd_text_finish(&map.mask);
    return status;
}

static void add_frame(txd_explorer *e, holding *h, const txd_claim *claim,
                      const txd_held_frame *frame, int64_t number)
{
    txd_text *out = &h->frames;

    txd_explorer_comma(out);
    txd_text_addf(out, "{\"step\":%zu,\"name\":\"%lld\",\"batch\":%zu,", frame->step,
                  (long long)number, frame->batch);
    txd_text_addf(out, "\"rows\":%zu,\"columns\":%zu,\"queries\":%zu,\"keys\":%zu,",
                  frame->rows, frame->columns, frame->queries, frame->keys);
    txd_text_addf(
        out, "\"tokens\":%ld,",
        txd_explorer_tokens(e, claim, frame->batch, claim->inputs.length, false));
    txd_text_addf(out, "\"memory\":%ld}",
                  h->held.kind == TXD_ATTENTION_CROSS
                      ? txd_explorer_tokens(e, claim, frame->batch,
                                            claim->inputs.memory_length, true)
                      : -1);
}

static txd_status add_frames(txd_explorer *e, holding *h, size_t recording, double most)
{
    const txd_held *held = &h->held;
    txd_claim claim = {.arena = NULL};
    txd_status status = TXD_OK;
    int64_t *numbers;

    TXD_TRY(txd_step_numbers(&numbers, e->arena, held->recordings[0],
                             held->frames[held->frame_count - 1].step + 1));
    for (size_t i = 0; i < held->frame_count && status == TXD_OK; i++) {
        txd_held_frame *frame = &held->frames[i];

        if (i == 0 || frame->step != frame[-1].step) {
            txd_claim_finish(&claim);
            status = txd_claim_init(&claim, held->recordings[recording], frame->step);
        }
        if (status != TXD_OK)
            break;
        if (recording == 0) {
            measure(frame, held, &claim);
            add_frame(e, h, &claim, frame, numbers[frame->step]);
        }
        status = add_maps(e, h, &claim, recording, frame, most);
    }
    txd_claim_finish(&claim);
    return status;
}

static void add_note(txd_text *out, const char *words)
{
    txd_explorer_comma(out);
    txd_explorer_string(out, words);
}

/* What is not held, and how exact it is. */
static void add_notes(txd_text *out, const txd_held *held)
{
    char words[240];

    if (held->steps_held < held->steps_recorded || held->batches_held < held->batches) {
        snprintf(words, sizeof words,
                 "This page holds %zu of %zu steps and %zu of %zu batch rows, which "
                 "keeps it small.",
                 held->steps_held, held->steps_recorded, held->batches_held,
                 held->batches);
        add_note(out, words);
    }
    if (held->layer_count < held->layers_recorded) {
        snprintf(words, sizeof words, "It holds %zu of %zu layers, evenly chosen.",
                 held->layer_count, held->layers_recorded);
        add_note(out, words);
    }
    if (held->pooled)
        add_note(out, "Weights as the probe pooled recorded them, in cells.");
    if (held->side > 1) {
        snprintf(words, sizeof words,
                 "%zu x %zu %s share a cell, to keep the page small; one head in full: "
                 "txdiag plot.",
                 held->side, held->side, held->pooled ? "of these" : "weights");
        add_note(out, words);
    }
    if (held->width == 2)
        add_note(out, "Numbers have three digits.");
}

static void write_kind(txd_explorer *e, const holding *h)
{
    const txd_held *held = &h->held;
    bool cross = held->kind == TXD_ATTENTION_CROSS;
    txd_text *out = &e->kinds, notes;

    txd_explorer_comma(out);
    txd_text_addf(out,
                  "{\"name\":\"%s\",\"title\":\"%s\",\"row\":\"query\",\"column\":"
                  "\"%s\",\"memory\":%s,\"layers\":[",
                  cross ? "cross" : "attn",
                  cross ? "cross-attention" : "self-attention",
                  cross ? "memory row" : "key", cross ? "true" : "false");
    for (size_t i = 0; i < held->layer_count; i++)
        txd_text_addf(out, "%s%d", i ? "," : "", held->layers[i]);
    txd_text_addf(out,
                  "],\"heads\":%zu,\"rows\":%zu,\"columns\":%zu,\"side\":%zu,"
                  "\"width\":%zu,\"mean\":%s,\"notes\":[",
                  held->heads, held->rows, held->columns, held->side, held->width,
                  held->mean ? "true" : "false");
    txd_text_init(&notes);
    add_notes(&notes, held);
    txd_text_add(out, txd_text_get(&notes));
    txd_text_finish(&notes);
    txd_text_addf(out, "],\"frames\":[%s],\"masks\":[%s],\"maps\":[",
                  txd_text_get(&h->frames), txd_text_get(&h->seen));
    txd_text_add_bytes(out, txd_text_get(&h->maps), h->maps.length);
    txd_text_add(out, "]}");
}

static void finish_holding(holding *h)
{
    txd_text_finish(&h->maps);
    txd_text_finish(&h->seen);
    txd_text_finish(&h->frames);
}

/* One try; ERR_LIMIT if it takes more than `most`. */
static txd_status try_kind(txd_explorer *e, holding *h, const txd_held_budget *budget,
                           const txd_finding_row *finding)
{
    size_t recordings = h->held.recording_count;

    TXD_TRY(txd_held_plan(&h->held, e->arena, budget, finding ? finding->step : -1,
                          finding ? finding->batch : -1));
    for (size_t i = 0; i < recordings; i++)
        TXD_TRY(add_frames(e, h, i, budget->bytes));
    return TXD_OK;
}

static void write_masks(txd_explorer *e)
{
    for (size_t i = 0; i < e->mask_count; i++) {
        txd_explorer_comma(&e->masks);
        txd_text_add(&e->masks, "\"");
        txd_html_base64(&e->masks, e->mask_list[i].data, e->mask_list[i].length);
        txd_text_add(&e->masks, "\"");
    }
    e->masks_before += e->mask_count;
}

static const txd_finding_row *first_finding(const txd_verdicts *verdicts,
                                            txd_attention_kind kind)
{
    const char *const parts[] = {".attn.", ".cross."};

    for (size_t i = 0; i < verdicts->finding_count; i++)
        if (strstr(verdicts->findings[i].site, parts[kind]))
            return &verdicts->findings[i];
    return NULL;
}

/* *bytes = what it took; 0 if there is nothing to hold, or nothing fits. */
txd_status txd_explorer_kind(txd_explorer *e, txd_attention_kind kind, double most,
                             double *bytes)
{
    const txd_report *report = e->report;
    const txd_finding_row *finding = first_finding(&report->verdicts, kind);
    txd_held_budget budget = {.bytes = most, .values = VALUES, .excess = 1};
    txd_status status = TXD_ERR_LIMIT;
    holding h;

    *bytes = 0;
    for (int i = 0; i < TRIES && status == TXD_ERR_LIMIT; i++, budget.excess *= 1.6) {
        size_t tokens = e->tokens.length, lists = e->token_lists;

        h = (holding){.held = {.kind = kind,
                               .recordings = {report->recording, report->other},
                               .recording_count = report->other ? 2 : 1}};
        status = try_kind(e, &h, &budget, finding);
        if (status == TXD_OK && h.bytes > 0)
            write_kind(e, &h);
        if (status == TXD_OK)
            write_masks(e);
        else if (e->tokens.length != tokens)
            e->tokens.data[e->tokens.length = tokens] = '\0', e->token_lists = lists;
        *bytes = status == TXD_OK ? h.bytes : 0;
        forget_masks(e);
        finish_holding(&h);
    }
    if (status == TXD_ERR_MEMORY || status == TXD_ERR_INTERRUPTED)
        return status;
    return TXD_OK; /* what cannot be read, or is too large, the still pictures tell */
}
