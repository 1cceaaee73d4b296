/* SPDX-License-Identifier: MIT
 *
 * The one place that knows libzip. What an archive says of itself is not believed:
 * memory for a member is taken only if its packed bytes can hold it, and it is unpacked
 * only when somebody reads it, who has seen its shape by then.
 */
#include "formats/npz.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/arena.h"
#include "formats/file.h"
#include "formats/kind.h"
#include "formats/npy.h"

#define HEAD_BYTES 70000 /* of a member: the longest header of version 1, and more */
#define MOST_MEMBERS 4096
/* Deflate packs at most 258 bytes into two bits; the rest is for short members. */
#define MOST_RATIO 1040
#define SLACK 4096

typedef struct member {
    zip_uint64_t index;
    size_t bytes, data; /* unpacked size, and where the array's data begins in it */
    char *label;        /* "memory.npz: memory.npy", for messages */
    txd_trace_info info;
    unsigned char *unpacked;  /* NULL until it is read */
    size_t readers, released; /* threads that read it; rows nobody needs any more */
} member;

typedef struct archive {
    txd_arena *arena;
    char *name;
    txd_mapped mapped; /* empty if the bytes are the caller's */
    zip_t *zip;
    size_t count;
    member *members;
    pthread_mutex_t lock; /* rows may be read by several threads at once */
} archive;

static const char unreadable[] = "it cannot be unpacked; is the archive damaged?";

static txd_status fail_zip(const char *name, zip_error_t *error, const char *what)
{
    int code = zip_error_code_zip(error);
    txd_status status = code == ZIP_ER_MEMORY ? TXD_ERR_MEMORY : TXD_ERR_FORMAT;

    return txd_fail(status, "%s: %s: %s", name, what, zip_error_strerror(error));
}

static txd_status open_zip(archive *a, const void *bytes, size_t count)
{
    static const char what[] =
        "not a .npz file (a ZIP archive of .npy files), or damaged";
    txd_file_kind kind = txd_file_kind_of(bytes, count);
    zip_error_t error;
    zip_source_t *source;
    txd_status status = TXD_OK;

    if (count == 0) /* to libzip an archive without members */
        return txd_fail(TXD_ERR_FORMAT, "%s: %s: it is empty", a->name, what);
    if (kind != TXD_FILE_NPZ && kind != TXD_FILE_ZIP && kind != TXD_FILE_OTHER)
        return txd_fail(TXD_ERR_FORMAT, "%s: expected a .npz archive, found %s",
                        a->name, txd_file_kind_name(kind));

    zip_error_init(&error);
    source = zip_source_buffer_create(bytes, count, 0, &error);
    if (source)
        a->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!a->zip) {
        status = fail_zip(a->name, &error, what);
        zip_source_free(source);
    }
    zip_error_fini(&error);
    return status;
}

/* Unpacks the first `count` bytes of a member. */
static txd_status unpack(const archive *a, const member *m, unsigned char *out,
                         size_t count)
{
    zip_file_t *file = zip_fopen_index(a->zip, m->index, 0);
    unsigned char beyond;
    zip_int64_t got = 1;
    size_t done = 0;
    txd_status status = TXD_OK;

    if (!file)
        return fail_zip(m->label, zip_get_error(a->zip), unreadable);
    while (done < count && got > 0) {
        got = zip_fread(file, out + done, count - done);
        done += got > 0 ? (size_t)got : 0;
    }
    /* Whoever reads to the end is told if the check sum is wrong. */
    if (got > 0 && done == m->bytes)
        got = zip_fread(file, &beyond, 1);
    if (got < 0)
        status = fail_zip(m->label, zip_file_get_error(file), unreadable);
    else if (done < count || (done == m->bytes && got > 0))
        status = txd_fail(TXD_ERR_FORMAT,
                          "%s: expected %zu bytes by the directory of the archive, "
                          "found %s; is it damaged?",
                          m->label, m->bytes, done < count ? "fewer" : "more");
    zip_fclose(file);
    return status;
}

/* ---- opening ---- */

static bool is_array(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

/* What cannot be read, or cannot be true. */
static txd_status check_claim(const member *m, const zip_stat_t *about)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;

    if ((about->valid & needed) != needed)
        return txd_fail(TXD_ERR_FORMAT, "%s: the archive does not tell its size",
                        m->label);
    if ((about->valid & ZIP_STAT_ENCRYPTION_METHOD) &&
        about->encryption_method != ZIP_EM_NONE)
        return txd_fail(TXD_ERR_UNSUPPORTED, "%s: it is encrypted", m->label);
    if (about->comp_method != ZIP_CM_STORE && about->comp_method != ZIP_CM_DEFLATE)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: it is packed by method %u; numpy stores or deflates",
                        m->label, (unsigned)about->comp_method);
    if (about->size > SIZE_MAX / 2 ||
        (about->size > SLACK && about->size / MOST_RATIO > about->comp_size))
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: it claims %llu bytes, which %llu packed bytes cannot "
                        "hold; the archive is damaged",
                        m->label, (unsigned long long)about->size,
                        (unsigned long long)about->comp_size);
    return TXD_OK;
}

/* An array that cannot be read is no reason not to read the others. */
static txd_status read_head(archive *a, member *m)
{
    static const txd_trace_info none = {.axes = ""};
    size_t count = m->bytes < HEAD_BYTES ? m->bytes : HEAD_BYTES;
    unsigned char *head = malloc(count ? count : 1);
    txd_status status;

    if (!head)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", m->label);
    status = unpack(a, m, head, count);
    if (status == TXD_OK)
        status = txd_npy_head(&m->info, &m->data, m->label, head, count, m->bytes);
    free(head);
    if (status == TXD_ERR_UNSUPPORTED) {
        m->info = none;
        m->info.foreign = txd_arena_string(a->arena, txd_message());
        return m->info.foreign ? TXD_OK : TXD_ERR_MEMORY;
    }
    return status;
}

static txd_status read_member(archive *a, member *m, zip_uint64_t i, const char *name)
{
    size_t room = strlen(a->name) + strlen(name) + 3;
    zip_stat_t about;
    char *own;

    m->index = i;
    m->label = txd_arena_alloc(a->arena, room, 1);
    own = txd_arena_string(a->arena, name);
    if (!m->label || !own)
        return TXD_ERR_MEMORY;
    snprintf(m->label, room, "%s: %s", a->name, name);
    own[strlen(own) - 4] = '\0';
    if (zip_stat_index(a->zip, i, 0, &about) != 0)
        return fail_zip(m->label, zip_get_error(a->zip), unreadable);
    TXD_TRY(check_claim(m, &about));
    m->bytes = (size_t)about.size;
    TXD_TRY(read_head(a, m));
    m->info.name = own;
    return TXD_OK;
}

static txd_status read_directory(archive *a)
{
    zip_int64_t entries = zip_get_num_entries(a->zip, 0);

    if (entries > MOST_MEMBERS)
        return txd_fail(TXD_ERR_LIMIT, "%s: %lld members; expected at most %d", a->name,
                        (long long)entries, MOST_MEMBERS);
    a->members = txd_arena_alloc(a->arena, (size_t)entries, sizeof *a->members);
    if (!a->members)
        return TXD_ERR_MEMORY;
    for (zip_int64_t i = 0; i < entries; i++) {
        const char *name = zip_get_name(a->zip, (zip_uint64_t)i, 0);

        if (!is_array(name))
            continue;
        TXD_TRY(read_member(a, &a->members[a->count], (zip_uint64_t)i, name));
        for (size_t j = 0; j < a->count; j++)
            if (strcmp(a->members[j].info.name, a->members[a->count].info.name) == 0)
                return txd_fail(TXD_ERR_FORMAT, "%s: two arrays are named \"%s\"",
                                a->name, a->members[j].info.name);
        a->count++;
    }
    return TXD_OK;
}

/* ---- as a trace ---- */

static void archive_destroy(void *self)
{
    archive *a = self;

    for (size_t i = 0; i < a->count; i++)
        free(a->members[i].unpacked);
    if (a->zip)
        zip_discard(a->zip);
    txd_file_unmap(&a->mapped);
    txd_arena_destroy(a->arena);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static size_t archive_count(void *self)
{
    return ((archive *)self)->count;
}

static txd_status archive_info(void *self, txd_trace_info *out, size_t i)
{
    *out = ((archive *)self)->members[i].info;
    return TXD_OK;
}

static txd_status unpack_member(archive *a, member *m)
{
    unsigned char *bytes;
    txd_status status;

    if (m->unpacked)
        return TXD_OK;
    bytes = malloc(m->bytes ? m->bytes : 1);
    if (!bytes)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory for %zu bytes", m->label,
                        m->bytes);
    status = unpack(a, m, bytes, m->bytes);
    if (status == TXD_OK)
        m->unpacked = bytes;
    else
        free(bytes);
    return status;
}

static txd_status archive_read(void *self, void *out, size_t i, const size_t *start,
                               const size_t *count, txd_dtype dtype)
{
    archive *a = self;
    member *m = &a->members[i];
    txd_tensor tensor;
    txd_status status;

    if (m->info.foreign)
        return txd_fail(TXD_ERR_UNSUPPORTED, "%s", m->info.foreign);
    pthread_mutex_lock(&a->lock);
    status = unpack_member(a, m);
    m->readers += status == TXD_OK;
    pthread_mutex_unlock(&a->lock);
    if (status != TXD_OK)
        return status;
    tensor = txd_tensor_make(m->info.dtype, m->unpacked + m->data, m->info.rank,
                             m->info.dims);
    txd_tensor_block(out, dtype, &tensor, start, count);
    pthread_mutex_lock(&a->lock);
    m->readers--;
    pthread_mutex_unlock(&a->lock);
    return TXD_OK;
}

/* An array is unpacked whole, and goes when as many rows as it has were let go. */
static void archive_release(void *self, size_t i, size_t first, size_t count)
{
    archive *a = self;
    member *m = &a->members[i];

    (void)first;
    pthread_mutex_lock(&a->lock);
    m->released += count;
    if (m->released >= m->info.dims[0] && m->readers == 0) {
        free(m->unpacked);
        m->unpacked = NULL;
        m->released = 0;
    }
    pthread_mutex_unlock(&a->lock);
}

static const txd_trace_methods methods = {
    .destroy = archive_destroy,
    .count = archive_count,
    .info = archive_info,
    .read = archive_read,
    .release = archive_release,
};

static txd_status fill(archive *a, const char *name, const void *bytes, size_t count)
{
    TXD_TRY(txd_arena_create(&a->arena));
    a->name = txd_arena_string(a->arena, name);
    if (!a->name)
        return TXD_ERR_MEMORY;
    TXD_TRY(open_zip(a, bytes, count));
    return read_directory(a);
}

/* Takes over `mapped` on success. */
static txd_status open_archive(txd_trace **out, const char *name, const void *bytes,
                               size_t count, txd_mapped mapped)
{
    archive *a = calloc(1, sizeof *a);
    txd_status status;

    if (!a)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    pthread_mutex_init(&a->lock, NULL);
    status = fill(a, name, bytes, count);
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, a);
    if (status == TXD_OK)
        a->mapped = mapped;
    else
        archive_destroy(a);
    return status;
}

txd_status txd_npz_open(txd_trace **out, const char *path)
{
    txd_mapped mapped = {.bytes = NULL};
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = open_archive(out, path, mapped.bytes, mapped.count, mapped);
    if (status != TXD_OK)
        txd_file_unmap(&mapped);
    return status;
}

txd_status txd_npz_parse(txd_trace **out, const char *name, const void *bytes,
                         size_t count)
{
    return open_archive(out, name, bytes, count, (txd_mapped){.bytes = NULL});
}
