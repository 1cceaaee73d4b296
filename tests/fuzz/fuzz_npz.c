/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a npz archive. Whatever opens has shapes that its packed bytes can hold,
 * and its arrays are read or refused.
 */
#include <stdint.h>
#include <stdlib.h>

#include "formats/npz.h"

#define MOST_ELEMENTS ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void read_entry(const txd_trace *trace, size_t i, size_t count)
{
    txd_trace_info info;
    size_t elements;
    double *values;
    txd_status status;

    if (txd_trace_get(trace, &info, i) != TXD_OK)
        abort();
    if (txd_shape_count(&elements, info.dims, info.rank) != TXD_OK ||
        elements / 1100 > count + 4096)
        abort(); /* more than a deflated archive can hold */
    if (elements > MOST_ELEMENTS)
        return;
    values = malloc(elements ? elements * sizeof *values : 1);
    if (!values)
        abort();
    status = txd_trace_read_all(trace, values, elements, i, TXD_F64);
    if (info.foreign && status == TXD_OK)
        abort();
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    txd_trace *trace = NULL;

    if (txd_npz_parse(&trace, "fuzz", bytes, count) != TXD_OK)
        return 0;
    for (size_t i = 0; i < txd_trace_count(trace); i++)
        read_entry(trace, i, count);
    txd_trace_destroy(trace);
    return 0;
}
