/* SPDX-License-Identifier: MIT
 *
 * The parts that gnuplot scripts are made of. Places are given in pixels, so that a
 * figure decides its layout once and nothing moves with the length of a label.
 */
#include "viz/draw/script.h"

#include <string.h>

const char *const txd_palette[TXD_PALETTE] = {"#440154", "#46327e", "#365c8d",
                                              "#277f8e", "#1fa187", "#4ac16d",
                                              "#a0da39", "#fde725"};

/* Of differences: nearly white at 0, as only blank is, and of two lightnesses at either
 * end. */
static const char differences[] =
    "set palette defined (0 '#0b3c7d', 1 '#3f7fc1', 2 '#9cc4e4', 3 '#f0f0ee', "
    "4 '#f6bd83', 5 '#dd7a1f', 6 '#8f3f06')\n";

enum { FEW_TICS = 110 }; /* a lower bar has numbers at its ends alone */

static const struct {
    const char *ending;
    double font_scale; /* from pixels to the terminal's unit, as measured */
} kinds[] = {
    [TXD_IMAGE_PNG] = {".png", 0.75},
    [TXD_IMAGE_SVG] = {".svg", 1.0},
    [TXD_IMAGE_PDF] = {".pdf", 0.5625},
};

txd_status txd_image_kind_of(txd_image_kind *out, const char *path)
{
    size_t length = path ? strlen(path) : 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (length > 4 && strcmp(path + length - 4, kinds[i].ending) == 0) {
            *out = (txd_image_kind)i;
            return TXD_OK;
        }
    }
    return txd_fail(TXD_ERR_ARGUMENT,
                    "%s: a picture's name must end in .png, .svg or .pdf",
                    path ? path : "(no output named)");
}

/* A size of text in the unit of the sheet's terminal. */
static void add_font(txd_text *out, const txd_sheet *sheet, int pixels)
{
    txd_text_add(out, "font 'DejaVu Sans,");
    txd_text_add_real(out, pixels * kinds[sheet->kind].font_scale);
    txd_text_add(out, "'");
}

/* Single quotes, because double ones run backticks. A quote inside is joined as a
 * string of its own: doubled, as gnuplot documents it, 5.4 misreads it at the start and
 * where two follow each other, and runs on with what comes next. */
void txd_script_string(txd_text *out, const char *text)
{
    txd_text cleaned;

    txd_text_init(&cleaned);
    txd_clean(&cleaned, text, 4096);
    txd_text_add(out, "'");
    for (const char *at = txd_text_get(&cleaned); *at;) {
        size_t plain = strcspn(at, "'"), quotes = strspn(at + plain, "'");

        txd_text_add_bytes(out, at, plain);
        if (quotes != 0) {
            txd_text_add(out, "'.\"");
            txd_text_add_bytes(out, at + plain, quotes);
            txd_text_add(out, "\".'");
        }
        at += plain + quotes;
    }
    txd_text_add(out, "'");
    if (txd_text_status(&cleaned) != TXD_OK)
        out->status = txd_text_status(&cleaned);
    txd_text_finish(&cleaned);
}

static void add_terminal(txd_text *out, const txd_sheet *sheet)
{
    switch (sheet->kind) {
    case TXD_IMAGE_PNG:
        txd_text_addf(out, "set terminal pngcairo noenhanced size %d,%d ", sheet->width,
                      sheet->height);
        break;
    case TXD_IMAGE_SVG:
        txd_text_addf(out, "set terminal svg noenhanced size %d,%d ", sheet->width,
                      sheet->height);
        break;
    case TXD_IMAGE_PDF: /* inches, 96 pixels each; its lines and points are thinner */
        txd_text_addf(out,
                      "set terminal pdfcairo noenhanced fontscale 1 linewidth 1.5 "
                      "pointscale 0.8 size %d.0/96,%d.0/96 ",
                      sheet->width, sheet->height);
        break;
    }
    add_font(out, sheet, TXD_TEXT_SMALL);
    txd_text_add(out, " background '#ffffff'\n");
}

/* `set palette viridis` is gnuplot 6. */
static void add_palette(txd_text *out)
{
    txd_text_add(out, "set palette defined (");
    for (int i = 0; i < TXD_PALETTE; i++)
        txd_text_addf(out, "%s%d '%s'", i ? ", " : "", i, txd_palette[i]);
    txd_text_add(out, ")\n");
}

void txd_script_begin(txd_text *out, const txd_sheet *sheet)
{
    txd_text_add(out, "set encoding utf8\n");
    add_terminal(out, sheet);
    txd_text_add(out, "set output 'picture'\n");
    add_palette(out);
    txd_text_add(out, "unset key\n"
                      "set border 15 linewidth 1 linecolor rgb '#57606a'\n"
                      "set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'\n");
}

void txd_script_differences(txd_text *out)
{
    txd_text_add(out, differences);
}

void txd_script_panel(txd_text *out, const txd_sheet *sheet, const txd_box *panel,
                      size_t rows, size_t columns)
{
    int right = panel->left + panel->width, bottom = panel->top + panel->height;

    txd_text_addf(out, "set lmargin at screen %d.0/%d\n", panel->left, sheet->width);
    txd_text_addf(out, "set rmargin at screen %d.0/%d\n", right, sheet->width);
    txd_text_addf(out, "set tmargin at screen 1-%d.0/%d\n", panel->top, sheet->height);
    txd_text_addf(out, "set bmargin at screen 1-%d.0/%d\n", bottom, sheet->height);
    txd_text_addf(out, "set xrange [-0.5:%zu-0.5]\n", columns);
    txd_text_addf(out, "set yrange [%zu-0.5:-0.5]\n", rows);
}

void txd_script_scale(txd_text *out, const txd_sheet *sheet, const txd_box *panel,
                      double low, double high, bool logarithmic)
{
    int height = panel->height < 120 ? panel->height : panel->height * 3 / 5;
    int bottom = panel->top + panel->height / 2 + height / 2;

    txd_text_add(out, logarithmic ? "set logscale cb\nset cbrange [" : "set cbrange [");
    txd_text_add_real(out, low);
    txd_text_add(out, ":");
    txd_text_add_real(out, high);
    txd_text_add(out, "]\nset format cb '%.3g'\n");
    if (height < FEW_TICS) {
        txd_text_add(out, "set cbtics (");
        txd_text_add_real(out, low);
        txd_text_add(out, ", ");
        txd_text_add_real(out, high);
        txd_text_add(out, ")\n");
    }
    txd_text_addf(out,
                  "set colorbox vertical user origin %d.0/%d,1-%d.0/%d "
                  "size 14.0/%d,%d.0/%d border\n",
                  panel->left + panel->width + 20, sheet->width, bottom, sheet->height,
                  sheet->width, height, sheet->height);
}

void txd_script_label(txd_text *out, const txd_sheet *sheet, int x, int y,
                      const char *where, int size, const char *colour, const char *text)
{
    txd_text_add(out, "set label ");
    txd_script_string(out, text);
    txd_text_addf(out, " at screen %d.0/%d,1-%d.0/%d %s noenhanced ", x, sheet->width,
                  y, sheet->height, where);
    add_font(out, sheet, size);
    txd_text_addf(out, " textcolor rgb '%s'\n", colour);
}
