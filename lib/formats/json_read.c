/* SPDX-License-Identifier: MIT
 *
 * jansson, the only file that knows it. It rejects NaN, overflowing numbers, invalid
 * UTF-8 and nesting beyond 2048 itself; it keeps no places, so that settings read
 * from JSON carry the file and no line.
 */
#include "formats/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "formats/file.h"

static txd_status fill(txd_setting *to, txd_arena *arena, const json_t *from);

static txd_setting_kind kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return TXD_SETTING_GROUP;
    case JSON_ARRAY:
        return TXD_SETTING_LIST;
    case JSON_STRING:
        return TXD_SETTING_STRING;
    case JSON_INTEGER:
        return TXD_SETTING_INT;
    case JSON_REAL:
        return TXD_SETTING_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return TXD_SETTING_BOOL;
    case JSON_NULL:
        break;
    }
    return TXD_SETTING_NULL;
}

static txd_status add_child(txd_setting *to, txd_arena *arena, const char *name,
                            const json_t *value)
{
    txd_setting *child = txd_setting_add(arena, to, name, kind_of(value));

    return child ? fill(child, arena, value) : TXD_ERR_MEMORY;
}

static txd_status fill_string(txd_setting *to, txd_arena *arena, const json_t *from)
{
    size_t length = json_string_length(from);
    char *copy = txd_arena_alloc(arena, length + 1, 1);

    if (!copy)
        return TXD_ERR_MEMORY;
    memcpy(copy, json_string_value(from), length); /* may hold zero bytes */
    to->string = copy;
    to->string_length = length;
    return TXD_OK;
}

static txd_status fill_children(txd_setting *to, txd_arena *arena, const json_t *from)
{
    json_t *members = (json_t *)from; /* the iterator is not const */

    if (to->kind == TXD_SETTING_LIST) {
        for (size_t i = 0; i < json_array_size(from); i++)
            TXD_TRY(add_child(to, arena, NULL, json_array_get(from, i)));
        return TXD_OK;
    }
    for (void *at = json_object_iter(members); at;
         at = json_object_iter_next(members, at))
        TXD_TRY(
            add_child(to, arena, json_object_iter_key(at), json_object_iter_value(at)));
    return TXD_OK;
}

static txd_status fill(txd_setting *to, txd_arena *arena, const json_t *from)
{
    switch (to->kind) {
    case TXD_SETTING_BOOL:
        to->boolean = json_is_true(from);
        return TXD_OK;
    case TXD_SETTING_INT:
        to->integer = json_integer_value(from);
        to->real = (double)to->integer;
        return TXD_OK;
    case TXD_SETTING_REAL:
        to->real = json_real_value(from);
        return TXD_OK;
    case TXD_SETTING_STRING:
        return fill_string(to, arena, from);
    case TXD_SETTING_LIST:
    case TXD_SETTING_GROUP:
        return fill_children(to, arena, from);
    case TXD_SETTING_NULL:
        break;
    }
    return TXD_OK;
}

txd_status txd_json_load(txd_setting **out, txd_arena *arena, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = txd_json_parse(out, arena, path, (const char *)mapped.bytes, mapped.count);
    txd_file_unmap(&mapped);
    return status;
}

/* Bytes of a string with its quotes. */
static size_t string_bytes(const char *bytes, size_t count)
{
    size_t i = 1;

    while (i < count && bytes[i] != '"')
        i += bytes[i] == '\\' ? 2 : 1;
    return i + 1 < count ? i + 1 : count;
}

/* Writes the last two digits of an integer beyond int64 as "e2": a real that differs
 * from it by less than doubles can. Tokens of up to 300 digits; more is no double. */
static void shorten(char *number, size_t length)
{
    size_t sign = *number == '-' ? 1 : 0;
    char copy[304];

    if (length < sign + 19 || length >= sizeof copy ||
        strspn(number + sign, "0123456789") < length - sign)
        return;
    memcpy(copy, number, length);
    copy[length] = '\0';
    errno = 0;
    (void)strtoll(copy, NULL, 10);
    if (errno == ERANGE)
        memcpy(number + length - 2, "e2", 2);
}

/* jansson knows no integers beyond int64, and transformers writes 1e30 as one for "no
 * limit": such integers as reals, in as many bytes, so that the places of other errors
 * stay. Who needs an integer there says what was found. */
static json_t *decode_large(const char *bytes, size_t count, size_t flags,
                            json_error_t *error)
{
    char *copy = malloc(count + 1);
    json_t *value = NULL;

    if (!copy)
        return NULL;
    memcpy(copy, bytes, count);
    copy[count] = '\0'; /* for strspn */
    for (size_t i = 0; i < count;) {
        size_t length = strspn(copy + i, "+-.0123456789eE");

        if (length && (copy[i] == '-' || (copy[i] >= '0' && copy[i] <= '9')))
            shorten(copy + i, length);
        i += copy[i] == '"' ? string_bytes(copy + i, count - i) : length ? length : 1;
    }
    value = json_loadb(copy, count, flags, error);
    free(copy);
    return value;
}

txd_status txd_json_parse(txd_setting **out, txd_arena *arena, const char *name,
                          const char *bytes, size_t count)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    txd_setting *root = txd_setting_root(arena, name);
    json_error_t error;
    json_t *value;
    txd_status status;

    if (!root)
        return TXD_ERR_MEMORY;
    if (count == 0)
        return txd_fail(TXD_ERR_FORMAT, "%s: expected JSON, found an empty file", name);
    value = json_loadb(bytes, count, flags, &error);
    if (!value && json_error_code(&error) == json_error_numeric_overflow)
        value = decode_large(bytes, count, flags, &error);
    if (!value)
        return txd_fail(TXD_ERR_FORMAT, "%s: line %d, column %d (byte %d): %s", name,
                        error.line, error.column, error.position, error.text);
    root->kind = kind_of(value);
    status = fill(root, arena, value);
    json_decref(value);
    if (status == TXD_OK)
        *out = root;
    return status;
}
