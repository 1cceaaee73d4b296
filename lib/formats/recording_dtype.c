/* SPDX-License-Identifier: MIT
 *
 * The dtypes of recordings: HDF5 has no bfloat16 that other readers know, so such
 * values are float32 in the file, and the attribute `dtype` says what they are.
 */
#include "formats/recording.h"

#include <string.h>

const char *txd_recording_dtype(txd_dtype dtype)
{
    return dtype == TXD_BF16 ? "bf16" : txd_dtype_name(dtype);
}

txd_dtype txd_recording_format(const char *name)
{
    static const txd_dtype formats[] = {TXD_F64, TXD_F16, TXD_BF16};

    for (size_t i = 0; name && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, txd_recording_dtype(formats[i])) == 0 ||
            strcmp(name, txd_dtype_name(formats[i])) == 0)
            return formats[i];
    return TXD_F32;
}

size_t txd_recording_element(txd_dtype dtype)
{
    return dtype == TXD_BF16 ? sizeof(float) : txd_dtype_bytes(dtype);
}
