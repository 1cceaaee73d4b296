/* SPDX-License-Identifier: MIT
 *
 * The cursor is strict about what it reads and counts brackets about what it skips.
 */
#include "formats/tokenizers/json_cursor_internal.h"

#include <string.h>

#include "formats/utf8_internal.h"

#define DEEPEST 512

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char txd_json_peek(txd_json_cursor *cursor)
{
    while (cursor->at < cursor->count && is_blank(cursor->bytes[cursor->at]))
        cursor->at++;
    return cursor->at < cursor->count ? cursor->bytes[cursor->at] : '\0';
}

txd_status txd_json_expected(const txd_json_cursor *cursor, const char *what)
{
    unsigned char found = 0;

    if (cursor->at >= cursor->count)
        return txd_fail(TXD_ERR_FORMAT, "%s: byte %zu: expected %s, found the end",
                        cursor->name, cursor->at, what);
    found = (unsigned char)cursor->bytes[cursor->at];
    if (found < 0x20 || found >= 0x7F)
        return txd_fail(TXD_ERR_FORMAT, "%s: byte %zu: expected %s, found byte 0x%02x",
                        cursor->name, cursor->at, what, (unsigned)found);
    return txd_fail(TXD_ERR_FORMAT, "%s: byte %zu: expected %s, found '%c'",
                    cursor->name, cursor->at, what, found);
}

txd_status txd_json_enter(txd_json_cursor *cursor, char bracket)
{
    if (txd_json_peek(cursor) != bracket)
        return txd_json_expected(cursor, bracket == '{' ? "an object" : "a list");
    cursor->at++;
    cursor->first = true;
    return TXD_OK;
}

txd_status txd_json_next(bool *more, txd_json_cursor *cursor, char closing)
{
    char c = txd_json_peek(cursor);

    *more = c != closing;
    if (!*more) {
        cursor->at++;
    } else if (!cursor->first) {
        if (c != ',')
            return txd_json_expected(cursor, "a comma or the closing bracket");
        cursor->at++;
    }
    cursor->first = false;
    return TXD_OK;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \u. */
static txd_status take_unit(uint32_t *out, txd_json_cursor *cursor)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int digit =
            cursor->at < cursor->count ? digit_of(cursor->bytes[cursor->at]) : -1;

        if (digit < 0)
            return txd_json_expected(cursor, "four hexadecimal digits");
        *out = *out << 4 | (uint32_t)digit;
        cursor->at++;
    }
    return TXD_OK;
}

static txd_status take_unicode(txd_json_cursor *cursor)
{
    uint32_t code, low;
    char bytes[4];

    TXD_TRY(take_unit(&code, cursor));
    if (code >= 0xD800 && code < 0xDC00) {
        if (cursor->count - cursor->at < 2 || cursor->bytes[cursor->at] != '\\' ||
            cursor->bytes[cursor->at + 1] != 'u')
            return txd_json_expected(cursor, "the second half of a character");
        cursor->at += 2;
        TXD_TRY(take_unit(&low, cursor));
        if (low < 0xDC00 || low > 0xDFFF)
            return txd_json_expected(cursor, "the second half of a character before");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return txd_json_expected(cursor, "the first half of a character before");
    }
    txd_text_add_bytes(&cursor->string, bytes, txd_utf8_encode(bytes, code));
    return TXD_OK;
}

static txd_status take_escape(txd_json_cursor *cursor)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = cursor->at < cursor->count ? cursor->bytes[cursor->at] : '\0';
    const char *known = c ? strchr(names, c) : NULL;

    if (c == 'u') {
        cursor->at++;
        return take_unicode(cursor);
    }
    if (!known)
        return txd_json_expected(cursor, "an escape");
    cursor->at++;
    txd_text_add_bytes(&cursor->string, values + (known - names), 1);
    return TXD_OK;
}

txd_status txd_json_take_string(txd_json_cursor *cursor)
{
    if (txd_json_peek(cursor) != '"')
        return txd_json_expected(cursor, "a string");
    cursor->at++;
    cursor->string.length = 0;
    while (cursor->at < cursor->count && cursor->bytes[cursor->at] != '"') {
        uint32_t code;
        size_t bytes;

        if (cursor->bytes[cursor->at] == '\\') {
            cursor->at++;
            TXD_TRY(take_escape(cursor));
            continue;
        }
        bytes = txd_utf8_decode(&code, cursor->bytes + cursor->at,
                                cursor->count - cursor->at);
        if (bytes == 0 || code < 0x20)
            return txd_json_expected(cursor, "UTF-8 without control characters");
        txd_text_add_bytes(&cursor->string, cursor->bytes + cursor->at, bytes);
        cursor->at += bytes;
    }
    if (cursor->at >= cursor->count)
        return txd_json_expected(cursor, "the end of a string");
    cursor->at++;
    return txd_text_status(&cursor->string);
}

txd_status txd_json_take_key(txd_json_cursor *cursor)
{
    TXD_TRY(txd_json_take_string(cursor));
    if (txd_json_peek(cursor) != ':')
        return txd_json_expected(cursor, "a colon");
    cursor->at++;
    return TXD_OK;
}

txd_status txd_json_take_integer(int64_t *out, txd_json_cursor *cursor)
{
    bool minus = txd_json_peek(cursor) == '-';
    int64_t value = 0;
    size_t digits = 0;

    cursor->at += minus;
    while (cursor->at < cursor->count && cursor->bytes[cursor->at] >= '0' &&
           cursor->bytes[cursor->at] <= '9') {
        if (++digits > 18)
            return txd_json_expected(cursor, "a smaller integer");
        value = 10 * value + (cursor->bytes[cursor->at++] - '0');
    }
    if (digits == 0 ||
        (cursor->at < cursor->count && strchr(".eE", cursor->bytes[cursor->at])))
        return txd_json_expected(cursor, "an integer");
    *out = minus ? -value : value;
    return TXD_OK;
}

static txd_status skip_string(txd_json_cursor *cursor)
{
    cursor->at++;
    while (cursor->at < cursor->count && cursor->bytes[cursor->at] != '"')
        cursor->at += cursor->bytes[cursor->at] == '\\' ? 2 : 1;
    if (cursor->at >= cursor->count) {
        cursor->at = cursor->count;
        return txd_json_expected(cursor, "the end of a string");
    }
    cursor->at++;
    return TXD_OK;
}

static txd_status skip_word(txd_json_cursor *cursor)
{
    size_t begin = cursor->at;

    while (cursor->at < cursor->count && !is_blank(cursor->bytes[cursor->at]) &&
           !strchr(",:{}[]\"", cursor->bytes[cursor->at]))
        cursor->at++;
    return cursor->at > begin ? TXD_OK : txd_json_expected(cursor, "a value");
}

txd_status txd_json_skip(txd_json_cursor *cursor)
{
    char closing[DEEPEST];
    size_t depth = 0;

    do {
        char c = txd_json_peek(cursor);

        if (c == '"') {
            TXD_TRY(skip_string(cursor));
        } else if (c == '{' || c == '[') {
            if (depth == DEEPEST)
                return txd_json_expected(cursor, "less nesting");
            closing[depth++] = c == '{' ? '}' : ']';
            cursor->at++;
        } else if (depth > 0 && c == closing[depth - 1]) {
            depth--;
            cursor->at++;
        } else if (depth > 0 && (c == ',' || c == ':')) {
            cursor->at++;
        } else {
            TXD_TRY(skip_word(cursor));
        }
    } while (depth > 0);
    return TXD_OK;
}
