/* SPDX-License-Identifier: MIT
 *
 * Assignments from the command line. The whole assignment is checked before the
 * tree changes, so that a failed one leaves it as it was.
 */
#include "formats/cfg.h"

#include <stdlib.h>
#include <string.h>

static const char place[] = "--set";

static bool is_name(const char *step, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*"
                                 "0123456789-_";

    return length != 0 && strchr(letters, *step) && strspn(step, others) >= length;
}

static bool is_index(const char *step, size_t length)
{
    return length != 0 && length < 10 && strspn(step, "0123456789") >= length;
}

static txd_status fail_step(const char *path, const char *step, const char *why)
{
    return txd_fail(TXD_ERR_CONFIG, "%s %s: at \"%s\": %s", place, path, step, why);
}

/* The child named by a step, or NULL. */
static txd_setting *child_of(const txd_setting *parent, const char *step, size_t length)
{
    txd_setting *child = parent->child;

    if (parent->kind == TXD_SETTING_LIST) {
        for (long i = strtol(step, NULL, 10); child && i > 0; i--)
            child = child->next;
        return child;
    }
    while (child && (strncmp(child->name, step, length) != 0 || child->name[length]))
        child = child->next;
    return child;
}

/* Whether `step` can name a present or new child of a container. */
static txd_status check_step(const char *path, const char *step, size_t length,
                             txd_setting_kind kind, size_t count)
{
    if (kind == TXD_SETTING_GROUP) {
        if (is_name(step, length))
            return TXD_OK;
        return fail_step(path, step, "expected the name of a setting");
    }
    if (kind != TXD_SETTING_LIST)
        return fail_step(path, step, "what is above it is neither a group nor a list");
    if (!is_index(step, length))
        return fail_step(path, step, "expected a number, for what is above is a list");
    if ((size_t)strtol(step, NULL, 10) > count)
        return fail_step(path, step, "the list ends before that");
    return TXD_OK;
}

/* What a missing container must be, so that `next` can name its child. */
static txd_setting_kind kind_for(const char *next)
{
    return is_index(next, strcspn(next, ".")) ? TXD_SETTING_LIST : TXD_SETTING_GROUP;
}

static txd_status check_path(const txd_setting *root, const char *path)
{
    const txd_setting *parent = root;
    txd_setting_kind kind = root->kind;
    const char *step = path;

    for (;;) {
        size_t length = strcspn(step, ".");

        TXD_TRY(check_step(path, step, length, kind, parent ? parent->count : 0));
        if (!step[length])
            return TXD_OK;
        parent = parent ? child_of(parent, step, length) : NULL;
        step += length + 1;
        kind = parent ? parent->kind : kind_for(step);
    }
}

/* The setting at a checked path; it and groups above it are made if missing. */
static txd_setting *reach(txd_setting *root, txd_arena *arena, char *path)
{
    txd_setting *setting = root;

    for (char *step = path; step && setting;) {
        size_t length = strcspn(step, ".");
        char *next = step[length] ? step + length + 1 : NULL;
        txd_setting *child = child_of(setting, step, length);

        if (!child) {
            const char *name = setting->kind == TXD_SETTING_LIST ? NULL : step;

            step[length] = '\0';
            child = txd_setting_add(arena, setting, name,
                                    next ? kind_for(next) : TXD_SETTING_NULL);
            if (child)
                child->file = place;
        }
        setting = child;
        step = next;
    }
    return setting;
}

static void forget_lines(txd_setting *setting)
{
    setting->line = 0;
    setting->file = place;
    for (txd_setting *s = setting->child; s; s = s->next)
        forget_lines(s);
}

/* Gives a setting the value of another, keeping its name and its place in the tree. */
static void take_value(txd_setting *to, const txd_setting *value)
{
    const char *name = to->name;
    txd_setting *parent = to->parent, *next = to->next;

    *to = *value;
    to->name = name;
    to->parent = parent;
    to->next = next;
    for (txd_setting *s = to->child; s; s = s->next)
        s->parent = to;
    forget_lines(to);
}

static txd_status word_value(txd_setting **out, txd_arena *arena, const char *value)
{
    txd_setting *root = txd_setting_root(arena, place);
    txd_setting *word =
        root ? txd_setting_add(arena, root, "value", TXD_SETTING_STRING) : NULL;
    char *copy = word ? txd_arena_string(arena, value) : NULL;

    if (!copy)
        return TXD_ERR_MEMORY;
    word->string = copy;
    word->string_length = strlen(copy);
    *out = word;
    return TXD_OK;
}

static txd_status parse_value(txd_setting **out, txd_arena *arena, const char *value)
{
    txd_setting *root = NULL;
    txd_status status;
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text, "value = %s;", value);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_cfg_parse(&root, arena, place, txd_text_get(&text));
    txd_text_finish(&text);
    if (status == TXD_OK && root->count != 1)
        return txd_fail(TXD_ERR_CONFIG, "%s: \"%s\" holds more than one value", place,
                        value);
    if (status == TXD_OK)
        *out = root->child;
    /* What begins like a value was meant as one; all else is a word. */
    if (status != TXD_ERR_CONFIG || (*value && strchr("\"([{", *value)))
        return status;
    if (*value && strspn(value, "+-.0123456789") == strlen(value))
        return status;
    return word_value(out, arena, value);
}

txd_status txd_cfg_set(txd_setting *root, txd_arena *arena, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    txd_setting *value = NULL, *target;
    txd_status status;
    char *path;

    if (!equals || equals == assignment)
        return txd_fail(TXD_ERR_CONFIG, "%s: expected path=value, found \"%s\"", place,
                        assignment);
    path = txd_arena_string(arena, assignment);
    if (!path)
        return TXD_ERR_MEMORY;
    path[equals - assignment] = '\0';
    TXD_TRY(check_path(root, path));
    status = parse_value(&value, arena, equals + 1);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s", path);
    target = reach(root, arena, path);
    if (!target)
        return TXD_ERR_MEMORY;
    take_value(target, value);
    return TXD_OK;
}
