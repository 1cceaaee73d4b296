/* SPDX-License-Identifier: MIT
 *
 * The sheet of masks: one panel per mask, seen pairs dark, hidden ones light in a
 * colour per reason; the lightness of all five differs, so that they stay apart in
 * grey. A cell of many pairs has the mixture of their colours.
 */
#include "viz/mask.h"

#include <stdio.h>

enum {
    EDGE = 16,
    LINE = 17, /* of small text */
    ALONE = 600,
    TOGETHER = 300,
    MOST_CELL = 28,
    LABELLED = 15, /* smallest cell beside which a label is legible */
    LABELS = 48,   /* longest axis on which every place is labelled */
    SINK = 10,     /* width of the column of sinks, with its gap */
};

typedef struct colour {
    unsigned char bytes[3];
    const char *name;
} colour;

static const colour colours[TXD_MASK_REASONS] = {
    [TXD_SEEN] = {{0x12, 0x3a, 0x63}, "#123a63"},
    [TXD_HIDDEN_PADDING] = {{0xb0, 0x8f, 0x95}, "#b08f95"},
    [TXD_HIDDEN_DOCUMENT] = {{0xe3, 0xc1, 0x85}, "#e3c185"},
    [TXD_HIDDEN_FUTURE] = {{0xee, 0xf0, 0xf2}, "#eef0f2"},
    [TXD_HIDDEN_WINDOW] = {{0xc3, 0xdc, 0xee}, "#c3dcee"},
};
#define COLOUR_SINK "#1f8a70"

typedef struct panel {
    txd_mask *mask;
    txd_box box;
    int cell, left, below; /* room for labels */
    char **words;          /* over the panel */
    size_t lines;
    char **labels[2]; /* of queries, of keys; NULL = numbers */
} panel;

typedef struct sheet {
    txd_drawing *out;
    txd_masks *masks;
    txd_sheet size;
    panel panels[TXD_MASKS_MOST];
    size_t across;
    char **title;
    size_t title_lines;
} sheet;

static size_t characters(int width, int size)
{
    return (size_t)(width * 100 / (size * 64));
}

static int width_of(const char *text)
{
    return (int)txd_clean_width(text) * TXD_TEXT_SMALL * 64 / 100;
}

static txd_status label_axis(panel *p, txd_drawing *out, bool is_key, int *room)
{
    const txd_span *span = is_key ? &p->mask->key : &p->mask->query;
    size_t count = p->mask->cells[is_key];
    char **labels = txd_arena_alloc(out->arena, count, sizeof *labels);

    if (!labels)
        return TXD_ERR_MEMORY;
    p->labels[is_key] = labels;
    for (size_t i = 0; i < count; i++) {
        txd_text text;

        txd_text_init(&text);
        txd_mask_label(&text, p->mask, is_key, span->begin + i);
        labels[i] = txd_clean_fit(out->arena, txd_text_get(&text), out->kind);
        txd_text_finish(&text);
        if (!labels[i])
            return TXD_ERR_MEMORY;
        if (width_of(labels[i]) > *room)
            *room = width_of(labels[i]);
    }
    return TXD_OK;
}

static bool is_whole(const txd_mask *mask)
{
    return mask->cells[0] == mask->query.end - mask->query.begin &&
           mask->cells[1] == mask->key.end - mask->key.begin;
}

static txd_status size_panel(panel *p, sheet *s)
{
    bool alone = s->masks->count == 1;
    int whole = alone ? ALONE : TOGETHER;
    const size_t limit[2] = {(size_t)whole, (size_t)whole};
    size_t most;

    TXD_TRY(txd_mask_count(p->mask, s->out->arena, limit));
    most =
        p->mask->cells[0] > p->mask->cells[1] ? p->mask->cells[0] : p->mask->cells[1];
    p->cell = whole / (int)most;
    p->cell = p->cell < 1 ? 1 : p->cell > MOST_CELL ? MOST_CELL : p->cell;
    p->left = 48;
    p->below = 18;
    if (alone && most <= LABELS && is_whole(p->mask)) {
        p->cell = p->cell < LABELLED ? LABELLED : p->cell;
        TXD_TRY(label_axis(p, s->out, false, &p->left));
        TXD_TRY(label_axis(p, s->out, true, &p->below));
    }
    p->left += 8 + (s->masks->sinks ? SINK : 0);
    p->box.width = p->cell * (int)p->mask->cells[1];
    p->box.height = p->cell * (int)p->mask->cells[0];
    return TXD_OK;
}

/* What the panel shows, and how much is hidden. */
static txd_status write_words(panel *p, sheet *s, int width)
{
    txd_status status;
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text, "%s%s, %s: %s. ", txd_mask_attention(p->mask), p->mask->layers,
                  p->mask->rows, p->mask->rule);
    txd_mask_totals(&text, p->mask);
    if (!is_whole(p->mask))
        txd_text_add(&text, ". Each cell is several pairs, in their mean colour");
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status =
            txd_wrap(&p->words, &p->lines, s->out->arena,
                     txd_clean_fit(s->out->arena, txd_text_get(&text), s->out->kind),
                     characters(width, TXD_TEXT_SMALL));
    txd_text_finish(&text);
    return status;
}

/* Panels stand in a grid; a row is as high as its highest. */
static txd_status arrange(sheet *s)
{
    size_t count = s->masks->count;
    int slot = 440, top, high = 0, words = 0;

    s->across = count == 1 ? 1 : count <= 4 ? 2 : 3;
    for (size_t i = 0; i < count; i++) {
        s->panels[i].mask = &s->masks->masks[i];
        TXD_TRY(size_panel(&s->panels[i], s));
        if (s->panels[i].left + s->panels[i].box.width + 28 > slot)
            slot = s->panels[i].left + s->panels[i].box.width + 28;
    }
    s->size.width = 2 * EDGE + slot * (int)s->across;
    top = EDGE + (int)s->title_lines * 22 + 10;
    for (size_t i = 0; i < count; i++) {
        panel *p = &s->panels[i];

        if (i % s->across == 0) {
            top += high;
            high = words = 0;
        }
        for (size_t j = i; i % s->across == 0 && j < i + s->across && j < count; j++) {
            TXD_TRY(write_words(&s->panels[j], s, slot - 24));
            if ((int)s->panels[j].lines > words)
                words = (int)s->panels[j].lines;
        }
        p->box.left = EDGE + slot * (int)(i % s->across) + LINE + p->left;
        p->box.top = top + words * LINE + 8;
        if (words * LINE + p->box.height + p->below + LINE + 44 > high)
            high = words * LINE + p->box.height + p->below + LINE + 44;
    }
    s->size.height = top + high + 2 * LINE + EDGE;
    return TXD_OK;
}

/* A rectangle of the sheet, in pixels. */
static void add_box(sheet *s, const txd_box *box, const char *fill, const char *border)
{
    txd_text *out = &s->out->script;

    txd_text_addf(out,
                  "set object rectangle from screen %d.0/%d,1-%d.0/%d to screen "
                  "%d.0/%d,1-%d.0/%d front linewidth 1 fillstyle ",
                  box->left, s->size.width, box->top, s->size.height,
                  box->left + box->width, s->size.width, box->top + box->height,
                  s->size.height);
    if (fill)
        txd_text_addf(out, "solid 1 border linecolor rgb '%s' fillcolor rgb '%s'\n",
                      border, fill);
    else
        txd_text_addf(out, "empty border linecolor rgb '%s'\n", border);
}

static txd_status add_cells(sheet *s, size_t i)
{
    txd_mask *mask = s->panels[i].mask;
    size_t rows = mask->cells[0] * 2, columns = mask->cells[1] * 2; /* 2 x 2 at least */
    unsigned char *bytes = txd_arena_alloc(s->out->arena, rows * columns, 3);
    char name[32], *kept;

    snprintf(name, sizeof name, "mask%zu", i);
    kept = txd_arena_string(s->out->arena, name);
    if (!bytes || !kept)
        return TXD_ERR_MEMORY;
    for (size_t at = 0; at < rows * columns; at++) {
        size_t cell = at / columns / 2 * mask->cells[1] + at % columns / 2;
        const uint64_t *counts = mask->counts + cell * TXD_MASK_REASONS;
        double sums[3] = {0, 0, 0}, all = 0;

        for (int reason = 0; reason < TXD_MASK_REASONS; reason++) {
            all += (double)counts[reason];
            for (int c = 0; c < 3; c++)
                sums[c] += (double)counts[reason] * colours[reason].bytes[c];
        }
        for (int c = 0; c < 3; c++)
            bytes[at * 3 + (size_t)c] = (unsigned char)(sums[c] / all + 0.5);
    }
    txd_text_addf(
        &s->out->script,
        "plot '%s' binary array=(%zu,%zu) dx=0.5 dy=0.5 "
        "origin=(-0.25,-0.25) format='%%uchar' using 1:2:3 with rgbimage%s\n",
        kept, columns, rows,
        s->out->kind != TXD_IMAGE_PNG && rows * columns <= 128 * 128 ? " pixels" : "");
    return txd_drawing_add(s->out, kept, bytes, rows * columns * 3);
}

static size_t tic_step(size_t span, int pixels)
{
    static const size_t next[] = {2, 5, 10};
    size_t most = (size_t)pixels / 48 + 1, step = 1;

    for (size_t power = 1;; power *= 10)
        for (size_t i = 0; i < 3; i++) {
            if (span / step <= (most < 12 ? most : 12))
                return step;
            step = power * next[i];
        }
}

static void add_tics(sheet *s, const panel *p, bool is_key)
{
    const txd_span *span = is_key ? &p->mask->key : &p->mask->query;
    size_t count = span->end - span->begin, cells = p->mask->cells[is_key];
    size_t step = tic_step(count, is_key ? p->box.width : p->box.height);
    txd_text *out = &s->out->script;
    const char *comma = "";

    txd_text_addf(out, "set %ctics %s(", is_key ? 'x' : 'y',
                  !is_key && s->masks->sinks ? "offset -1.2,0 " : "");
    for (size_t at = (span->begin + step - 1) / step * step; at < span->end;
         at += step) {
        txd_text_addf(out, "%s'%zu' %zu", comma, at,
                      (at - span->begin) * cells / count);
        comma = ", ";
    }
    txd_text_add(out, ")\n");
}

static void add_labels(sheet *s, const panel *p, bool is_key)
{
    const txd_box *box = &p->box;

    txd_text_addf(&s->out->script, "unset %ctics\n", is_key ? 'x' : 'y');
    for (size_t i = 0; i < p->mask->cells[is_key]; i++) {
        int along = (int)i * p->cell + p->cell / 2;
        int x =
            is_key ? box->left + along : box->left - 6 - (s->masks->sinks ? SINK : 0);
        int y = is_key ? box->top + box->height + 6 : box->top + along;

        txd_script_label(&s->out->script, &s->size, x, y,
                         is_key ? "right rotate by 90" : "right", TXD_TEXT_SMALL,
                         TXD_COLOUR_INK, p->labels[is_key][i]);
    }
}

static void add_axes(sheet *s, const panel *p)
{
    const char *keys =
        p->mask->kind == TXD_ATTENTION_CROSS ? "memory row (key)" : "key";
    const txd_box *box = &p->box;

    for (int i = 0; i < 2; i++) {
        if (p->labels[i])
            add_labels(s, p, i);
        else
            add_tics(s, p, i);
    }
    txd_script_label(&s->out->script, &s->size, box->left - p->left - 8,
                     box->top + box->height / 2, "center rotate by 90", TXD_TEXT_SMALL,
                     TXD_COLOUR_INK, "query");
    txd_script_label(&s->out->script, &s->size, box->left + box->width / 2,
                     box->top + box->height + p->below + 14, "center", TXD_TEXT_SMALL,
                     TXD_COLOUR_INK, keys);
}

static txd_status add_panel(sheet *s, size_t i)
{
    const panel *p = &s->panels[i];
    int top = p->box.top - 8 - (int)p->lines * LINE + 6;
    txd_box frame = {p->box.left - 1, p->box.top - 1, p->box.width + 2,
                     p->box.height + 2};

    txd_script_panel(&s->out->script, &s->size, &p->box, p->mask->cells[0],
                     p->mask->cells[1]);
    for (size_t line = 0; line < p->lines; line++, top += LINE)
        txd_script_label(&s->out->script, &s->size, p->box.left - p->left - LINE, top,
                         "left", TXD_TEXT_SMALL, TXD_COLOUR_INK, p->words[line]);
    add_box(s, &frame, NULL, TXD_COLOUR_QUIET);
    if (s->masks->sinks && p->mask->kind == TXD_ATTENTION_SELF) {
        txd_box sink = {p->box.left - SINK, p->box.top, SINK - 4, p->box.height};

        add_box(s, &sink, COLOUR_SINK, COLOUR_SINK);
    }
    add_axes(s, p);
    TXD_TRY(add_cells(s, i));
    txd_text_add(&s->out->script, "unset label\nunset object\n");
    return TXD_OK;
}

static void add_key(sheet *s, int *x, int y, const char *fill, const char *words)
{
    txd_box box = {*x, y - 6, 12, 12};

    add_box(s, &box, fill, TXD_COLOUR_QUIET);
    txd_script_label(&s->out->script, &s->size, *x + 18, y, "left", TXD_TEXT_SMALL,
                     TXD_COLOUR_INK, words);
    *x += 18 + width_of(words) + 20;
}

/* Title, legend, and what did not fit. */
static void add_frame(sheet *s)
{
    int y = EDGE + 6, x = EDGE;
    char line[96];

    for (size_t i = 0; i < s->title_lines; i++, y += 22)
        txd_script_label(&s->out->script, &s->size, EDGE, y, "left", TXD_TEXT_TITLE,
                         TXD_COLOUR_INK, s->title[i]);
    y = s->size.height - EDGE - LINE;
    for (int reason = 0; reason < TXD_MASK_REASONS; reason++) {
        uint64_t total = 0;

        for (size_t i = 0; i < s->masks->count; i++)
            total += s->masks->masks[i].totals[reason];
        if (total != 0)
            add_key(s, &x, y, colours[reason].name,
                    txd_hidden_words((txd_hidden)reason));
    }
    if (s->masks->sinks)
        add_key(s, &x, y, COLOUR_SINK, "sink");
    if (s->masks->more == 0)
        return;
    snprintf(line, sizeof line, "%zu more: choose a --layer or a --batch row",
             s->masks->more);
    txd_script_label(&s->out->script, &s->size, EDGE, y + LINE, "left", TXD_TEXT_SMALL,
                     TXD_COLOUR_QUIET, line);
}

txd_status txd_masks_draw(txd_drawing *out, txd_masks *masks, const char *title)
{
    sheet s = {.out = out, .masks = masks, .size.kind = out->kind};
    bool alone = masks->count == 1;

    TXD_TRY(txd_wrap(&s.title, &s.title_lines, out->arena,
                     txd_clean_fit(out->arena, title, out->kind),
                     characters(alone ? 440 : 860, TXD_TEXT_TITLE)));
    TXD_TRY(arrange(&s));
    txd_script_begin(&out->script, &s.size);
    txd_text_add(&out->script, "unset border\nset multiplot\n");
    add_frame(&s);
    for (size_t i = 0; i < masks->count; i++)
        TXD_TRY(add_panel(&s, i));
    txd_text_add(&out->script, "unset multiplot\nset output\n");
    return txd_text_status(&out->script);
}

txd_status txd_masks_plot(txd_masks *masks, const char *title, const char *path)
{
    txd_image_kind kind;
    txd_drawing drawing;
    txd_text picture;
    txd_status status;

    TXD_TRY(txd_image_kind_of(&kind, path));
    txd_text_init(&picture);
    status = txd_drawing_init(&drawing, kind);
    if (status == TXD_OK)
        status = txd_masks_draw(&drawing, masks, title);
    if (status == TXD_OK)
        status = txd_drawing_image(&picture, &drawing);
    if (status == TXD_OK)
        status = txd_file_replace(path, picture.data, picture.length);
    txd_drawing_finish(&drawing);
    txd_text_finish(&picture);
    return status;
}
