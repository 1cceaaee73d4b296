/* SPDX-License-Identifier: MIT
 *
 * A settings tree: what a configuration file (model.cfg, config.json, a JSON header)
 * says, with the place of every value, whatever the syntax it came from. And key
 * tables: what an area of the program accepts, which validation, suggestions for
 * misspelt keys and docs/model.cfg.md are made from.
 */
#ifndef TXD_BASE_SETTINGS_H
#define TXD_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum txd_setting_kind {
    TXD_SETTING_NULL,
    TXD_SETTING_BOOL,
    TXD_SETTING_INT,
    TXD_SETTING_REAL,
    TXD_SETTING_STRING,
    TXD_SETTING_LIST,  /* a list or an array: children without names */
    TXD_SETTING_GROUP, /* children with names, unique */
} txd_setting_kind;

typedef struct txd_setting {
    const char *name; /* NULL in lists and for the root */
    txd_setting_kind kind;
    bool boolean;
    int64_t integer;
    double real;        /* also set for TXD_SETTING_INT */
    const char *string; /* UTF-8, terminated; length below counts embedded zeros */
    size_t string_length;
    const char *file; /* where it was written; line 0 = unknown */
    int line;
    struct txd_setting *parent, *child, *next; /* first child, next sibling */
    struct txd_setting *last;                  /* last child */
    size_t count;                              /* children */
    bool *asked; /* becomes true when a path leads here; NULL = nobody wants to know */
} txd_setting;

/* Adds a child (name NULL in a list) to a group or list; the name is copied into the
 * arena, the file is the parent's. NULL with a message when memory runs out. */
txd_setting *txd_setting_add(txd_arena *arena, txd_setting *parent, const char *name,
                             txd_setting_kind kind);

/* A new root group. */
txd_setting *txd_setting_root(txd_arena *arena, const char *file);

/* The setting at a dotted path below `group` ("mask.window"); NULL if absent.
 * A step that is a number picks a list's element. */
const txd_setting *txd_setting_find(const txd_setting *group, const char *path);

/* From now on it is remembered which settings at or below `root` (not within lists) a
 * path led to. Not for a tree that several threads read. */
txd_status txd_settings_record(txd_arena *arena, txd_setting *root);

/* "model.cfg:12: model.d_model" into `text`: how every message names a setting. An
 * element of a list is a number: "faults.0.name". Returns `text`. */
char *txd_setting_place(char *text, size_t bytes, const txd_setting *setting);

/* Readers: absent or null keeps *out; a wrong kind or range is ERR_CONFIG with the
 * place, what was expected and what was found. An integer is accepted as a real. */
txd_status txd_setting_int(int64_t *out, const txd_setting *group, const char *path,
                           int64_t low, int64_t high);
txd_status txd_setting_size(size_t *out, const txd_setting *group, const char *path,
                            size_t low, size_t high);
txd_status txd_setting_real(double *out, const txd_setting *group, const char *path,
                            double low, double high);
txd_status txd_setting_bool(bool *out, const txd_setting *group, const char *path);
txd_status txd_setting_string(const char **out, const txd_setting *group,
                              const char *path);
/* One of `count` words; *out is its index. The message suggests the nearest. */
txd_status txd_setting_choice(int *out, const txd_setting *group, const char *path,
                              const char *const *words, size_t count);

/* The tree in model.cfg syntax: parses back to an equal tree. What that syntax lacks
 * is left out (null; names it does not allow), cut (strings, at a zero byte) or
 * written as a string (infinities and NaN). */
void txd_settings_print(txd_text *out, const txd_setting *root);

/* One accepted key. `path` is dotted; "[]" stands for the elements of a list:
 * "faults[].name". `type`: "bool", "int", "real", "string", "list", "text" (a string or
 * a list of them), "group", "range" (an index, or a string for txd_range_parse), or
 * "a|b|c" for a choice ("real|a" takes numbers too). A group key needs no line of its
 * own; with one, and no key below it, a group holds anything and a list anything but
 * groups. A sentence may end in what other programs call the key: "... (elsewhere
 * hidden_size, n_embd)". */
typedef struct txd_key {
    const char *path, *type, *fallback, *unit, *range, *sentence;
} txd_key;

/* The key that other programs call `word`; NULL if no sentence says so. */
const txd_key *txd_key_elsewhere(const txd_key *const *tables, const char *word);

/* Fails (ERR_CONFIG) at the first setting that no table knows, naming file, line,
 * path and the nearest known key, or whose kind does not fit the table's type.
 * `tables` ends with NULL; each table ends with an entry whose path is NULL. */
txd_status txd_settings_validate(const txd_setting *root, const txd_key *const *tables);

/* Appends the keys as Markdown: a section per top-level group, a row per key with its
 * type, default, unit, range and sentence. */
void txd_keys_markdown(txd_text *out, const txd_key *const *tables);

#ifdef __cplusplus
}
#endif

#endif
