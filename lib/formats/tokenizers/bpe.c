/* SPDX-License-Identifier: MIT
 *
 * Byte pair encoding of a word: of all neighbours that merge, those of the best rank or
 * score first, the leftmost of equal ones, from a heap. An entry whose neighbours have
 * changed since it was made is left out when it comes up. A word may be a whole text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

#define NONE UINT32_MAX

struct symbol {
    uint32_t begin, length; /* length 0: merged into the one before */
    uint32_t before, next;
    int32_t id;  /* -1: no token */
    bool closed; /* never merges */
};

struct candidate {
    double key; /* the largest first */
    uint32_t at;
    int32_t made;
};

struct txd_bpe_room {
    struct symbol *symbols;
    struct candidate *heap;
    size_t capacity, symbol_count, heap_count;
};

struct word {
    const txd_tokenizer *tokenizer;
    const char *text;
    size_t length;
    struct txd_bpe_room *room;
};

void txd_bpe_room_destroy(struct txd_bpe_room *room)
{
    if (!room)
        return;
    free(room->symbols);
    free(room->heap);
    free(room);
}

/* Every byte may be a symbol; every pair of neighbours and every merge, of which there
 * are less than symbols, puts up to two candidates. */
static txd_status make_room(struct txd_bpe_room **room, size_t length)
{
    struct txd_bpe_room *r = *room ? *room : calloc(1, sizeof *r);
    size_t capacity = length < 64 ? 64 : length;

    if (!r)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a word");
    *room = r;
    r->symbol_count = r->heap_count = 0;
    if (length >= NONE / 4)
        return txd_fail(TXD_ERR_LIMIT, "a text of %zu bytes without a place to cut it",
                        length);
    if (capacity <= r->capacity)
        return TXD_OK;
    free(r->symbols);
    free(r->heap);
    r->symbols = malloc(capacity * sizeof *r->symbols);
    r->heap = malloc(3 * capacity * sizeof *r->heap);
    r->capacity = r->symbols && r->heap ? capacity : 0;
    return r->capacity
               ? TXD_OK
               : txd_fail(TXD_ERR_MEMORY, "no memory for a word of %zu bytes", length);
}

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    return a->key > b->key || (a->key == b->key && a->at < b->at);
}

static void push(struct txd_bpe_room *room, struct candidate candidate)
{
    struct candidate *heap = room->heap;
    size_t at = room->heap_count++;

    while (at > 0 && comes_before(&candidate, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = candidate;
}

static struct candidate pop(struct txd_bpe_room *room)
{
    struct candidate *heap = room->heap, top = heap[0];
    struct candidate last = heap[--room->heap_count];
    size_t at = 0, count = room->heap_count;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (child >= count || !comes_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    if (count > 0)
        heap[at] = last;
    return top;
}

/* What a symbol and the next one merge into; false if they do not. */
static bool find_merge(struct candidate *out, const struct word *word, uint32_t at)
{
    const txd_tokenizer *t = word->tokenizer;
    const struct symbol *left = &word->room->symbols[at], *right;
    const txd_merge *merge;

    if (left->length == 0 || left->next == NONE)
        return false;
    right = &word->room->symbols[left->next];
    out->at = at;
    if (t->model == TXD_TOKENS_SCORES) {
        if (left->closed || right->closed)
            return false;
        out->made = txd_vocab_find(&t->vocab, word->text + left->begin,
                                   (size_t)left->length + right->length);
        if (out->made >= 0)
            out->key = (double)t->vocab.scores[out->made];
        return out->made >= 0;
    }
    merge = txd_merges_find(&t->merges, left->id, right->id);
    if (!merge)
        return false;
    out->made = (int32_t)merge->made;
    out->key = -(double)merge->rank;
    return true;
}

static void push_pair(const struct word *word, uint32_t at)
{
    struct candidate candidate;

    if (at != NONE && find_merge(&candidate, word, at))
        push(word->room, candidate);
}

static void add_symbol(const struct word *word, size_t begin, size_t length, int32_t id,
                       bool closed)
{
    uint32_t at = (uint32_t)word->room->symbol_count++;

    word->room->symbols[at] = (struct symbol){.begin = (uint32_t)begin,
                                              .length = (uint32_t)length,
                                              .before = at > 0 ? at - 1 : NONE,
                                              .next = at + 1,
                                              .id = id,
                                              .closed = closed};
}

static txd_status fail_character(const struct word *word, size_t at, size_t length)
{
    int byte = -1;
    char hex[32] = "";
    uint32_t code;

    if (word->tokenizer->byte_level &&
        txd_utf8_decode(&code, word->text + at, length) > 0)
        byte = txd_byte_of_letter(code);
    if (byte >= 0)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "%s: no token for the byte 0x%02x, which the text has; give "
                        "token ids instead",
                        word->tokenizer->name, (unsigned)byte);
    for (size_t i = 0; i < length && i < 4; i++)
        snprintf(hex + 3 * i, sizeof hex - 3 * i, " %02x",
                 (unsigned)(unsigned char)word->text[at + i]);
    return txd_fail(
        TXD_ERR_ARGUMENT,
        "%s: no token for the character of the bytes%s, nor an unknown one; "
        "give token ids instead",
        word->tokenizer->name, hex);
}

static bool have_bytes(const txd_tokenizer *t, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (t->byte_ids[(unsigned char)text[i]] < 0)
            return false;
    return true;
}

/* A character without a token: its bytes, or the unknown token, which takes what is
 * unknown right after it too. */
static txd_status add_foreign(const struct word *word, size_t at, size_t length)
{
    const txd_tokenizer *t = word->tokenizer;
    struct txd_bpe_room *room = word->room;
    struct symbol *last =
        room->symbol_count ? &room->symbols[room->symbol_count - 1] : NULL;

    if (have_bytes(t, word->text + at, length)) {
        for (size_t i = at; i < at + length; i++)
            add_symbol(word, i, 1, t->byte_ids[(unsigned char)word->text[i]], true);
        return TXD_OK;
    }
    if (t->unknown < 0)
        return fail_character(word, at, length);
    if (t->fuse_unknown && last && last->closed && last->id == t->unknown)
        last->length += (uint32_t)length;
    else
        add_symbol(word, at, length, t->unknown, true);
    return TXD_OK;
}

/* With scores what has no token may merge into what has one, unless it is made of bytes
 * at once. */
static txd_status split_characters(const struct word *word)
{
    const txd_tokenizer *t = word->tokenizer;
    bool late = t->model == TXD_TOKENS_SCORES && !t->bytes_at_once;
    uint32_t code;

    for (size_t at = 0, length; at < word->length; at += length) {
        int32_t id;

        length = txd_utf8_decode(&code, word->text + at, word->length - at);
        length = length ? length : 1;
        id = txd_vocab_find(&t->vocab, word->text + at, length);
        if (id >= 0 || late)
            add_symbol(word, at, length, id, false);
        else
            TXD_TRY(add_foreign(word, at, length));
    }
    if (word->room->symbol_count > 0)
        word->room->symbols[word->room->symbol_count - 1].next = NONE;
    return TXD_OK;
}

static void merge_all(const struct word *word)
{
    struct symbol *symbols = word->room->symbols;

    for (uint32_t at = 0; at + 1 < word->room->symbol_count; at++)
        push_pair(word, at);
    while (word->room->heap_count > 0) {
        struct candidate top = pop(word->room), now;
        struct symbol *left = &symbols[top.at], *right;

        if (!find_merge(&now, word, top.at) || now.made != top.made)
            continue;
        right = &symbols[left->next];
        left->length += right->length;
        left->id = top.made;
        right->length = 0;
        left->next = right->next;
        if (left->next != NONE)
            symbols[left->next].before = top.at;
        push_pair(word, left->before);
        push_pair(word, top.at);
    }
}

static txd_status put_symbol(txd_ids *out, const struct word *word,
                             const struct symbol *symbol)
{
    const txd_tokenizer *t = word->tokenizer;

    if (symbol->id >= 0)
        return txd_ids_add(out, symbol->id);
    if (!have_bytes(t, word->text + symbol->begin, symbol->length))
        return t->unknown >= 0 ? txd_ids_add(out, t->unknown)
                               : fail_character(word, symbol->begin, symbol->length);
    for (size_t i = 0; i < symbol->length; i++)
        TXD_TRY(txd_ids_add(out,
                            t->byte_ids[(unsigned char)word->text[symbol->begin + i]]));
    return TXD_OK;
}

txd_status txd_bpe_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                          struct txd_bpe_room **room, const char *word, size_t length)
{
    struct word w = {tokenizer, word, length, NULL};

    if (tokenizer->ignore_merges) {
        int32_t id = txd_vocab_find(&tokenizer->vocab, word, length);

        if (id >= 0)
            return txd_ids_add(out, id);
    }
    TXD_TRY(make_room(room, length));
    w.room = *room;
    TXD_TRY(split_characters(&w));
    merge_all(&w);
    for (uint32_t at = w.room->symbol_count ? 0 : NONE; at != NONE;
         at = w.room->symbols[at].next)
        TXD_TRY(put_symbol(out, &w, &w.room->symbols[at]));
    return TXD_OK;
}
