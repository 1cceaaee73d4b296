/* SPDX-License-Identifier: MIT
 *
 * Building, finding and reading settings. Every reader names the place, what was
 * expected and what was found, so that no caller has to. Printing and validation
 * have files of their own.
 */
#include "base/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/select.h"

#define PLACE_BYTES 512

static size_t position_in_parent(const txd_setting *setting)
{
    size_t i = 0;

    for (const txd_setting *s = setting->parent->child; s != setting; s = s->next)
        i++;
    return i;
}

static void append(char *text, size_t bytes, const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s", more);
}

static void append_path(char *text, size_t bytes, const txd_setting *setting)
{
    char index[24];

    if (!setting->parent)
        return;
    append_path(text, bytes, setting->parent);
    if (setting->parent->parent)
        append(text, bytes, ".");
    if (setting->name) {
        append(text, bytes, setting->name);
        return;
    }
    snprintf(index, sizeof index, "%zu", position_in_parent(setting));
    append(text, bytes, index);
}

/* The child of a group or list that a step of `length` characters names. */
static const txd_setting *find_child(const txd_setting *parent, const char *step,
                                     size_t length)
{
    const txd_setting *child = parent->child;
    size_t index = 0;

    if (parent->kind == TXD_SETTING_GROUP) {
        while (child &&
               !(strncmp(child->name, step, length) == 0 && !child->name[length]))
            child = child->next;
        return child;
    }
    if (parent->kind != TXD_SETTING_LIST || length == 0 || length > 18)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        if (step[i] < '0' || step[i] > '9')
            return NULL;
        index = index * 10 + (size_t)(step[i] - '0');
    }
    while (child && index-- > 0)
        child = child->next;
    return child;
}

/* What was found, for messages: `"abc" (a string)`. */
static void describe(char *text, size_t bytes, const txd_setting *setting)
{
    switch (setting->kind) {
    case TXD_SETTING_BOOL:
        snprintf(text, bytes, "%s", setting->boolean ? "true" : "false");
        break;
    case TXD_SETTING_INT:
        snprintf(text, bytes, "%" PRId64, setting->integer);
        break;
    case TXD_SETTING_REAL:
        snprintf(text, bytes, "%.17g", setting->real);
        break;
    case TXD_SETTING_STRING:
        snprintf(text, bytes, "the string \"%.100s\"", setting->string);
        break;
    case TXD_SETTING_LIST:
        snprintf(text, bytes, "a list of %zu", setting->count);
        break;
    case TXD_SETTING_GROUP:
        snprintf(text, bytes, "a group of %zu settings", setting->count);
        break;
    case TXD_SETTING_NULL:
    default:
        snprintf(text, bytes, "null");
        break;
    }
}

static txd_status fail_expected(const txd_setting *setting, const char *expected,
                                const char *remedy)
{
    char place[PLACE_BYTES], found[160];

    txd_setting_place(place, sizeof place, setting);
    describe(found, sizeof found, setting);
    return txd_fail(TXD_ERR_CONFIG, "%s: expected %s, found %s%s", place, expected,
                    found, remedy);
}

static double number_of(const txd_setting *setting)
{
    bool number = setting->kind == TXD_SETTING_REAL || setting->kind == TXD_SETTING_INT;

    return number ? setting->real : 0;
}

/* A bound that nobody meets, such as 1e30, is told to who went beyond it. */
static txd_status check_number(const txd_setting *setting, const char *what, double low,
                               double high, bool ok)
{
    char expected[120];

    if (ok)
        return TXD_OK;
    if (isinf(low) && isinf(high))
        snprintf(expected, sizeof expected, "%s", what);
    else if (isinf(high) || (high >= 0x1p63 && !(number_of(setting) > high)))
        snprintf(expected, sizeof expected, "%s, at least %.15g", what, low);
    else if (isinf(low) || (low <= -0x1p63 && !(number_of(setting) < low)))
        snprintf(expected, sizeof expected, "%s, at most %.15g", what, high);
    else
        snprintf(expected, sizeof expected, "%s from %.15g to %.15g", what, low, high);
    return fail_expected(setting, expected, "");
}

/* Absent and null settings keep the default. */
static const txd_setting *present(const txd_setting *group, const char *path)
{
    const txd_setting *setting = txd_setting_find(group, path);

    return setting && setting->kind != TXD_SETTING_NULL ? setting : NULL;
}

txd_setting *txd_setting_add(txd_arena *arena, txd_setting *parent, const char *name,
                             txd_setting_kind kind)
{
    txd_setting *setting = txd_arena_alloc(arena, 1, sizeof *setting);

    if (!setting)
        return NULL;
    setting->kind = kind;
    setting->file = parent->file;
    setting->string = "";
    setting->parent = parent;
    if (name && !(setting->name = txd_arena_string(arena, name)))
        return NULL;
    if (parent->last)
        parent->last->next = setting;
    else
        parent->child = setting;
    parent->last = setting;
    parent->count++;
    return setting;
}

txd_setting *txd_setting_root(txd_arena *arena, const char *file)
{
    txd_setting *root = txd_arena_alloc(arena, 1, sizeof *root);

    if (!root)
        return NULL;
    root->kind = TXD_SETTING_GROUP;
    root->string = "";
    if (file && !(root->file = txd_arena_string(arena, file)))
        return NULL;
    return root;
}

const txd_setting *txd_setting_find(const txd_setting *group, const char *path)
{
    while (group) {
        size_t length = strcspn(path, ".");

        group = find_child(group, path, length);
        if (!path[length]) {
            if (group && group->asked)
                *group->asked = true;
            return group;
        }
        path += length + 1;
    }
    return NULL;
}

txd_status txd_settings_record(txd_arena *arena, txd_setting *root)
{
    root->asked = txd_arena_alloc(arena, 1, sizeof *root->asked);
    if (!root->asked)
        return TXD_ERR_MEMORY;
    if (root->kind != TXD_SETTING_GROUP)
        return TXD_OK;
    for (txd_setting *s = root->child; s; s = s->next)
        TXD_TRY(txd_settings_record(arena, s));
    return TXD_OK;
}

char *txd_setting_place(char *text, size_t bytes, const txd_setting *setting)
{
    if (bytes == 0)
        return text;
    text[0] = '\0';
    if (setting->file && setting->line > 0)
        snprintf(text, bytes, "%s:%d", setting->file, setting->line);
    else if (setting->file)
        snprintf(text, bytes, "%s", setting->file);
    if (setting->file && setting->parent)
        append(text, bytes, ": ");
    append_path(text, bytes, setting);
    return text;
}

txd_status txd_setting_int(int64_t *out, const txd_setting *group, const char *path,
                           int64_t low, int64_t high)
{
    const txd_setting *setting = present(group, path);

    if (!setting)
        return TXD_OK;
    TXD_TRY(check_number(setting, "an integer", (double)low, (double)high,
                         setting->kind == TXD_SETTING_INT && setting->integer >= low &&
                             setting->integer <= high));
    *out = setting->integer;
    return TXD_OK;
}

txd_status txd_setting_size(size_t *out, const txd_setting *group, const char *path,
                            size_t low, size_t high)
{
    const txd_setting *setting = present(group, path);

    if (!setting)
        return TXD_OK;
    TXD_TRY(check_number(setting, "an integer", (double)low, (double)high,
                         setting->kind == TXD_SETTING_INT && setting->integer >= 0 &&
                             (uint64_t)setting->integer >= low &&
                             (uint64_t)setting->integer <= high));
    *out = (size_t)setting->integer;
    return TXD_OK;
}

txd_status txd_setting_real(double *out, const txd_setting *group, const char *path,
                            double low, double high)
{
    const txd_setting *setting = present(group, path);
    bool number;

    if (!setting)
        return TXD_OK;
    number = setting->kind == TXD_SETTING_REAL || setting->kind == TXD_SETTING_INT;
    TXD_TRY(check_number(setting, "a number", low, high,
                         number && setting->real >= low && setting->real <= high));
    *out = setting->real;
    return TXD_OK;
}

txd_status txd_setting_bool(bool *out, const txd_setting *group, const char *path)
{
    const txd_setting *setting = present(group, path);

    if (!setting)
        return TXD_OK;
    if (setting->kind != TXD_SETTING_BOOL)
        return fail_expected(setting, "true or false", "");
    *out = setting->boolean;
    return TXD_OK;
}

txd_status txd_setting_string(const char **out, const txd_setting *group,
                              const char *path)
{
    const txd_setting *setting = present(group, path);

    if (!setting)
        return TXD_OK;
    if (setting->kind != TXD_SETTING_STRING)
        return fail_expected(setting, "a string", "; put it in double quotes");
    if (strlen(setting->string) != setting->string_length)
        return fail_expected(setting, "a string without zero bytes", "");
    *out = setting->string;
    return TXD_OK;
}

txd_status txd_setting_choice(int *out, const txd_setting *group, const char *path,
                              const char *const *words, size_t count)
{
    const txd_setting *setting = present(group, path);
    const char *text = NULL, *nearest;
    char expected[512] = "one of", remedy[160] = "";

    TXD_TRY(txd_setting_string(&text, group, path));
    if (!text)
        return TXD_OK;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (int)i;
            return TXD_OK;
        }
        append(expected, sizeof expected, i ? ", \"" : " \"");
        append(expected, sizeof expected, words[i]);
        append(expected, sizeof expected, "\"");
    }
    nearest = txd_nearest(text, words, count);
    if (nearest)
        snprintf(remedy, sizeof remedy, "; nearest: \"%.100s\"", nearest);
    return fail_expected(setting, expected, remedy);
}
