/* SPDX-License-Identifier: MIT
 *
 * The scanner knows just enough of libconfig's lexer to tell numbers from names,
 * strings and comments, by the same rules of the longest match. It judges no
 * grammar: that is libconfig's part.
 */
#include "formats/cfg_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"

#define MAX_TEXT ((size_t)16 << 20)
#define MAX_NESTING 100
#define MAX_INCLUDES 100 /* files in all */
#define MAX_INCLUDE_DEPTH 8

/* What the included files share. */
typedef struct progress {
    const char *folder;
    int nesting, files, depth;
} progress;

typedef struct scanner {
    const char *name;
    const char *text, *end, *at;
    int line;
    progress *total;
} scanner;

static txd_status scan_text(scanner *s);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}

/* The character `ahead` of the current one; 0 beyond the end. */
static char peek(const scanner *s, size_t ahead)
{
    return (size_t)(s->end - s->at) > ahead ? s->at[ahead] : '\0';
}

static txd_status fail_number(const scanner *s, size_t length, const char *accepted)
{
    int shown = length > 40 ? 40 : (int)length;

    return txd_fail(TXD_ERR_CONFIG, "%s:%d: found the number %.*s, accepted: %s",
                    s->name, s->line, shown, s->at, accepted);
}

/* Value of `count` digits, at most `limit`; false beyond. */
static bool fits(const char *digits, size_t count, unsigned base, uint64_t limit)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) {
        char c = digits[i];
        unsigned digit =
            is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;

        if (value > (limit - digit) / base)
            return false;
        value = value * base + digit;
    }
    return true;
}

static txd_status check_hex(scanner *s)
{
    size_t digits = 0;
    bool wide;

    while (is_hex(peek(s, 2 + digits)))
        digits++;
    wide = peek(s, 2 + digits) == 'L';
    if (!fits(s->at + 2, digits, 16, wide ? INT64_MAX : INT32_MAX))
        return fail_number(s, 2 + digits,
                           "0 to 0x7fffffff, with the suffix L to 0x7fffffffffffffffL");
    s->at += 2 + digits;
    return TXD_OK;
}

static txd_status check_integer(const scanner *s, size_t sign, size_t digits)
{
    bool wide = peek(s, sign + digits) == 'L';
    bool negative = *s->at == '-';
    uint64_t limit = (wide ? (uint64_t)INT64_MAX : INT32_MAX) + negative;

    if (fits(s->at + sign, digits, 10, limit))
        return TXD_OK;
    if (wide)
        return fail_number(s, sign + digits,
                           "-9223372036854775808L to 9223372036854775807L");
    return fail_number(s, sign + digits,
                       "-2147483648 to 2147483647; larger ones with the suffix L");
}

/* Length of an exponent at `ahead`: "e-5"; 0 if there is none. */
static size_t exponent_length(const scanner *s, size_t ahead)
{
    size_t n = 1;

    if ((peek(s, ahead) | 32) != 'e')
        return 0;
    if (peek(s, ahead + n) == '-' || peek(s, ahead + n) == '+')
        n++;
    if (!is_digit(peek(s, ahead + n)))
        return 0;
    while (is_digit(peek(s, ahead + n)))
        n++;
    return n;
}

static txd_status scan_number(scanner *s)
{
    size_t sign = *s->at == '-' || *s->at == '+', whole = 0, length, exponent;

    if (*s->at == '0' && (peek(s, 1) | 32) == 'x' && is_hex(peek(s, 2)))
        return check_hex(s);
    while (is_digit(peek(s, sign + whole)))
        whole++;
    length = sign + whole;
    if (peek(s, length) == '.') {
        size_t start = ++length;

        while (is_digit(peek(s, length)))
            length++;
        if (whole == 0 && length == start)
            return fail_number(s, length, "digits before or after the point");
        length += exponent_length(s, length);
    } else if (whole == 0) {
        length = 1; /* a lone sign: the grammar's business */
    } else if ((exponent = exponent_length(s, length)) != 0) {
        length += exponent;
    } else {
        TXD_TRY(check_integer(s, sign, whole));
    }
    s->at += length;
    return TXD_OK;
}

static txd_status scan_comment(scanner *s)
{
    int start = s->line;

    for (s->at += 2; s->at < s->end; s->at++) {
        if (*s->at == '*' && peek(s, 1) == '/') {
            s->at += 2;
            return TXD_OK;
        }
        s->line += *s->at == '\n';
    }
    return txd_fail(TXD_ERR_CONFIG, "%s:%d: this comment has no end; close it with */",
                    s->name, start);
}

static txd_status scan_line_comment(scanner *s)
{
    while (s->at < s->end && *s->at != '\n')
        s->at++;
    if (s->at < s->end)
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG, "%s:%d: this comment must end in a line feed",
                    s->name, s->line);
}

static txd_status scan_string(scanner *s)
{
    int start = s->line;

    for (s->at++; s->at < s->end; s->at++) {
        if (*s->at == '"') {
            s->at++;
            return TXD_OK;
        }
        if (*s->at == '\\' && (peek(s, 1) | 32) == 'x' && peek(s, 2) == '0' &&
            peek(s, 3) == '0')
            return txd_fail(TXD_ERR_CONFIG,
                            "%s:%d: found \\x00 in a string; a string ends there, "
                            "remove it",
                            s->name, s->line);
        if (*s->at == '\\' && (peek(s, 1) == '"' || peek(s, 1) == '\\'))
            s->at++;
        s->line += *s->at == '\n';
    }
    return txd_fail(TXD_ERR_CONFIG, "%s:%d: this string has no end; close it with \"",
                    s->name, start);
}

/* Characters up to and including the quote of `  @include "`; 0 if it is not one. */
static size_t include_length(const scanner *s)
{
    static const char word[] = "@include";
    size_t n = 0, blanks = 0;

    if (s->at != s->text && s->at[-1] != '\n')
        return 0;
    while (peek(s, n) == ' ' || peek(s, n) == '\t')
        n++;
    if ((size_t)(s->end - s->at) < n + sizeof word ||
        memcmp(s->at + n, word, sizeof word - 1) != 0)
        return 0;
    n += sizeof word - 1;
    for (; peek(s, n) == ' ' || peek(s, n) == '\t'; n++)
        blanks++;
    return blanks && peek(s, n) == '"' ? n + 1 : 0;
}

/* libconfig joins the folder and the name of every include, absolute or not. */
static char *include_path(const scanner *s, const char *name, size_t length)
{
    size_t folder = strlen(s->total->folder), n = folder + 1;
    char *path = malloc(folder + length + 2);

    if (!path)
        return NULL;
    memcpy(path, s->total->folder, folder);
    path[folder] = '/';
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '\\' && i + 1 < length)
            i++;
        path[n++] = name[i];
    }
    path[n] = '\0';
    return path;
}

static txd_status scan_file(scanner *from, const char *path)
{
    scanner s = {.name = path, .line = 1, .total = from->total};
    char *text;
    size_t count;
    txd_status status = txd_cfg_read(&text, &count, path);

    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s:%d: @include", from->name, from->line);
    s.text = s.at = text;
    s.end = text + count - 1; /* as libconfig sees it */
    s.total->depth++;
    status = scan_text(&s);
    s.total->depth--;
    free(text);
    return status;
}

static txd_status scan_include(scanner *s, size_t opening)
{
    const char *name = s->at + opening;
    size_t length = 0;
    txd_status status;
    char *path;

    while (name + length < s->end && name[length] != '"' && name[length] != '\n')
        length += name[length] == '\\' ? 2 : 1;
    if (name + length >= s->end || name[length] != '"')
        return txd_fail(TXD_ERR_CONFIG, "%s:%d: @include has no closing quote", s->name,
                        s->line);
    if (!s->total->folder)
        return txd_fail(TXD_ERR_CONFIG, "%s:%d: @include works in files only", s->name,
                        s->line);
    if (++s->total->files > MAX_INCLUDES || s->total->depth >= MAX_INCLUDE_DEPTH)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s:%d: more than %d included files, or %d within each other; "
                        "does a file include itself?",
                        s->name, s->line, MAX_INCLUDES, MAX_INCLUDE_DEPTH);
    path = include_path(s, name, length);
    if (!path)
        return txd_fail(TXD_ERR_MEMORY, "%s:%d: out of memory", s->name, s->line);
    status = scan_file(s, path);
    free(path);
    s->at = name + length + 1;
    return status;
}

static txd_status scan_other(scanner *s)
{
    char c = *s->at;

    if (c == '(' || c == '[' || c == '{')
        s->total->nesting++;
    else if (c == ')' || c == ']' || c == '}')
        s->total->nesting--;
    if (s->total->nesting > MAX_NESTING)
        return txd_fail(TXD_ERR_CONFIG, "%s:%d: brackets nested more than %d deep",
                        s->name, s->line, MAX_NESTING);
    s->line += c == '\n';
    s->at++;
    return TXD_OK;
}

static txd_status scan_token(scanner *s)
{
    size_t opening = include_length(s);
    char c = *s->at;

    if (opening)
        return scan_include(s, opening);
    if (c == '/' && peek(s, 1) == '*')
        return scan_comment(s);
    if (c == '#' || (c == '/' && peek(s, 1) == '/'))
        return scan_line_comment(s);
    if (c == '"')
        return scan_string(s);
    if (is_digit(c) || c == '-' || c == '+' || c == '.')
        return scan_number(s);
    if (!is_name_start(c))
        return scan_other(s);
    while (is_name_start(peek(s, 0)) || is_digit(peek(s, 0)) || peek(s, 0) == '-' ||
           peek(s, 0) == '_')
        s->at++;
    return TXD_OK;
}

static txd_status scan_text(scanner *s)
{
    const char *zero = memchr(s->text, '\0', (size_t)(s->end - s->text));

    if (zero)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: found a zero byte at offset %zu; expected text, is this a "
                        "configuration file?",
                        s->name, (size_t)(zero - s->text));
    while (s->at < s->end)
        TXD_TRY(scan_token(s));
    return TXD_OK;
}

txd_status txd_cfg_scan(const char *name, const char *text, size_t count,
                        const char *folder)
{
    progress total = {.folder = folder};
    scanner s = {.name = name, .line = 1, .total = &total};

    s.text = s.at = text;
    s.end = text + count;
    return scan_text(&s);
}

txd_status txd_cfg_read(char **out, size_t *count, const char *path)
{
    txd_mapped mapped;
    char *text;

    TXD_TRY(txd_file_map(&mapped, path));
    if (mapped.count > MAX_TEXT) {
        txd_fail(TXD_ERR_CONFIG, "%s: %zu bytes; a configuration has at most %zu", path,
                 mapped.count, MAX_TEXT);
        txd_file_unmap(&mapped);
        return TXD_ERR_CONFIG;
    }
    text = malloc(mapped.count + 2);
    if (!text) {
        txd_file_unmap(&mapped);
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    }
    if (mapped.count)
        memcpy(text, mapped.bytes, mapped.count);
    text[mapped.count] = '\n';
    text[mapped.count + 1] = '\0';
    *count = mapped.count + 1;
    *out = text;
    txd_file_unmap(&mapped);
    return TXD_OK;
}
