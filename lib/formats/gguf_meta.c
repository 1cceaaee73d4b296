/* SPDX-License-Identifier: MIT
 *
 * The metadata of a GGUF file: keys with a type and a value. Values are walked once,
 * which is when their lengths are checked against the file, and stay in it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_internal.h"

static size_t width_of(txd_gguf_type type)
{
    static const unsigned char widths[] = {
        [TXD_GGUF_U8] = 1,  [TXD_GGUF_I8] = 1,   [TXD_GGUF_U16] = 2, [TXD_GGUF_I16] = 2,
        [TXD_GGUF_U32] = 4, [TXD_GGUF_I32] = 4,  [TXD_GGUF_F32] = 4, [TXD_GGUF_U64] = 8,
        [TXD_GGUF_I64] = 8, [TXD_GGUF_BOOL] = 1, [TXD_GGUF_F64] = 8,
    };

    return widths[type];
}

static uint64_t bits_at(const unsigned char *bytes, size_t width)
{
    uint64_t bits = 0;

    for (size_t i = width; i-- > 0;)
        bits = bits << 8 | bytes[i];
    return bits;
}

static txd_status take_type(txd_gguf_type *out, struct txd_gguf_cursor *c,
                            const char *key)
{
    size_t at = c->at;
    uint32_t type = 0;

    TXD_TRY(txd_gguf_take_u32(&type, c, "the type of a value"));
    if (type > TXD_GGUF_F64)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: byte offset %zu: the value of \"%.200s\" has type %" PRIu32
                        "; types 0 to 12 are known",
                        c->file->name, at, key, type);
    *out = (txd_gguf_type)type;
    return TXD_OK;
}

/* Past the elements, which must be in the file. */
static txd_status take_elements(txd_gguf_value *value, struct txd_gguf_cursor *c)
{
    size_t left, width = width_of(value->type);
    uint64_t length = 0;

    value->offset = c->at;
    value->bytes = c->file->bytes + c->at;
    for (size_t i = 0; value->type == TXD_GGUF_STRING && i < value->count; i++) {
        size_t at = c->at;

        TXD_TRY(txd_gguf_take_u64(&length, c, "the length of a string"));
        left = c->file->length - c->at;
        if (length > left)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: a string of \"%.200s\" claims "
                            "%" PRIu64 " bytes, %zu are left; is the file truncated?",
                            c->file->name, at, value->key, length, left);
        c->at += (size_t)length;
    }
    if (value->type != TXD_GGUF_STRING) {
        left = c->file->length - c->at;
        if (value->count > left / width)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: the value of \"%.200s\" claims %zu "
                            "elements of %zu bytes, %zu bytes are left; is the file "
                            "truncated?",
                            c->file->name, c->at, value->key, value->count, width,
                            left);
        c->at += value->count * width;
    }
    value->length = c->at - value->offset;
    return TXD_OK;
}

static txd_status take_value(txd_gguf_value *value, struct txd_gguf_cursor *c)
{
    uint64_t count = 1;
    size_t at;

    TXD_TRY(txd_gguf_take_name(&value->key, c, "a key"));
    TXD_TRY(take_type(&value->type, c, value->key));
    value->is_array = value->type == TXD_GGUF_ARRAY;
    if (value->is_array) {
        TXD_TRY(take_type(&value->type, c, value->key));
        at = c->at;
        TXD_TRY(txd_gguf_take_u64(&count, c, "the length of an array"));
        if (value->type == TXD_GGUF_ARRAY)
            return txd_fail(TXD_ERR_UNSUPPORTED,
                            "%s: byte offset %zu: \"%.200s\" is an array of arrays, "
                            "which is not read",
                            c->file->name, at, value->key);
        if (count > c->file->length)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: \"%.200s\" claims %" PRIu64
                            " elements, the file has %zu bytes",
                            c->file->name, at, value->key, count, c->file->length);
    }
    value->count = (size_t)count;
    return take_elements(value, c);
}

static int by_key(const void *left, const void *right)
{
    const txd_gguf_value *const *a = left, *const *b = right;

    return strcmp((*a)->key, (*b)->key);
}

txd_status txd_gguf_read_values(txd_gguf *x, struct txd_gguf_cursor *c, size_t count)
{
    x->values = txd_arena_alloc(c->arena, count, sizeof *x->values);
    x->by_key = txd_arena_alloc(c->arena, count, sizeof *x->by_key);
    if (!x->values || !x->by_key)
        return TXD_ERR_MEMORY;
    for (; x->value_count < count; x->value_count++) {
        x->by_key[x->value_count] = &x->values[x->value_count];
        TXD_TRY(take_value(&x->values[x->value_count], c));
    }
    if (count > 1)
        qsort(x->by_key, count, sizeof *x->by_key, by_key);
    for (size_t i = 1; i < count; i++)
        if (strcmp(x->by_key[i - 1]->key, x->by_key[i]->key) == 0)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: the key \"%.200s\" is there twice",
                            x->name, x->by_key[i]->offset, x->by_key[i]->key);
    return TXD_OK;
}

unsigned txd_gguf_version(const txd_gguf *gguf)
{
    return gguf->version;
}

size_t txd_gguf_count(const txd_gguf *gguf)
{
    return gguf->value_count;
}

const txd_gguf_value *txd_gguf_at(const txd_gguf *gguf, size_t i)
{
    return &gguf->values[i];
}

const txd_gguf_value *txd_gguf_find(const txd_gguf *gguf, const char *key)
{
    const txd_gguf_value wanted = {.key = key}, *pointer = &wanted;
    const txd_gguf_value **found = NULL;

    if (gguf->value_count > 0)
        found = bsearch(&pointer, gguf->by_key, gguf->value_count, sizeof *gguf->by_key,
                        by_key);
    return found ? *found : NULL;
}

static bool is_signed(txd_gguf_type type)
{
    return type == TXD_GGUF_I8 || type == TXD_GGUF_I16 || type == TXD_GGUF_I32 ||
           type == TXD_GGUF_I64;
}

/* A signed integer of `width` bytes, whatever the machine does with overflow. */
static int64_t signed_of(uint64_t bits, size_t width)
{
    uint64_t sign = (uint64_t)1 << (8 * width - 1);

    if (!(bits & sign))
        return (int64_t)bits;
    return -(int64_t)(sign - 1 - (bits & (sign - 1))) - 1;
}

double txd_gguf_real(const txd_gguf_value *value, size_t i)
{
    size_t width = width_of(value->type);
    uint64_t bits = bits_at(value->bytes + i * width, width);
    uint32_t low = (uint32_t)bits;
    double wide;
    float real;

    switch (value->type) {
    case TXD_GGUF_F32:
        memcpy(&real, &low, sizeof real);
        return (double)real;
    case TXD_GGUF_F64:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    default:
        if (width > 0 && is_signed(value->type))
            return (double)signed_of(bits, width);
        return (double)bits;
    }
}

int64_t txd_gguf_integer(const txd_gguf_value *value, size_t i)
{
    size_t width = width_of(value->type);
    uint64_t bits = bits_at(value->bytes + i * width, width);
    double real;

    if (value->type != TXD_GGUF_F32 && value->type != TXD_GGUF_F64) {
        if (width > 0 && is_signed(value->type))
            return signed_of(bits, width);
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
    real = txd_gguf_real(value, i);
    if (real != real)
        return 0;
    if (real >= 0x1p63)
        return INT64_MAX;
    return real < -0x1p63 ? INT64_MIN : (int64_t)real;
}

txd_gguf_strings txd_gguf_strings_of(const txd_gguf_value *value)
{
    return (txd_gguf_strings){
        .at = value->bytes,
        .left = value->type == TXD_GGUF_STRING ? value->count : 0,
    };
}

bool txd_gguf_strings_next(txd_gguf_strings *strings, const char **out, size_t *length)
{
    if (strings->left == 0)
        return false;
    *length = (size_t)bits_at(strings->at, 8);
    *out = (const char *)strings->at + 8;
    strings->at += 8 + *length;
    strings->left--;
    return true;
}
