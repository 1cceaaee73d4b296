/* SPDX-License-Identifier: MIT
 *
 * A look at model.cfg text before libconfig sees it, for what libconfig 1.5 reads
 * wrongly without a word. Internal to formats/.
 */
#ifndef TXD_FORMATS_CFG_INTERNAL_H
#define TXD_FORMATS_CFG_INTERNAL_H

#include <stddef.h>

#include "base/status.h"

/* Fails (ERR_CONFIG, file and line) at the first number that does not fit, the first
 * unterminated string or comment, a zero byte, and nesting or including too deep.
 * `folder` is where @include looks; NULL refuses @include. `name` names the text. */
txd_status txd_cfg_scan(const char *name, const char *text, size_t count,
                        const char *folder);

/* Reads a text file of at most 16 MiB: a new string of *count bytes that ends in a
 * line feed (libconfig needs it after a comment) and a zero. The caller frees *out. */
txd_status txd_cfg_read(char **out, size_t *count, const char *path);

#endif
