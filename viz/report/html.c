/* SPDX-License-Identifier: MIT
 *
 * Escaping and encoding for the report.
 */
#include "viz/report/html.h"

#include <math.h>
#include <string.h>

static void add_escaped(txd_text *out, const char *cleaned)
{
    for (; *cleaned; cleaned++) {
        switch (*cleaned) {
        case '&':
            txd_text_add(out, "&amp;");
            break;
        case '<':
            txd_text_add(out, "&lt;");
            break;
        case '>':
            txd_text_add(out, "&gt;");
            break;
        case '"':
            txd_text_add(out, "&quot;");
            break;
        case '\'':
            txd_text_add(out, "&#39;");
            break;
        default:
            txd_text_add_bytes(out, cleaned, 1);
        }
    }
}

void txd_html_add(txd_text *out, const char *text, size_t limit)
{
    txd_text cleaned;

    txd_text_init(&cleaned);
    txd_clean(&cleaned, text ? text : "", limit);
    add_escaped(out, txd_text_get(&cleaned));
    if (txd_text_status(&cleaned) != TXD_OK)
        out->status = txd_text_status(&cleaned);
    txd_text_finish(&cleaned);
}

void txd_html_lines(txd_text *out, const char *text)
{
    txd_text line;

    while (*text && txd_text_status(out) == TXD_OK) {
        size_t length = strcspn(text, "\n");

        txd_text_init(&line);
        txd_text_add_bytes(&line, text, length);
        txd_html_add(out, txd_text_get(&line), SIZE_MAX);
        txd_text_finish(&line);
        text += length;
        if (*text == '\n') {
            txd_text_add(out, "\n");
            text++;
        }
    }
}

void txd_html_number(txd_text *out, double value)
{
    if (!isnan(value))
        txd_text_addf(out, "%.4g", value);
}

void txd_html_base64(txd_text *out, const void *bytes, size_t count)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        unsigned group = (unsigned)from[i] << 16;
        char code[4];

        group |= left > 1 ? (unsigned)from[i + 1] << 8 : 0;
        group |= left > 2 ? from[i + 2] : 0u;
        for (int c = 0; c < 4; c++)
            code[c] = digits[group >> (18 - 6 * c) & 63];
        if (left < 3)
            code[3] = '=';
        if (left < 2)
            code[2] = '=';
        txd_text_add_bytes(out, code, sizeof code);
    }
}
