/* SPDX-License-Identifier: MIT
 *
 * The probe `tile`: one block of queries and keys of each attention matrix, exactly as
 * it was computed, for inputs that are too long to keep matrices in full. The block is
 * written as the pass's own tiles go by. It has a dataset of its own, which nobody can
 * take for the whole value; the root attribute `tiles` says where it lies.
 */
#include <stdio.h>
#include <string.h>

#include "probes/common.h"

enum { QUERIES, KEYS };

/* Places from `first` to before `end`, of `all` that there are. */
typedef struct span {
    size_t first, end, all;
} span;

typedef struct place {
    size_t dataset;
    span spans[2];
} place;

typedef struct tile {
    txd_probe_frame frame;
    place *places;  /* one per site */
    txd_room cells; /* what a block holds of a tile, dense */
} tile;

static bool is_weights(txd_point point)
{
    return txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS;
}

/* Whoever asks for weights wants to see those of hidden keys, too. */
static unsigned ask(txd_site_kind kind, txd_point point)
{
    const char *axes = kind == TXD_SITE_VALUE ? txd_point_get(point)->axes : "";

    if (strcmp(axes, "bhqk") != 0)
        return 0;
    return is_weights(point) ? TXD_ASK_VALUE | TXD_ASK_HIDDEN : TXD_ASK_VALUE;
}

/* ---- where ---- */

static bool selects(const txd_probe_use *use, const txd_site *site)
{
    txd_probe_use alone = *use;

    alone.next = NULL;
    return txd_probe_use_selects(&txd_probe_tile, &alone, site->name, site->layer, -1);
}

static txd_status set_span(span *out, const txd_range *range, size_t all,
                           const char *word, const char *site)
{
    *out = (span){0, all, all};
    if (range->count == 0)
        return TXD_OK;
    out->first = range->parts[0].begin;
    out->end = range->parts[0].end < all ? range->parts[0].end : all;
    if (out->first < out->end)
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG,
                    "tile of %s: %s from %zu on select none: there are %s 0 to %zu",
                    site, word, out->first, word, all ? all - 1 : 0);
}

static txd_status set_spans(span out[2], const txd_probe_use *use, const txd_site *site,
                            const txd_probe_context *context)
{
    size_t keys = txd_point_attention(site->point) == TXD_ATTENTION_CROSS
                      ? context->memory
                      : context->length;

    TXD_TRY(
        set_span(&out[QUERIES], &use->queries, context->length, "queries", site->name));
    return set_span(&out[KEYS], &use->keys, keys, "keys", site->name);
}

/* By the uses that select the site, which must agree. */
static txd_status find_spans(span out[2], const tile *state, const txd_site *site)
{
    const txd_probe_use *use = state->frame.use;
    span other[2];

    while (!selects(use, site))
        use = use->next;
    TXD_TRY(set_spans(out, use, site, state->frame.context));
    for (use = use->next; use; use = use->next) {
        if (!selects(use, site))
            continue;
        TXD_TRY(set_spans(other, use, site, state->frame.context));
        if (memcmp(other, out, sizeof other) != 0)
            return txd_fail(TXD_ERR_CONFIG,
                            "%s: the probe tile records one tile of a point, but two "
                            "are asked for: queries %zu:%zu, keys %zu:%zu and queries "
                            "%zu:%zu, keys %zu:%zu; choose one, or one that holds both",
                            site->name, out[QUERIES].first, out[QUERIES].end,
                            out[KEYS].first, out[KEYS].end, other[QUERIES].first,
                            other[QUERIES].end, other[KEYS].first, other[KEYS].end);
    }
    return TXD_OK;
}

/* ---- datasets ---- */

/* Bytes of heads and steps that are not selected. */
static size_t left_out(const txd_probe_frame *frame, txd_site site,
                       const txd_dataset_spec *spec)
{
    size_t heads = frame->context->claimed->n_heads, steps = frame->context->steps;
    size_t selected = 0;

    for (site.step = 0; (size_t)site.step < steps; site.step++)
        for (size_t head = 0; head < heads; head++)
            selected +=
                txd_probe_use_selects_head(frame->probe, frame->use, &site, head);
    return txd_probe_left_out(spec, selected, steps * heads);
}

static txd_status make(place *out, const tile *state, const txd_site *site)
{
    const txd_probe_context *context = state->frame.context;
    char path[TXD_SITE_NAME_BYTES + 8];
    txd_probe_dataset dataset = {
        .name = site->name,
        .spec = {.path = path,
                 .axes = "sbhqk",
                 .point = site->name,
                 .unit = "",
                 .dtype = context->dtype,
                 .per_step = true,
                 .rank = 4,
                 .dims = {context->batch, context->claimed->n_heads,
                          out->spans[QUERIES].end - out->spans[QUERIES].first,
                          out->spans[KEYS].end - out->spans[KEYS].first},
                 .steps = context->steps}};

    snprintf(path, sizeof path, "tile/%s", site->name);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
    if (!context->recording)
        dataset.left_out = left_out(&state->frame, *site, &dataset.spec);
    return txd_probe_make(&out->dataset, &state->frame, &dataset);
}

/* "layers.3.attn.weights queries 31000:31256 of 32000 keys 0:256 of 32000; ..." */
static txd_status describe(const tile *state)
{
    const txd_probe_sites *sites = &state->frame.sites[TXD_SITE_VALUE];
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    for (size_t i = 0; i < sites->count; i++) {
        const span *spans = state->places[i].spans;

        txd_text_addf(&text, "%s%s queries %zu:%zu of %zu keys %zu:%zu of %zu",
                      i ? "; " : "", sites->names[i], spans[QUERIES].first,
                      spans[QUERIES].end, spans[QUERIES].all, spans[KEYS].first,
                      spans[KEYS].end, spans[KEYS].all);
    }
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_recording_meta(state->frame.context->recording, "tiles",
                                    txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status fill(void *self)
{
    tile *state = self;
    const txd_probe_sites *sites = &state->frame.sites[TXD_SITE_VALUE];

    state->places =
        txd_arena_alloc(state->frame.arena, sites->count, sizeof *state->places);
    if (!state->places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < sites->count; i++) {
        TXD_TRY(find_spans(state->places[i].spans, state, &sites->list[i]));
        TXD_TRY(make(&state->places[i], state, &sites->list[i]));
    }
    return state->frame.context->recording ? describe(state) : TXD_OK;
}

/* ---- values ---- */

static span meet(const span *a, size_t first, size_t count)
{
    span both = *a;

    if (first > both.first)
        both.first = first;
    if (first + count < both.end)
        both.end = first + count;
    if (both.end < both.first)
        both.end = both.first;
    return both;
}

/* Weights that were never computed are 0, as they are in `full`; other values of such
 * cells are not there. */
static span keys_of(const place *of, const txd_block *block)
{
    if (is_weights(block->site->point))
        return meet(&of->spans[KEYS], 0, block->dims[3]);
    return meet(&of->spans[KEYS], block->start[3], block->value.dims[3]);
}

/* The rows of a tile that one head of a block holds, side by side. */
static void collect(unsigned char *out, const txd_block *block, size_t head,
                    const span *rows, const span *keys)
{
    size_t width = txd_dtype_bytes(block->value.dtype), computed = block->value.dims[3];
    size_t bytes = (keys->end - keys->first) * width;
    span there = meet(keys, block->start[3], computed);
    const unsigned char *data = block->value.data;

    data += head * block->value.dims[2] * computed * width;
    for (size_t q = rows->first; q < rows->end; q++, out += bytes) {
        size_t line = (q - block->start[2]) * computed;

        memset(out, 0, bytes);
        if (there.first < there.end)
            memcpy(out + (there.first - keys->first) * width,
                   data + (line + there.first - block->start[3]) * width,
                   (there.end - there.first) * width);
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    tile *state = self;
    const place *of = &state->places[txd_probe_row(&state->frame, block->site)];
    span rows = meet(&of->spans[QUERIES], block->start[2], block->value.dims[2]);
    span keys = keys_of(of, block);
    const size_t size[2] = {rows.end - rows.first, keys.end - keys.first};

    (void)slot;
    if (size[0] == 0 || size[1] == 0)
        return TXD_OK;
    if (!block->value.data && txd_tensor_count(&block->value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the value to be recorded was not formed",
                        block->site->name);
    TXD_TRY(txd_probe_reserve(&state->cells, &state->frame, size[0] * size[1],
                              txd_dtype_bytes(block->value.dtype)));
    for (size_t i = 0; i < txd_block_heads(block); i++) {
        size_t head = txd_block_head(block, i);
        const size_t start[4] = {head / block->dims[1], head % block->dims[1],
                                 rows.first - of->spans[QUERIES].first,
                                 keys.first - of->spans[KEYS].first};
        const size_t count[4] = {1, 1, size[0], size[1]};

        if (!txd_probe_wants_head(&state->frame, block, i))
            continue;
        collect(state->cells.data, block, i, &rows, &keys);
        TXD_TRY(txd_recording_write(state->frame.context->recording, of->dataset,
                                    (size_t)block->pass->step, start, count,
                                    state->cells.data, block->value.dtype));
    }
    return TXD_OK;
}

/* A step that ends before the tile begins is there all the same, with nothing in it. */
static txd_status end(void *self, const txd_block *block)
{
    static const size_t nothing[4];
    const tile *state = self;
    const place *of = &state->places[txd_probe_row(&state->frame, block->site)];

    return txd_recording_write(state->frame.context->recording, of->dataset,
                               (size_t)block->pass->step, nothing, nothing, "",
                               block->value.dtype);
}

const txd_probe txd_probe_tile = {
    .name = "tile",
    .sentence = "one block of queries and keys of attention matrices of any length",
    .points = "layers.*.attn.weights",
    .ask = ask,
    .by_head = true,
    .by_tile = true,
    .state_bytes = sizeof(tile),
    .fill = fill,
    .merge = merge,
    .end = end,
};
