/* SPDX-License-Identifier: MIT
 *
 * JSON from front to back, for files of megabytes of which one list is wanted: nothing
 * is kept but the string that was read last. Errors give the byte.
 */
#ifndef TXD_FORMATS_JSON_CURSOR_INTERNAL_H
#define TXD_FORMATS_JSON_CURSOR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef struct txd_json_cursor {
    const char *name; /* of the file, in messages */
    const char *bytes;
    size_t count, at;
    txd_text string; /* the last one that was read; finish it */
    bool first;      /* right after a bracket was opened */
} txd_json_cursor;

/* The first byte of the next value or bracket; '\0' at the end. */
char txd_json_peek(txd_json_cursor *cursor);

/* Enters an object or a list by its opening bracket. Then, before every member, next:
 * *more is false behind the last, whose bracket has been read. */
txd_status txd_json_enter(txd_json_cursor *cursor, char bracket);
txd_status txd_json_next(bool *more, txd_json_cursor *cursor, char closing);

/* A member's name, with its colon, or a string: into cursor->string, any bytes but
 * invalid UTF-8. */
txd_status txd_json_take_key(txd_json_cursor *cursor);
txd_status txd_json_take_string(txd_json_cursor *cursor);
txd_status txd_json_take_integer(int64_t *out, txd_json_cursor *cursor);

/* Goes past a value; that its brackets and strings close is all that is checked. */
txd_status txd_json_skip(txd_json_cursor *cursor);

/* ERR_FORMAT: "name: byte 12: expected WHAT, found ..." */
txd_status txd_json_expected(const txd_json_cursor *cursor, const char *what);

#endif
