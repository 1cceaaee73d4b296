/* SPDX-License-Identifier: MIT
 *
 * A text doubles its capacity as it grows and remembers the first failure, so that
 * a writer of reports needs one check instead of hundreds.
 */
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and the terminator. */
static int reserve(txd_text *text, size_t more)
{
    size_t needed, capacity = text->capacity ? text->capacity : 64;
    char *grown;

    if (text->status != TXD_OK)
        return 0;
    if (more >= SIZE_MAX / 2 - text->length)
        goto failed;
    needed = text->length + more + 1;
    if (needed <= text->capacity)
        return 1;
    while (capacity < needed)
        capacity *= 2;
    grown = realloc(text->data, capacity);
    if (!grown)
        goto failed;
    text->data = grown;
    text->capacity = capacity;
    return 1;
failed:
    text->status = TXD_ERR_MEMORY;
    return 0;
}

void txd_text_init(txd_text *text)
{
    *text = (txd_text){.status = TXD_OK};
}

void txd_text_finish(txd_text *text)
{
    free(text->data);
    txd_text_init(text);
}

void txd_text_add(txd_text *text, const char *string)
{
    txd_text_add_bytes(text, string, strlen(string));
}

void txd_text_add_bytes(txd_text *text, const void *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void txd_text_addf(txd_text *text, const char *format, ...)
{
    va_list arguments, again;
    int count;

    va_start(arguments, format);
    va_copy(again, arguments);
    count = vsnprintf(NULL, 0, format, arguments);
    if (count < 0)
        text->status = TXD_ERR_MEMORY;
    else if (reserve(text, (size_t)count)) {
        vsnprintf(text->data + text->length, (size_t)count + 1, format, again);
        text->length += (size_t)count;
    }
    va_end(again);
    va_end(arguments);
}

void txd_text_add_real(txd_text *text, double value)
{
    char digits[40];

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    if (isnan(value))
        snprintf(digits, sizeof digits, "nan");
    for (char *p = digits; *p; p++)
        if (*p == ',')
            *p = '.';
    txd_text_add(text, digits);
}

const char *txd_text_get(const txd_text *text)
{
    return text->data ? text->data : "";
}

txd_status txd_text_status(const txd_text *text)
{
    if (text->status == TXD_OK)
        return TXD_OK;
    return txd_fail(text->status, "out of memory after %zu bytes of text",
                    text->length);
}

/* Unicode 15, table 3-7. */
size_t txd_text_character(const char *at)
{
    const unsigned char *s = (const unsigned char *)at;
    unsigned char low = 0x80, high = 0xbf;
    size_t length;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] == 0xe0)
        low = 0xa0; /* shorter forms exist */
    else if (s[0] == 0xed)
        high = 0x9f; /* surrogates */
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f; /* beyond U+10FFFF */
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return length;
}
