/* SPDX-License-Identifier: MIT
 *
 * How people pick things: globs over names, ranges over indices, and the nearest
 * known word for a word that is not known.
 */
#ifndef TXD_BASE_SELECT_H
#define TXD_BASE_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `*` matches any characters, dots included; every other character itself. A name
 * that ends in "@grad" only matches a pattern that holds an '@'. Linear time in
 * practice: no recursion. */
bool txd_glob(const char *pattern, const char *name);

/* The same over a comma-separated list of patterns (blanks around commas ignored).
 * NULL or an empty list matches nothing. */
bool txd_glob_list(const char *patterns, const char *name);

#define TXD_MAX_RANGES 16

/* A set of indices: the union of half-open ranges [begin, end), of which only every
 * n-th is meant. */
typedef struct txd_range {
    int count; /* 0 means everything */
    struct {
        size_t begin, end, every;
    } parts[TXD_MAX_RANGES];
} txd_range;

/* Parses "5", "0:10" (10 excluded), "3:" (open end), "0:10:2" and "3::2" (every second
 * one, from the first on), "*" or NULL or "" (everything), and comma-separated lists of
 * these. ERR_CONFIG, naming the text and the accepted forms, when it is none of them.
 */
txd_status txd_range_parse(txd_range *out, const char *text);

bool txd_range_has(const txd_range *range, size_t index);

/* The nearest of `count` names: the one that is `word`; else one that ends in it after
 * a '.' or '/'; else the one that as a whole or in its last part is close enough to be
 * a typing mistake (edits <= 1 + length / 3, of three letters 1; two
 * exchanged letters are one edit); else NULL. */
const char *txd_nearest(const char *word, const char *const *known, size_t count);

#ifdef __cplusplus
}
#endif

#endif
