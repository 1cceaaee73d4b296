/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a GGUF file. Whatever opens must be readable to its last byte: tensors,
 * values of the metadata, and the tree of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void read_entry(const txd_trace *trace, size_t i, size_t limit)
{
    txd_trace_info info;
    size_t elements;
    double *values;
    txd_status status;

    if (txd_trace_get(trace, &info, i) != TXD_OK ||
        txd_shape_count(&elements, info.dims, info.rank) != TXD_OK)
        abort();
    if (elements > 16 * limit) /* the smallest block has 32 elements in 17 bytes */
        abort();
    values = malloc(elements ? elements * sizeof *values : 1);
    if (!values)
        abort();
    status = txd_trace_read_all(trace, values, elements, i, TXD_F64);
    if ((status != TXD_OK) != (info.foreign != NULL))
        abort();
    if (info.rank > 0)
        txd_trace_release(trace, i, 0, info.dims[0]);
    free(values);
}

static double read_value(const txd_gguf_value *value)
{
    txd_gguf_strings strings = txd_gguf_strings_of(value);
    double sum = 0;
    const char *text;
    size_t length;

    while (txd_gguf_strings_next(&strings, &text, &length))
        for (size_t i = 0; i < length; i++)
            sum += text[i];
    for (size_t i = 0; value->type != TXD_GGUF_STRING && i < value->count; i++)
        sum += txd_gguf_real(value, i) + (double)txd_gguf_integer(value, i);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    volatile double sum = 0;
    const txd_gguf *gguf = NULL;
    txd_trace *trace = NULL;
    txd_arena *arena = NULL;
    txd_setting *root;

    if (txd_gguf_parse(&trace, &gguf, "fuzz", bytes, count) != TXD_OK)
        return 0;
    for (size_t i = 0; i < txd_trace_count(trace); i++)
        read_entry(trace, i, count);
    for (size_t i = 0; i < txd_gguf_count(gguf); i++) {
        const txd_gguf_value *value = txd_gguf_at(gguf, i);

        if (txd_gguf_find(gguf, value->key) != value)
            abort();
        if (!value->is_array && !txd_trace_meta(trace, value->key))
            abort();
        sum = sum + read_value(value);
    }
    if (txd_arena_create(&arena) != TXD_OK ||
        txd_gguf_settings(&root, arena, gguf) != TXD_OK)
        abort();
    txd_arena_destroy(arena);
    txd_trace_destroy(trace);
    return 0;
}
