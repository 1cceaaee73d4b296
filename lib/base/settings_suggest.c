/* SPDX-License-Identifier: MIT
 *
 * Advice for settings that the key tables do not know: the nearest key, the key that
 * another program calls so, or a list of those accepted.
 */
#include "base/settings_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/select.h"

typedef const txd_key *const *key_tables;

const txd_key *txd_key_next(key_tables *tables, const txd_key *key)
{
    if (key && key[1].path)
        return key + 1;
    if (key)
        (*tables)++;
    while (**tables && !(**tables)->path)
        (*tables)++;
    return **tables;
}

/* The step of `key` right below the group or list `path`, into `word`; false if none.
 */
static bool step_below(char *word, const txd_key *key, const char *path)
{
    size_t length = strlen(path);
    const char *step = key->path;

    if (length != 0) {
        if (strncmp(step, path, length) != 0)
            return false;
        step += length;
        if (strncmp(step, "[].", 3) == 0)
            step += 3;
        else if (*step == '.')
            step++;
        else
            return false;
    }
    snprintf(word, TXD_STEP_BYTES, "%.*s", (int)strcspn(step, ".["), step);
    return *word != '\0';
}

void txd_settings_keep_nearer(char *best, const char *candidate, const char *word)
{
    const char *pair[2] = {best, candidate};
    const char *nearer = txd_nearest(word, pair + !*best, *best ? 2 : 1);

    if (nearer == candidate)
        snprintf(best, TXD_STEP_BYTES, "%s", candidate);
}

/* Whether `words`, separated by commas and blanks, has `word`, up to `end`. */
static bool has_word(const char *words, const char *word, const char *end)
{
    size_t length = strlen(word);

    while (*words && !strchr(end, *words)) {
        size_t n = strcspn(words, ", )");

        if (n == length && memcmp(words, word, n) == 0)
            return true;
        words += n;
        words += *words == ',' || *words == ' ';
    }
    return false;
}

const txd_key *txd_key_elsewhere(key_tables tables, const char *word)
{
    static const char mark[] = "(elsewhere ";
    const txd_key *key = NULL;

    if (!*word)
        return NULL;
    while ((key = txd_key_next(&tables, key))) {
        const char *names = key->sentence ? strstr(key->sentence, mark) : NULL;

        if (names && has_word(names + sizeof mark - 1, word, ")"))
            return key;
    }
    return NULL;
}

char *txd_settings_list_below(char *text, size_t bytes, key_tables tables,
                              const char *path)
{
    char step[TXD_STEP_BYTES];
    const txd_key *key = NULL;
    size_t used = 0;

    *text = '\0';
    while ((key = txd_key_next(&tables, key))) {
        if (!step_below(step, key, path) || has_word(text, step, ""))
            continue;
        if (used + strlen(step) + sizeof ", , ..." > bytes) {
            snprintf(text + used, bytes - used, ", ...");
            break;
        }
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", step);
    }
    return text;
}

/* A key of that name in another group. */
static const txd_key *find_in_others(key_tables tables, const char *word)
{
    const txd_key *key = NULL;

    while ((key = txd_key_next(&tables, key))) {
        const char *dot = strrchr(key->path, '.');

        if (strcmp(dot ? dot + 1 : key->path, word) == 0)
            return key;
    }
    return NULL;
}

/* The step below `path` by which `key` is reached, or its whole path. */
static const char *name_from(char *step, const txd_key *key, const char *path)
{
    size_t length = strlen(path);

    if (step_below(step, key, path) &&
        strcmp(key->path + length + (length != 0), step) == 0)
        return step;
    return key->path;
}

char *txd_settings_suggest(char *text, size_t bytes, key_tables tables,
                           const char *path, const char *word)
{
    const txd_key *elsewhere = txd_key_elsewhere(tables, word);
    const txd_key *other = find_in_others(tables, word), *key = NULL;
    char best[TXD_STEP_BYTES] = "", step[TXD_STEP_BYTES], listed[1024];
    key_tables rest = tables;

    while ((key = txd_key_next(&rest, key)))
        if (step_below(step, key, path))
            txd_settings_keep_nearer(best, step, word);
    if (elsewhere)
        snprintf(text, bytes, "; here it is called %s",
                 name_from(step, elsewhere, path));
    else if (*best || other)
        snprintf(text, bytes, "; nearest: %s", *best ? best : other->path);
    else if (*txd_settings_list_below(listed, sizeof listed, tables, path))
        snprintf(text, bytes, "; accepted here: %s", listed);
    else
        snprintf(text, bytes, "; nothing is accepted here");
    return text;
}

const txd_key *txd_settings_namesake(key_tables tables, const char *path,
                                     const char *type)
{
    const char *dot = strrchr(path, '.');
    const char *word = dot ? dot + 1 : path;
    size_t parent = (size_t)(word - path), length = strlen(word);
    const txd_key *key = NULL;

    while ((key = txd_key_next(&tables, key))) {
        const char *name = key->path + parent;
        size_t other;

        if (strncmp(key->path, path, parent) != 0 || strcmp(key->type, type) != 0)
            continue;
        other = strlen(name);
        if (!strpbrk(name, ".[") && other > length && name[other - length - 1] == '_' &&
            strcmp(name + other - length, word) == 0)
            return key;
    }
    return NULL;
}
