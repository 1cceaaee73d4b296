/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a npy file. Whatever opens must be readable to its last byte.
 */
#include <stdint.h>
#include <stdlib.h>

#include "formats/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void read_entry(const txd_trace *trace, size_t i, size_t limit)
{
    txd_trace_info info;
    size_t elements;
    double *values;
    txd_status status;

    if (txd_trace_get(trace, &info, i) != TXD_OK)
        abort();
    if (txd_shape_count(&elements, info.dims, info.rank) != TXD_OK ||
        elements > limit) {
        if (!info.foreign)
            abort(); /* more elements than bytes in the file */
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
    txd_trace *trace = NULL;

    if (txd_npy_parse(&trace, "fuzz", bytes, count) != TXD_OK)
        return 0;
    for (size_t i = 0; i < txd_trace_count(trace); i++)
        read_entry(trace, i, count);
    txd_trace_meta(trace, "format");
    txd_trace_destroy(trace);
    return 0;
}
