/* SPDX-License-Identifier: MIT
 *
 * Added tokens: found in the text itself, the leftmost first and the longest of those.
 * The list is sorted, so that the tokens that begin like the text at a place are a
 * range of it, which every further byte narrows.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

#define LONGEST_ADDED 1024

static int by_text(const void *left, const void *right)
{
    const txd_bytes *a = &((const txd_added *)left)->text;
    const txd_bytes *b = &((const txd_added *)right)->text;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->at, b->at, common);

    if (order != 0)
        return order;
    return (a->length > b->length) - (a->length < b->length);
}

txd_status txd_added_put(txd_tokenizer *tokenizer, const txd_added *added)
{
    txd_added_list *list = added->normalized ? &tokenizer->normalized : &tokenizer->raw;

    if (added->text.length == 0)
        return TXD_OK; /* would be found everywhere */
    if (added->text.length > LONGEST_ADDED)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: the added token %d has %zu bytes: expected at most %d",
                        tokenizer->name, (int)added->id, added->text.length,
                        LONGEST_ADDED);
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        txd_added *grown = realloc(list->at, capacity * sizeof *grown);

        if (!grown)
            return txd_fail(TXD_ERR_MEMORY, "no memory for added tokens");
        list->at = grown;
        list->capacity = capacity;
    }
    list->at[list->count++] = *added;
    return TXD_OK;
}

static txd_status normalize_text(txd_added *added, txd_tokenizer *tokenizer)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    status = txd_normalize(&text, tokenizer, added->text.at, added->text.length);
    if (status == TXD_OK) {
        added->text = txd_tokenizer_keep(tokenizer, txd_text_get(&text), text.length);
        status = added->text.at ? TXD_OK : TXD_ERR_MEMORY;
    }
    txd_text_finish(&text);
    return status;
}

static txd_status sort(txd_added_list *list)
{
    bool words = false;

    if (list->count > 1)
        qsort(list->at, list->count, sizeof *list->at, by_text);
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i].text.length > 0)
            list->starts[(unsigned char)list->at[i].text.at[0]] = true;
        words = words || list->at[i].single_word;
    }
    return words ? txd_pattern_create(&list->words, "\\w", 2) : TXD_OK;
}

txd_status txd_added_finish(txd_tokenizer *tokenizer)
{
    for (size_t i = 0; i < tokenizer->normalized.count; i++)
        TXD_TRY(normalize_text(&tokenizer->normalized.at[i], tokenizer));
    TXD_TRY(sort(&tokenizer->raw));
    return sort(&tokenizer->normalized);
}

/* The first of the tokens [first, end) whose byte `at` is not below `byte`. */
static size_t first_from(const txd_added_list *list, size_t first, size_t end,
                         size_t at, unsigned byte)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const txd_bytes *text = &list->at[middle].text;

        if (text->length > at && (unsigned char)text->at[at] >= byte)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* The longest token that stands at the beginning of a text. */
static const txd_added *longest_at(const txd_added_list *list, const char *text,
                                   size_t count)
{
    size_t first = 0, end = list->count;
    const txd_added *best = NULL;

    for (size_t at = 0; at < count; at++) {
        unsigned byte = (unsigned char)text[at];

        first = first_from(list, first, end, at, byte);
        end = first_from(list, first, end, at, byte + 1);
        if (first == end)
            break;
        if (list->at[first].text.length == at + 1)
            best = &list->at[first];
    }
    return best;
}

static size_t begin_of_last(const char *text, size_t count)
{
    size_t at = count;

    while (at > 0 && count - at < 4) {
        at--;
        if (((unsigned char)text[at] & 0xC0) != 0x80)
            break;
    }
    return at;
}

/* Whether the character [begin, end) belongs to a word. */
static txd_status in_word(bool *out, const txd_added_list *list, const char *text,
                          size_t begin, size_t end)
{
    txd_spans spans = {0};
    txd_status status =
        txd_pattern_find(&spans, list->words, text + begin, end - begin);

    *out = spans.count > 0 && spans.at[0].begin == 0;
    free(spans.at);
    return status;
}

/* A token that must be a word of its own, between what is none. */
static txd_status stands_alone(bool *out, const txd_added_list *list, const char *text,
                               size_t count, txd_span place)
{
    bool before = false, after = false;
    size_t right = count - place.end < 4 ? count : place.end + 4;

    if (place.begin > 0)
        TXD_TRY(in_word(&before, list, text, begin_of_last(text, place.begin),
                        place.begin));
    if (place.end < count)
        TXD_TRY(in_word(&after, list, text, place.end, right));
    *out = !before && !after;
    return TXD_OK;
}

/* Blanks beside a token may belong to it. */
static void take_blanks(txd_span *place, const txd_added *added, const char *text,
                        size_t count, size_t from)
{
    uint32_t code;

    while (added->lstrip && place->begin > from) {
        size_t at = begin_of_last(text, place->begin);

        if (at < from || txd_utf8_decode(&code, text + at, place->begin - at) == 0 ||
            !txd_utf8_is_space(code))
            break;
        place->begin = at;
    }
    while (added->rstrip && place->end < count) {
        size_t bytes = txd_utf8_decode(&code, text + place->end, count - place->end);

        if (bytes == 0 || !txd_utf8_is_space(code))
            break;
        place->end += bytes;
    }
}

txd_status txd_added_next(const txd_added **out, txd_span *place,
                          const txd_added_list *list, txd_bytes text)
{
    size_t from = place->begin, at = from;

    *out = NULL;
    for (; list->count > 0 && at < text.length; at++) {
        const txd_added *added = NULL;
        bool alone = true;

        if (list->starts[(unsigned char)text.at[at]])
            added = longest_at(list, text.at + at, text.length - at);
        if (!added)
            continue;
        *place = (txd_span){at, at + added->text.length};
        if (added->single_word)
            TXD_TRY(stands_alone(&alone, list, text.at, text.length, *place));
        if (!alone) {
            at = place->end - 1;
            continue;
        }
        take_blanks(place, added, text.at, text.length, from);
        *out = added;
        return TXD_OK;
    }
    *place = (txd_span){text.length, text.length};
    return TXD_OK;
}
