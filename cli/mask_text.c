/* SPDX-License-Identifier: MIT
 *
 * A character is about twice as high as wide: while there is room every pair gets a
 * blank beside it, and where pairs share characters there are half as many rows.
 */
#include "cli/mask_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "viz/draw/script.h"

enum {
    USUAL_COLUMNS = 80,
    LEAST_COLUMNS = 40,
    MOST_COLUMNS = 250,
    WIDEST_LABEL = 18,
    MOST_ROWS = 64, /* with a row for every query */
    SHADES = 4,     /* seen: some, half, most, all of a character's pairs */
};

typedef struct glyphs {
    const char *seen[SHADES], *hidden[TXD_MASK_REASONS];
} glyphs;

static const glyphs blocks = {{"\u2591", "\u2592", "\u2593", "\u2588"},
                              {[TXD_HIDDEN_PADDING] = "x",
                               [TXD_HIDDEN_DOCUMENT] = "/",
                               [TXD_HIDDEN_FUTURE] = "\u00b7",
                               [TXD_HIDDEN_WINDOW] = "-"}};
static const glyphs ascii = {{":", "+", "*", "#"},
                             {[TXD_HIDDEN_PADDING] = "x",
                              [TXD_HIDDEN_DOCUMENT] = "/",
                              [TXD_HIDDEN_FUTURE] = ".",
                              [TXD_HIDDEN_WINDOW] = "-"}};

/* One mask on its way to the text. */
typedef struct block {
    const txd_mask *mask;
    const glyphs *glyphs;
    const txd_terminal *terminal;
    bool sinks;
    size_t label; /* width of row labels */
    size_t pitch; /* characters per cell: 2 or 1 */
} block;

txd_terminal txd_terminal_of_stdout(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *columns = getenv("COLUMNS"), *locale = NULL;
    txd_terminal terminal = {.columns = USUAL_COLUMNS};
    struct winsize size;
    long wanted = columns ? strtol(columns, NULL, 10) : 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = getenv(names[i]);
    terminal.utf8 = locale && (strstr(locale, "UTF-8") || strstr(locale, "utf8") ||
                               strstr(locale, "UTF8") || strstr(locale, "utf-8"));
    if (wanted <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        wanted = size.ws_col;
    if (wanted > 0)
        terminal.columns = wanted < LEAST_COLUMNS  ? LEAST_COLUMNS
                           : wanted > MOST_COLUMNS ? MOST_COLUMNS
                                                   : (size_t)wanted;
    return terminal;
}

static size_t drawn(const txd_span *span)
{
    return span->end - span->begin;
}

/* The place that a cell begins with. */
static size_t place_of(const txd_mask *mask, bool is_key, size_t cell)
{
    const txd_span *span = is_key ? &mask->key : &mask->query;
    size_t cells = mask->cells[is_key];

    return span->begin + (cell * drawn(span) + cells - 1) / cells;
}

static bool is_whole(const txd_mask *mask)
{
    return mask->cells[0] == drawn(&mask->query) && mask->cells[1] == drawn(&mask->key);
}

/* The label of a row of cells, at most WIDEST_LABEL wide. */
static void row_label(txd_text *out, const txd_mask *mask, size_t row)
{
    size_t query = place_of(mask, false, row), limit = WIDEST_LABEL;
    txd_text label;

    if (!is_whole(mask)) {
        txd_text_addf(out, "%zu", query);
        return;
    }
    txd_text_init(&label);
    txd_mask_label(&label, mask, false, query);
    do {
        out->length = 0;
        txd_clean(out, txd_text_get(&label), limit);
    } while (txd_clean_width(txd_text_get(out)) > WIDEST_LABEL && --limit > 0);
    txd_text_finish(&label);
}

/* One character per pair if that fits, with a blank beside it if that does, too. */
static txd_status count(block *b, txd_mask *mask, txd_arena *arena)
{
    size_t room = b->terminal->columns - WIDEST_LABEL - 4;
    size_t limit[2] = {drawn(&mask->query), drawn(&mask->key)};

    b->mask = mask;
    b->pitch = 2 * limit[1] <= room ? 2 : 1;
    if (limit[1] > room || limit[0] > MOST_ROWS) {
        size_t columns = limit[1] > room ? room : limit[1];
        size_t rows = columns * limit[0] / limit[1] / 2;

        b->pitch = 1;
        rows = rows > MOST_ROWS ? MOST_ROWS : rows < 4 ? 4 : rows;
        limit[1] = columns;
        limit[0] = rows < limit[0] ? rows : limit[0];
    }
    TXD_TRY(txd_mask_count(mask, arena, limit));
    b->label = strlen("query");
    for (size_t row = 0; row < mask->cells[0]; row++) {
        txd_text label;
        size_t width;

        txd_text_init(&label);
        row_label(&label, mask, row);
        width = txd_clean_width(txd_text_get(&label));
        b->label = width > b->label ? width : b->label;
        txd_text_finish(&label);
    }
    return TXD_OK;
}

static void pad(txd_text *out, size_t count)
{
    for (; count > 0; count--)
        txd_text_add(out, " ");
}

/* "key  0    5    10": numbers of keys over the cells. */
static void add_numbers(txd_text *out, const block *b)
{
    size_t keys = drawn(&b->mask->key), cells = b->mask->cells[1];
    size_t step = b->pitch == 2 ? 5 : 10, at = 0;
    bool cross = b->mask->kind == TXD_ATTENTION_CROSS;

    txd_text_addf(out, "%-*s ", (int)b->label + 1, cross ? "row" : "key");
    pad(out, b->sinks ? b->pitch : 0);
    for (size_t cell = 0; cell < cells; cell++) {
        size_t place = place_of(b->mask, true, cell), before = out->length;

        if ((keys == cells ? place : cell) % step != 0 || at > cell * b->pitch)
            continue;
        pad(out, cell * b->pitch - at);
        before = out->length;
        txd_text_addf(out, "%zu", place);
        at = cell * b->pitch + out->length - before + 1;
        pad(out, 1);
    }
    while (out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
    txd_text_add(out, "\n");
}

static const char *glyph_of(const block *b, size_t row, size_t column)
{
    txd_mask_cell cell = txd_mask_at(b->mask, row, column);

    if (cell.seen == 0)
        return b->glyphs->hidden[cell.hidden];
    if (cell.seen == cell.all)
        return b->glyphs->seen[SHADES - 1];
    return b->glyphs->seen[cell.seen * 3 / cell.all];
}

static void add_row(txd_text *out, const block *b, size_t row)
{
    txd_text label;

    txd_text_init(&label);
    row_label(&label, b->mask, row);
    txd_text_add(out, txd_text_get(&label));
    pad(out, b->label + 2 - txd_clean_width(txd_text_get(&label)));
    txd_text_finish(&label);
    if (b->sinks) {
        txd_text_add(out, "S");
        pad(out, b->pitch - 1);
    }
    for (size_t column = 0; column < b->mask->cells[1]; column++) {
        pad(out, column ? b->pitch - 1 : 0);
        txd_text_add(out, glyph_of(b, row, column));
    }
    txd_text_add(out, "\n");
}

static void add_legend(txd_text *out, const block *b)
{
    const txd_mask *mask = b->mask;

    txd_text_addf(out, "%s seen", b->glyphs->seen[SHADES - 1]);
    if (!is_whole(mask))
        txd_text_addf(out, ", %s %s %s in part", b->glyphs->seen[2], b->glyphs->seen[1],
                      b->glyphs->seen[0]);
    for (int reason = TXD_SEEN + 1; reason < TXD_MASK_REASONS; reason++)
        if (mask->totals[reason] != 0)
            txd_text_addf(out, "   %s %s", b->glyphs->hidden[reason],
                          txd_hidden_words((txd_hidden)reason));
    if (b->sinks)
        txd_text_add(out, "   S sink, no key");
    txd_text_add(out, "\n");
    if (!is_whole(mask))
        txd_text_addf(out, "each character: up to %zu queries x %zu keys\n",
                      (drawn(&mask->query) + mask->cells[0] - 1) / mask->cells[0],
                      (drawn(&mask->key) + mask->cells[1] - 1) / mask->cells[1]);
}

static txd_status print(txd_text *out, block *b, txd_mask *mask, txd_arena *arena)
{
    TXD_TRY(count(b, mask, arena));
    txd_text_addf(out, "%s%s, %s: %s\n", txd_mask_attention(mask), mask->layers,
                  mask->rows, mask->rule);
    txd_mask_totals(out, mask);
    txd_text_add(out, "\n\n");
    add_numbers(out, b);
    for (size_t row = 0; row < mask->cells[0]; row++)
        add_row(out, b, row);
    txd_text_add(out, "\n");
    add_legend(out, b);
    return txd_text_status(out);
}

txd_status txd_masks_print(txd_text *out, txd_arena *arena, txd_masks *masks,
                           const txd_terminal *terminal)
{
    for (size_t i = 0; i < masks->count; i++) {
        txd_mask *mask = &masks->masks[i];
        block b = {.glyphs = terminal->utf8 ? &blocks : &ascii,
                   .terminal = terminal,
                   .sinks = masks->sinks && mask->kind == TXD_ATTENTION_SELF};

        txd_text_add(out, i ? "\n" : "");
        TXD_TRY(print(out, &b, mask, arena));
    }
    if (masks->more)
        txd_text_addf(out, "\n%zu more: choose a --layer or a --batch row\n",
                      masks->more);
    return txd_text_status(out);
}
