/* SPDX-License-Identifier: MIT
 *
 * The metadata of a GGUF file for those who read settings: a tree by the dots of the
 * keys, and the texts that a trace gives for a key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_internal.h"

#define LIST_LIMIT 4096

static txd_status set_string(txd_setting *setting, txd_arena *arena,
                             const txd_gguf_value *value)
{
    txd_gguf_strings strings = txd_gguf_strings_of(value);
    const char *text = NULL;
    size_t length = 0;
    char *copy;

    txd_gguf_strings_next(&strings, &text, &length);
    copy = txd_arena_alloc(arena, length + 1, 1);
    if (!copy)
        return TXD_ERR_MEMORY;
    if (length > 0)
        memcpy(copy, text, length);
    setting->string = copy;
    setting->string_length = length;
    return TXD_OK;
}

static txd_setting_kind kind_of(const txd_gguf_value *value)
{
    switch (value->type) {
    case TXD_GGUF_STRING:
        return TXD_SETTING_STRING;
    case TXD_GGUF_BOOL:
        return TXD_SETTING_BOOL;
    case TXD_GGUF_F32:
    case TXD_GGUF_F64:
        return TXD_SETTING_REAL;
    default:
        return TXD_SETTING_INT;
    }
}

/* float32 metadata come from decimal numbers: 1e-5 and not 9.99999975e-06 is meant, and
 * is the same float32. */
static double decimal_of(float value)
{
    char text[40];
    double near = (double)value;

    for (int digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        near = strtod(text, NULL);
        if ((float)near == value)
            return near;
    }
    return (double)value;
}

static double real_of(const txd_gguf_value *value, size_t i)
{
    double real = txd_gguf_real(value, i);

    return value->type == TXD_GGUF_F32 ? decimal_of((float)real) : real;
}

static txd_status set_element(txd_setting *setting, txd_arena *arena,
                              const txd_gguf_value *value, size_t i)
{
    if (value->type == TXD_GGUF_STRING)
        return set_string(setting, arena, value);
    setting->real = real_of(value, i);
    if (value->type == TXD_GGUF_BOOL)
        setting->boolean = setting->real != 0;
    if (setting->kind == TXD_SETTING_INT)
        setting->integer = txd_gguf_integer(value, i);
    return TXD_OK;
}

/* Vocabularies and their like, which are read where they lie. */
static bool is_left_out(const txd_gguf_value *value)
{
    return value->is_array &&
           (value->type == TXD_GGUF_STRING || value->count > LIST_LIMIT);
}

static txd_status put_value(txd_setting *group, txd_arena *arena,
                            const txd_gguf_value *value, const char *name)
{
    txd_setting_kind kind = is_left_out(value) ? TXD_SETTING_NULL
                            : value->is_array  ? TXD_SETTING_LIST
                                               : kind_of(value);
    txd_setting *setting = txd_setting_add(arena, group, name, kind), *element;

    if (!setting)
        return TXD_ERR_MEMORY;
    if (kind == TXD_SETTING_NULL)
        return TXD_OK;
    if (!value->is_array)
        return set_element(setting, arena, value, 0);
    for (size_t i = 0; i < value->count; i++) {
        element = txd_setting_add(arena, setting, NULL, kind_of(value));
        if (!element)
            return TXD_ERR_MEMORY;
        TXD_TRY(set_element(element, arena, value, i));
    }
    return TXD_OK;
}

static txd_setting *child_of(txd_setting *group, const char *name, size_t length)
{
    for (txd_setting *s = group->child; s; s = s->next)
        if (strncmp(s->name, name, length) == 0 && s->name[length] == '\0')
            return s;
    return NULL;
}

/* Makes the groups on the way to a key. Files do have values above and below one key
 * ("tokenizer.chat_template", "tokenizer.chat_template.rag"): the first stays. */
static txd_status put_at(txd_setting *group, txd_arena *arena,
                         const txd_gguf_value *value)
{
    const char *name = value->key, *dot;

    for (; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
        size_t length = (size_t)(dot - name);
        txd_setting *child = child_of(group, name, length);
        char *step;

        if (!child) {
            step = txd_arena_alloc(arena, length + 1, 1);
            if (!step)
                return TXD_ERR_MEMORY;
            memcpy(step, name, length);
            child = txd_setting_add(arena, group, step, TXD_SETTING_GROUP);
            if (!child)
                return TXD_ERR_MEMORY;
        }
        if (child->kind != TXD_SETTING_GROUP)
            return TXD_OK;
        group = child;
    }
    if (child_of(group, name, strlen(name)))
        return TXD_OK;
    return put_value(group, arena, value, name);
}

txd_status txd_gguf_settings(txd_setting **out, txd_arena *arena, const txd_gguf *gguf)
{
    txd_setting *root = txd_setting_root(arena, gguf->name);

    if (!root)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < gguf->value_count; i++) {
        TXD_TRY(put_at(root, arena, &gguf->values[i]));
    }
    *out = root;
    return TXD_OK;
}

static txd_status add_text(txd_text *text, const txd_gguf_value *value)
{
    text->length = 0;
    if (value->type == TXD_GGUF_F32 || value->type == TXD_GGUF_F64)
        txd_text_add_real(text, real_of(value, 0));
    else if (value->type == TXD_GGUF_BOOL)
        txd_text_add(text, txd_gguf_integer(value, 0) ? "true" : "false");
    else
        txd_text_addf(text, "%" PRId64, txd_gguf_integer(value, 0));
    return txd_text_status(text);
}

static txd_status text_of(const char **out, txd_text *text, txd_arena *arena,
                          const txd_gguf_value *value)
{
    txd_setting setting = {.string = NULL};

    if (value->is_array)
        return TXD_OK;
    if (value->type == TXD_GGUF_STRING) {
        TXD_TRY(set_string(&setting, arena, value));
        *out = setting.string;
        return TXD_OK;
    }
    TXD_TRY(add_text(text, value));
    *out = txd_arena_string(arena, txd_text_get(text));
    return *out ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_gguf_texts(txd_gguf *x, txd_arena *arena)
{
    txd_status status = TXD_OK;
    txd_text text;

    x->texts = txd_arena_alloc(arena, x->value_count, sizeof *x->texts);
    if (!x->texts)
        return TXD_ERR_MEMORY;
    txd_text_init(&text);
    for (size_t i = 0; status == TXD_OK && i < x->value_count; i++)
        status = text_of(&x->texts[i], &text, arena, &x->values[i]);
    txd_text_finish(&text);
    return status;
}
