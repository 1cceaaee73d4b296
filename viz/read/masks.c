/* SPDX-License-Identifier: MIT
 *
 * Layers whose masks are alike are found by what a mask reads of them, batch rows by
 * the data that masks read. Cells are counted by runs of keys, so that a long sequence
 * costs its rows and not its pairs, wherever the rule itself is known as runs.
 */
#include "viz/read/masks.h"

#include <stdio.h>
#include <string.h>

/* Attentions that have masks: of the decoder, of it over the memory, of the encoder. */
typedef struct source {
    const txd_claim *claim;
    txd_attention_kind kind;
    bool encoder;
} source;

static size_t queries_of(const source *from)
{
    return from->claim->inputs.length;
}

static size_t keys_of(const source *from)
{
    return from->kind == TXD_ATTENTION_CROSS ? from->claim->inputs.memory_length
                                             : from->claim->inputs.length;
}

static bool same_rule(const source *from, size_t a, size_t b)
{
    const txd_layer_config *layers = from->claim->config.layers;

    return from->kind == TXD_ATTENTION_CROSS || (layers[a].causal == layers[b].causal &&
                                                 layers[a].window == layers[b].window);
}

static bool same_row(const int32_t *values, size_t length, size_t a, size_t b)
{
    return memcmp(values + a * length, values + b * length, length * sizeof *values) ==
           0;
}

static bool same_data(const source *from, size_t a, size_t b)
{
    const txd_inputs *inputs = &from->claim->inputs;
    size_t length = inputs->length;

    if (from->kind == TXD_ATTENTION_CROSS)
        return same_row(inputs->memory_valid, inputs->memory_length, a, b);
    return same_row(inputs->valid, length, a, b) &&
           same_row(inputs->positions, length, a, b) &&
           same_row(inputs->document, length, a, b);
}

/* "layers 0-3, 5" of the `count` numbers that are alike with `first`. */
static const char *list_alike(txd_arena *arena, const source *from, const char *word,
                              size_t first, size_t count,
                              bool (*alike)(const source *, size_t, size_t))
{
    size_t parts = 0, members = 0;
    const char *list;
    txd_text text;

    txd_text_init(&text);
    for (size_t i = first; i < count; i++) {
        size_t begin = i;

        if (!alike(from, first, i))
            continue;
        while (i + 1 < count && alike(from, first, i + 1))
            i++;
        members += i - begin + 1;
        if (++parts > 6)
            continue;
        txd_text_addf(&text, "%s%zu", parts > 1 ? ", " : "", begin);
        if (i > begin)
            txd_text_addf(&text, "-%zu", i);
    }
    if (parts > 6)
        txd_text_addf(&text, " ... (%zu in all)", members);
    list = txd_text_get(&text);
    if (txd_text_status(&text) == TXD_OK) {
        size_t length = strlen(word) + strlen(list) + 3;
        char *whole = txd_arena_alloc(arena, length, 1);

        if (whole)
            snprintf(whole, length, "%s%s %s", word, members > 1 ? "s" : "", list);
        list = whole;
    } else {
        list = NULL;
    }
    txd_text_finish(&text);
    return list;
}

static txd_status choose(txd_span *out, const txd_range *range, size_t length,
                         const char *what)
{
    *out = (txd_span){0, length};
    if (range->count == 0)
        return TXD_OK;
    if (range->count > 1 || range->parts[0].every > 1)
        return txd_fail(TXD_ERR_CONFIG,
                        "--%s: a mask is drawn over one range without gaps, \"3:9\"",
                        what);
    out->begin = range->parts[0].begin;
    if (range->parts[0].end < length)
        out->end = range->parts[0].end;
    if (out->begin >= out->end)
        return txd_fail(TXD_ERR_CONFIG, "--%s: there are %zu, from 0 to %zu", what,
                        length, length - 1);
    return TXD_OK;
}

static txd_status describe(txd_mask *mask, txd_arena *arena)
{
    txd_status status;
    txd_text words;

    txd_text_init(&words);
    txd_claim_words(&words, mask->claim,
                    &(txd_claim_block){.kind = mask->kind,
                                       .layer = mask->layer,
                                       .batch = mask->batch});
    status = txd_text_status(&words);
    mask->rule = txd_arena_string(arena, txd_text_get(&words));
    txd_text_finish(&words);
    if (status != TXD_OK || !mask->rule || !mask->layers || !mask->rows)
        return TXD_ERR_MEMORY;
    return TXD_OK;
}

static txd_status add_mask(txd_masks *out, txd_arena *arena, const source *from,
                           size_t layer, size_t row, const txd_mask_request *request)
{
    const txd_claim *claim = from->claim;
    txd_mask *mask = &out->masks[out->count];

    if (out->count == TXD_MASKS_MOST) {
        out->more++;
        return TXD_OK;
    }
    *mask = (txd_mask){.claim = claim,
                       .kind = from->kind,
                       .encoder = from->encoder,
                       .layer = (int)layer,
                       .batch = row};
    mask->view = txd_mask_of_attention(from->kind, &claim->config.layers[layer],
                                       &claim->inputs, row);
    mask->layers = request->layer >= 0
                       ? list_alike(arena, from, "layer", layer, layer + 1, same_rule)
                       : list_alike(arena, from, "layer", layer, claim->config.n_layers,
                                    same_rule);
    mask->rows =
        request->batch >= 0
            ? list_alike(arena, from, "batch row", row, row + 1, same_data)
            : list_alike(arena, from, "batch row", row, claim->inputs.batch, same_data);
    TXD_TRY(choose(&mask->query, &request->query, queries_of(from), "query"));
    TXD_TRY(choose(&mask->key, &request->key, keys_of(from), "key"));
    TXD_TRY(describe(mask, arena));
    out->count++;
    return TXD_OK;
}

/* True if an earlier number, of those that are asked for, is alike. */
static bool is_shown(const source *from, size_t at, int chosen,
                     bool (*alike)(const source *, size_t, size_t))
{
    if (chosen >= 0)
        return at != (size_t)chosen;
    for (size_t i = 0; i < at; i++)
        if (alike(from, i, at))
            return true;
    return false;
}

static txd_status add_source(txd_masks *out, txd_arena *arena, const source *from,
                             const txd_mask_request *request)
{
    for (size_t layer = 0; layer < from->claim->config.n_layers; layer++) {
        if (is_shown(from, layer, request->layer, same_rule))
            continue;
        for (size_t row = 0; row < from->claim->inputs.batch; row++)
            if (!is_shown(from, row, request->batch, same_data))
                TXD_TRY(add_mask(out, arena, from, layer, row, request));
    }
    return TXD_OK;
}

static txd_status make_claim(const txd_claim **out, txd_arena *arena,
                             const txd_config *config, const txd_inputs *inputs)
{
    txd_claim *claim = txd_arena_alloc(arena, 1, sizeof *claim);

    if (!claim)
        return TXD_ERR_MEMORY;
    *claim = (txd_claim){.configured = true,
                         .config = *config,
                         .has_tokens = true,
                         .has_inputs = true,
                         .inputs = *inputs,
                         .pieces = inputs->pieces,
                         .memory_pieces = inputs->memory_pieces};
    *out = claim;
    return TXD_OK;
}

static txd_status check(const txd_mask_request *request, const txd_config *config,
                        const txd_inputs *inputs)
{
    if (request->layer >= 0 && (size_t)request->layer >= config->n_layers)
        return txd_fail(TXD_ERR_CONFIG, "--layer %d: there are %zu, from 0 to %zu",
                        request->layer, config->n_layers, config->n_layers - 1);
    if (request->batch >= 0 && (size_t)request->batch >= inputs->batch)
        return txd_fail(TXD_ERR_CONFIG, "--batch %d: there are %zu rows, from 0 to %zu",
                        request->batch, inputs->batch, inputs->batch - 1);
    return TXD_OK;
}

txd_status txd_masks_find(txd_masks *out, txd_arena *arena, const txd_config *config,
                          const txd_inputs *inputs, const txd_inputs *encoder_inputs,
                          const txd_mask_request *request)
{
    source from = {.kind = TXD_ATTENTION_SELF};

    *out = (txd_masks){.sinks = config->sinks};
    TXD_TRY(check(request, config, inputs));
    TXD_TRY(make_claim(&from.claim, arena, config, inputs));
    TXD_TRY(add_source(out, arena, &from, request));
    from.kind = TXD_ATTENTION_CROSS;
    if (config->cross)
        TXD_TRY(add_source(out, arena, &from, request));
    if (!encoder_inputs || request->layer >= 0)
        return TXD_OK;
    from = (source){.kind = TXD_ATTENTION_SELF, .encoder = true};
    TXD_TRY(make_claim(&from.claim, arena, config->encoder, encoder_inputs));
    return add_source(out, arena, &from, request);
}

/* Adds keys [from, to) of the drawn ones, all seen or hidden for one reason, to a row
 * of cells. */
static void add_run(txd_mask *mask, uint64_t *row, size_t from, size_t to,
                    txd_hidden reason)
{
    size_t keys = mask->key.end - mask->key.begin, columns = mask->cells[1];

    if (from < mask->key.begin)
        from = mask->key.begin;
    if (to > mask->key.end)
        to = mask->key.end;
    if (from >= to)
        return;
    mask->totals[reason] += to - from;
    from -= mask->key.begin;
    to -= mask->key.begin;
    for (size_t at = from; at < to;) {
        size_t column = at * columns / keys;
        size_t end = ((column + 1) * keys + columns - 1) / columns;

        end = end < to ? end : to;
        row[column * TXD_MASK_REASONS + reason] += end - at;
        at = end;
    }
}

static size_t within(int32_t at, size_t low, size_t high)
{
    size_t value = at < 0 ? 0 : (size_t)at;

    return value < low ? low : value > high ? high : value;
}

static void count_span(txd_mask *mask, uint64_t *row, int32_t begin, int32_t end,
                       const struct txd_hidden_sides *sides, size_t keys)
{
    size_t real = within(sides->real_begin, 0, keys);
    size_t last = within(sides->real_end, real, keys);
    size_t from = within(begin, real, last), to = within(end, from, last);

    add_run(mask, row, 0, real, TXD_HIDDEN_PADDING);
    add_run(mask, row, real, from, sides->before);
    add_run(mask, row, from, to, TXD_SEEN);
    add_run(mask, row, to, last, sides->after);
    add_run(mask, row, last, keys, TXD_HIDDEN_PADDING);
}

static void count_keys(txd_mask *mask, uint64_t *row, size_t query)
{
    size_t begin = mask->key.begin;

    while (begin < mask->key.end) {
        txd_hidden reason = txd_mask_hides(&mask->view, query, begin);
        size_t end = begin + 1;

        while (end < mask->key.end && txd_mask_hides(&mask->view, query, end) == reason)
            end++;
        add_run(mask, row, begin, end, reason);
        begin = end;
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

txd_status txd_mask_count(txd_mask *mask, txd_arena *arena, const size_t limit[2])
{
    const source from = {mask->claim, mask->kind, mask->encoder};
    const size_t shape[2] = {queries_of(&from), keys_of(&from)};
    size_t drawn = mask->query.end - mask->query.begin, stride;
    struct txd_hidden_sides sides;
    int32_t *begin = txd_arena_alloc(arena, shape[0], sizeof *begin);
    int32_t *end = txd_arena_alloc(arena, shape[0], sizeof *end);
    bool runs;

    mask->cells[0] = smaller(drawn, limit[0]);
    mask->cells[1] = smaller(mask->key.end - mask->key.begin, limit[1]);
    stride = mask->cells[1] * TXD_MASK_REASONS;
    mask->counts = txd_arena_alloc(arena, mask->cells[0] * stride, sizeof(uint64_t));
    if (!begin || !end || !mask->counts)
        return TXD_ERR_MEMORY;
    memset(mask->totals, 0, sizeof mask->totals);
    runs = txd_mask_spans(begin, end, &sides, &mask->view, shape);
    for (size_t i = 0; i < drawn; i++) {
        uint64_t *row = mask->counts + i * mask->cells[0] / drawn * stride;
        size_t query = mask->query.begin + i;

        if (runs)
            count_span(mask, row, begin[query], end[query], &sides, shape[1]);
        else
            count_keys(mask, row, query);
    }
    return TXD_OK;
}

txd_mask_cell txd_mask_at(const txd_mask *mask, size_t row, size_t column)
{
    const uint64_t *counts =
        mask->counts + (row * mask->cells[1] + column) * TXD_MASK_REASONS;
    txd_mask_cell cell = {.seen = counts[TXD_SEEN], .all = counts[TXD_SEEN]};
    uint64_t most = 0;

    for (int reason = TXD_SEEN + 1; reason < TXD_MASK_REASONS; reason++) {
        cell.all += counts[reason];
        if (counts[reason] > most) {
            most = counts[reason];
            cell.hidden = (txd_hidden)reason;
        }
    }
    return cell;
}

const char *txd_mask_attention(const txd_mask *mask)
{
    if (mask->encoder)
        return "encoder, ";
    return mask->kind == TXD_ATTENTION_CROSS ? "cross-attention, " : "";
}

const char *txd_hidden_words(txd_hidden reason)
{
    static const char *const words[TXD_MASK_REASONS] = {
        [TXD_SEEN] = "seen",
        [TXD_HIDDEN_PADDING] = "padding",
        [TXD_HIDDEN_DOCUMENT] = "other documents",
        [TXD_HIDDEN_FUTURE] = "later keys",
        [TXD_HIDDEN_WINDOW] = "outside of the window"};

    return words[reason];
}

void txd_mask_totals(txd_text *out, const txd_mask *mask)
{
    const char *before = "; hidden: ";
    uint64_t all = 0;

    for (int reason = 0; reason < TXD_MASK_REASONS; reason++)
        all += mask->totals[reason];
    txd_text_addf(out, "%llu of %llu pairs seen",
                  (unsigned long long)mask->totals[TXD_SEEN], (unsigned long long)all);
    for (int reason = TXD_SEEN + 1; reason < TXD_MASK_REASONS; reason++) {
        if (mask->totals[reason] == 0)
            continue;
        txd_text_addf(out, "%s%llu %s", before,
                      (unsigned long long)mask->totals[reason],
                      txd_hidden_words((txd_hidden)reason));
        before = ", ";
    }
}

void txd_mask_label(txd_text *out, const txd_mask *mask, bool is_key, size_t place)
{
    if (is_key && mask->kind == TXD_ATTENTION_CROSS)
        txd_claim_memory(out, mask->claim, mask->batch, place);
    else
        txd_claim_token(out, mask->claim, mask->batch, place);
}
