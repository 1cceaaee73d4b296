/* SPDX-License-Identifier: MIT
 *
 * Settings against key tables. While the tree is walked, the path of a setting is
 * kept in the tables' own form ("faults[].name"), so that looking a key up is
 * comparing strings.
 */
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/select.h"

#define PATH_BYTES 512
#define WORD_BYTES 128

typedef const txd_key *const *key_tables;

static txd_status validate_children(const txd_setting *parent, key_tables tables,
                                    const char *path);

static const txd_key *next_key(key_tables *tables, const txd_key *key)
{
    if (key && key[1].path)
        return key + 1;
    if (key)
        (*tables)++;
    while (**tables && !(**tables)->path)
        (*tables)++;
    return **tables;
}

static const txd_key *find_key(key_tables tables, const char *path)
{
    const txd_key *key = NULL;

    while ((key = next_key(&tables, key)))
        if (strcmp(key->path, path) == 0)
            return key;
    return NULL;
}

/* Whether a table has keys below `path`: '.' in a group, '[' in a list. */
static bool has_below(key_tables tables, const char *path, char separator)
{
    size_t length = strlen(path);
    const txd_key *key = NULL;

    while ((key = next_key(&tables, key)))
        if (strncmp(key->path, path, length) == 0 && key->path[length] == separator)
            return true;
    return false;
}

/* The step of `key` right below the group `path`, into `word`; false if none. */
static bool step_below(char *word, const txd_key *key, const char *path)
{
    size_t length = strlen(path);
    const char *step = key->path;

    if (length != 0) {
        if (strncmp(step, path, length) != 0 || step[length] != '.')
            return false;
        step += length + 1;
    }
    snprintf(word, WORD_BYTES, "%.*s", (int)strcspn(step, ".["), step);
    return *word != '\0';
}

/* Keeps in `best` whichever of two candidates is nearer to `word`. */
static bool keep_nearer(char *best, const char *candidate, const char *word)
{
    const char *pair[2] = {best, candidate};
    const char *nearer = txd_nearest(word, pair + !*best, *best ? 2 : 1);

    if (nearer != candidate)
        return false;
    snprintf(best, WORD_BYTES, "%s", candidate);
    return true;
}

/* A key of that name in another group. */
static const char *find_elsewhere(key_tables tables, const char *word)
{
    const txd_key *key = NULL;

    while ((key = next_key(&tables, key))) {
        const char *dot = strrchr(key->path, '.');

        if (strcmp(dot ? dot + 1 : key->path, word) == 0)
            return key->path;
    }
    return NULL;
}

/* "; nearest: d_model", a key of another group, or all that is accepted here. */
static void suggest(char *text, size_t bytes, key_tables tables, const char *path,
                    const char *word)
{
    const char *other = find_elsewhere(tables, word);
    char best[WORD_BYTES] = "", step[WORD_BYTES], listed[320] = "";
    const txd_key *key = NULL;
    size_t used = 0;

    while ((key = next_key(&tables, key))) {
        if (!step_below(step, key, path))
            continue;
        keep_nearer(best, step, word);
        if (used + strlen(step) + 3 < sizeof listed && !strstr(listed, step))
            used += (size_t)snprintf(listed + used, sizeof listed - used, "%s%s",
                                     used ? ", " : "", step);
    }
    if (*best || other)
        snprintf(text, bytes, "; nearest: %s", *best ? best : other);
    else if (used)
        snprintf(text, bytes, "; accepted here: %s", listed);
    else
        snprintf(text, bytes, "; nothing is accepted here");
}

static txd_status fail_unknown(const txd_setting *setting, key_tables tables,
                               const char *path)
{
    char place[PATH_BYTES], advice[512];

    txd_setting_place(place, sizeof place, setting);
    suggest(advice, sizeof advice, tables, path, setting->name);
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
        char candidate[WORD_BYTES];
        size_t n = strcspn(word, "|");

        snprintf(candidate, sizeof candidate, "%.*s", (int)n, word);
        keep_nearer(best, candidate, string);
        word += n + (word[n] == '|');
    }
    return best;
}

static txd_status check_choice(const txd_setting *setting, const char *choices)
{
    char place[PATH_BYTES], best[WORD_BYTES];

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
    if (key)
        TXD_TRY(check_type(setting, key));
    if (setting->kind == TXD_SETTING_GROUP && group)
        return validate_children(setting, tables, path);
    if (setting->kind == TXD_SETTING_LIST && list)
        return validate_children(setting, tables, path);
    if (!key)
        return fail_kind(setting, group ? "a group in { }" : "a list in ( )");
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
