/* SPDX-License-Identifier: MIT
 *
 * Key tables as a Markdown page: a section per top-level group, a row per key, in the
 * order of the tables. docs/model.cfg.md is made of it and held against it.
 */
#include "base/settings.h"

#include <string.h>

#define SECTIONS_MAX 64

typedef const txd_key *const *key_tables;

/* Length of the top-level group in a path: "mask.window" 4, "faults[].name" 6; 0 for a
 * key that stands alone. */
static size_t section_length(const char *path)
{
    size_t length = strcspn(path, ".[");

    return path[length] ? length : 0;
}

static void add_cell(txd_text *out, const char *text, const char *quote)
{
    text = text ? text : "";
    txd_text_add(out, " ");
    if (*text)
        txd_text_add(out, quote);
    for (; *text; text++) {
        if (*text == '|')
            txd_text_add(out, "\\"); /* else it would end the cell */
        txd_text_add_bytes(out, text, 1);
        if (!text[1])
            txd_text_add(out, quote);
    }
    txd_text_add(out, " |");
}

static void add_row(txd_text *out, const txd_key *key)
{
    txd_text_add(out, "|");
    add_cell(out, key->path, "`");
    add_cell(out, key->type, "`");
    add_cell(out, key->fallback, "");
    add_cell(out, key->unit, "");
    add_cell(out, key->range, "");
    add_cell(out, key->sentence, "");
    txd_text_add(out, "\n");
}

static void add_section(txd_text *out, key_tables tables, const char *name,
                        size_t length)
{
    if (length == 0)
        txd_text_add(out, "## At the top\n\n");
    else
        txd_text_addf(out, "\n## %.*s\n\n", (int)length, name);
    txd_text_add(out, "| key | type | default | unit | range | meaning |\n"
                      "| --- | --- | --- | --- | --- | --- |\n");
    for (; *tables; tables++)
        for (const txd_key *key = *tables; key->path; key++)
            if (section_length(key->path) == length &&
                strncmp(key->path, name, length) == 0)
                add_row(out, key);
}

void txd_keys_markdown(txd_text *out, const txd_key *const *tables)
{
    const char *done[SECTIONS_MAX] = {""};
    size_t count = 1;

    add_section(out, tables, "", 0);
    for (key_tables table = tables; *table; table++) {
        for (const txd_key *key = *table; key->path; key++) {
            size_t length = section_length(key->path), i = 0;

            while (i < count && (section_length(done[i]) != length ||
                                 strncmp(done[i], key->path, length) != 0))
                i++;
            if (i < count || count == SECTIONS_MAX)
                continue;
            done[count++] = key->path;
            add_section(out, tables, key->path, length);
        }
    }
}
