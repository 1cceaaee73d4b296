/* SPDX-License-Identifier: MIT
 *
 * Text for a terminal. Names come from files that anybody may have written; what is in
 * them must not move the cursor, change colours or forge lines.
 */
#ifndef TXD_CLI_PRINTABLE_H
#define TXD_CLI_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

/* Writes the bytes with control characters as "\x1b", and marks that turn the order of
 * what follows around as "\u202e". Newlines and tabs stay; in one
 * `line`, only newlines with a blank after them, which continue it. Other bytes stay,
 * UTF-8 or not: a file name can be copied from a message. Errors show in ferror. */
void txd_printable(FILE *out, const char *text, size_t count, bool line);

/* Appends a token's piece on one line: "\\n", "\\t", "\\x1b", and "\\\\" for a
 * backslash of its own. */
void txd_printable_piece(txd_text *out, const char *piece);

#endif
