/* SPDX-License-Identifier: MIT
 *
 * PCRE2, the only file that knows it. The patterns of tokenizers were written for other
 * libraries; what those read differently is rewritten before. The text is checked once,
 * not by every match, which would make a long text cost its square.
 */
#include "formats/tokenizers/pattern_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "formats/utf8_internal.h"

#define MATCH_STEPS 1000000
#define HEAP_KIB 65536
#define LONGEST_PATTERN 65536

/* Inside of a set: White_Space, and what a word is made of. */
#define SPACES                                                                         \
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}" \
    "\\x{202F}\\x{205F}\\x{3000}"
#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"

struct txd_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

txd_status txd_spans_add(txd_spans *spans, size_t begin, size_t end)
{
    if (spans->count == spans->capacity) {
        size_t capacity = spans->capacity ? 2 * spans->capacity : 64;
        txd_span *grown = realloc(spans->at, capacity * sizeof *grown);

        if (!grown)
            return txd_fail(TXD_ERR_MEMORY, "no memory for the pieces of a text");
        spans->at = grown;
        spans->capacity = capacity;
    }
    spans->at[spans->count++] = (txd_span){begin, end};
    return TXD_OK;
}

/* What an escape is written as instead; NULL if it stays. */
static const char *escape_of(char letter, bool in_set)
{
    switch (letter) {
    case 's':
        return in_set ? SPACES : "[" SPACES "]";
    case 'S':
        return in_set ? NULL : "[^" SPACES "]";
    case 'w':
        return in_set ? WORDS : "[" WORDS "]";
    case 'W':
        return in_set ? NULL : "[^" WORDS "]";
    case 'd':
        return "\\p{Nd}";
    case 'D':
        return "\\P{Nd}";
    default:
        return NULL;
    }
}

static txd_status refuse(size_t at, const char *what)
{
    return txd_fail(TXD_ERR_UNSUPPORTED, "character %zu of the pattern: %s", at, what);
}

/* A pattern on its way. */
struct rewriting {
    txd_text *out;
    const char *regex;
    size_t length, at;
    int depth; /* of sets */
};

static bool follows(const struct rewriting *r, char next)
{
    return r->at + 1 < r->length && r->regex[r->at + 1] == next;
}

/* Copies a bracket; a set within a set is the union, whose brackets are left out. */
static txd_status put_bracket(struct rewriting *r)
{
    if (r->regex[r->at] == ']') {
        if (r->depth > 0)
            r->depth--;
        if (r->depth == 0)
            txd_text_add(r->out, "]");
        return TXD_OK;
    }
    if (r->depth > 0 && follows(r, '^'))
        return refuse(r->at, "an excluding set within a set is not supported");
    if (r->depth > 0 && follows(r, ':'))
        return refuse(r->at, "a set by name is not supported");
    if (r->depth++ == 0)
        txd_text_add(r->out, "[");
    return TXD_OK;
}

static void put_escape(struct rewriting *r)
{
    const char *instead = escape_of(r->regex[r->at + 1], r->depth > 0);

    if (instead)
        txd_text_add(r->out, instead);
    else
        txd_text_add_bytes(r->out, r->regex + r->at, 2);
    r->at++;
}

static txd_status rewrite(txd_text *out, const char *regex, size_t length)
{
    struct rewriting r = {out, regex, length, 0, 0};

    if (length > LONGEST_PATTERN)
        return refuse(LONGEST_PATTERN, "the pattern is too long");
    for (; r.at < length; r.at++) {
        char c = regex[r.at];

        if (c == '\\' && r.at + 1 < length)
            put_escape(&r);
        else if (c == '[' || c == ']')
            TXD_TRY(put_bracket(&r));
        else if (c == '&' && r.depth > 0 && follows(&r, '&'))
            return refuse(r.at, "an intersection of sets (&&) is not supported");
        else
            txd_text_add_bytes(out, &c, 1);
    }
    return txd_text_status(out);
}

static txd_status compile(txd_pattern *pattern, const txd_text *regex)
{
    const uint32_t flags =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    PCRE2_SIZE place = 0;
    PCRE2_UCHAR text[200] = "";
    int error = 0;

    pattern->code = pcre2_compile((PCRE2_SPTR)txd_text_get(regex), regex->length, flags,
                                  &error, &place, NULL);
    if (!pattern->code) {
        pcre2_get_error_message(error, text, sizeof text);
        return txd_fail(TXD_ERR_UNSUPPORTED, "character %zu of the pattern %s: %s",
                        (size_t)place, txd_text_get(regex), (const char *)text);
    }
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->limits)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a pattern");
    pcre2_set_match_limit(pattern->limits, MATCH_STEPS);
    pcre2_set_heap_limit(pattern->limits, HEAP_KIB);
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
    return TXD_OK;
}

txd_status txd_pattern_create(txd_pattern **out, const char *regex, size_t length)
{
    txd_pattern *pattern = calloc(1, sizeof *pattern);
    txd_text rewritten;
    txd_status status;

    if (!pattern)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a pattern");
    txd_text_init(&rewritten);
    status = rewrite(&rewritten, regex, length);
    if (status == TXD_OK)
        status = compile(pattern, &rewritten);
    txd_text_finish(&rewritten);
    if (status != TXD_OK) {
        txd_pattern_destroy(pattern);
        return status;
    }
    *out = pattern;
    return TXD_OK;
}

void txd_pattern_destroy(txd_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    free(pattern);
}

struct search {
    txd_spans *out;
    const txd_pattern *pattern;
    pcre2_match_data *data;
};

/* A match at or after `from`; what needs more stack than the compiled code has is
 * interpreted. */
static int match(const struct search *search, const char *text, size_t count,
                 size_t from)
{
    const txd_pattern *p = search->pattern;
    int found = pcre2_match(p->code, (PCRE2_SPTR)text, count, from, PCRE2_NO_UTF_CHECK,
                            search->data, p->limits);

    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(p->code, (PCRE2_SPTR)text, count, from,
                            PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->data, p->limits);
    return found;
}

/* All matches in valid text, which begins at `base` of the whole. */
static txd_status find_valid(const struct search *search, const char *text,
                             size_t count, size_t base)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(search->data);
    size_t from = 0;
    uint32_t code;

    while (from <= count) {
        int found = match(search, text, count, from);

        if (found == PCRE2_ERROR_NOMATCH)
            return TXD_OK;
        if (found < 0)
            return txd_fail(TXD_ERR_LIMIT,
                            "byte %zu of the text: the tokenizer's pattern takes too "
                            "many steps here",
                            base + from);
        if (ends[1] < ends[0]) /* \K in a look-ahead */
            return TXD_OK;
        TXD_TRY(txd_spans_add(search->out, base + ends[0], base + ends[1]));
        from = ends[1];
        if (ends[1] == ends[0])
            from += from < count ? txd_utf8_decode(&code, text + from, count - from)
                                 : (size_t)1;
    }
    return TXD_OK;
}

txd_status txd_pattern_find(txd_spans *out, const txd_pattern *pattern,
                            const char *text, size_t count)
{
    struct search search = {out, pattern, pcre2_match_data_create(1, NULL)};
    txd_status status = TXD_OK;
    size_t at = 0;

    if (!search.data)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a match");
    while (at < count && status == TXD_OK) {
        size_t valid = txd_utf8_valid(text + at, count - at);

        if (valid > 0)
            status = find_valid(&search, text + at, valid, at);
        at += valid ? valid : 1;
    }
    pcre2_match_data_free(search.data);
    return status;
}

static txd_status lower_valid(txd_text *out, pcre2_code *code, const char *text,
                              size_t count)
{
    PCRE2_SIZE length = 3 * count + 16; /* a letter in lower case has no more bytes */
    PCRE2_UCHAR *buffer = malloc(length);
    int done;

    if (!buffer)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a text in lower case");
    done = pcre2_substitute(code, (PCRE2_SPTR)text, count, 0,
                            PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED |
                                PCRE2_NO_UTF_CHECK,
                            NULL, NULL, (PCRE2_SPTR) "\\L$0", 4, buffer, &length);
    if (done >= 0)
        txd_text_add_bytes(out, buffer, length);
    free(buffer);
    return done >= 0 ? txd_text_status(out)
                     : txd_fail(TXD_ERR_LIMIT, "a text has no lower case");
}

/* Writes the lower case of what is no letter to PCRE2, or of the one letter that
 * becomes two, the dotted capital I; returns the bytes that it had, 0 for all others.
 */
static size_t lower_special(txd_text *out, const char *text, size_t left)
{
    uint32_t code = 0;
    size_t bytes =
        (unsigned char)text[0] < 0xC4 ? 0 : txd_utf8_decode(&code, text, left);
    char lower[4];

    if (code >= 0x2160 && code <= 0x216F) /* numerals */
        code += 0x10;
    else if (code >= 0x24B6 && code <= 0x24CF) /* circled letters */
        code += 0x1A;
    else if (code != 0x130)
        return 0;
    if (code == 0x130)
        txd_text_add(out, "i\xCC\x87");
    else
        txd_text_add_bytes(out, lower, txd_utf8_encode(lower, code));
    return bytes;
}

static txd_status lower_runs(txd_text *out, pcre2_code *code, const char *text,
                             size_t count)
{
    size_t from = 0, at = 0;
    txd_text special;
    txd_status status = TXD_OK;

    txd_text_init(&special);
    while (at < count && status == TXD_OK) {
        size_t bytes = lower_special(&special, text + at, count - at);

        if (bytes == 0) {
            at++;
            continue;
        }
        status = lower_valid(out, code, text + from, at - from);
        txd_text_add_bytes(out, txd_text_get(&special), special.length);
        special.length = 0;
        from = at += bytes;
    }
    txd_text_finish(&special);
    return status == TXD_OK ? lower_valid(out, code, text + from, count - from)
                            : status;
}

txd_status txd_pattern_lower(txd_text *out, const char *text, size_t count)
{
    txd_pattern *letters = NULL;
    txd_status status = txd_pattern_create(&letters, "\\p{L}+", 6);
    size_t at = 0;

    while (at < count && status == TXD_OK) {
        size_t valid = txd_utf8_valid(text + at, count - at);

        if (valid > 0)
            status = lower_runs(out, letters->code, text + at, valid);
        else
            txd_text_add_bytes(out, text + at, 1);
        at += valid ? valid : 1;
    }
    txd_pattern_destroy(letters);
    return status;
}
