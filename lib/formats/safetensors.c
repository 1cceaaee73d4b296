/* SPDX-License-Identifier: MIT
 *
 * safetensors (https://github.com/huggingface/safetensors, "Format"): 8 bytes header
 * length, a JSON header, data. The index is checked when the file is opened, so that
 * reading needs no check of the file again.
 */
#include "formats/safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "formats/file.h"
#include "formats/safetensors_internal.h"

typedef struct archive {
    txd_arena *arena;
    txd_mapped mapped; /* empty if the bytes are the caller's */
    txd_safetensors_index index;
} archive;

static void archive_destroy(void *self)
{
    archive *a = self;

    txd_file_unmap(&a->mapped);
    txd_arena_destroy(a->arena);
    free(a);
}

static size_t archive_count(void *self)
{
    return ((archive *)self)->index.count;
}

static txd_status archive_info(void *self, txd_trace_info *out, size_t i)
{
    *out = ((archive *)self)->index.entries[i].info;
    return TXD_OK;
}

static const void *archive_data(const archive *a, size_t i)
{
    return a->index.data + a->index.entries[i].begin;
}

static txd_status archive_read(void *self, void *out, size_t i, const size_t *start,
                               const size_t *count, txd_dtype dtype)
{
    const archive *a = self;
    const txd_trace_info *info = &a->index.entries[i].info;
    txd_tensor tensor;

    if (info->foreign)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: tensor \"%s\" has dtype \"%.40s\"; F64, F32, F16, BF16, "
                        "I64, I32 and U8 are read",
                        a->index.name, info->name, info->foreign);
    /* A tensor has no const form; reading does not write to it. */
    tensor = txd_tensor_make(info->dtype, (void *)(uintptr_t)archive_data(a, i),
                             info->rank, info->dims);
    txd_tensor_block(out, dtype, &tensor, start, count);
    return TXD_OK;
}

static const void *archive_view(void *self, size_t i)
{
    const archive *a = self;
    const void *data = archive_data(a, i);
    const txd_trace_info *info = &a->index.entries[i].info;

    if (info->foreign || (uintptr_t)data % txd_dtype_bytes(info->dtype) != 0)
        return NULL;
    return data;
}

static void archive_release(void *self, size_t i, size_t first, size_t count)
{
    archive *a = self;
    const txd_safetensors_entry *e = &a->index.entries[i];
    size_t row = e->info.dims[0] > 0 ? (e->end - e->begin) / e->info.dims[0] : 0;

    if (a->mapped.bytes)
        txd_file_release(&a->mapped,
                         a->mapped.count - a->index.bytes + e->begin + first * row,
                         count * row);
}

static const char *archive_meta(void *self, const char *key)
{
    const archive *a = self;

    for (const txd_setting *s = a->index.metadata ? a->index.metadata->child : NULL; s;
         s = s->next)
        if (strcmp(s->name, key) == 0)
            return s->string;
    return NULL;
}

static const txd_trace_methods methods = {
    .destroy = archive_destroy,
    .count = archive_count,
    .info = archive_info,
    .read = archive_read,
    .view = archive_view,
    .release = archive_release,
    .meta = archive_meta,
};

/* Takes over `mapped` on success. */
static txd_status open_archive(txd_trace **out, const char *name, const void *bytes,
                               size_t count, txd_mapped mapped)
{
    archive *a = calloc(1, sizeof *a);
    txd_status status;

    if (!a)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    status = txd_arena_create(&a->arena);
    if (status == TXD_OK) {
        const char *copy = txd_arena_string(a->arena, name);

        status =
            copy ? txd_safetensors_read_index(&a->index, a->arena, copy, bytes, count)
                 : TXD_ERR_MEMORY;
    }
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, a);
    if (status == TXD_OK)
        a->mapped = mapped;
    else
        archive_destroy(a);
    return status;
}

txd_status txd_safetensors_open(txd_trace **out, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = open_archive(out, path, mapped.bytes, mapped.count, mapped);
    if (status != TXD_OK)
        txd_file_unmap(&mapped);
    return status;
}

txd_status txd_safetensors_parse(txd_trace **out, const char *name, const void *bytes,
                                 size_t count)
{
    return open_archive(out, name, bytes, count, (txd_mapped){.bytes = NULL});
}
