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

/* The page's style sheet and script, in pieces, NULL behind the last; made of the files
 * in page/ when the program is built. And their hashes, as a Content-Security-Policy
 * names them. */
extern const char *const txd_html_style[];
extern const char txd_html_style_hash[];
extern const char *const txd_html_script[];
extern const char txd_html_script_hash[];

#ifdef __cplusplus
}
#endif

#endif
