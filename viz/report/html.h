/* SPDX-License-Identifier: MIT
 *
 * HTML text. Findings and tokens are hostile input: nothing reaches the page unescaped.
 */
#ifndef TXD_VIZ_HTML_H
#define TXD_VIZ_HTML_H

#include "viz/draw/script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Escaped text, valid UTF-8 whatever came in; at most `limit` characters. */
void txd_html_add(txd_text *out, const char *text, size_t limit);

/* The same over several lines: newlines stay. */
void txd_html_lines(txd_text *out, const char *text);

/* A number for a table cell; nothing for NaN. */
void txd_html_number(txd_text *out, double value);

void txd_html_base64(txd_text *out, const void *bytes, size_t count);

/* The page's style sheet: light and dark, narrow and wide, screen and paper. */
extern const char *const txd_html_style[];

#ifdef __cplusplus
}
#endif

#endif
