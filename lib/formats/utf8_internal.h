/* SPDX-License-Identifier: MIT
 *
 * UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.
 */
#ifndef TXD_FORMATS_UTF8_INTERNAL_H
#define TXD_FORMATS_UTF8_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the character at `text`, of which `left` are there, and its code point;
 * 0 if no valid one begins there. */
static inline size_t txd_utf8_decode(uint32_t *code, const char *text, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = left > 0 ? (unsigned char)*text : 0xFF;
    size_t count = lead < 0x80             ? 1
                   : (lead & 0xE0) == 0xC0 ? 2
                   : (lead & 0xF0) == 0xE0 ? 3
                   : (lead & 0xF8) == 0xF0 ? 4
                                           : 0;
    uint32_t value = lead;

    if (count == 0 || count > left)
        return 0;
    if (count > 1)
        value &= 0xFFu >> (count + 1);
    for (size_t i = 1; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];

        if ((byte & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (byte & 0x3F);
    }
    if (value < least[count] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return count;
}

/* Writes a code point; returns its bytes. */
static inline size_t txd_utf8_encode(char out[4], uint32_t code)
{
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = count; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[count] | code);
    return count;
}

/* Bytes of the longest valid text that begins at `text`. */
static inline size_t txd_utf8_valid(const char *text, size_t count)
{
    size_t at = 0;
    uint32_t code;

    while (at < count) {
        size_t bytes = txd_utf8_decode(&code, text + at, count - at);

        if (bytes == 0)
            break;
        at += bytes;
    }
    return at;
}

/* Unicode's White_Space. */
static inline bool txd_utf8_is_space(uint32_t code)
{
    return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 ||
           code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

#endif
