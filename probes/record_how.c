/* SPDX-License-Identifier: MIT
 *
 * The group `recording` of model.cfg: how the file stores what the probes see.
 */
#include "probes/recorder.h"

const txd_key txd_recording_keys[] = {
    {"recording.compression", "string", "none", NULL, "none, deflate",
     "deflate: chunks are shuffled and deflated, on all threads; every HDF5 reads "
     "them"},
    {"recording.storage", "string", "exact", NULL, "exact, f32, f32r12, f16",
     "how `full` stores values: exact: as they were computed; f32: float32; f32r12: "
     "float32 rounded to 12 bits of mantissa, which saves room if it is deflated; f16: "
     "float16, above 65504 an infinity, up to 3e-8 a zero"},
    {"recording.max_bytes", "int", "any", "bytes", "at least 1",
     "the file may take so many, before compression: else `full` records every 2nd, "
     "4th, ... step of its largest point, then layer, then nothing of it, and says so"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

txd_status txd_record_how_read(txd_record_how *out, const txd_setting *root)
{
    static const char *const compressions[] = {"none", "deflate"};
    const char *storages[TXD_STORAGES];
    int compression = out->deflate, storage = out->storage;

    for (int i = 0; i < TXD_STORAGES; i++)
        storages[i] = txd_storage_name((txd_storage)i);
    TXD_TRY(txd_setting_choice(&compression, root, "recording.compression",
                               compressions, 2));
    TXD_TRY(txd_setting_choice(&storage, root, "recording.storage", storages,
                               TXD_STORAGES));
    TXD_TRY(txd_setting_size(&out->max_bytes, root, "recording.max_bytes", 1,
                             (size_t)INT64_MAX));
    out->deflate = compression == 1;
    out->storage = (txd_storage)storage;
    return TXD_OK;
}
