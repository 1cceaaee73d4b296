/* SPDX-License-Identifier: MIT
 *
 * The head of a GGUF file (https://github.com/ggml-org/ggml, docs/gguf.md): magic,
 * version, counts, metadata, a list of tensors; then, aligned, their data. All of its
 * claims are checked against the file in arithmetic that cannot wrap, and nothing is
 * allocated before the file is known to be long enough to need it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_internal.h"

#define LEAST_VALUE 13  /* bytes: an empty key, a type, one byte */
#define LEAST_TENSOR 24 /* an empty name, no axes, type, offset */
#define MOST_VALUES 8192
#define MOST_TENSORS 262144
#define MOST_NAME 65535
#define FIRST_VERSION 2
#define LAST_VERSION 3
#define DEFAULT_ALIGNMENT 32

/* `bytes` of the head, little endian. */
static txd_status take(uint64_t *out, struct txd_gguf_cursor *c, size_t bytes,
                       const char *what)
{
    const txd_gguf *x = c->file;

    if (x->length - c->at < bytes)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: expected %zu bytes for %s, %zu are left; "
                        "is the file truncated?",
                        x->name, c->at, bytes, what, x->length - c->at);
    *out = 0;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | x->bytes[c->at + i];
    c->at += bytes;
    return TXD_OK;
}

txd_status txd_gguf_take_u32(uint32_t *out, struct txd_gguf_cursor *c, const char *what)
{
    uint64_t value = 0;

    TXD_TRY(take(&value, c, 4, what));
    *out = (uint32_t)value;
    return TXD_OK;
}

txd_status txd_gguf_take_u64(uint64_t *out, struct txd_gguf_cursor *c, const char *what)
{
    return take(out, c, 8, what);
}

txd_status txd_gguf_take_name(const char **out, struct txd_gguf_cursor *c,
                              const char *what)
{
    const txd_gguf *x = c->file;
    size_t at = c->at;
    uint64_t length = 0;
    char *name;

    TXD_TRY(take(&length, c, 8, what));
    if (length > x->length - c->at || length > MOST_NAME || length == 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: %s claims %" PRIu64
                        " bytes, expected 1 to %zu",
                        x->name, at, what, length,
                        x->length - c->at < MOST_NAME ? x->length - c->at : MOST_NAME);
    for (size_t i = 0; i < length; i++)
        if (x->bytes[c->at + i] < 0x20 || x->bytes[c->at + i] == 0x7f)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: %s holds the control character "
                            "0x%02x",
                            x->name, c->at + i, what, x->bytes[c->at + i]);
    name = txd_arena_alloc(c->arena, (size_t)length + 1, 1);
    if (!name)
        return TXD_ERR_MEMORY;
    memcpy(name, x->bytes + c->at, (size_t)length);
    c->at += (size_t)length;
    *out = name;
    return TXD_OK;
}

static txd_status check_version(txd_gguf *x, uint32_t version)
{
    x->version = version;
    if (version >= FIRST_VERSION && version <= LAST_VERSION)
        return TXD_OK;
    if ((version & 0xffff) == 0 && version != 0)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: byte offset 4: version 0x%08" PRIx32
                        ": a big-endian file; convert it for little-endian machines",
                        x->name, version);
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: byte offset 4: GGUF version %" PRIu32
                    "; versions %d and %d are read%s",
                    x->name, version, FIRST_VERSION, LAST_VERSION,
                    version == 1 ? "; convert the model anew" : "");
}

/* A count of things that take `least` bytes each. */
static txd_status take_count(size_t *out, struct txd_gguf_cursor *c, size_t least,
                             size_t most, const char *what)
{
    const txd_gguf *x = c->file;
    size_t at = c->at, room;
    uint64_t count = 0;

    TXD_TRY(take(&count, c, 8, what));
    room = (x->length - c->at) / least;
    if (count > room)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: %s is %" PRIu64
                        ", but the file has room for %zu; is it truncated?",
                        x->name, at, what, count, room);
    if (count > most)
        return txd_fail(TXD_ERR_LIMIT,
                        "%s: byte offset %zu: %s is %" PRIu64 "; at most %zu are read",
                        x->name, at, what, count, most);
    *out = (size_t)count;
    return TXD_OK;
}

static txd_status read_alignment(txd_gguf *x)
{
    const txd_gguf_value *value = txd_gguf_find(x, "general.alignment");
    int64_t alignment = DEFAULT_ALIGNMENT;

    if (value && (value->is_array || value->type != TXD_GGUF_U32))
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: general.alignment is no uint32", x->name,
                        value->offset);
    if (value)
        alignment = txd_gguf_integer(value, 0);
    if (alignment <= 0 || (alignment & (alignment - 1)) != 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: general.alignment is %" PRId64
                        ", expected a power of two",
                        x->name, value ? value->offset : 0, alignment);
    x->alignment = (size_t)alignment;
    return TXD_OK;
}

/* In the file the fastest axis comes first. */
static txd_status take_shape(txd_trace_info *info, struct txd_gguf_cursor *c)
{
    size_t at = c->at;
    uint32_t rank = 0;
    uint64_t size = 0;

    TXD_TRY(txd_gguf_take_u32(&rank, c, "the axes of a tensor"));
    if (rank > TXD_MAX_RANK)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: tensor \"%.200s\" has %" PRIu32
                        " axes, expected at most %d",
                        c->file->name, at, info->name, rank, TXD_MAX_RANK);
    info->rank = (int)rank;
    for (size_t i = rank; i-- > 0;) {
        at = c->at;
        TXD_TRY(txd_gguf_take_u64(&size, c, "the shape of a tensor"));
        if (size > SIZE_MAX / 2)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: an axis of tensor \"%.200s\" has "
                            "%" PRIu64 " elements",
                            c->file->name, at, info->name, size);
        info->dims[i] = (size_t)size;
    }
    return TXD_OK;
}

static txd_status take_quant(txd_gguf_tensor *t, struct txd_gguf_cursor *c)
{
    size_t at = c->at;
    uint32_t type = 0;

    TXD_TRY(txd_gguf_take_u32(&type, c, "the type of a tensor"));
    t->quant = txd_quant_of(type);
    if (!t->quant)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: byte offset %zu: tensor \"%.200s\" has type %" PRIu32
                        ", which is unknown, or no longer in use",
                        c->file->name, at, t->info.name, type);
    t->info.dtype = t->quant->dtype;
    if (!t->quant->dense)
        t->info.stored = t->quant->name;
    if (!t->quant->dense && !t->quant->decode)
        t->info.foreign = t->quant->name;
    return TXD_OK;
}

/* The bytes that a shape needs: rows are whole blocks. */
static txd_status needed_bytes(txd_gguf_tensor *t, const txd_gguf *x, size_t at)
{
    const txd_trace_info *info = &t->info;
    size_t count = 0, row = info->rank > 0 ? info->dims[info->rank - 1] : 1;
    char shape[200];

    txd_shape_text(shape, sizeof shape, info->dims, info->rank);
    if (row % t->quant->lanes != 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: tensor \"%.200s\" of shape %s: rows of "
                        "%s are multiples of %zu elements",
                        x->name, at, info->name, shape, t->quant->name,
                        t->quant->lanes);
    if (txd_shape_count(&count, info->dims, info->rank) != TXD_OK ||
        txd_size_mul(&t->bytes, count / t->quant->lanes, t->quant->bytes) != TXD_OK)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: tensor \"%.200s\": the shape %s "
                        "overflows",
                        x->name, at, info->name, shape);
    return TXD_OK;
}

static txd_status take_tensor(txd_gguf_tensor *t, struct txd_gguf_cursor *c)
{
    const txd_gguf *x = c->file;
    size_t start = c->at, at;
    uint64_t offset = 0;

    t->info.axes = "";
    TXD_TRY(txd_gguf_take_name(&t->info.name, c, "the name of a tensor"));
    TXD_TRY(take_shape(&t->info, c));
    TXD_TRY(take_quant(t, c));
    TXD_TRY(needed_bytes(t, x, start));
    t->info.bytes = t->bytes;
    at = c->at;
    TXD_TRY(txd_gguf_take_u64(&offset, c, "the offset of a tensor"));
    if (offset % x->alignment != 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: the data of tensor \"%.200s\" begin at "
                        "%" PRIu64 ", expected a multiple of the alignment %zu",
                        x->name, at, t->info.name, offset, x->alignment);
    if (offset > x->length || t->bytes > x->length - (size_t)offset)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: tensor \"%.200s\" claims %zu bytes at "
                        "%" PRIu64 " of the data, but the file has %zu bytes; is it "
                        "truncated?",
                        x->name, at, t->info.name, t->bytes, offset, x->length);
    t->begin = (size_t)offset;
    return TXD_OK;
}

static int by_offset(const void *left, const void *right)
{
    const txd_gguf_tensor *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->info.name, b->info.name); /* qsort alone keeps no order */
}

/* Tensors follow one another but for the alignment; a hole says that one of them has
 * another type or shape than its head states. */
static txd_status check_place(const txd_gguf *x, const txd_gguf_tensor *t,
                              size_t covered)
{
    if (t->begin < covered)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset %zu: tensor \"%.200s\" overlaps the data "
                        "before it, which end at byte offset %zu",
                        x->name, x->data + t->begin, t->info.name, x->data + covered);
    if (t->begin - covered >= x->alignment)
        return txd_fail(
            TXD_ERR_FORMAT,
            "%s: byte offset %zu: tensor \"%.200s\" leaves a hole after the "
            "data before it, which end at byte offset %zu: is the type or "
            "the shape of the one before wrong?",
            x->name, x->data + t->begin, t->info.name, x->data + covered);
    return TXD_OK;
}

/* Now that the head is read, where the data begin is known. */
static txd_status check_data(txd_gguf *x, size_t head)
{
    size_t covered = 0, room;

    if (x->count == 0) {
        x->data = head;
        return TXD_OK;
    }
    if (txd_size_add(&x->data, head, x->alignment - 1) != TXD_OK)
        return txd_fail(TXD_ERR_FORMAT, "%s: the alignment overflows", x->name);
    x->data -= x->data % x->alignment;
    room = x->data < x->length ? x->length - x->data : 0;
    qsort(x->tensors, x->count, sizeof *x->tensors, by_offset);
    for (size_t i = 0; i < x->count; i++) {
        const txd_gguf_tensor *t = &x->tensors[i];

        TXD_TRY(check_place(x, t, covered));
        if (t->begin > room || t->bytes > room - t->begin)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: byte offset %zu: tensor \"%.200s\" has %zu bytes, but "
                            "the file ends at byte offset %zu; is it truncated?",
                            x->name, x->data + t->begin, t->info.name, t->bytes,
                            x->length);
        covered = t->begin + t->bytes;
    }
    return TXD_OK;
}

static int by_name(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}

static txd_status check_names(const txd_gguf *x, txd_arena *arena)
{
    const char **names = txd_arena_alloc(arena, x->count, sizeof *names);

    if (!names)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < x->count; i++)
        names[i] = x->tensors[i].info.name;
    if (x->count > 1)
        qsort(names, x->count, sizeof *names, by_name);
    for (size_t i = 1; i < x->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: two tensors of the list that ends at byte offset %zu "
                            "are named \"%.200s\"",
                            x->name, x->data, names[i]);
    return TXD_OK;
}

txd_status txd_gguf_read_index(txd_gguf *x, txd_arena *arena, const char *name,
                               const void *file, size_t count)
{
    struct txd_gguf_cursor c = {.file = x, .arena = arena, .at = 4};
    size_t tensors = 0, values = 0;
    uint32_t version = 0;

    *x = (txd_gguf){.name = name, .bytes = file, .length = count};
    if (count < 4 || memcmp(file, "GGUF", 4) != 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset 0: expected the four letters GGUF: not a "
                        "GGUF file",
                        name);
    TXD_TRY(txd_gguf_take_u32(&version, &c, "the version"));
    TXD_TRY(check_version(x, version));
    TXD_TRY(
        take_count(&tensors, &c, LEAST_TENSOR, MOST_TENSORS, "the number of tensors"));
    TXD_TRY(take_count(&values, &c, LEAST_VALUE, MOST_VALUES,
                       "the number of metadata keys"));
    TXD_TRY(txd_gguf_read_values(x, &c, values));
    TXD_TRY(read_alignment(x));
    x->tensors = txd_arena_alloc(arena, tensors, sizeof *x->tensors);
    if (!x->tensors)
        return TXD_ERR_MEMORY;
    for (; x->count < tensors; x->count++)
        TXD_TRY(take_tensor(&x->tensors[x->count], &c));
    TXD_TRY(check_data(x, c.at));
    return check_names(x, arena);
}
