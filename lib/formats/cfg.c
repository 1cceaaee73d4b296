/* SPDX-License-Identifier: MIT
 *
 * libconfig, the only file that knows it, held to its 1.5 API. The text is scanned
 * first (cfg_scan.c), for libconfig 1.5 wraps large integers silently. Included
 * files are opened by libconfig itself.
 */
#include "formats/cfg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libconfig.h>

#include "formats/cfg_internal.h"

static txd_status convert_children(txd_setting *to, txd_arena *arena,
                                   const config_setting_t *from);

static txd_setting_kind kind_of(int type)
{
    switch (type) {
    case CONFIG_TYPE_GROUP:
        return TXD_SETTING_GROUP;
    case CONFIG_TYPE_LIST:
    case CONFIG_TYPE_ARRAY:
        return TXD_SETTING_LIST;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return TXD_SETTING_INT;
    case CONFIG_TYPE_FLOAT:
        return TXD_SETTING_REAL;
    case CONFIG_TYPE_STRING:
        return TXD_SETTING_STRING;
    case CONFIG_TYPE_BOOL:
        return TXD_SETTING_BOOL;
    default:
        return TXD_SETTING_NULL;
    }
}

/* libconfig opens an included file in `folder` (NULL: none); 1.5 names it without. */
static char *included(const char *folder, const char *file)
{
    size_t length = folder ? strlen(folder) : 0, size = length + strlen(file) + 2;
    char *path;

    if (!folder || strcmp(folder, ".") == 0)
        return strdup(file);
    if (strncmp(file, folder, length) == 0 && file[length] == '/')
        return strdup(file);
    path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, file);
    return path;
}

static txd_status convert_place(txd_setting *to, txd_arena *arena,
                                const config_setting_t *from)
{
    const char *file = config_setting_source_file(from);
    char *path;

    to->line = (int)config_setting_source_line(from);
    if (!file)
        return TXD_OK;
    path = included(config_get_include_dir(from->config), file);
    if (!path || strcmp(path, to->file) != 0)
        to->file = path ? txd_arena_string(arena, path) : NULL;
    free(path);
    return to->file ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status convert_value(txd_setting *to, txd_arena *arena,
                                const config_setting_t *from)
{
    char place[256];

    switch (to->kind) {
    case TXD_SETTING_BOOL:
        to->boolean = config_setting_get_bool(from) != 0;
        return TXD_OK;
    case TXD_SETTING_INT:
        to->integer = config_setting_type(from) == CONFIG_TYPE_INT64
                          ? config_setting_get_int64(from)
                          : config_setting_get_int(from);
        to->real = (double)to->integer;
        return TXD_OK;
    case TXD_SETTING_REAL:
        to->real = config_setting_get_float(from);
        if (isfinite(to->real))
            return TXD_OK;
        return txd_fail(TXD_ERR_CONFIG, "%s: the number is too large for a double",
                        txd_setting_place(place, sizeof place, to));
    case TXD_SETTING_STRING:
        to->string = txd_arena_string(arena, config_setting_get_string(from));
        if (!to->string)
            return TXD_ERR_MEMORY;
        to->string_length = strlen(to->string);
        return TXD_OK;
    case TXD_SETTING_LIST:
    case TXD_SETTING_GROUP:
        return convert_children(to, arena, from);
    case TXD_SETTING_NULL:
        break;
    }
    return txd_fail(TXD_ERR_CONFIG, "%s: has no value",
                    txd_setting_place(place, sizeof place, to));
}

static txd_status convert_children(txd_setting *to, txd_arena *arena,
                                   const config_setting_t *from)
{
    int count = config_setting_length(from);

    for (int i = 0; i < count; i++) {
        const config_setting_t *element =
            config_setting_get_elem((config_setting_t *)from, (unsigned)i);
        txd_setting *child = txd_setting_add(arena, to, config_setting_name(element),
                                             kind_of(config_setting_type(element)));

        if (!child)
            return TXD_ERR_MEMORY;
        TXD_TRY(convert_place(child, arena, element));
        TXD_TRY(convert_value(child, arena, element));
    }
    return TXD_OK;
}

static txd_status fail_syntax(const config_t *config, const char *name)
{
    const char *file = config_error_file(config);
    const char *text = config_error_text(config);
    const char *remedy = "";
    char *path = file ? included(config_get_include_dir(config), file) : NULL;

    if (!text)
        text = "cannot be read";
    else if (strcmp(text, "syntax error") == 0)
        remedy = ": expected name = value; here or above, is a bracket, a quote or a "
                 "comma missing or one too many?";
    else if (strncmp(text, "duplicate", 9) == 0)
        remedy = ": a key may be set once in its group";
    txd_fail(TXD_ERR_CONFIG, "%s:%d: %s%s", path ? path : name,
             config_error_line(config), text, remedy);
    free(path);
    return TXD_ERR_CONFIG;
}

/* `text` ends in a line feed; `folder` may be NULL. */
static txd_status parse(txd_setting **out, txd_arena *arena, const char *name,
                        const char *text, const char *folder)
{
    txd_setting *root = NULL;
    txd_status status;
    config_t config;

    TXD_TRY(txd_cfg_scan(name, text, strlen(text), folder));
    root = txd_setting_root(arena, name);
    if (!root)
        return TXD_ERR_MEMORY;
    config_init(&config);
    if (folder)
        config_set_include_dir(&config, folder);
    if (config_read_string(&config, text) == CONFIG_TRUE)
        status = convert_children(root, arena, config_root_setting(&config));
    else
        status = fail_syntax(&config, name);
    config_destroy(&config);
    if (status == TXD_OK)
        *out = root;
    return status;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

txd_status txd_cfg_load(txd_setting **out, txd_arena *arena, const char *path)
{
    char *text = NULL, *folder;
    size_t count;
    txd_status status;

    TXD_TRY(txd_cfg_read(&text, &count, path));
    folder = folder_of(path);
    if (!folder)
        status = txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    else if (strlen(text) != count)
        status = txd_cfg_scan(path, text, count, folder); /* names the zero byte */
    else
        status = parse(out, arena, path, text, folder);
    free(folder);
    free(text);
    return status;
}

txd_status txd_cfg_parse(txd_setting **out, txd_arena *arena, const char *name,
                         const char *text)
{
    size_t length = strlen(text);
    char *copy = malloc(length + 2);
    txd_status status;

    if (!copy)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    memcpy(copy, text, length);
    memcpy(copy + length, "\n", 2);
    status = parse(out, arena, name, copy, NULL);
    free(copy);
    return status;
}
