/* SPDX-License-Identifier: MIT
 *
 * Pieces come from what was recorded, or are made again by the tokenizer of a run's own
 * input, a step at a time.
 */
#include "cli/quotes.h"

#include <string.h>

#include "cli/printable.h"

enum { MOST_BYTES = 60 };

/* A place of a step, in a batch row; of the memory or of the tokens. */
typedef struct token {
    size_t step, batch, place;
    bool of_memory;
} token;

static const char *recorded(const txd_trace *recording, const token *at)
{
    const char *const *pieces;
    txd_trace_info info;
    size_t entry, plane, count;

    if (txd_trace_find(recording, &entry,
                       at->of_memory ? "input/memory_valid" : "input/tokens") !=
            TXD_OK ||
        txd_trace_get(recording, &info, entry) != TXD_OK || info.rank != 3 ||
        at->batch >= info.dims[1] || at->place >= info.dims[2] ||
        txd_size_mul(&plane, info.dims[1], info.dims[2]) != TXD_OK ||
        txd_trace_strings(recording, &pieces, &count,
                          at->of_memory ? "memory/pieces" : "input/pieces") != TXD_OK ||
        count / plane <= at->step)
        return NULL;
    return pieces[at->step * plane + at->batch * info.dims[2] + at->place];
}

static bool make_step(txd_quotes *quotes, size_t step)
{
    if (quotes->arena && quotes->step == step)
        return true;
    if (!quotes->arena && txd_arena_create(&quotes->arena) != TXD_OK)
        return false;
    txd_arena_reset(quotes->arena);
    quotes->step = step;
    if (txd_input_source_step(&quotes->inputs, quotes->source, quotes->arena, step) ==
        TXD_OK)
        return true;
    txd_quotes_finish(quotes);
    return false;
}

static const char *made(txd_quotes *quotes, const token *at)
{
    const txd_inputs *inputs = &quotes->inputs;
    const char *const *pieces;
    size_t length;

    if (at->of_memory ? !txd_input_source_has_memory_pieces(quotes->source)
                      : !txd_input_source_has_pieces(quotes->source))
        return NULL;
    if (at->step >= txd_input_source_steps(quotes->source) ||
        !make_step(quotes, at->step))
        return NULL;
    pieces = at->of_memory ? inputs->memory_pieces : inputs->pieces;
    length = at->of_memory ? inputs->memory_length : inputs->length;
    return pieces && at->batch < inputs->batch && at->place < length
               ? pieces[at->batch * length + at->place]
               : NULL;
}

/* Whole characters, as long as they are of use on a line. */
static void add_piece(txd_text *out, const char *piece)
{
    size_t length = strlen(piece), end = length;
    txd_text part;

    if (length > MOST_BYTES)
        for (end = MOST_BYTES; end > 0 && ((unsigned char)piece[end] & 0xC0) == 0x80;)
            end--;
    txd_text_init(&part);
    txd_text_add_bytes(&part, piece, end);
    txd_text_add(out, " \"");
    txd_printable_piece(out, txd_text_get(&part));
    txd_text_add(out, end < length ? "...\"" : "\"");
    txd_text_finish(&part);
}

static size_t first_of(int64_t coordinate)
{
    return coordinate < 0 ? 0 : (size_t)coordinate;
}

void txd_quotes_add(txd_text *out, void *self, const txd_finding *finding)
{
    txd_quotes *quotes = self;
    bool cross = strstr(finding->site, "cross") != NULL; /* its keys are the memory's */
    const struct {
        const char *name;
        int64_t place;
        bool of_memory;
    } places[] = {{"query", finding->query, false}, {"key", finding->key, cross}};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const token at = {first_of(finding->step), first_of(finding->batch),
                          first_of(places[i].place), places[i].of_memory};
        const char *piece = places[i].place < 0 ? NULL
                            : quotes->recording ? recorded(quotes->recording, &at)
                                                : made(quotes, &at);

        if (!piece || !*piece)
            continue;
        txd_text_addf(out, "%s%s %zu", out->length ? ", " : "", places[i].name,
                      at.place);
        add_piece(out, piece);
    }
}

void txd_quotes_finish(txd_quotes *quotes)
{
    txd_arena_destroy(quotes->arena);
    quotes->arena = NULL;
}
