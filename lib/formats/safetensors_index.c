/* SPDX-License-Identifier: MIT
 *
 * The header of a safetensors file, all of whose claims are checked against the file
 * in arithmetic that cannot wrap: lengths, names, dtypes, shapes, offsets, cover.
 * Nothing is allocated before the file is known to be long enough to need it.
 */
#include "formats/safetensors_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_read.h"

#define LENGTH_BYTES 8
#define MAX_HEADER 100000000 /* the limit of the reference implementation */

typedef struct stored_dtype {
    const char *name;
    unsigned bits;
    bool ours;
    txd_dtype dtype;
} stored_dtype;

static const stored_dtype stored_dtypes[] = {
    {"F64", 64, true, TXD_F64},    {"F32", 32, true, TXD_F32},
    {"F16", 16, true, TXD_F16},    {"BF16", 16, true, TXD_BF16},
    {"I64", 64, true, TXD_I64},    {"I32", 32, true, TXD_I32},
    {"U8", 8, true, TXD_U8},       {"BOOL", 8, false, TXD_U8},
    {"I8", 8, false, TXD_U8},      {"I16", 16, false, TXD_U8},
    {"U16", 16, false, TXD_U8},    {"U32", 32, false, TXD_U8},
    {"U64", 64, false, TXD_U8},    {"F8_E4M3", 8, false, TXD_U8},
    {"F8_E5M2", 8, false, TXD_U8}, {"F8_E8M0", 8, false, TXD_U8},
    {"F4", 4, false, TXD_U8},      {"F6_E2M3", 6, false, TXD_U8},
    {"F6_E3M2", 6, false, TXD_U8}, {"C64", 64, false, TXD_U8},
};

static const stored_dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof stored_dtypes / sizeof *stored_dtypes; i++)
        if (strcmp(stored_dtypes[i].name, name) == 0)
            return &stored_dtypes[i];
    return NULL;
}

/* Where the data of a tensor begins in the file. */
static size_t file_offset(const txd_safetensors_index *x, size_t begin)
{
    return LENGTH_BYTES + x->header + begin;
}

static txd_status check_name(const txd_safetensors_index *x, const char *name)
{
    if (!*name)
        return txd_fail(TXD_ERR_FORMAT, "%s: a tensor in the header has an empty name",
                        x->name);
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: a tensor name holds the control character 0x%02x",
                            x->name, (unsigned)(unsigned char)*p);
    return TXD_OK;
}

static txd_status fail_field(const txd_safetensors_index *x, const char *tensor,
                             const char *expected)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: header: tensor \"%s\": expected %s", x->name,
                    tensor, expected);
}

/* Field `name` of a tensor, of the given kind. */
static txd_status get_field(const txd_setting **out, const txd_safetensors_index *x,
                            const txd_setting *tensor, const char *name,
                            txd_setting_kind kind)
{
    const txd_setting *field = txd_setting_find(tensor, name);

    if (!field || field->kind != kind ||
        (kind == TXD_SETTING_STRING && strlen(field->string) != field->string_length))
        return txd_fail(
            TXD_ERR_FORMAT, "%s: header: tensor \"%s\": expected %s \"%s\", found %s",
            x->name, tensor->name, kind == TXD_SETTING_LIST ? "the list" : "the string",
            name, field ? "something else" : "none");
    *out = field;
    return TXD_OK;
}

static txd_status read_shape(txd_trace_info *info, const txd_safetensors_index *x,
                             const txd_setting *tensor)
{
    const txd_setting *shape = NULL;

    TXD_TRY(get_field(&shape, x, tensor, "shape", TXD_SETTING_LIST));
    if (shape->count > TXD_MAX_RANK)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: header: tensor \"%s\" has %zu axes, at most %d are read",
                        x->name, tensor->name, shape->count, TXD_MAX_RANK);
    for (const txd_setting *s = shape->child; s; s = s->next) {
        if (s->kind != TXD_SETTING_INT || s->integer < 0)
            return fail_field(x, tensor->name, "sizes that are integers from 0 up");
        info->dims[info->rank++] = (size_t)s->integer;
    }
    return TXD_OK;
}

static txd_status read_offsets(txd_safetensors_entry *e, const txd_safetensors_index *x,
                               const txd_setting *tensor)
{
    const txd_setting *field = NULL, *begin, *end;

    TXD_TRY(get_field(&field, x, tensor, "data_offsets", TXD_SETTING_LIST));
    begin = field->child;
    end = field->last;
    if (field->count != 2 || begin->kind != TXD_SETTING_INT ||
        end->kind != TXD_SETTING_INT || begin->integer < 0 ||
        end->integer < begin->integer)
        return fail_field(x, tensor->name,
                          "data_offsets of two integers, 0 <= begin <= end");
    if ((uint64_t)end->integer > x->bytes)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: tensor \"%s\": data_offsets end at %" PRId64
                        ", but only %zu bytes of data follow the header, up to byte "
                        "offset %zu; is the file truncated?",
                        x->name, tensor->name, end->integer, x->bytes,
                        file_offset(x, x->bytes));
    e->begin = (size_t)begin->integer;
    e->end = (size_t)end->integer;
    return TXD_OK;
}

/* Bytes that the shape needs; ERR_FORMAT when the product overflows. */
static txd_status needed_bytes(size_t *out, const txd_safetensors_index *x,
                               const txd_trace_info *info, unsigned bits)
{
    size_t count = 0, total = 0;
    char shape[200];

    if (txd_shape_count(&count, info->dims, info->rank) != TXD_OK ||
        txd_size_mul(&total, count, bits) != TXD_OK)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: header: tensor \"%s\": the shape %s overflows", x->name,
                        info->name,
                        txd_shape_text(shape, sizeof shape, info->dims, info->rank));
    *out = total / 8 + (total % 8 != 0);
    return TXD_OK;
}

static txd_status read_tensor(txd_safetensors_entry *e, const txd_safetensors_index *x,
                              const txd_setting *tensor)
{
    const txd_setting *dtype = NULL;
    const stored_dtype *stored;
    char shape[200];
    size_t needed = 0;

    TXD_TRY(check_name(x, tensor->name));
    if (tensor->kind != TXD_SETTING_GROUP)
        return fail_field(x, tensor->name, "an object with dtype, shape, data_offsets");
    TXD_TRY(get_field(&dtype, x, tensor, "dtype", TXD_SETTING_STRING));
    e->info.name = tensor->name;
    e->info.axes = "";
    stored = find_dtype(dtype->string);
    e->info.dtype = stored ? stored->dtype : TXD_U8;
    e->info.foreign = stored && stored->ours ? NULL : dtype->string;
    TXD_TRY(read_shape(&e->info, x, tensor));
    TXD_TRY(read_offsets(e, x, tensor));
    if (!stored)
        return TXD_OK;
    TXD_TRY(needed_bytes(&needed, x, &e->info, stored->bits));
    if (needed != e->end - e->begin)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: tensor \"%s\" at byte offset %zu: %s of %s needs %zu "
                        "bytes, data_offsets give %zu",
                        x->name, tensor->name, file_offset(x, e->begin),
                        txd_shape_text(shape, sizeof shape, e->info.dims, e->info.rank),
                        stored->name, needed, e->end - e->begin);
    return TXD_OK;
}

static txd_status check_metadata(const txd_safetensors_index *x)
{
    if (x->metadata->kind != TXD_SETTING_GROUP)
        return txd_fail(TXD_ERR_FORMAT, "%s: header: __metadata__ is no object",
                        x->name);
    for (const txd_setting *s = x->metadata->child; s; s = s->next)
        if (s->kind != TXD_SETTING_STRING)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: header: __metadata__: expected strings only", x->name);
    return TXD_OK;
}

static int by_offset(const void *left, const void *right)
{
    const txd_safetensors_entry *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return strcmp(a->info.name, b->info.name); /* qsort alone keeps no order */
}

/* The tensors must cover the data without overlap and without holes. */
static txd_status check_cover(const txd_safetensors_index *x)
{
    size_t covered = 0;

    for (size_t i = 0; i < x->count; i++) {
        const txd_safetensors_entry *e = &x->entries[i];

        if (e->begin != covered)
            return txd_fail(
                TXD_ERR_FORMAT,
                "%s: tensor \"%s\" begins at byte offset %zu, expected %zu: "
                "it %s the data before it",
                x->name, e->info.name, file_offset(x, e->begin),
                file_offset(x, covered),
                e->begin < covered ? "overlaps" : "leaves a hole after");
        covered = e->end;
    }
    if (covered != x->bytes)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: no tensor covers the %zu bytes from byte offset %zu on",
                        x->name, x->bytes - covered, file_offset(x, covered));
    return TXD_OK;
}

static txd_status read_header(txd_safetensors_index *x, txd_arena *arena,
                              const txd_setting *header)
{
    if (header->kind != TXD_SETTING_GROUP)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset 8: expected a JSON object as the header",
                        x->name);
    x->entries = txd_arena_alloc(arena, header->count, sizeof *x->entries);
    if (!x->entries)
        return TXD_ERR_MEMORY;
    for (const txd_setting *s = header->child; s; s = s->next) {
        if (strcmp(s->name, "__metadata__") == 0) {
            x->metadata = s;
            TXD_TRY(check_metadata(x));
        } else {
            TXD_TRY(read_tensor(&x->entries[x->count++], x, s));
        }
    }
    qsort(x->entries, x->count, sizeof *x->entries, by_offset);
    return check_cover(x);
}

txd_status txd_safetensors_read_index(txd_safetensors_index *x, txd_arena *arena,
                                      const char *name, const void *file, size_t count)
{
    const unsigned char *bytes = file;
    txd_setting *header = NULL;
    uint64_t length = 0;

    *x = (txd_safetensors_index){.name = name};
    if (count < LENGTH_BYTES)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected at least %d bytes, found %zu: not a safetensors "
                        "file, or truncated",
                        x->name, LENGTH_BYTES, count);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > count - LENGTH_BYTES || length > MAX_HEADER)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset 0: header length %" PRIu64
                        ", expected at most %zu: not a safetensors file, or truncated",
                        x->name, length,
                        count - LENGTH_BYTES > MAX_HEADER ? MAX_HEADER
                                                          : count - LENGTH_BYTES);
    x->header = (size_t)length;
    x->bytes = count - LENGTH_BYTES - x->header;
    x->data = bytes + LENGTH_BYTES + x->header;
    if (txd_json_parse(&header, arena, x->name, (const char *)bytes + LENGTH_BYTES,
                       x->header) != TXD_OK)
        return txd_fail_prefix(TXD_ERR_FORMAT, "header at byte offset %d",
                               LENGTH_BYTES);
    return read_header(x, arena, header);
}
