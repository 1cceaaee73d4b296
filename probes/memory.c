/* SPDX-License-Identifier: MIT
 *
 * The memory of cross-attention as an input: which of its rows are real, always, and
 * its values if all steps of them are small. (The probe `full` records values of any
 * size as input.memory.)
 */
#include <stdio.h>

#include "probes/parts.h"

#define SMALL_BYTES 16777216.0

static double all_bytes(const txd_probe_context *context)
{
    return (double)context->steps * (double)context->batch * (double)context->memory *
           (double)context->claimed->d_model *
           (double)txd_recording_element(context->dtype);
}

size_t txd_memory_parts(const txd_probe_context *context)
{
    if (!context->claimed->cross)
        return 0;
    return all_bytes(context) <= SMALL_BYTES ? 2 : 1;
}

txd_dataset_spec txd_memory_spec(char path[32], const txd_probe_context *context,
                                 size_t part)
{
    bool values = part == 1;
    txd_dataset_spec spec = {
        .path = path,
        .axes = values ? "sbkd" : "sbk",
        .point = "input.memory",
        .unit = values ? "" : "1",
        .dtype = values ? context->dtype : TXD_I32,
        .per_step = true,
        .rank = values ? 3 : 2,
        .dims = {context->batch, context->memory, context->claimed->d_model},
        .steps = context->steps,
        .fill_zero = !values, /* beyond the end of a shorter memory */
    };

    snprintf(path, 32, "input/memory%s", values ? "" : "_valid");
    txd_probe_grow(&spec, context, 1, context->memory);
    return spec;
}

txd_status txd_memory_make(txd_memory_record *out, txd_recording *recording,
                           const txd_probe_context *context)
{
    txd_memory_record record = {.parts = txd_memory_parts(context),
                                .dtype = context->dtype};

    for (size_t i = 0; i < record.parts; i++) {
        char path[32];
        txd_dataset_spec spec = txd_memory_spec(path, context, i);

        TXD_TRY(txd_recording_dataset(recording, &record.datasets[i], &spec));
    }
    *out = record;
    return TXD_OK;
}

/* As the pass reads it: in the format of the backend. */
static txd_status write_values(const txd_memory_record *record,
                               txd_recording *recording, const txd_inputs *inputs,
                               size_t step)
{
    const size_t start[3] = {0, 0, 0};
    size_t count = txd_tensor_count(&inputs->memory);
    txd_arena *arena = NULL;
    void *data;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    data = txd_arena_alloc(arena, count, txd_dtype_bytes(record->dtype));
    status = data ? TXD_OK : TXD_ERR_MEMORY;
    if (data) {
        txd_convert(data, record->dtype, inputs->memory.data, inputs->memory.dtype,
                    count);
        status = txd_recording_write(recording, record->datasets[1], step, start,
                                     inputs->memory.dims, data, record->dtype);
    }
    txd_arena_destroy(arena);
    return status;
}

txd_status txd_memory_write(const txd_memory_record *record, txd_recording *recording,
                            const txd_inputs *inputs, size_t step)
{
    const size_t start[2] = {0, 0}, count[2] = {inputs->batch, inputs->memory_length};

    if (record->parts == 0 || inputs->memory_length == 0)
        return TXD_OK;
    TXD_TRY(txd_recording_write(recording, record->datasets[0], step, start, count,
                                inputs->memory_valid, TXD_I32));
    return record->parts > 1 ? write_values(record, recording, inputs, step) : TXD_OK;
}
