/* SPDX-License-Identifier: MIT
 *
 * Pieces and merges in tables with open addressing, at most half full. Texts are copied
 * into pools, since an arena's allocations are of 64 bytes at least.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

#define POOL_BYTES ((size_t)1 << 16)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = mix(length + 1), word;

    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        hash = mix(hash ^ word);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, text, length);
    return mix(hash ^ word);
}

static size_t slots_for(size_t count)
{
    size_t slots = 16;

    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

/* The next bytes of a pool. */
static char *take(txd_tokenizer *tokenizer, size_t length)
{
    txd_vocab *vocab = &tokenizer->vocab;
    char *text;

    if (length > POOL_BYTES / 4)
        return txd_arena_alloc(tokenizer->arena, length, 1);
    if (length > vocab->pool_left) {
        vocab->pool = txd_arena_alloc(tokenizer->arena, POOL_BYTES, 1);
        if (!vocab->pool)
            return NULL;
        vocab->pool_left = POOL_BYTES;
    }
    text = vocab->pool;
    vocab->pool += length;
    vocab->pool_left -= length;
    return text;
}

txd_bytes txd_tokenizer_keep(txd_tokenizer *tokenizer, const char *text, size_t length)
{
    txd_bytes kept = {take(tokenizer, length + 1), length};

    if (kept.at) {
        char *to = (char *)kept.at;

        if (length > 0)
            memcpy(to, text, length);
        to[length] = '\0';
    }
    return kept;
}

static txd_status grow(txd_vocab *vocab, size_t count)
{
    size_t capacity = vocab->capacity ? vocab->capacity : 256;
    txd_bytes *pieces;

    while (capacity < count)
        capacity *= 2;
    if (capacity > vocab->capacity) {
        pieces = realloc(vocab->pieces, capacity * sizeof *pieces);
        if (!pieces)
            return txd_fail(TXD_ERR_MEMORY, "no memory for a vocabulary");
        memset(pieces + vocab->capacity, 0,
               (capacity - vocab->capacity) * sizeof *pieces);
        vocab->pieces = pieces;
        vocab->capacity = capacity;
    }
    vocab->count = count > vocab->count ? count : vocab->count;
    return TXD_OK;
}

txd_status txd_vocab_add(txd_tokenizer *tokenizer, int64_t id, const char *text,
                         size_t length, size_t most)
{
    txd_vocab *vocab = &tokenizer->vocab;
    txd_bytes piece;

    if (id < 0 || (uint64_t)id >= most || id >= INT32_MAX)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: the piece \"%.*s\" has the id %lld, which a file of this "
                        "size cannot have: expected 0 to %zu",
                        tokenizer->name, length < 60 ? (int)length : 60, text,
                        (long long)id, most > 0 ? most - 1 : 0);
    TXD_TRY(grow(vocab, (size_t)id + 1));
    if (vocab->pieces[id].at)
        return txd_fail(TXD_ERR_FORMAT, "%s: two pieces have the id %lld: \"%.*s\"",
                        tokenizer->name, (long long)id, length < 60 ? (int)length : 60,
                        text);
    piece = txd_tokenizer_keep(tokenizer, text, length);
    if (!piece.at)
        return TXD_ERR_MEMORY;
    vocab->pieces[id] = piece;
    vocab->used++;
    vocab->longest = length > vocab->longest ? length : vocab->longest;
    return TXD_OK;
}

/* The slot of a text, or the free one where it would be. */
static size_t find_slot(const txd_vocab *vocab, const char *text, size_t length)
{
    size_t at = hash_text(text, length) & (vocab->slot_count - 1);

    while (vocab->slots[at]) {
        const txd_bytes *piece = &vocab->pieces[vocab->slots[at] - 1];

        if (piece->length == length && memcmp(piece->at, text, length) == 0)
            break;
        at = (at + 1) & (vocab->slot_count - 1);
    }
    return at;
}

txd_status txd_vocab_index(txd_tokenizer *tokenizer)
{
    txd_vocab *vocab = &tokenizer->vocab;

    free(vocab->slots);
    vocab->slot_count = slots_for(vocab->used);
    vocab->slots = calloc(vocab->slot_count, sizeof *vocab->slots);
    if (!vocab->slots)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a vocabulary");
    for (size_t id = 0; id < vocab->count; id++)
        if (vocab->pieces[id].at)
            vocab->slots[find_slot(vocab, vocab->pieces[id].at,
                                   vocab->pieces[id].length)] = (uint32_t)id + 1;
    return TXD_OK;
}

int32_t txd_vocab_find(const txd_vocab *vocab, const char *text, size_t length)
{
    if (length > vocab->longest || vocab->slot_count == 0)
        return -1;
    return (int32_t)vocab->slots[find_slot(vocab, text, length)] - 1;
}

txd_status txd_merges_make(txd_tokenizer *tokenizer, size_t count)
{
    txd_merges *merges = &tokenizer->merges;

    if (count > UINT32_MAX / 4)
        return txd_fail(TXD_ERR_LIMIT, "%s: %zu merges", tokenizer->name, count);
    merges->slot_count = slots_for(count);
    merges->slots = calloc(merges->slot_count, sizeof *merges->slots);
    if (!merges->slots)
        return txd_fail(TXD_ERR_MEMORY, "no memory for merges");
    for (size_t i = 0; i < merges->slot_count; i++)
        merges->slots[i].made = TXD_NO_MERGE;
    return TXD_OK;
}

static txd_merge *merge_slot(const txd_merges *merges, uint32_t left, uint32_t right)
{
    size_t at = mix((uint64_t)left << 32 | right) & (merges->slot_count - 1);

    while (merges->slots[at].made != TXD_NO_MERGE &&
           (merges->slots[at].left != left || merges->slots[at].right != right))
        at = (at + 1) & (merges->slot_count - 1);
    return &merges->slots[at];
}

static txd_status fail_merge(const txd_tokenizer *tokenizer, txd_bytes part)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: merge %zu: \"%.*s\" is not in the vocabulary",
                    tokenizer->name, tokenizer->merges.count,
                    part.length < 60 ? (int)part.length : 60, part.at);
}

txd_status txd_merges_add(txd_tokenizer *tokenizer, txd_bytes left, txd_bytes right)
{
    const txd_vocab *vocab = &tokenizer->vocab;
    int32_t a = txd_vocab_find(vocab, left.at, left.length);
    int32_t b = txd_vocab_find(vocab, right.at, right.length), made;
    txd_bytes whole = {NULL, left.length + right.length};
    char *text;
    txd_merge *slot;

    if (a < 0 || b < 0)
        return fail_merge(tokenizer, a < 0 ? left : right);
    text = malloc(whole.length + 1);
    if (!text)
        return txd_fail(TXD_ERR_MEMORY, "no memory for merges");
    memcpy(text, left.at, left.length);
    memcpy(text + left.length, right.at, right.length);
    whole.at = text;
    made = txd_vocab_find(vocab, text, whole.length);
    if (made < 0)
        fail_merge(tokenizer, whole);
    free(text);
    if (made < 0)
        return TXD_ERR_FORMAT;
    slot = merge_slot(&tokenizer->merges, (uint32_t)a, (uint32_t)b);
    *slot = (txd_merge){(uint32_t)a, (uint32_t)b, (uint32_t)tokenizer->merges.count++,
                        (uint32_t)made};
    return TXD_OK;
}

txd_status txd_merges_add_line(txd_tokenizer *tokenizer, const char *line,
                               size_t length)
{
    const char *blank = length > 1 ? memchr(line + 1, ' ', length - 1) : NULL;

    if (!blank || blank + 1 == line + length)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: merge %zu: expected two pieces with a blank between them, "
                        "found \"%.*s\"",
                        tokenizer->name, tokenizer->merges.count,
                        length < 60 ? (int)length : 60, line);
    return txd_merges_add(tokenizer, (txd_bytes){line, (size_t)(blank - line)},
                          (txd_bytes){blank + 1, length - (size_t)(blank + 1 - line)});
}

const txd_merge *txd_merges_find(const txd_merges *merges, int32_t left, int32_t right)
{
    const txd_merge *slot;

    if (left < 0 || right < 0 || merges->slot_count == 0)
        return NULL;
    slot = merge_slot(merges, (uint32_t)left, (uint32_t)right);
    return slot->made == TXD_NO_MERGE ? NULL : slot;
}
