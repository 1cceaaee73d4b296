/* SPDX-License-Identifier: MIT
 *
 * NumPy's format (numpy.lib.format, NEP 1): magic, version, header length, a Python
 * dict of three keys in ASCII, data. The dict is read by a parser of just that
 * grammar; a file from elsewhere is untrusted.
 */
#include "formats/npy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"
#include "formats/kind.h"

#define MAGIC_BYTES 6
#define WORD_BYTES 32

typedef struct array {
    char *name;
    txd_mapped mapped; /* empty if the bytes are the caller's */
    txd_trace_info info;
    const unsigned char *data;
} array;

/* The text of the header, and where in the file it is. */
typedef struct cursor {
    const char *name;
    const unsigned char *file, *at, *end;
} cursor;

typedef struct header {
    char descr[WORD_BYTES];
    bool fortran, has_descr, has_order, has_shape;
    size_t dims[TXD_MAX_RANK];
    int rank;
} header;

static txd_status fail_at(const cursor *c, const char *expected)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: byte offset %zu: expected %s", c->name,
                    (size_t)(c->at - c->file), expected);
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Consumes `symbol`, if it is next. */
static bool accept(cursor *c, char symbol)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != (unsigned char)symbol)
        return false;
    c->at++;
    return true;
}

static txd_status parse_string(char *out, cursor *c)
{
    size_t length = 0;
    unsigned char quote;

    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return fail_at(c, "a string in quotes");
    quote = *c->at++;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at < 0x20 || *c->at > 0x7e || length + 1 >= WORD_BYTES)
            return fail_at(c, "a short string of plain characters");
        out[length++] = (char)*c->at++;
    }
    if (c->at == c->end)
        return fail_at(c, "a closing quote");
    c->at++;
    out[length] = '\0';
    return TXD_OK;
}

static bool accept_word(cursor *c, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static txd_status parse_size(size_t *out, cursor *c)
{
    size_t value = 0;

    skip_blanks(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return fail_at(c, "a size: an integer from 0 up");
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        size_t digit = (size_t)(*c->at - '0');

        if (value > (SIZE_MAX - digit) / 10)
            return fail_at(c, "a size that fits in 64 bits");
        value = value * 10 + digit;
    }
    if (c->at < c->end && *c->at == 'L') /* as Python 2 wrote it */
        c->at++;
    *out = value;
    return TXD_OK;
}

static txd_status parse_shape(header *h, cursor *c)
{
    if (!accept(c, '('))
        return fail_at(c, "the shape in parentheses");
    while (!accept(c, ')')) {
        if (h->rank == TXD_MAX_RANK)
            return txd_fail(TXD_ERR_UNSUPPORTED, "%s: more than %d axes", c->name,
                            TXD_MAX_RANK);
        TXD_TRY(parse_size(&h->dims[h->rank++], c));
        if (accept(c, ','))
            continue;
        if (accept(c, ')'))
            break;
        return fail_at(c, "',' or ')'");
    }
    return TXD_OK;
}

static txd_status parse_value(header *h, cursor *c, const char *key)
{
    bool *seen = strcmp(key, "descr") == 0           ? &h->has_descr
                 : strcmp(key, "fortran_order") == 0 ? &h->has_order
                 : strcmp(key, "shape") == 0         ? &h->has_shape
                                                     : NULL;

    if (!seen || *seen)
        return fail_at(c, "after the keys descr, fortran_order and shape, once each");
    *seen = true;
    skip_blanks(c);
    if (seen == &h->has_shape)
        return parse_shape(h, c);
    if (seen == &h->has_order) {
        h->fortran = accept_word(c, "True");
        return h->fortran || accept_word(c, "False") ? TXD_OK
                                                     : fail_at(c, "True or False");
    }
    if (c->at < c->end && *c->at == '[')
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: a structured array; plain numbers are read", c->name);
    return parse_string(h->descr, c);
}

static txd_status parse_dict(header *h, cursor *c)
{
    char key[WORD_BYTES];

    if (!accept(c, '{'))
        return fail_at(c, "a dict: '{'");
    while (!accept(c, '}')) {
        TXD_TRY(parse_string(key, c));
        if (!accept(c, ':'))
            return fail_at(c, "':'");
        TXD_TRY(parse_value(h, c, key));
        if (accept(c, ','))
            continue;
        if (accept(c, '}'))
            break;
        return fail_at(c, "',' or '}'");
    }
    skip_blanks(c);
    if (c->at != c->end)
        return fail_at(c, "the end of the header");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return fail_at(c, "before it the keys descr, fortran_order and shape");
    return TXD_OK;
}

static txd_status find_dtype(txd_dtype *out, const cursor *c, const char *descr)
{
    static const struct {
        const char *descr;
        txd_dtype dtype;
    } known[] = {
        {"<f8", TXD_F64}, {"<f4", TXD_F32}, {"<f2", TXD_F16}, {"<i8", TXD_I64},
        {"<i4", TXD_I32}, {"|u1", TXD_U8},  {"<u1", TXD_U8},  {"|b1", TXD_U8},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(descr, known[i].descr) == 0) {
            *out = known[i].dtype;
            return TXD_OK;
        }
    }
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: dtype \"%s\"; <f8, <f4, <f2, <i8, <i4, |u1 and |b1 are read: "
                    "convert with numpy's astype",
                    c->name, descr);
}

static txd_status check_data(const cursor *c, const txd_trace_info *info, size_t offset,
                             size_t count)
{
    size_t elements = 0, needed = 0;
    char shape[200];

    if (txd_shape_count(&elements, info->dims, info->rank) != TXD_OK ||
        txd_size_mul(&needed, elements, txd_dtype_bytes(info->dtype)) != TXD_OK)
        needed = SIZE_MAX;
    if (needed == count - offset)
        return TXD_OK;
    return txd_fail(
        TXD_ERR_FORMAT, "%s: byte offset %zu: %s of %s needs %zu bytes, found %zu%s",
        c->name, offset, txd_shape_text(shape, sizeof shape, info->dims, info->rank),
        txd_dtype_name(info->dtype), needed, count - offset,
        needed > count - offset ? "; is the file truncated?" : "");
}

static txd_status fail_magic(const char *name, const void *bytes, size_t count)
{
    txd_file_kind kind = txd_file_kind_of(bytes, count);

    if (kind != TXD_FILE_OTHER && kind != TXD_FILE_NPY)
        return txd_fail(TXD_ERR_FORMAT, "%s: expected a .npy array, found %s", name,
                        txd_file_kind_name(kind));
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: byte offset 0: expected \\x93NUMPY, a version and a length: "
                    "not a .npy file, or truncated",
                    name);
}

/* The bounds of the header text. */
static txd_status find_header(cursor *c, const unsigned char *bytes, size_t available,
                              size_t count)
{
    static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    size_t width, length = 0, start;

    if (count < MAGIC_BYTES + 4 || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return fail_magic(c->name, bytes, count);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return txd_fail(TXD_ERR_UNSUPPORTED, "%s: version %u.%u; 1.0 to 3.0 are read",
                        c->name, (unsigned)bytes[6], (unsigned)bytes[7]);
    width = bytes[6] == 1 ? 2 : 4;
    start = MAGIC_BYTES + 2 + width;
    for (size_t i = width; i-- > 0 && start <= count;)
        length = length << 8 | bytes[MAGIC_BYTES + 2 + i];
    if (start > count || length > count - start)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: byte offset 8: a header of %zu bytes in a file of %zu: is "
                        "it truncated?",
                        c->name, length, count);
    if (length > available - start)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: byte offset 8: a header of %zu bytes; up to %zu are read",
                        c->name, length, available - start);
    c->at = bytes + start;
    c->end = c->at + length;
    return TXD_OK;
}

txd_status txd_npy_head(txd_trace_info *out, size_t *data, const char *name,
                        const void *bytes, size_t available, size_t count)
{
    cursor c = {.name = name, .file = bytes};
    txd_trace_info info = {.name = "array", .axes = ""};
    header h = {.rank = 0};

    TXD_TRY(find_header(&c, bytes, available, count));
    TXD_TRY(parse_dict(&h, &c));
    TXD_TRY(find_dtype(&info.dtype, &c, h.descr));
    if (h.fortran && h.rank > 1)
        return txd_fail(TXD_ERR_UNSUPPORTED,
                        "%s: Fortran order; save numpy.ascontiguousarray(x)", c.name);
    info.rank = h.rank;
    memcpy(info.dims, h.dims, sizeof h.dims);
    TXD_TRY(check_data(&c, &info, (size_t)(c.end - c.file), count));
    *data = (size_t)(c.end - c.file);
    *out = info;
    return TXD_OK;
}

static txd_status read_array(array *a, const void *bytes, size_t count)
{
    size_t data;

    TXD_TRY(txd_npy_head(&a->info, &data, a->name, bytes, count, count));
    a->data = (const unsigned char *)bytes + data;
    return TXD_OK;
}

static void array_destroy(void *self)
{
    array *a = self;

    txd_file_unmap(&a->mapped);
    free(a->name);
    free(a);
}

static size_t array_count(void *self)
{
    (void)self;
    return 1;
}

static txd_status array_info(void *self, txd_trace_info *out, size_t i)
{
    (void)i;
    *out = ((array *)self)->info;
    return TXD_OK;
}

static txd_status array_read(void *self, void *out, size_t i, const size_t *start,
                             const size_t *count, txd_dtype dtype)
{
    const array *a = self;
    /* A tensor has no const form; reading does not write to it. */
    txd_tensor tensor = txd_tensor_make(a->info.dtype, (void *)(uintptr_t)a->data,
                                        a->info.rank, a->info.dims);

    (void)i;
    txd_tensor_block(out, dtype, &tensor, start, count);
    return TXD_OK;
}

static const void *array_view(void *self, size_t i)
{
    const array *a = self;

    (void)i;
    return (uintptr_t)a->data % txd_dtype_bytes(a->info.dtype) == 0 ? a->data : NULL;
}

static const txd_trace_methods methods = {
    .destroy = array_destroy,
    .count = array_count,
    .info = array_info,
    .read = array_read,
    .view = array_view,
};

/* Takes over `mapped` on success. */
static txd_status open_array(txd_trace **out, const char *name, const void *bytes,
                             size_t count, txd_mapped mapped)
{
    array *a = calloc(1, sizeof *a);
    txd_status status;

    if (!a || !(a->name = strdup(name))) {
        free(a);
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", name);
    }
    status = read_array(a, bytes, count);
    if (status == TXD_OK)
        status = txd_trace_create(out, &methods, a);
    if (status == TXD_OK)
        a->mapped = mapped;
    else
        array_destroy(a);
    return status;
}

txd_status txd_npy_open(txd_trace **out, const char *path)
{
    txd_mapped mapped = {.bytes = NULL};
    txd_status status;

    TXD_TRY(txd_file_map(&mapped, path));
    status = open_array(out, path, mapped.bytes, mapped.count, mapped);
    if (status != TXD_OK)
        txd_file_unmap(&mapped);
    return status;
}

txd_status txd_npy_parse(txd_trace **out, const char *name, const void *bytes,
                         size_t count)
{
    return open_array(out, name, bytes, count, (txd_mapped){.bytes = NULL});
}
