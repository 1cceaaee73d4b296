/* SPDX-License-Identifier: MIT
 *
 * Text in Markdown as GitHub reads it. For the files of this folder only.
 */
#ifndef TXD_VIZ_MARKDOWN_H
#define TXD_VIZ_MARKDOWN_H

#include "txd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends at most `limit` characters of untrusted text, on one line, as text and
 * nothing else: no markup, HTML, link, picture, mention, or end of a table's cell. What
 * would mention somebody or refer to an issue stands in <code>, where it does not. */
void txd_markdown_add(txd_text *out, const char *text, size_t limit);

/* The same in <code> in any case; nothing for an empty text. */
void txd_markdown_code(txd_text *out, const char *text, size_t limit);

/* A number as tables show it; nothing for NaN. */
void txd_markdown_number(txd_text *out, double value);

#ifdef __cplusplus
}
#endif

#endif
