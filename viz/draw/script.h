/* SPDX-License-Identifier: MIT
 *
 * Text of gnuplot scripts. Whatever comes from a recording is cleaned and quoted here:
 * in gnuplot a newline inside a quoted string ends the command, and the rest of it is
 * run as the next one.
 */
#ifndef TXD_VIZ_SCRIPT_H
#define TXD_VIZ_SCRIPT_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_image_kind {
    TXD_IMAGE_PNG,
    TXD_IMAGE_SVG,
    TXD_IMAGE_PDF
} txd_image_kind;

/* The kind by the ending of `path`; ERR_ARGUMENT naming the endings. */
txd_status txd_image_kind_of(txd_image_kind *out, const char *path);

/* A sheet, in pixels from its upper left corner. */
typedef struct txd_sheet {
    txd_image_kind kind;
    int width, height;
} txd_sheet;

typedef struct txd_box {
    int left, top, width, height;
} txd_box;

/* Sizes of text in pixels. */
enum { TXD_TEXT_SMALL = 12, TXD_TEXT_TITLE = 16 };

#define TXD_COLOUR_INK "#1b1f24"
#define TXD_COLOUR_QUIET "#57606a"
#define TXD_COLOUR_LEAK "#e8371b"      /* a hidden cell that is not 0 */
#define TXD_COLOUR_NONFINITE "#e000d0" /* NaN or infinite */

/* Viridis at even places: rises in lightness, and so stays ordered in grey and for
 * every kind of colour blindness. */
enum { TXD_PALETTE = 8 };
extern const char *const txd_palette[TXD_PALETTE];

/* Appends at most `limit` characters (then an ellipsis) of untrusted text as valid
 * UTF-8 on one line: control characters are escaped as \n, \t, \x1b; whatever is not
 * UTF-8, invisible, or changes the direction of writing becomes U+FFFD. */
void txd_clean(txd_text *out, const char *text, size_t limit);

/* Cleaned text, or a whole script, with every character that the picture's font may
 * not have as its code: cairo's terminals, which draw PNG and PDF, paint over the
 * picture where no installed font has one. Text of SVG stays: its viewer has fonts. */
void txd_clean_glyphs(txd_text *out, const char *text, txd_image_kind kind);

/* The same, as a string in `arena`, for layouts; NULL when memory is out. */
char *txd_clean_fit(txd_arena *arena, const char *text, txd_image_kind kind);

/* Gives *labels (NULL is allowed) a fitted copy of its `count` strings. */
txd_status txd_clean_fit_all(char ***labels, txd_arena *arena, size_t count,
                             txd_image_kind kind);

/* Widths that text takes, in characters of average width; wide scripts count double. */
size_t txd_clean_width(const char *text);

/* Breaks cleaned `text` between words into lines of at most `width` characters, in
 * `arena`; *count lines. A longer word is broken. NULL (of txd_clean_fit) is
 * ERR_MEMORY. */
txd_status txd_wrap(char ***out, size_t *count, txd_arena *arena, const char *text,
                    size_t width);

/* A gnuplot string (an expression) of cleaned text, which nothing can leave. */
void txd_script_string(txd_text *out, const char *text);

/* Terminal, output, palette, and everything that is the same in every figure. */
void txd_script_begin(txd_text *out, const txd_sheet *sheet);

/* Colours of differences, for all that is drawn from here on. */
void txd_script_differences(txd_text *out);

/* The panel's place and its axes: `columns` by `rows` cells, row 0 on top. */
void txd_script_panel(txd_text *out, const txd_sheet *sheet, const txd_box *panel,
                      size_t rows, size_t columns);

/* The scale of colours and its bar to the right of the panel. */
void txd_script_scale(txd_text *out, const txd_sheet *sheet, const txd_box *panel,
                      double low, double high, bool logarithmic);

/* A line of text; `where` is "left", "center", "right", and may rotate. */
void txd_script_label(txd_text *out, const txd_sheet *sheet, int x, int y,
                      const char *where, int size, const char *colour,
                      const char *text);

#ifdef __cplusplus
}
#endif

#endif
