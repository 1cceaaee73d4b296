/* SPDX-License-Identifier: MIT
 *
 * Unicode's canonical forms: a text is taken apart, the marks of every character are
 * put in order, and, composed, put together again. Bytes that are no UTF-8 stay
 * between.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

#define FOREIGN 0x110000u /* and above: a byte that is no character */

/* Hangul is composed by arithmetic. */
enum { S = 0xAC00, L = 0x1100, V = 0x1161, T = 0x11A7, LS = 19, VS = 21, TS = 28 };

struct entry {
    uint32_t key, second, value;
};

static const struct entry decomposed[] = {
#define TXD_DECOMPOSED(code, first, next) {code, next, first},
#include "formats/tokenizers/unicode.def"
#undef TXD_DECOMPOSED
};

static const struct entry composed[] = {
#define TXD_COMPOSED(first, next, code) {first, next, code},
#include "formats/tokenizers/unicode.def"
#undef TXD_COMPOSED
};

static const struct entry combining[] = {
#define TXD_COMBINING(first, last, kind) {first, last, kind},
#include "formats/tokenizers/unicode.def"
#undef TXD_COMBINING
};

/* A character on its way. */
struct mark {
    uint32_t code, kind; /* kind: the combining class */
    size_t place;
};

struct marks {
    struct mark *at;
    size_t count, capacity;
};

static int by_key(const void *key, const void *entry)
{
    uint32_t a = *(const uint32_t *)key, b = ((const struct entry *)entry)->key;

    return (a > b) - (a < b);
}

static int by_pair(const void *key, const void *entry)
{
    const struct entry *a = key, *b = entry;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static int by_range(const void *key, const void *entry)
{
    uint32_t code = *(const uint32_t *)key;
    const struct entry *range = entry;

    return code < range->key ? -1 : code > range->second;
}

static uint32_t kind_of(uint32_t code)
{
    const struct entry *range;

    if (code < 0x300)
        return 0;
    range = bsearch(&code, combining, sizeof combining / sizeof *combining,
                    sizeof *combining, by_range);
    return range ? range->value : 0;
}

static txd_status add(struct marks *marks, uint32_t code)
{
    if (marks->count == marks->capacity) {
        size_t capacity = marks->capacity ? 2 * marks->capacity : 64;
        struct mark *grown = realloc(marks->at, capacity * sizeof *grown);

        if (!grown)
            return txd_fail(TXD_ERR_MEMORY, "no memory to normalize a text");
        marks->at = grown;
        marks->capacity = capacity;
    }
    marks->at[marks->count] = (struct mark){code, kind_of(code), marks->count};
    marks->count++;
    return TXD_OK;
}

static txd_status add_parts(struct marks *marks, uint32_t code)
{
    const struct entry *entry;
    uint32_t tail[8];
    size_t count = 0;

    if (code >= S && code < S + LS * VS * TS) {
        uint32_t index = code - S;

        TXD_TRY(add(marks, L + index / (VS * TS)));
        TXD_TRY(add(marks, V + index % (VS * TS) / TS));
        return index % TS ? add(marks, T + index % TS) : TXD_OK;
    }
    while (code >= 0xC0 && count < sizeof tail / sizeof *tail &&
           (entry = bsearch(&code, decomposed, sizeof decomposed / sizeof *decomposed,
                            sizeof *decomposed, by_key)) != NULL) {
        if (entry->second)
            tail[count++] = entry->second; /* which has no parts itself */
        code = entry->value;
    }
    TXD_TRY(add(marks, code));
    while (count > 0)
        TXD_TRY(add(marks, tail[--count]));
    return TXD_OK;
}

static txd_status take_apart(struct marks *marks, const char *text, size_t count)
{
    uint32_t code;

    for (size_t at = 0, bytes; at < count; at += bytes) {
        bytes = txd_utf8_decode(&code, text + at, count - at);
        if (bytes == 0) {
            TXD_TRY(add(marks, FOREIGN + (unsigned char)text[at]));
            bytes = 1;
        } else {
            TXD_TRY(add_parts(marks, code));
        }
    }
    return TXD_OK;
}

static int by_kind(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static void put_in_order(struct marks *marks)
{
    for (size_t at = 0; at < marks->count; at++) {
        size_t begin = at;

        while (at < marks->count && marks->at[at].kind != 0)
            at++;
        if (at > begin + 1)
            qsort(marks->at + begin, at - begin, sizeof *marks->at, by_kind);
    }
}

/* What two characters make; 0 if nothing. */
static uint32_t pair(uint32_t first, uint32_t second)
{
    const struct entry key = {first, second, 0}, *entry;

    if (first >= L && first < L + LS && second >= V && second < V + VS)
        return S + ((first - L) * VS + (second - V)) * TS;
    if (first >= S && first < S + LS * VS * TS && (first - S) % TS == 0 && second > T &&
        second < T + TS)
        return first + (second - T);
    entry = bsearch(&key, composed, sizeof composed / sizeof *composed,
                    sizeof *composed, by_pair);
    return entry ? entry->value : 0;
}

static void put_together(struct marks *marks)
{
    size_t kept = 0, starter = 0;
    bool has_starter = false, adjacent = false;
    uint32_t last = 0;

    for (size_t at = 0; at < marks->count; at++) {
        struct mark mark = marks->at[at];
        uint32_t made = 0;

        if (has_starter && (adjacent || last < mark.kind))
            made = pair(marks->at[starter].code, mark.code);
        if (made) {
            marks->at[starter].code = made;
            continue;
        }
        if (mark.kind == 0) {
            starter = kept;
            has_starter = adjacent = true;
        } else {
            adjacent = false;
        }
        last = mark.kind;
        marks->at[kept++] = mark;
    }
    marks->count = kept;
}

static void write(txd_text *out, const struct marks *marks)
{
    char bytes[4];

    for (size_t i = 0; i < marks->count; i++) {
        uint32_t code = marks->at[i].code;

        bytes[0] = (char)(code - FOREIGN);
        txd_text_add_bytes(out, bytes,
                           code >= FOREIGN ? 1 : txd_utf8_encode(bytes, code));
    }
}

/* No character below U+0300 is changed by composing. */
static bool is_composed(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((unsigned char)text[i] >= 0xCC)
            return false;
    return true;
}

txd_status txd_unicode_compose(txd_text *out, const char *text, size_t count,
                               bool compose)
{
    struct marks marks = {0};
    txd_status status;

    if (compose && is_composed(text, count)) {
        txd_text_add_bytes(out, text, count);
        return txd_text_status(out);
    }
    status = take_apart(&marks, text, count);
    if (status == TXD_OK) {
        put_in_order(&marks);
        if (compose)
            put_together(&marks);
        write(out, &marks);
        status = txd_text_status(out);
    }
    free(marks.at);
    return status;
}
