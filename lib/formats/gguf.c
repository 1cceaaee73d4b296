/* SPDX-License-Identifier: MIT
 *
 * A GGUF file as a trace. The index is checked when the file is opened, so that reading
 * needs no check of the file again. Blocks are decoded straight into the caller's
 * memory where whole ones are asked for.
 */
#include "formats/gguf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"
#include "formats/gguf_internal.h"

/* Elements on the way to another dtype; a multiple of all blocks. */
#define PIECE 2048

typedef struct archive {
    txd_arena *arena;
    txd_mapped mapped; /* empty if the bytes are the caller's */
    txd_gguf index;
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
    *out = ((archive *)self)->index.tensors[i].info;
    return TXD_OK;
}

static const unsigned char *data_of(const archive *a, size_t i)
{
    return a->index.bytes + a->index.data + a->index.tensors[i].begin;
}

/* Elements [start, start + count) of a run of blocks, as float32. */
static void decode_run(float *out, const txd_quant *quant, const unsigned char *blocks,
                       size_t start, size_t count)
{
    size_t skip = start % quant->lanes, whole;
    float edge[TXD_QUANT_LANES_MAX];

    blocks += start / quant->lanes * quant->bytes;
    if (skip > 0 && count > 0) {
        size_t part = quant->lanes - skip < count ? quant->lanes - skip : count;

        quant->decode(edge, blocks);
        memcpy(out, edge + skip, part * sizeof *out);
        blocks += quant->bytes;
        out += part;
        count -= part;
    }
    whole = count / quant->lanes;
    txd_quant_decode(out, quant, blocks, whole);
    if (count % quant->lanes > 0) {
        quant->decode(edge, blocks + whole * quant->bytes);
        memcpy(out + whole * quant->lanes, edge, count % quant->lanes * sizeof *out);
    }
}

static void read_run(unsigned char *out, txd_dtype dtype, const txd_quant *quant,
                     const unsigned char *blocks, size_t start, size_t count)
{
    float piece[PIECE];

    if (dtype == TXD_F32) {
        decode_run((float *)(void *)out, quant, blocks, start, count);
        return;
    }
    while (count > 0) {
        size_t part = count < PIECE ? count : PIECE;

        decode_run(piece, quant, blocks, start, part);
        txd_convert(out, dtype, piece, TXD_F32, part);
        out += part * txd_dtype_bytes(dtype);
        start += part;
        count -= part;
    }
}

/* A block of rows: every run along the last axis, or one run if rows are whole. */
static void read_blocks(unsigned char *out, txd_dtype dtype, const txd_gguf_tensor *t,
                        const unsigned char *data, const size_t *start,
                        const size_t *count)
{
    const size_t *dims = t->info.dims;
    int rank = t->info.rank, axis;
    size_t at[TXD_MAX_RANK] = {0}, run = 1, runs = 1;

    for (axis = rank - 1; axis >= 0; axis--) {
        run *= count[axis];
        if (count[axis] != dims[axis])
            break;
    }
    axis = axis < 0 ? 0 : axis;
    for (int i = 0; i < axis; i++)
        runs *= count[i];
    if (run == 0)
        return;
    for (size_t r = 0; r < runs; r++) {
        size_t from = 0;

        for (int i = 0; i < rank; i++)
            from = from * dims[i] + start[i] + at[i];
        read_run(out, dtype, t->quant, data, from, run);
        out += run * txd_dtype_bytes(dtype);
        for (int i = axis - 1; i >= 0 && ++at[i] == count[i]; i--)
            at[i] = 0;
    }
}

static txd_status archive_read(void *self, void *out, size_t i, const size_t *start,
                               const size_t *count, txd_dtype dtype)
{
    const archive *a = self;
    const txd_gguf_tensor *t = &a->index.tensors[i];
    txd_tensor tensor;

    if (t->info.foreign)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: tensor \"%s\" is stored as %s; F64, F32, F16, BF16, Q8_0, "
                        "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, I64 and I32 are "
                        "read",
                        a->index.name, t->info.name, t->info.foreign);
    if (!t->quant->dense) {
        read_blocks(out, dtype, t, data_of(a, i), start, count);
        return TXD_OK;
    }
    /* A tensor has no const form; reading does not write to it. */
    tensor = txd_tensor_make(t->info.dtype, (void *)(uintptr_t)data_of(a, i),
                             t->info.rank, t->info.dims);
    txd_tensor_block(out, dtype, &tensor, start, count);
    return TXD_OK;
}

static const void *archive_view(void *self, size_t i)
{
    const archive *a = self;
    const txd_gguf_tensor *t = &a->index.tensors[i];
    const void *data = data_of(a, i);

    if (!t->quant->dense || (uintptr_t)data % txd_dtype_bytes(t->info.dtype) != 0)
        return NULL;
    return data;
}

static void archive_release(void *self, size_t i, size_t first, size_t count)
{
    archive *a = self;
    const txd_gguf_tensor *t = &a->index.tensors[i];
    size_t row = t->info.dims[0] > 0 ? t->bytes / t->info.dims[0] : 0;

    txd_file_release(&a->mapped, a->index.data + t->begin + first * row, count * row);
}

static const char *archive_meta(void *self, const char *key)
{
    const txd_gguf *x = &((archive *)self)->index;
    const txd_gguf_value *value = txd_gguf_find(x, key);

    return value ? x->texts[value - x->values] : NULL;
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

static txd_status fill(archive *a, const char *name, const void *bytes, size_t count)
{
    const char *copy;

    TXD_TRY(txd_arena_create(&a->arena));
    copy = txd_arena_string(a->arena, name);
    if (!copy)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_gguf_read_index(&a->index, a->arena, copy, bytes, count));
    return txd_gguf_texts(&a->index, a->arena);
}

/* Takes over `mapped` on success. */
static txd_status open_archive(txd_trace **out, const txd_gguf **metadata,
                               const char *name, txd_mapped bytes, bool mapped)
{
    archive *a = calloc(1, sizeof *a);
    txd_status status;

    if (!a)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    status = fill(a, name, bytes.bytes, bytes.count);
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, a);
    if (status != TXD_OK) {
        archive_destroy(a);
        return status;
    }
    if (mapped)
        a->mapped = bytes;
    if (metadata)
        *metadata = &a->index;
    return TXD_OK;
}

txd_status txd_gguf_open(txd_trace **out, const txd_gguf **metadata, const char *path)
{
    txd_mapped mapped;
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = open_archive(out, metadata, path, mapped, true);
    if (status != TXD_OK)
        txd_file_unmap(&mapped);
    return status;
}

txd_status txd_gguf_parse(txd_trace **out, const txd_gguf **metadata, const char *name,
                          const void *bytes, size_t count)
{
    const txd_mapped given = {.bytes = bytes, .count = count};

    return open_archive(out, metadata, name, given, false);
}
