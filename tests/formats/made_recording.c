/* SPDX-License-Identifier: MIT
 *
 * Small recordings for tests.
 */
#include "made_recording.h"

#include <string.h>

const size_t made_origin[TXD_MAX_RANK] = {0};

txd_recording *made_new_recording(const char *path)
{
    txd_recording *recording = NULL;

    OK(txd_recording_create(&recording, path, false));
    return recording;
}

txd_trace *made_open_complete(const char *path)
{
    txd_trace *trace = NULL;
    bool partial = true;

    OK(txd_recording_open(&trace, path, &partial));
    ck_assert(!partial);
    return trace;
}

size_t made_entry_of(const txd_trace *trace, const char *name, txd_trace_info *info)
{
    size_t entry = 0;

    OK(txd_trace_find(trace, &entry, name));
    OK(txd_trace_get(trace, info, entry));
    return entry;
}

void made_record_one(const char *path, const txd_dataset_spec *spec, const void *data,
                     txd_dtype dtype)
{
    txd_recording *recording = made_new_recording(path);
    size_t id;

    OK(txd_recording_dataset(recording, &id, spec));
    OK(txd_recording_write(recording, id, 0, made_origin, spec->dims, data, dtype));
    OK(txd_recording_close(recording, true));
}

txd_dataset_spec made_spec_of(const char *path, const char *axes, txd_dtype dtype,
                              int rank)
{
    return (txd_dataset_spec){.path = path,
                              .axes = axes,
                              .point = "",
                              .unit = "1",
                              .dtype = dtype,
                              .per_step = true,
                              .rank = rank,
                              .steps = 1};
}

/* Lengths 3, then 5: what the first step never had is the fill value. */
void made_record_growing(const char *path, bool fill_zero)
{
    txd_recording *recording = made_new_recording(path);
    txd_dataset_spec spec =
        made_spec_of("value/layers/0/attn/weights/full", "sbhqk", TXD_F32, 4);
    float values[50];
    size_t id;

    spec.fill_zero = fill_zero;
    spec.steps = 2;
    memcpy(spec.dims, (size_t[]){1, 2, 3, 3}, 4 * sizeof(size_t));
    spec.growing[2] = spec.growing[3] = true;
    spec.chunk_limit[2] = spec.chunk_limit[3] = 5;
    OK(txd_recording_dataset(recording, &id, &spec));
    for (size_t step = 0; step < 2; step++) {
        const size_t length = step == 0 ? 3 : 5, count[] = {1, 2, length, length};

        for (size_t i = 0; i < 2 * length * length; i++)
            values[i] = (float)(100 * step + i) + 0.5F;
        OK(txd_recording_write(recording, id, step, made_origin, count, values,
                               TXD_F32));
    }
    OK(txd_recording_close(recording, true));
}
