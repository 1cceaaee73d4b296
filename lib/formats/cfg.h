/* SPDX-License-Identifier: MIT
 *
 * model.cfg and rules files (libconfig syntax) as a settings tree.
 */
#ifndef TXD_FORMATS_CFG_H
#define TXD_FORMATS_CFG_H

#include "base/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file; @include is relative to it. Strings and settings live in `arena`.
 * Integers beyond what the library reads correctly are ERR_CONFIG with their line
 * (libconfig 1.5 wraps them silently). ERR_IO when it cannot be read. */
txd_status txd_cfg_load(txd_setting **out, txd_arena *arena, const char *path);

/* The same from memory, where @include is refused; `name` stands for the path. */
txd_status txd_cfg_parse(txd_setting **out, txd_arena *arena, const char *name,
                         const char *text);

/* Applies "dotted.path=value" (as of --set): the value is in model.cfg syntax; a word
 * that is not a value there is a string. Missing groups and lists are made; a number
 * picks a list's element, or adds one at its end. The setting's place becomes "--set".
 * ERR_CONFIG if malformed; the tree is then as it was. */
txd_status txd_cfg_set(txd_setting *root, txd_arena *arena, const char *assignment);

#ifdef __cplusplus
}
#endif

#endif
