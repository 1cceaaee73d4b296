/* SPDX-License-Identifier: MIT
 *
 * What validation and its advice share: walking key tables.
 */
#ifndef TXD_BASE_SETTINGS_INTERNAL_H
#define TXD_BASE_SETTINGS_INTERNAL_H

#include "base/settings.h"

#define TXD_STEP_BYTES 128

/* The key after `key` (NULL: the first), through all tables; NULL after the last. */
const txd_key *txd_key_next(const txd_key *const **tables, const txd_key *key);

/* What to write instead of the unknown key `word` of the group `path`, as the tail of a
 * message: "; nearest: d_model", "; here it is called d_model", a key of another group,
 * or all that the group accepts. Returns `text`. */
char *txd_settings_suggest(char *text, size_t bytes, const txd_key *const *tables,
                           const char *path, const char *word);

/* The steps right below `path` ('.' a group's, '[' those of a list's elements), joined
 * by commas, with ", ..." if `text` has no room for all. Returns `text`. */
char *txd_settings_list_below(char *text, size_t bytes, const txd_key *const *tables,
                              const char *path);

/* A key beside `path` whose name ends in its last step and whose type is `type`:
 * "model.n_layers" for "model.layers" and "int"; NULL if none. */
const txd_key *txd_settings_namesake(const txd_key *const *tables, const char *path,
                                     const char *type);

/* Keeps in `best` (TXD_STEP_BYTES) whichever of two candidates is nearer to `word`. */
void txd_settings_keep_nearer(char *best, const char *candidate, const char *word);

#endif
