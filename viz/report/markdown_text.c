/* SPDX-License-Identifier: MIT
 *
 * Everything that could be markup is a numeric character reference: of these Markdown
 * says that they never act as what they stand for, not even as the end of a table's
 * cell, which a backslash does not prevent everywhere.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "viz/draw/script.h"
#include "viz/report/markdown.h"

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || (unsigned char)character >= 0x80;
}

/* A '_' inside of a word, a ':' at the end of one, and a '.' are text, unless the word
 * would be a link by itself. */
static bool is_plain(const char *text, const char *at)
{
    char before = at > text ? at[-1] : ' ';

    if (is_word(*at) || strchr(" ,;()=+-/%'", *at))
        return true;
    if (*at == '_')
        return is_word(before) && is_word(at[1]);
    if (*at == ':')
        return at[1] == ' ' || at[1] == '\0';
    return *at == '.' && !(at >= text + 3 && strncasecmp(at - 3, "www", 3) == 0);
}

static void add(txd_text *out, const char *text, size_t limit, bool code)
{
    txd_text cleaned;
    const char *begin;

    txd_text_init(&cleaned);
    txd_clean(&cleaned, text, limit);
    begin = txd_text_get(&cleaned);
    code = code || strpbrk(begin, "@#");
    txd_text_add(out, code && *begin ? "<code>" : "");
    for (const char *at = begin; *at; at++) {
        if (is_plain(begin, at))
            txd_text_add_bytes(out, at, 1);
        else
            txd_text_addf(out, "&#%d;", (unsigned char)*at);
    }
    txd_text_add(out, code && *begin ? "</code>" : "");
    if (txd_text_status(&cleaned) != TXD_OK)
        out->status = txd_text_status(&cleaned);
    txd_text_finish(&cleaned);
}

void txd_markdown_add(txd_text *out, const char *text, size_t limit)
{
    add(out, text, limit, false);
}

void txd_markdown_code(txd_text *out, const char *text, size_t limit)
{
    add(out, text, limit, true);
}

void txd_markdown_number(txd_text *out, double value)
{
    if (!isnan(value))
        txd_text_addf(out, "%.3g", value);
}
