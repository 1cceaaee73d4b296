/* SPDX-License-Identifier: MIT
 *
 * The dtypes of recordings: HDF5 has no bfloat16 that other readers know, so such
 * values are float32 in the file, and the attribute `dtype` says what they are. And
 * the coarser dtypes that a recording may be told to store values in.
 */
#include "formats/recording.h"

#include <float.h>
#include <math.h>
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

const char *txd_storage_name(txd_storage storage)
{
    static const char *const names[TXD_STORAGES] = {"exact", "f32", "f32r12", "f16"};

    return names[storage];
}

txd_storage txd_storage_find(const char *name)
{
    for (int i = 0; name && i < TXD_STORAGES; i++)
        if (strcmp(name, txd_storage_name((txd_storage)i)) == 0)
            return (txd_storage)i;
    return TXD_STORAGE_EXACT;
}

bool txd_storage_apply(txd_dtype *dtype, txd_storage storage)
{
    bool is_wide = *dtype == TXD_F64 || *dtype == TXD_F32;

    switch (storage) {
    case TXD_STORAGE_F16:
        /* bfloat16 has fewer digits and a wider range. */
        if (!is_wide && *dtype != TXD_BF16)
            return false;
        *dtype = TXD_F16;
        return true;
    case TXD_STORAGE_F32R12:
        if (is_wide)
            *dtype = TXD_F32;
        return is_wide;
    case TXD_STORAGE_F32:
        if (*dtype != TXD_F64)
            return false;
        *dtype = TXD_F32;
        return true;
    default:
        return false;
    }
}

txd_storage_loss txd_storage_loss_of(txd_storage storage, txd_dtype dtype)
{
    static const txd_storage_loss losses[TXD_STORAGES] = {
        [TXD_STORAGE_F32] = {0x1p-24, 0x1p-149, FLT_MAX},
        /* Cut off instead of rounded up, the largest are off by twice as much. */
        [TXD_STORAGE_F32R12] = {0x1p-12, 0x1p-138, FLT_MAX},
        [TXD_STORAGE_F16] = {0x1p-11, 0x1p-24, 65504},
    };
    txd_dtype stored = dtype;
    txd_storage_loss loss = {0, 0, INFINITY};

    if (txd_storage_apply(&stored, storage))
        loss = losses[storage];
    if (stored == dtype)
        loss.largest = INFINITY;
    return loss;
}
