/* SPDX-License-Identifier: MIT
 *
 * The attribute `record`: a line per use of a probe, its columns separated by tabs.
 */
#include "viz/read/recorded.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, LINE_BYTES = 2048, MOST_LISTED = 8 };

/* One line: probe, points, layers, heads, steps. False if it is none. */
static bool split(char *columns[COLUMNS], char *line)
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        line = line ? strchr(line, '\t') : NULL;
        if (!line && i < COLUMNS - 1)
            return false;
        if (line)
            *line++ = '\0';
    }
    return true;
}

static bool has(const char *range, int index)
{
    txd_range parsed;

    return index < 0 || txd_range_parse(&parsed, range) != TXD_OK ||
           txd_range_has(&parsed, (size_t)index);
}

bool txd_recorded(const txd_trace *recording, const txd_recorded_part *part)
{
    const char *text = txd_trace_meta(recording, "record");
    char line[LINE_BYTES], *columns[COLUMNS];
    bool is_named = false;

    for (size_t bytes; text && *text; text += bytes + (text[bytes] == '\n')) {
        bytes = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(bytes < 1 << 20 ? bytes : 0), text);
        if (!split(columns, line) || strcmp(columns[0], part->probe) != 0 ||
            !txd_glob_list(columns[1], part->site))
            continue;
        if (has(columns[2], part->layer) && has(columns[3], part->head) &&
            has(columns[4], (int)part->step))
            return true;
        is_named = true;
    }
    return !is_named;
}

/* "heads 1, 2, 5": those that are there, in place of the one that is not. */
static void list(txd_text *out, const txd_slice *slice, const txd_recorded_part *part,
                 char letter)
{
    int axis = txd_axis_of(&slice->info, letter), found = 0;
    size_t count = axis < 0 ? 0 : slice->info.dims[axis];
    txd_recorded_part other = *part;

    for (size_t i = 0; i < count && found <= MOST_LISTED; i++) {
        other.step = letter == 's' ? i : part->step;
        other.head = letter == 'h' ? (int)i : -1;
        if (!txd_recorded(slice->recording, &other))
            continue;
        if (found == 0)
            txd_text_addf(out, "; recorded %s: ", letter == 'h' ? "heads" : "steps");
        if (found++ == MOST_LISTED)
            txd_text_add(out, ", ...");
        else
            txd_text_addf(out, "%s%zu", found > 1 ? ", " : "", i);
    }
}

static txd_status refuse(const txd_slice *slice, const txd_recorded_part *part)
{
    txd_recorded_part any_head = *part;
    bool other_head;
    txd_text text;

    any_head.head = -1;
    other_head = part->head >= 0 && txd_recorded(slice->recording, &any_head);
    txd_text_init(&text);
    txd_text_addf(&text, "%s", part->site);
    if (other_head)
        txd_text_addf(&text, ", head %d", part->head);
    else
        txd_text_addf(&text, ", step %zu", part->step);
    txd_text_add(&text, ": `record` of this run does not select it");
    list(&text, slice, part, other_head ? 'h' : 's');
    (void)txd_fail(TXD_ERR_CONFIG, "%s", txd_text_get(&text));
    txd_text_finish(&text);
    return TXD_ERR_CONFIG;
}

txd_status txd_recorded_slice(const txd_slice *slice)
{
    bool cross = txd_site_attention(slice->site) == TXD_ATTENTION_CROSS;
    bool pooled = strstr(slice->site, "pooled/") != NULL;
    bool heads = txd_axis_of(&slice->info, 'h') >= 0;
    char site[TXD_SITE_BYTES];
    const txd_recorded_part part = {.probe = pooled           ? "pooled"
                                             : slice->is_tile ? "tile"
                                                              : "full",
                                    .site = site,
                                    .layer = slice->layer,
                                    .head = heads ? slice->head : -1,
                                    .step = slice->step};

    if (pooled && slice->layer >= 0)
        snprintf(site, sizeof site, "layers.%d.%s.weights", slice->layer,
                 cross ? "cross" : "attn");
    else
        snprintf(site, sizeof site, "%s", slice->site);
    return txd_recorded(slice->recording, &part) ? TXD_OK : refuse(slice, &part);
}
