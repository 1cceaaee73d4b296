/* SPDX-License-Identifier: MIT
 *
 * llama2.c (https://github.com/karpathy/llama2.c, export.py, legacy_export): all layers
 * of one kind of weight stand together, float32, little endian. After the final norm
 * come tables of the rotation that its programs no longer read, and neither do we.
 */
#include "formats/llama2c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "formats/file.h"
#include "formats/llama2c_internal.h"

#define FIELDS 7
#define HEAD_BYTES (4 * FIELDS)
#define KINDS 12
#define MAGIC 0x616b3432 /* "ak42", of versions 1 and 2 */
#define MOST_LAYERS 4096

/* A kind of weight: `count` of them, of this shape. */
typedef struct kind {
    const char *name; /* "" = not read */
    bool per_layer;
    int rank;
    size_t dims[2];
} kind;

typedef struct archive {
    txd_arena *arena;
    txd_mapped mapped; /* empty if the bytes are the caller's */
    const unsigned char *bytes;
    size_t length;
    size_t count; /* tensors */
    txd_trace_info *infos;
    size_t *begins; /* in the file */
} archive;

static int32_t field_at(const unsigned char *bytes, size_t i)
{
    const unsigned char *b = bytes + 4 * i;
    uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                    (uint32_t)b[3] << 24;
    int32_t value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The first field that no file can have; FIELDS = none. */
static size_t bad_field(const int64_t v[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++)
        if (i == 5 ? v[i] == 0 : v[i] < 1)
            return i;
    if (v[2] > MOST_LAYERS)
        return 2;
    if (v[3] > v[0] || v[0] % v[3] != 0)
        return 3;
    return v[4] > v[3] || v[3] % v[4] != 0 ? 4 : FIELDS;
}

/* True if the first HEAD_BYTES can be those of a file; else v says what they are. */
static bool get_sizes(txd_llama2c_sizes *s, int64_t v[FIELDS],
                      const unsigned char *bytes)
{
    for (size_t i = 0; i < FIELDS; i++)
        v[i] = field_at(bytes, i);
    *s = (txd_llama2c_sizes){.dim = (size_t)v[0],
                             .hidden = (size_t)v[1],
                             .layers = (size_t)v[2],
                             .heads = (size_t)v[3],
                             .kv_heads = (size_t)v[4],
                             .vocab = (size_t)(v[5] < 0 ? -v[5] : v[5]),
                             .length = (size_t)v[6],
                             .untied = v[5] < 0};
    return bad_field(v) == FIELDS;
}

static txd_status read_sizes(txd_llama2c_sizes *s, const char *name,
                             const unsigned char *bytes, size_t count)
{
    static const char *const words[FIELDS] = {
        "the width",           "the MLP's width",        "the number of layers",
        "the number of heads", "the number of KV heads", "the vocabulary",
        "the longest sequence"};
    int64_t v[FIELDS];
    size_t bad;

    if (count < HEAD_BYTES)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected at least %d bytes, found %zu: not a llama2.c "
                        "file, or truncated",
                        name, HEAD_BYTES, count);
    if (field_at(bytes, 0) == MAGIC)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: byte offset 4: version %" PRId32
                        " of llama2.c's format; version 0 is read (export.py "
                        "--version 0)",
                        name, field_at(bytes, 1));
    if (get_sizes(s, v, bytes))
        return TXD_OK;
    bad = bad_field(v);
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: byte offset %zu: %s is %" PRId64
                    ", which no llama2.c file can have: not one, or damaged",
                    name, 4 * bad, words[bad], v[bad]);
}

/* The weights in the order of the file. */
static size_t list_kinds(kind out[KINDS + 2], const txd_llama2c_sizes *s)
{
    size_t kv = s->dim / s->heads * s->kv_heads, half = s->dim / s->heads / 2;
    const kind kinds[KINDS + 2] = {
        {"token_embd", false, 2, {s->vocab, s->dim}},
        {"attn_norm", true, 1, {s->dim}},
        {"attn_q", true, 2, {s->dim, s->dim}},
        {"attn_k", true, 2, {kv, s->dim}},
        {"attn_v", true, 2, {kv, s->dim}},
        {"attn_output", true, 2, {s->dim, s->dim}},
        {"ffn_norm", true, 1, {s->dim}},
        {"ffn_gate", true, 2, {s->hidden, s->dim}},
        {"ffn_down", true, 2, {s->dim, s->hidden}},
        {"ffn_up", true, 2, {s->hidden, s->dim}},
        {"output_norm", false, 1, {s->dim}},
        {"", false, 2, {s->length, half}}, /* cosines */
        {"", false, 2, {s->length, half}}, /* sines */
        {"output", false, 2, {s->vocab, s->dim}},
    };

    memcpy(out, kinds, sizeof kinds);
    return s->untied ? KINDS + 2 : KINDS + 1;
}

/* Bytes that the sizes need; ERR_LIMIT when that overflows. */
static txd_status needed_bytes(size_t *out, const txd_llama2c_sizes *s)
{
    kind kinds[KINDS + 2];
    size_t count = list_kinds(kinds, s), total = HEAD_BYTES, part;

    for (size_t i = 0; i < count; i++) {
        TXD_TRY(txd_shape_count(&part, kinds[i].dims, kinds[i].rank));
        TXD_TRY(txd_size_mul(&part, part, kinds[i].per_layer ? s->layers : 1));
        TXD_TRY(txd_size_mul(&part, part, sizeof(float)));
        TXD_TRY(txd_size_add(&total, total, part));
    }
    *out = total;
    return TXD_OK;
}

static txd_status add_tensor(archive *a, const kind *k, size_t layer, size_t *at)
{
    txd_trace_info *info = &a->infos[a->count];
    size_t count = 0;
    char name[64];

    TXD_TRY(txd_shape_count(&count, k->dims, k->rank));
    if (*k->name) {
        if (k->per_layer)
            snprintf(name, sizeof name, "blk.%zu.%s.weight", layer, k->name);
        else
            snprintf(name, sizeof name, "%s.weight", k->name);
        *info = (txd_trace_info){.axes = "", .dtype = TXD_F32, .rank = k->rank};
        info->name = txd_arena_string(a->arena, name);
        if (!info->name)
            return TXD_ERR_MEMORY;
        memcpy(info->dims, k->dims, sizeof k->dims);
        a->begins[a->count++] = *at;
    }
    *at += count * sizeof(float);
    return TXD_OK;
}

/* The file is as long as its sizes say: so are the lists. */
static txd_status list_tensors(archive *a, const txd_llama2c_sizes *s)
{
    kind kinds[KINDS + 2];
    size_t count = list_kinds(kinds, s), at = HEAD_BYTES;
    size_t most = s->layers * KINDS + KINDS;

    a->infos = txd_arena_alloc(a->arena, most, sizeof *a->infos);
    a->begins = txd_arena_alloc(a->arena, most, sizeof *a->begins);
    if (!a->infos || !a->begins)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (size_t l = 0; l < (kinds[i].per_layer ? s->layers : 1); l++)
            TXD_TRY(add_tensor(a, &kinds[i], l, &at));
    return TXD_OK;
}

static void archive_destroy(void *self)
{
    archive *a = self;

    txd_file_unmap(&a->mapped);
    txd_arena_destroy(a->arena);
    free(a);
}

static size_t archive_count(void *self)
{
    return ((archive *)self)->count;
}

static txd_status archive_info(void *self, txd_trace_info *out, size_t i)
{
    *out = ((archive *)self)->infos[i];
    return TXD_OK;
}

static txd_status archive_read(void *self, void *out, size_t i, const size_t *start,
                               const size_t *count, txd_dtype dtype)
{
    const archive *a = self;
    const txd_trace_info *info = &a->infos[i];
    /* A tensor has no const form; reading does not write to it. */
    txd_tensor tensor = txd_tensor_make(
        TXD_F32, (void *)(uintptr_t)(a->bytes + a->begins[i]), info->rank, info->dims);

    txd_tensor_block(out, dtype, &tensor, start, count);
    return TXD_OK;
}

static const void *archive_view(void *self, size_t i)
{
    const archive *a = self;
    const void *data = a->bytes + a->begins[i];

    return (uintptr_t)data % sizeof(float) == 0 ? data : NULL;
}

static void archive_release(void *self, size_t i, size_t first, size_t count)
{
    const archive *a = self;
    const txd_trace_info *info = &a->infos[i];
    size_t row = sizeof(float) * (info->rank > 1 ? info->dims[1] : 1);

    txd_file_release(&a->mapped, a->begins[i] + first * row, count * row);
}

static const txd_trace_methods methods = {
    .destroy = archive_destroy,
    .count = archive_count,
    .info = archive_info,
    .read = archive_read,
    .view = archive_view,
    .release = archive_release,
};

static txd_status check_length(const txd_llama2c_sizes *s, const char *name,
                               size_t count)
{
    size_t needed = 0;

    if (needed_bytes(&needed, s) != TXD_OK)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset 0: the sizes overflow: not a llama2.c file, "
                        "or damaged",
                        name);
    if (needed == count)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: byte offset 0: the sizes need %zu bytes (width %zu, MLP %zu, "
                    "%zu layers, %zu and %zu heads, vocabulary %zu%s, %zu positions), "
                    "the file has %zu: not a llama2.c file of version 0, or truncated",
                    name, needed, s->dim, s->hidden, s->layers, s->heads, s->kv_heads,
                    s->vocab, s->untied ? " with a head of its own" : "", s->length,
                    count);
}

static txd_status fill(archive *a, txd_setting **settings, txd_arena *arena,
                       const char *name)
{
    txd_llama2c_sizes s = {0};

    TXD_TRY(txd_arena_create(&a->arena));
    TXD_TRY(read_sizes(&s, name, a->bytes, a->length));
    TXD_TRY(check_length(&s, name, a->length));
    TXD_TRY(list_tensors(a, &s));
    return txd_llama2c_settings(settings, arena, name, &s);
}

/* Takes over what is mapped. */
static txd_status open_archive(txd_trace **out, txd_setting **settings,
                               txd_arena *arena, const char *name, const archive *given)
{
    archive *a = malloc(sizeof *a);
    txd_mapped mapped = given->mapped;
    txd_status status;

    if (!a) {
        txd_file_unmap(&mapped);
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    }
    *a = *given;
    status = fill(a, settings, arena, name);
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, a);
    if (status != TXD_OK)
        archive_destroy(a);
    return status;
}

txd_status txd_llama2c_open(txd_trace **out, txd_setting **settings, txd_arena *arena,
                            const char *path)
{
    archive a = {.arena = NULL};

    TXD_TRY(txd_file_map(&a.mapped, path));
    a.bytes = a.mapped.bytes;
    a.length = a.mapped.count;
    return open_archive(out, settings, arena, path, &a);
}

txd_status txd_llama2c_parse(txd_trace **out, txd_setting **settings, txd_arena *arena,
                             const char *name, const void *bytes, size_t count)
{
    const archive a = {.bytes = bytes, .length = count};

    return open_archive(out, settings, arena, name, &a);
}

/* Without a word, also where sizes overflow: doubles do not, and are exact as far as
 * files go. */
bool txd_llama2c_is(const void *bytes, size_t count, size_t size)
{
    kind kinds[KINDS + 2];
    double needed = HEAD_BYTES;
    int64_t v[FIELDS];
    size_t kinds_count;
    txd_llama2c_sizes s;

    if (count < HEAD_BYTES || !get_sizes(&s, v, bytes))
        return false;
    kinds_count = list_kinds(kinds, &s);
    for (size_t i = 0; i < kinds_count; i++)
        needed += (double)sizeof(float) * (double)(kinds[i].per_layer ? s.layers : 1) *
                  (double)kinds[i].dims[0] *
                  (kinds[i].rank > 1 ? (double)kinds[i].dims[1] : 1);
    return needed == (double)size;
}
