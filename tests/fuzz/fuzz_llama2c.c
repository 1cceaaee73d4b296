/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of llama2.c. Whatever opens must be readable to its last byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/llama2c.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void read_entry(const txd_trace *trace, size_t i, size_t limit)
{
    txd_trace_info info;
    size_t elements;
    double *values;

    if (txd_trace_get(trace, &info, i) != TXD_OK ||
        txd_shape_count(&elements, info.dims, info.rank) != TXD_OK)
        abort();
    if (elements > limit / sizeof(float))
        abort(); /* more elements than bytes in the file */
    values = malloc(elements ? elements * sizeof *values : 1);
    if (!values || txd_trace_read_all(trace, values, elements, i, TXD_F64) != TXD_OK)
        abort();
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    txd_trace *trace = NULL;
    txd_arena *arena = NULL;
    txd_setting *root = NULL;
    const char *family = NULL;
    bool is_one = txd_llama2c_is(bytes, count, count);

    if (txd_arena_create(&arena) != TXD_OK)
        abort();
    if (txd_llama2c_parse(&trace, &root, arena, "fuzz", bytes, count) == TXD_OK) {
        if (!is_one)
            abort();
        for (size_t i = 0; i < txd_trace_count(trace); i++)
            read_entry(trace, i, count);
        if (txd_setting_string(&family, root, "general.architecture") != TXD_OK ||
            !family || strcmp(family, "llama") != 0)
            abort();
        txd_trace_destroy(trace);
    } else if (is_one) {
        abort();
    }
    txd_arena_destroy(arena);
    return 0;
}
