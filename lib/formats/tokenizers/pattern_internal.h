/* SPDX-License-Identifier: MIT
 *
 * Regular expressions as tokenizers state them, which is for Oniguruma or for Rust's
 * regex: \s \d \w are Unicode's, sets may hold sets, ^ and $ are those of a line.
 */
#ifndef TXD_FORMATS_PATTERN_INTERNAL_H
#define TXD_FORMATS_PATTERN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

typedef struct txd_pattern txd_pattern;

/* Places in a text: [begin, end). A list starts as zeros; free `at`. */
typedef struct txd_span {
    size_t begin, end;
} txd_span;

typedef struct txd_spans {
    txd_span *at;
    size_t count, capacity;
} txd_spans;

txd_status txd_spans_add(txd_spans *spans, size_t begin, size_t end);

/* ERR_UNSUPPORTED, with the reason and its place, for what is not a pattern or cannot
 * be expressed. The caller owns *out. */
txd_status txd_pattern_create(txd_pattern **out, const char *regex, size_t length);
void txd_pattern_destroy(txd_pattern *pattern); /* NULL is allowed */

/* Appends all matches in a text, from left to right, none overlapping. Text that is not
 * UTF-8 matches nothing. ERR_LIMIT if a match takes too many steps. */
txd_status txd_pattern_find(txd_spans *out, const txd_pattern *pattern,
                            const char *text, size_t count);

/* Appends a text with its letters in lower case, each by itself. Text that is not UTF-8
 * stays as it is. */
txd_status txd_pattern_lower(txd_text *out, const char *text, size_t count);

#endif
