/* SPDX-License-Identifier: MIT
 *
 * Settings against key tables. While the tree is walked, the path of a setting is
 * kept in the tables' own form ("faults[].name"), so that looking a key up is
 * comparing strings.
 */
#include <stdio.h>
#include <string.h>

#include "base/settings_internal.h"

#define PATH_BYTES 512

typedef const txd_key *const *key_tables;

static txd_status validate_children(const txd_setting *parent, key_tables tables,
                                    const char *path);

static const txd_key *find_key(key_tables tables, const char *path)
{
    const txd_key *key = NULL;

    while ((key = txd_key_next(&tables, key)))
        if (strcmp(key->path, path) == 0)
            return key;
    return NULL;
}

/* Whether a table has keys below `path`: '.' in a group, '[' in a list. */
static bool has_below(key_tables tables, const char *path, char separator)
{
    size_t length = strlen(path);
    const txd_key *key = NULL;

    while ((key = txd_key_next(&tables, key)))
        if (strncmp(key->path, path, length) == 0 && key->path[length] == separator)
            return true;
    return false;
}

static txd_status fail_unknown(const txd_setting *setting, key_tables tables,
                               const char *path)
{
    char place[PATH_BYTES], advice[1200];

    txd_setting_place(place, sizeof place, setting);
    txd_settings_suggest(advice, sizeof advice, tables, path, setting->name);
    return txd_fail(TXD_ERR_CONFIG, "%s: unknown key \"%s\"%s", place, setting->name,
                    advice);
}

static const char *kind_name(const txd_setting *setting)
{
    switch (setting->kind) {
    case TXD_SETTING_BOOL:
        return "a boolean";
    case TXD_SETTING_INT:
        return "an integer";
    case TXD_SETTING_REAL:
        return "a real number";
    case TXD_SETTING_STRING:
        return "a string";
    case TXD_SETTING_LIST:
        return "a list";
    case TXD_SETTING_GROUP:
        return "a group";
    case TXD_SETTING_NULL:
        break;
    }
    return "null";
}

static txd_status fail_kind(const txd_setting *setting, const char *expected)
{
    char place[PATH_BYTES];

    txd_setting_place(place, sizeof place, setting);
    return txd_fail(TXD_ERR_CONFIG, "%s: expected %s, found %s", place, expected,
                    kind_name(setting));
}

/* Whether the string is one of the words in "a|b|c". */
static bool is_choice(const char *choices, const char *string)
{
    size_t length = strlen(string);

    for (const char *word = choices;; word++) {
        size_t n = strcspn(word, "|");

        if (n == length && memcmp(word, string, n) == 0)
            return true;
        word += n;
        if (!*word)
            return false;
    }
}

static const char *nearest_choice(char *best, const char *choices, const char *string)
{
    *best = '\0';
    for (const char *word = choices; *word;) {
        char candidate[TXD_STEP_BYTES];
        size_t n = strcspn(word, "|");

        snprintf(candidate, sizeof candidate, "%.*s", (int)n, word);
        txd_settings_keep_nearer(best, candidate, string);
        word += n + (word[n] == '|');
    }
    return best;
}

static txd_status check_choice(const txd_setting *setting, const char *choices)
{
    char place[PATH_BYTES], best[TXD_STEP_BYTES];

    if (setting->kind == TXD_SETTING_INT || setting->kind == TXD_SETTING_REAL)
        return is_choice(choices, "real") ? TXD_OK : fail_kind(setting, choices);
    if (setting->kind != TXD_SETTING_STRING)
        return fail_kind(setting, choices);
    if (is_choice(choices, setting->string) && strcmp(setting->string, "real") != 0)
        return TXD_OK;
    txd_setting_place(place, sizeof place, setting);
    nearest_choice(best, choices, setting->string);
    return txd_fail(TXD_ERR_CONFIG, "%s: expected %s, found \"%.100s\"%s%s", place,
                    choices, setting->string, *best ? "; nearest: " : "", best);
}

static txd_status check_type(const txd_setting *setting, const txd_key *key)
{
    static const struct {
        const char *type, *expected;
        txd_setting_kind kind, other;
    } types[] = {
        {"bool", "true or false", TXD_SETTING_BOOL, TXD_SETTING_BOOL},
        {"int", "an integer", TXD_SETTING_INT, TXD_SETTING_INT},
        {"real", "a number", TXD_SETTING_REAL, TXD_SETTING_INT},
        {"string", "a string in double quotes", TXD_SETTING_STRING, TXD_SETTING_STRING},
        {"range", "an index, or a range such as \"0:3\"", TXD_SETTING_STRING,
         TXD_SETTING_INT},
        {"text", "a string in double quotes, or a list of them", TXD_SETTING_STRING,
         TXD_SETTING_LIST},
        {"list", "a list in ( ) or [ ]", TXD_SETTING_LIST, TXD_SETTING_LIST},
        {"group", "a group in { }", TXD_SETTING_GROUP, TXD_SETTING_GROUP},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(key->type, types[i].type) != 0)
            continue;
        if (setting->kind == types[i].kind || setting->kind == types[i].other)
            return TXD_OK;
        return fail_kind(setting, types[i].expected);
    }
    return check_choice(setting, key->type);
}

static txd_status check_no_groups(const txd_setting *list)
{
    for (const txd_setting *s = list->child; s; s = s->next) {
        if (s->kind == TXD_SETTING_GROUP)
            return fail_kind(s, "a plain value or a list");
        if (s->kind == TXD_SETTING_LIST)
            TXD_TRY(check_no_groups(s));
    }
    return TXD_OK;
}

/* A plain value where a group or a list of groups belongs: what these hold, and the
 * key that was perhaps meant ("n_layers" for "layers"). */
static txd_status fail_structure(const txd_setting *setting, key_tables tables,
                                 const char *path, bool group)
{
    static const char *const types[] = {
        [TXD_SETTING_BOOL] = "bool", [TXD_SETTING_INT] = "int",
        [TXD_SETTING_REAL] = "real", [TXD_SETTING_STRING] = "string",
        [TXD_SETTING_GROUP] = NULL,
    };
    const char *type = types[setting->kind];
    const txd_key *other = type ? txd_settings_namesake(tables, path, type) : NULL;
    char expected[1200], listed[1024], elements[PATH_BYTES + 2];

    snprintf(elements, sizeof elements, "%s[]", path);
    txd_settings_list_below(listed, sizeof listed, tables, path);
    if (group)
        snprintf(expected, sizeof expected, "a group in { } of %s", listed);
    else if (find_key(tables, elements))
        snprintf(expected, sizeof expected, "a list in ( )");
    else
        snprintf(expected, sizeof expected, "a list in ( ) of groups in { } of %s",
                 listed);
    fail_kind(setting, expected);
    if (other)
        return txd_fail(TXD_ERR_CONFIG, "%s; is %s meant?", txd_message(), other->path);
    return TXD_ERR_CONFIG;
}

static txd_status validate_setting(const txd_setting *setting, key_tables tables,
                                   const char *parent_path, const char *path)
{
    const txd_key *key = find_key(tables, path);
    bool group = has_below(tables, path, '.');
    bool list = has_below(tables, path, '[');

    if (!key && !group && !list)
        return fail_unknown(setting, tables, parent_path);
    if (setting->kind == TXD_SETTING_NULL)
        return TXD_OK;
    if (setting->kind == TXD_SETTING_GROUP && group)
        return validate_children(setting, tables, path);
    if (setting->kind == TXD_SETTING_LIST && list)
        return validate_children(setting, tables, path);
    if (group || list)
        return fail_structure(setting, tables, path, group);
    TXD_TRY(check_type(setting, key));
    return setting->kind == TXD_SETTING_LIST ? check_no_groups(setting) : TXD_OK;
}

static txd_status validate_children(const txd_setting *parent, key_tables tables,
                                    const char *path)
{
    for (const txd_setting *s = parent->child; s; s = s->next) {
        char below[PATH_BYTES];

        snprintf(below, sizeof below, "%s%s%s", path,
                 !s->name ? "[]"
                 : *path  ? "."
                          : "",
                 s->name ? s->name : "");
        TXD_TRY(validate_setting(s, tables, path, below));
    }
    return TXD_OK;
}

txd_status txd_settings_validate(const txd_setting *root, const txd_key *const *tables)
{
    return validate_children(root, tables, "");
}
