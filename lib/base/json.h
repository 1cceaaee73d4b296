/* SPDX-License-Identifier: MIT
 *
 * A small JSON writer over a text. Commas and indentation are its business. NaN and
 * infinities, which JSON lacks, are written as the strings "NaN", "Infinity",
 * "-Infinity"; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef TXD_BASE_JSON_H
#define TXD_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_json {
    txd_text *text;
    int depth;
    int indent; /* blanks per level; 0 = everything on one line */
    bool first, after_key;
} txd_json;

/* Starts writing at the end of `text`, which must outlive the writer. */
void txd_json_init(txd_json *json, txd_text *text, int indent);

void txd_json_open_object(txd_json *json);
void txd_json_close_object(txd_json *json);
void txd_json_open_array(txd_json *json);
void txd_json_close_array(txd_json *json);
void txd_json_key(txd_json *json, const char *key);
void txd_json_string(txd_json *json, const char *value); /* NULL writes null */
void txd_json_number(txd_json *json, double value);      /* reads back exactly */
void txd_json_int(txd_json *json, int64_t value);
void txd_json_bool(txd_json *json, bool value);

#ifdef __cplusplus
}
#endif

#endif
