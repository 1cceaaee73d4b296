/* SPDX-License-Identifier: MIT
 *
 * Control characters are those of ASCII and the second set of 0x80 to 0x9f, which
 * terminals obey as bytes of their own and in UTF-8 after 0xc2.
 */
#include "cli/printable.h"

#include <string.h>

/* How many bytes the UTF-8 sequence that begins with `byte` has after it. */
static int bytes_after(unsigned char byte)
{
    if (byte >= 0xf0)
        return byte < 0xf5 ? 3 : 0;
    if (byte >= 0xe0)
        return 2;
    return byte >= 0xc2 ? 1 : 0;
}

static bool is_second_set(unsigned char byte)
{
    return byte >= 0x80 && byte < 0xa0;
}

static bool is_control(const unsigned char *at, size_t left, bool line)
{
    if (*at == '\n')
        return line && left > 1 && at[1] != ' ';
    return (*at < 0x20 && *at != '\t') || *at == 0x7f || is_second_set(*at) ||
           (*at == 0xc2 && left > 1 && is_second_set(at[1]));
}

/* U+202A to U+202E and U+2066 to U+2069, after which a line reads in another order. */
static bool turns_line(const unsigned char *at, size_t left)
{
    return left > 2 && at[0] == 0xe2 &&
           ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) ||
            (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

void txd_printable(FILE *out, const char *text, size_t count, bool line)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t i = 0;

    while (i < count) {
        int after = bytes_after(at[i]);

        if (turns_line(at + i, count - i)) {
            fprintf(out, "\\u%04x",
                    0x2000U | (at[i + 1] & 0x3fU) << 6 | (at[i + 2] & 0x3fU));
            i += 3;
            continue;
        }
        if (is_control(at + i, count - i, line)) {
            if (at[i] == '\n')
                fputs("\\n", out);
            else
                fprintf(out, "\\x%02x", at[i]);
            i++;
            continue;
        }
        putc(at[i++], out);
        for (; after > 0 && i < count && (at[i] & 0xc0) == 0x80; after--)
            putc(at[i++], out);
    }
}

void txd_printable_piece(txd_text *out, const char *piece)
{
    static const char letters[] = "\n\r\t\\", names[] = "nrt\\";

    for (; *piece; piece++) {
        const char *known = strchr(letters, *piece);

        if (known)
            txd_text_addf(out, "\\%c", names[known - letters]);
        else if ((unsigned char)*piece < 0x20 || *piece == 0x7F)
            txd_text_addf(out, "\\x%02x", (unsigned)(unsigned char)*piece);
        else
            txd_text_add_bytes(out, piece, 1);
    }
}
