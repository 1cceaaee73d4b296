/* SPDX-License-Identifier: MIT
 *
 * The writer keeps no stack: a value knows from `first` and `after_key` whether a
 * comma or a new line goes before it, and the caller closes what it opened.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void new_line(txd_json *json)
{
    if (json->indent <= 0)
        return;
    txd_text_add(json->text, "\n");
    for (int i = 0; i < json->depth * json->indent; i++)
        txd_text_add(json->text, " ");
}

static void before_value(txd_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (!json->first)
        txd_text_add(json->text, json->indent > 0 ? "," : ", ");
    json->first = false;
    new_line(json);
}

static void open_scope(txd_json *json, const char *bracket)
{
    before_value(json);
    txd_text_add(json->text, bracket);
    json->depth++;
    json->first = true;
}

static void close_scope(txd_json *json, const char *bracket)
{
    json->depth--;
    if (!json->first)
        new_line(json);
    txd_text_add(json->text, bracket);
    json->first = false;
}

static void add_escaped(txd_text *text, unsigned char c)
{
    switch (c) {
    case '"':
        txd_text_add(text, "\\\"");
        break;
    case '\\':
        txd_text_add(text, "\\\\");
        break;
    case '\n':
        txd_text_add(text, "\\n");
        break;
    case '\r':
        txd_text_add(text, "\\r");
        break;
    case '\t':
        txd_text_add(text, "\\t");
        break;
    default:
        txd_text_addf(text, "\\u%04x", c);
        break;
    }
}

/* The second set of control characters, U+0080 to U+009F: terminals obey them, and what
 * hides them from terminals must not have to change JSON. */
static bool is_second_set(const unsigned char *p, size_t length)
{
    return length == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

static void add_quoted(txd_text *text, const char *value)
{
    const unsigned char *p = (const unsigned char *)value;

    txd_text_add(text, "\"");
    while (*p) {
        size_t length = txd_text_character((const char *)p);

        if (length == 0) {
            txd_text_add(text, "\xef\xbf\xbd");
            length = 1;
        } else if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f) {
            add_escaped(text, *p);
        } else if (is_second_set(p, length)) {
            add_escaped(text, p[1]);
        } else {
            txd_text_add_bytes(text, p, length);
        }
        p += length;
    }
    txd_text_add(text, "\"");
}

void txd_json_init(txd_json *json, txd_text *text, int indent)
{
    *json = (txd_json){.text = text, .indent = indent, .first = true};
}

void txd_json_open_object(txd_json *json)
{
    open_scope(json, "{");
}

void txd_json_close_object(txd_json *json)
{
    close_scope(json, "}");
}

void txd_json_open_array(txd_json *json)
{
    open_scope(json, "[");
}

void txd_json_close_array(txd_json *json)
{
    close_scope(json, "]");
}

void txd_json_key(txd_json *json, const char *key)
{
    before_value(json);
    add_quoted(json->text, key);
    txd_text_add(json->text, ": ");
    json->after_key = true;
}

void txd_json_string(txd_json *json, const char *value)
{
    before_value(json);
    if (value)
        add_quoted(json->text, value);
    else
        txd_text_add(json->text, "null");
}

void txd_json_number(txd_json *json, double value)
{
    before_value(json);
    if (isnan(value))
        txd_text_add(json->text, "\"NaN\"");
    else if (isinf(value))
        txd_text_add(json->text, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        txd_text_add_real(json->text, value);
}

void txd_json_int(txd_json *json, int64_t value)
{
    before_value(json);
    txd_text_addf(json->text, "%" PRId64, value);
}

void txd_json_bool(txd_json *json, bool value)
{
    before_value(json);
    txd_text_add(json->text, value ? "true" : "false");
}
