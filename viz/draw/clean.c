/* SPDX-License-Identifier: MIT
 *
 * Untrusted text made fit to be drawn: token strings, fault names and site names come
 * from files that anybody may have written. Quoting for gnuplot is in script.c, for
 * HTML in html.c; both start from what is made here.
 */
#include "viz/draw/script.h"

#include <string.h>

#define REPLACEMENT 0xFFFDu
#define ELLIPSIS 0x2026u

enum { MOST_CODES = 3 }; /* of neighbours that are written as their codes */

/* Decodes one character strictly; returns its bytes, or 0 if there is none. */
static size_t decode(uint32_t *code, const unsigned char *bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t count = bytes[0] < 0x80             ? 1
                   : (bytes[0] & 0xE0) == 0xC0 ? 2
                   : (bytes[0] & 0xF0) == 0xE0 ? 3
                   : (bytes[0] & 0xF8) == 0xF0 ? 4
                                               : 0;
    uint32_t value = bytes[0];

    if (count <= 1) {
        *code = value;
        return count;
    }
    value &= 0xFFu >> (count + 1);
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3F);
    }
    if (value < least[count] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return count;
}

static bool within(uint32_t code, uint32_t first, uint32_t last)
{
    return code >= first && code <= last;
}

/* Invisible characters, and those that turn the direction of what follows. */
static bool deceives(uint32_t code)
{
    return within(code, 0x80, 0x9F) || code == 0xAD || code == 0x61C ||
           within(code, 0x200B, 0x200F) || within(code, 0x2028, 0x202E) ||
           within(code, 0x2060, 0x206F) || code == 0xFEFF ||
           within(code, 0xFFF0, 0xFFFB) || within(code, 0xE0000, 0xE0FFF) ||
           (code & 0xFFFE) == 0xFFFE;
}

static void add_code(txd_text *out, uint32_t code)
{
    unsigned char bytes[4];
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = count; i-- > 1; code >>= 6)
        bytes[i] = (unsigned char)(0x80 | (code & 0x3F));
    bytes[0] = (unsigned char)(lead[count] | code);
    txd_text_add_bytes(out, bytes, count);
}

/* The next character as it is drawn; advances *at. Control characters of ASCII stay. */
static uint32_t next_clean(const unsigned char **at)
{
    uint32_t code = REPLACEMENT;
    size_t count = decode(&code, *at);

    *at += count ? count : 1;
    return count == 0 || deceives(code) ? REPLACEMENT : code;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || code == 0x7F;
}

/* As `txdiag tokenize` prints them. Their pictures (U+2400 on) are in few fonts. */
static void add_control(txd_text *out, uint32_t code)
{
    static const char letters[] = "\n\r\t", names[] = "nrt";
    const char *known = strchr(letters, (int)code);

    if (known)
        txd_text_addf(out, "\\%c", names[known - letters]);
    else
        txd_text_addf(out, "\\x%02x", (unsigned)code);
}

void txd_clean(txd_text *out, const char *text, size_t limit)
{
    const unsigned char *at = (const unsigned char *)text;

    txd_text_add(out, "");
    for (size_t i = 0; *at; i++) {
        uint32_t code = next_clean(&at);

        if (i + 1 >= limit && *at) {
            add_code(out, ELLIPSIS);
            return;
        }
        if (is_control(code))
            add_control(out, code);
        else
            add_code(out, code);
    }
}

/* What DejaVu Sans has whole, but for what is written from right to left. */
static bool has_glyph(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x7F},  /* with the line ends of a script */
        {0xA0, 0x2AF}, /* Latin, IPA */
        {0x38E, 0x3A1},
        {0x3A3, 0x525},   /* Greek, Cyrillic */
        {0x1E00, 0x1EF9}, /* Latin of Vietnamese and others */
        {0x2010, 0x2027},
        {0x2030, 0x205E}, /* punctuation */
        {0x2070, 0x2071},
        {0x2074, 0x208E}, /* raised, lowered */
        {0x20A0, 0x20B5},
        {0x210B, 0x2149}, /* currencies, letters of formulas */
        {0x2190, 0x22FF}, /* arrows, operators */
        {0x2423, 0x2423}, /* the blank that is seen */
        {0x2500, 0x25FF}, /* boxes, blocks, shapes */
        {REPLACEMENT, REPLACEMENT},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (within(code, ranges[i][0], ranges[i][1]))
            return true;
    return false;
}

/* "<U+65E5 672C>" for the neighbours from *at on that have no glyph. */
static void add_codes(txd_text *out, const unsigned char **at)
{
    for (size_t i = 0; **at; i++) {
        const unsigned char *next = *at;
        uint32_t code = next_clean(&next);

        if (has_glyph(code))
            break;
        if (i < MOST_CODES)
            txd_text_addf(out, "%s%04X", i ? " " : "<U+", (unsigned)code);
        else if (i == MOST_CODES)
            add_code(out, ELLIPSIS);
        *at = next;
    }
    txd_text_add(out, ">");
}

void txd_clean_glyphs(txd_text *out, const char *text, txd_image_kind kind)
{
    const unsigned char *at = (const unsigned char *)text;

    txd_text_add(out, kind == TXD_IMAGE_SVG ? text : "");
    while (kind != TXD_IMAGE_SVG && *at) {
        const unsigned char *next = at;
        uint32_t code = next_clean(&next);

        if (has_glyph(code))
            add_code(out, code);
        else
            add_codes(out, &at);
        at = next > at ? next : at;
    }
}

char *txd_clean_fit(txd_arena *arena, const char *text, txd_image_kind kind)
{
    char *fitted = NULL;
    txd_text out;

    txd_text_init(&out);
    txd_clean_glyphs(&out, text, kind);
    if (txd_text_status(&out) == TXD_OK)
        fitted = txd_arena_string(arena, txd_text_get(&out));
    txd_text_finish(&out);
    return fitted;
}

txd_status txd_clean_fit_all(char ***labels, txd_arena *arena, size_t count,
                             txd_image_kind kind)
{
    char **fitted;

    if (!*labels || kind == TXD_IMAGE_SVG)
        return TXD_OK;
    fitted = txd_arena_alloc(arena, count, sizeof *fitted);
    if (!fitted)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        fitted[i] = txd_clean_fit(arena, (*labels)[i], kind);
        if (!fitted[i])
            return TXD_ERR_MEMORY;
    }
    *labels = fitted;
    return TXD_OK;
}

/* Characters of East Asian width, and symbols drawn as wide. */
static bool is_wide(uint32_t code)
{
    return within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) ||
           within(code, 0xAC00, 0xD7A3) || within(code, 0xF900, 0xFAFF) ||
           within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
           within(code, 0x1F000, 0x3FFFD);
}

size_t txd_clean_width(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0;

    while (*at)
        width += is_wide(next_clean(&at)) ? 2 : 1;
    return width;
}

/* Bytes of `text` that fit in `width`: up to the last blank, if there is one. */
static size_t fitting(const char *text, size_t width)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0, blank = 0;

    while (*at) {
        const unsigned char *before = at;

        used += is_wide(next_clean(&at)) ? 2 : 1;
        if (used > width)
            return blank ? blank : (size_t)(before - (const unsigned char *)text);
        if (*before == ' ')
            blank = (size_t)(before - (const unsigned char *)text);
    }
    return (size_t)(at - (const unsigned char *)text);
}

static char *copy_part(txd_arena *arena, const char *text, size_t bytes)
{
    char *copy = txd_arena_alloc(arena, bytes + 1, 1);

    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

txd_status txd_wrap(char ***out, size_t *count, txd_arena *arena, const char *text,
                    size_t width)
{
    char **lines =
        text ? txd_arena_alloc(arena, strlen(text) + 1, sizeof *lines) : NULL;
    size_t made = 0;

    if (!lines)
        return TXD_ERR_MEMORY;
    while (*text) {
        size_t bytes = fitting(text, width < 2 ? 2 : width);

        lines[made] = copy_part(arena, text, bytes);
        if (!lines[made++])
            return TXD_ERR_MEMORY;
        text += bytes;
        while (*text == ' ')
            text++;
    }
    *out = lines;
    *count = made;
    return TXD_OK;
}
