/* SPDX-License-Identifier: MIT
 *
 * Single fields of config.json or of GGUF metadata, under the two names that
 * family_internal.h describes.
 */
#include <stdio.h>
#include <string.h>

#include "formats/families/family_internal.h"

const char *txd_reading_path(char text[160], const txd_reading *r, const char *field)
{
    const char *bar = strchr(field, '|');
    size_t length = bar ? (size_t)(bar - field) : strlen(field);

    if (!r->architecture) {
        snprintf(text, 160, "%.*s", (int)length, field);
        return length > 0 ? text : NULL;
    }
    if (!bar || bar[1] == '\0')
        return NULL;
    snprintf(text, 160, "%.60s.%s", r->architecture, bar + 1);
    return text;
}

const txd_setting *txd_reading_find(const txd_reading *r, const char *field)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);
    const txd_setting *setting = path ? txd_setting_find(r->root, path) : NULL;

    return setting && setting->kind != TXD_SETTING_NULL ? setting : NULL;
}

bool txd_reading_is_absent(const txd_reading *r, const char *field)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);

    return !r->architecture && path && !txd_setting_find(r->root, path);
}

txd_status txd_reading_fail(const txd_reading *r, const char *field, txd_status status,
                            const char *text)
{
    char name[160], place[512];
    const char *path = txd_reading_path(name, r, field);
    const txd_setting *setting = path ? txd_setting_find(r->root, path) : NULL;

    txd_setting_place(place, sizeof place, setting ? setting : r->root);
    if (setting)
        return txd_fail(status, "%s: %s", place, text);
    return txd_fail(status, "%s: %s: %s", place, path ? path : field, text);
}

txd_status txd_reading_size(size_t *out, const txd_reading *r, const char *field,
                            size_t low, size_t high)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);

    return path ? txd_setting_size(out, r->root, path, low, high) : TXD_OK;
}

txd_status txd_reading_real(double *out, const txd_reading *r, const char *field,
                            double low, double high)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);

    return path ? txd_setting_real(out, r->root, path, low, high) : TXD_OK;
}

txd_status txd_reading_bool(bool *out, const txd_reading *r, const char *field)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);

    return path ? txd_setting_bool(out, r->root, path) : TXD_OK;
}

txd_status txd_reading_flag(enum txd_stated *out, const txd_reading *r,
                            const char *field)
{
    bool value = false;

    TXD_TRY(txd_reading_bool(&value, r, field));
    if (txd_reading_find(r, field))
        *out = value ? TXD_STATED_TRUE : TXD_STATED_FALSE;
    return TXD_OK;
}

txd_status txd_reading_biases(txd_reading *r, const char *attention, const char *mlp)
{
    r->attention_field = attention;
    r->mlp_field = mlp;
    if (attention)
        TXD_TRY(txd_reading_flag(&r->attention_bias, r, attention));
    return mlp ? txd_reading_flag(&r->mlp_bias, r, mlp) : TXD_OK;
}

txd_status txd_reading_string(const char **out, const txd_reading *r, const char *field)
{
    char text[160];
    const char *path = txd_reading_path(text, r, field);

    return path ? txd_setting_string(out, r->root, path) : TXD_OK;
}

txd_status txd_reading_word_at(const char **out, const txd_reading *r,
                               const char *field, size_t i)
{
    const txd_setting *list = txd_reading_find(r, field);
    char path[32];

    *out = NULL;
    if (!list)
        return TXD_OK;
    if (list->kind != TXD_SETTING_LIST || i >= list->count)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT,
                                "expected a list of words, one for each layer");
    snprintf(path, sizeof path, "%zu", i);
    TXD_TRY(txd_setting_string(out, list, path));
    if (!*out)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT, "a word is null");
    return TXD_OK;
}

static bool is_empty(const txd_setting *setting)
{
    switch (setting->kind) {
    case TXD_SETTING_BOOL:
        return !setting->boolean;
    case TXD_SETTING_INT:
    case TXD_SETTING_REAL:
        return setting->real == 0;
    case TXD_SETTING_GROUP:
    case TXD_SETTING_LIST:
        return setting->count == 0;
    case TXD_SETTING_NULL:
        return true;
    case TXD_SETTING_STRING:
    default:
        return false;
    }
}

txd_status txd_reading_refuse(const txd_reading *r, const char *const *fields)
{
    for (; *fields; fields++) {
        const txd_setting *setting = txd_reading_find(r, *fields);

        if (setting && !is_empty(setting))
            return txd_reading_fail(r, *fields, TXD_ERR_UNSUPPORTED,
                                    "not supported; only models without it can be "
                                    "read");
    }
    return TXD_OK;
}
