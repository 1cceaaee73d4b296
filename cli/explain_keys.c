/* SPDX-License-Identifier: MIT
 *
 * Keys of model.cfg explained: by path, by group, by their last part, and by what other
 * programs call them.
 */
#include "cli/explain_keys.h"

#include <string.h>

/* What a name may be of a key, from the surest on. */
typedef enum match {
    MATCH_PATH, /* the key itself, or the group that holds it */
    MATCH_PART, /* its last part, or that of a group: "n_layers" of "model.n_layers" */
} match;

/* "mask" holds "mask.causal", "record" holds "record[].probe". */
static bool is_within(const char *path, const char *group)
{
    size_t length = strlen(group);

    return strncmp(path, group, length) == 0 &&
           (path[length] == '.' || path[length] == '[');
}

static bool matches(const char *path, const char *name, match how)
{
    const char *part;

    if (how == MATCH_PATH)
        return strcmp(path, name) == 0 || is_within(path, name);
    for (part = strchr(path, '.'); part; part = strchr(part + 1, '.'))
        if (strcmp(part + 1, name) == 0 || is_within(part + 1, name))
            return true;
    return false;
}

void txd_explain_key_line(txd_text *out, const txd_key *key)
{
    txd_text_addf(out, "  %s (%s", key->path, key->type);
    if (key->fallback && strcmp(key->fallback, "required") == 0)
        txd_text_add(out, ", required");
    else if (key->fallback && *key->fallback)
        txd_text_addf(out, ", default %s", key->fallback);
    if (key->unit && *key->unit && strcmp(key->unit, "1") != 0)
        txd_text_addf(out, ", in %s", key->unit);
    if (key->range && *key->range)
        txd_text_addf(out, ", %s", key->range);
    txd_text_addf(out, "): %s\n", key->sentence);
}

/* "record[].probe" is written `record = ( { probe = ...; } );`. */
static void add_form(txd_text *out, const char *path)
{
    char closing[128] = "";
    const char *dot;

    txd_text_add(out, "\nWritten as:\n  ");
    for (; (dot = strchr(path, '.')); path = dot + 1) {
        bool list = dot - path > 2 && dot[-1] == ']';
        char rest[sizeof closing];

        txd_text_addf(out, list ? "%.*s = ( { " : "%.*s : { ",
                      (int)(dot - path) - (list ? 2 : 0), path);
        memcpy(rest, closing, sizeof rest);
        if (strlen(rest) + sizeof " }, ... );" <= sizeof closing) {
            strcpy(closing, list ? " }, ... );" : " };");
            strcat(closing, rest);
        }
    }
    txd_text_addf(out, "%s = ...;%s\n", path, closing);
}

static void add_title(txd_text *out, const char *name, const txd_key *first, match how)
{
    if (out->length)
        txd_text_add(out, "\n");
    if (how == MATCH_PATH)
        txd_text_addf(out, "%s is a %s of model.cfg.\n\n", name,
                      strcmp(first->path, name) == 0 ? "key" : "group");
    else
        txd_text_addf(out, "%s is part of model.cfg:\n\n", name);
}

static bool explain_matches(txd_text *out, const char *name,
                            const txd_key *const *tables, match how)
{
    const txd_key *key, *first = NULL;
    size_t found = 0;

    for (; *tables; tables++)
        for (key = *tables; key->path; key++) {
            if (!matches(key->path, name, how))
                continue;
            if (!first)
                add_title(out, name, key, how);
            first = first ? first : key;
            found++;
            txd_explain_key_line(out, key);
        }
    if (found == 1 || (first && how == MATCH_PATH))
        add_form(out, first->path);
    return first != NULL;
}

bool txd_explain_key(txd_text *out, const char *name, const txd_key *const *tables)
{
    const txd_key *elsewhere;

    if (explain_matches(out, name, tables, MATCH_PATH))
        return true;
    if (out->length)
        return false;
    if (explain_matches(out, name, tables, MATCH_PART))
        return true;
    elsewhere = txd_key_elsewhere(tables, name);
    if (!elsewhere)
        return false;
    txd_text_addf(out, "%s is called %s here.\n\n", name, elsewhere->path);
    txd_explain_key_line(out, elsewhere);
    add_form(out, elsewhere->path);
    return true;
}
