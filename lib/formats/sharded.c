/* SPDX-License-Identifier: MIT
 *
 * The index maps names of tensors to names of files. Names that lead out of the index's
 * folder are refused: an index is a file that one got from somebody.
 */
#include "formats/sharded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "formats/file.h"
#include "formats/json_read.h"
#include "formats/safetensors.h"

#define MOST_FILES 4096

typedef struct shard {
    const char *file;
    txd_trace *trace;
} shard;

typedef struct entry {
    const char *name;
    size_t shard, index; /* in its file */
} entry;

typedef struct joined {
    txd_arena *arena;
    const char *name;
    shard *shards;
    const char **files; /* their names */
    size_t shard_count;
    entry *entries; /* by file, then by data */
    entry **by_name;
    size_t count;
} joined;

static void joined_destroy(void *self)
{
    joined *j = self;

    for (size_t i = 0; i < j->shard_count; i++)
        txd_trace_destroy(j->shards[i].trace);
    txd_arena_destroy(j->arena);
    free(j);
}

static size_t joined_count(void *self)
{
    return ((joined *)self)->count;
}

static txd_status joined_info(void *self, txd_trace_info *out, size_t i)
{
    const joined *j = self;
    const entry *e = &j->entries[i];

    return txd_trace_get(j->shards[e->shard].trace, out, e->index);
}

static txd_status joined_read(void *self, void *out, size_t i, const size_t *start,
                              const size_t *count, txd_dtype dtype)
{
    const joined *j = self;
    const entry *e = &j->entries[i];

    return txd_trace_read(j->shards[e->shard].trace, out, e->index, start, count,
                          dtype);
}

static const void *joined_view(void *self, size_t i)
{
    const joined *j = self;
    const entry *e = &j->entries[i];

    return txd_trace_view(j->shards[e->shard].trace, e->index);
}

static void joined_release(void *self, size_t i, size_t first, size_t count)
{
    const joined *j = self;
    const entry *e = &j->entries[i];

    txd_trace_release(j->shards[e->shard].trace, e->index, first, count);
}

static const char *joined_meta(void *self, const char *key)
{
    const joined *j = self;

    return j->shard_count > 0 ? txd_trace_meta(j->shards[0].trace, key) : NULL;
}

/* "files": the names of the files that the index names. */
static txd_status joined_strings(void *self, const char *const **out, size_t *count,
                                 const char *name)
{
    const joined *j = self;

    if (strcmp(name, "files") != 0)
        return txd_fail(TXD_ERR_MISSING, "no strings \"%s\"", name);
    *out = j->files;
    *count = j->shard_count;
    return TXD_OK;
}

static const txd_trace_methods methods = {
    .destroy = joined_destroy,
    .count = joined_count,
    .info = joined_info,
    .read = joined_read,
    .view = joined_view,
    .release = joined_release,
    .meta = joined_meta,
    .strings = joined_strings,
};

/* ---- opening ---- */

static txd_status check_file(const joined *j, const txd_setting *mapping)
{
    if (mapping->kind != TXD_SETTING_STRING ||
        strlen(mapping->string) != mapping->string_length)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: weight_map: \"%.200s\": expected the name of a file",
                        j->name, mapping->name);
    if (!*mapping->string || strchr(mapping->string, '/') ||
        strcmp(mapping->string, "..") == 0 || strcmp(mapping->string, ".") == 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: weight_map: \"%.200s\" is in \"%.200s\", expected a file "
                        "beside the index",
                        j->name, mapping->name, mapping->string);
    return TXD_OK;
}

/* The file of a tensor, opened when it is named first. */
static txd_status open_shard(joined *j, const txd_sharded_index *index,
                             const txd_setting *mapping)
{
    txd_status status;
    shard *s;

    TXD_TRY(check_file(j, mapping));
    /* Names of one file mostly stand together. */
    for (size_t i = j->shard_count; i-- > 0;)
        if (strcmp(j->shards[i].file, mapping->string) == 0)
            return TXD_OK;
    if (j->shard_count == MOST_FILES)
        return txd_fail(TXD_ERR_LIMIT, "%s: weight_map: more than %d files", j->name,
                        MOST_FILES);
    s = &j->shards[j->shard_count];
    s->file = txd_arena_string(j->arena, mapping->string);
    if (!s->file)
        return TXD_ERR_MEMORY;
    status = index->open(&s->trace, index->self, s->file);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s", j->name);
    j->files[j->shard_count++] = s->file;
    return TXD_OK;
}

static int by_name(const void *left, const void *right)
{
    const entry *const *a = left, *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

/* All tensors of all files; each name once. */
static txd_status list_entries(joined *j)
{
    size_t count = 0, n = 0;
    txd_trace_info info;

    for (size_t i = 0; i < j->shard_count; i++)
        count += txd_trace_count(j->shards[i].trace);
    j->entries = txd_arena_alloc(j->arena, count, sizeof *j->entries);
    j->by_name = txd_arena_alloc(j->arena, count, sizeof *j->by_name);
    if (!j->entries || !j->by_name)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < j->shard_count; i++)
        for (size_t k = 0; k < txd_trace_count(j->shards[i].trace); k++, n++) {
            TXD_TRY(txd_trace_get(j->shards[i].trace, &info, k));
            j->entries[n] = (entry){info.name, i, k};
            j->by_name[n] = &j->entries[n];
        }
    j->count = count;
    if (count > 1)
        qsort(j->by_name, count, sizeof *j->by_name, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(j->by_name[i - 1]->name, j->by_name[i]->name) == 0)
            return txd_fail(
                TXD_ERR_FORMAT, "%s: tensor \"%.200s\" is in \"%s\" and in \"%s\"",
                j->name, j->by_name[i]->name, j->shards[j->by_name[i - 1]->shard].file,
                j->shards[j->by_name[i]->shard].file);
    return TXD_OK;
}

static txd_status check_mapping(const joined *j, const txd_setting *mapping)
{
    entry wanted = {.name = mapping->name}, *pointer = &wanted, **found = NULL;

    if (j->count > 0)
        found = bsearch(&pointer, j->by_name, j->count, sizeof pointer, by_name);
    if (found && strcmp(j->shards[(*found)->shard].file, mapping->string) == 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: weight_map: tensor \"%.200s\" is said to be in \"%.200s\", "
                    "but it is %s%s",
                    j->name, mapping->name, mapping->string,
                    found ? "in " : "not there",
                    found ? j->shards[(*found)->shard].file : "");
}

static txd_status fill(joined *j, const txd_sharded_index *index)
{
    const txd_setting *map;
    txd_setting *root;
    size_t most;

    TXD_TRY(txd_arena_create(&j->arena));
    j->name = txd_arena_string(j->arena, index->name);
    if (!j->name)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_json_parse(&root, j->arena, j->name, index->bytes, index->count));
    map = root->kind == TXD_SETTING_GROUP ? txd_setting_find(root, "weight_map") : NULL;
    if (!map || map->kind != TXD_SETTING_GROUP || map->count == 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected the group \"weight_map\" from names of tensors "
                        "to names of files",
                        j->name);
    most = map->count < MOST_FILES ? map->count : MOST_FILES;
    j->shards = txd_arena_alloc(j->arena, most, sizeof *j->shards);
    j->files = txd_arena_alloc(j->arena, most, sizeof *j->files);
    if (!j->shards || !j->files)
        return TXD_ERR_MEMORY;
    for (const txd_setting *m = map->child; m; m = m->next)
        TXD_TRY(open_shard(j, index, m));
    TXD_TRY(list_entries(j));
    for (const txd_setting *m = map->child; m; m = m->next)
        TXD_TRY(check_mapping(j, m));
    return TXD_OK;
}

txd_status txd_sharded_join(txd_trace **out, const txd_sharded_index *index)
{
    joined *j = calloc(1, sizeof *j);
    txd_status status;

    if (!j)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", index->name);
    status = fill(j, index);
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, j);
    if (status != TXD_OK)
        joined_destroy(j);
    return status;
}

/* Opens a file beside the index at `self`. */
static txd_status open_beside(txd_trace **out, void *self, const char *file)
{
    const char *path = self, *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    size_t room = folder + strlen(file) + 1;
    char *full = malloc(room);
    txd_status status;

    if (!full)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", file);
    memcpy(full, path, folder);
    snprintf(full + folder, room - folder, "%s", file);
    status = txd_safetensors_open(out, full);
    free(full);
    return status;
}

txd_status txd_sharded_open(txd_trace **out, const char *path)
{
    txd_sharded_index index = {.name = path, .open = open_beside};
    txd_mapped mapped;
    txd_status status;
    char *copy = strdup(path);

    if (!copy)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    index.self = copy;
    status = txd_file_map(&mapped, path);
    if (status == TXD_OK) {
        index.bytes = (const char *)mapped.bytes;
        index.count = mapped.count;
        status = txd_sharded_join(out, &index);
        txd_file_unmap(&mapped);
    }
    free(copy);
    return status;
}
