/* SPDX-License-Identifier: MIT
 *
 * JSON (config.json, safetensors headers) as a settings tree. Duplicate keys, NaN,
 * integers beyond int64 and nesting beyond 2048 are errors with line and column.
 */
#ifndef TXD_FORMATS_JSON_READ_H
#define TXD_FORMATS_JSON_READ_H

#include "base/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Settings know their file but no line (0). All live in `arena`. ERR_IO or ERR_FORMAT
 * on failure. */
txd_status txd_json_load(txd_setting **out, txd_arena *arena, const char *path);

/* The same from `count` bytes; `name` stands in messages for the path. */
txd_status txd_json_parse(txd_setting **out, txd_arena *arena, const char *name,
                          const char *bytes, size_t count);

#ifdef __cplusplus
}
#endif

#endif
