/* SPDX-License-Identifier: MIT
 *
 * Text surgery on config.json, which is written with two blanks per level.
 */
#include "family_file.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

#define LINE "\n  \""

void family_load(family_file *file, const char *name)
{
    char path[256];
    txd_mapped config;

    file->name = name;
    snprintf(path, sizeof path, "tests/fixtures/parity/%s/config.json", name);
    OK(txd_file_map(&config, test_source(path)));
    ck_assert_uint_lt(config.count, sizeof file->config - 1000);
    memcpy(file->config, config.bytes, config.count);
    file->config[config.count] = '\0';
    txd_file_unmap(&config);
    snprintf(path, sizeof path, "tests/fixtures/parity/%s/model.safetensors", name);
    OK(txd_file_map(&file->tensors, test_source(path)));
}

void family_finish(family_file *file)
{
    txd_file_unmap(&file->tensors);
}

/* The end of a field's value: before the comma, or the end of the object. */
static const char *end_of(const char *value)
{
    const char *next = strstr(value, LINE), *last = strstr(value, "\n}");
    const char *end = next ? next - 1 : last;

    ck_assert_ptr_nonnull(end);
    return end;
}

/* The i-th field, at the quote before its name. */
static const char *field_at(const family_file *file, size_t i)
{
    const char *at = strstr(file->config, LINE);

    for (; at && i > 0; i--)
        at = strstr(at + 1, LINE);
    return at ? at + strlen(LINE) - 1 : NULL;
}

bool family_field(const family_file *file, size_t i, char field[64], char value[512])
{
    const char *at = field_at(file, i), *colon;

    if (!at)
        return false;
    colon = strstr(at, "\": ");
    snprintf(field, 64, "%.*s", (int)(colon - at - 1), at + 1);
    colon += 3;
    snprintf(value, 512, "%.*s", (int)(end_of(colon) - colon), colon);
    return true;
}

static void take_out(char *at, size_t name)
{
    const char *end = end_of(at + name);

    if (*end != ',' && at[-1] == ',')
        at--; /* the last field */
    else
        end += *end == ',';
    memmove(at, end, strlen(end) + 1);
}

void family_set(family_file *file, const char *field, const char *value)
{
    char name[80], text[600];
    char *at;
    size_t length;

    snprintf(name, sizeof name, LINE "%s\": ", field);
    at = strstr(file->config, name);
    if (at)
        take_out(at, strlen(name));
    if (!value)
        return;
    length = (size_t)snprintf(text, sizeof text, "%s%s,", name, value);
    ck_assert_uint_lt(strlen(file->config) + length, sizeof file->config);
    at = strchr(file->config, '{') + 1;
    memmove(at + length, at, strlen(at) + 1);
    memcpy(at, text, length);
}

txd_status family_open(txd_checkpoint **out, const family_file *file)
{
    return txd_checkpoint_parse(out, file->config, strlen(file->config),
                                file->tensors.bytes, file->tensors.count);
}
