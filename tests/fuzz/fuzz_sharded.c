/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the index of a model in several files, up to the first zero byte; after
 * it the files "a" and "b": the length of the first in two bytes, then both. Whatever
 * opens must be readable to its last byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "formats/sharded.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

typedef struct files {
    const uint8_t *bytes[2];
    size_t count[2];
} files;

static txd_status open_file(txd_trace **out, void *self, const char *file)
{
    const files *f = self;
    int which = strcmp(file, "a") == 0 ? 0 : strcmp(file, "b") == 0 ? 1 : -1;

    if (strchr(file, '/') || strcmp(file, "..") == 0)
        abort(); /* out of the folder of the index */
    if (which < 0)
        return txd_fail(TXD_ERR_IO, "%s: no such file", file);
    return txd_safetensors_parse(out, file, f->bytes[which], f->count[which]);
}

static void read_entry(const txd_trace *trace, size_t i, size_t limit)
{
    txd_trace_info info;
    size_t elements = 0;
    double *values;
    txd_status status;

    if (txd_trace_get(trace, &info, i) != TXD_OK)
        abort();
    if (txd_shape_count(&elements, info.dims, info.rank) != TXD_OK ||
        elements > limit) {
        if (!info.foreign)
            abort();
        return;
    }
    values = malloc(elements ? elements * sizeof *values : 1);
    if (!values)
        abort();
    status = txd_trace_read_all(trace, values, elements, i, TXD_F64);
    if ((status != TXD_OK) != (info.foreign != NULL))
        abort();
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = count ? memchr(bytes, 0, count) : NULL;
    txd_sharded_index index = {.name = "fuzz", .open = open_file};
    size_t rest, first = 0;
    txd_trace *trace = NULL;
    files f = {.count = {0, 0}};

    index.bytes = (const char *)bytes;
    index.count = end ? (size_t)(end - bytes) : count;
    index.self = &f;
    rest = end ? count - index.count - 1 : 0;
    if (rest >= 2) {
        first = (size_t)end[1] + 256 * (size_t)end[2];
        rest -= 2;
        first = first < rest ? first : rest;
        f = (files){{end + 3, end + 3 + first}, {first, rest - first}};
    }
    if (txd_sharded_join(&trace, &index) != TXD_OK)
        return 0;
    for (size_t i = 0; i < txd_trace_count(trace); i++)
        read_entry(trace, i, count);
    txd_trace_destroy(trace);
    return 0;
}
